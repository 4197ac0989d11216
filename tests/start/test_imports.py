"""The import hook: calls back after a module's code has run, and leaves no trace."""

import importlib
import importlib.util
import sys
import zipfile

import pytest

from otel_mcp._ground import guard
from otel_mcp._start import imports


@pytest.fixture(autouse=True)
def clean(tmp_path, monkeypatch):
    """A folder of modules to import; whatever was imported from it is forgotten afterwards."""
    (tmp_path / "watched.py").write_text("from helper import value\nstate = 'complete'\n")
    (tmp_path / "helper.py").write_text("value = 1\n")
    (tmp_path / "broken.py").write_text("raise RuntimeError('of the program')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    before, waiting, half = dict(sys.modules), dict(imports._waiting), list(imports._half_loaded)
    yield
    imports.forget_all()
    imports._waiting.update(waiting)
    imports._half_loaded.extend(half)
    for name in set(sys.modules) - set(before):
        del sys.modules[name]


def test_the_callback_runs_once_after_the_modules_code():
    seen = []
    imports.when_imported("watched", lambda: seen.append(sys.modules["watched"].state))
    assert seen == []
    importlib.import_module("watched")
    importlib.import_module("watched")
    assert seen == ["complete"]


def test_a_module_that_is_there_already_is_called_back_at_once():
    importlib.import_module("watched")
    seen = []
    imports.when_imported("watched", lambda: seen.append(1))
    assert seen == [1]


def test_the_same_callback_is_kept_once():
    seen = []

    def callback():
        seen.append(1)

    imports.when_imported("watched", callback)
    imports.when_imported("watched", callback)
    importlib.import_module("watched")
    assert seen == [1]


def test_the_module_looks_as_if_nobody_had_been_there():
    imports.when_imported("watched", lambda: None)
    watched = importlib.import_module("watched")
    plain = importlib.import_module("helper")
    assert type(watched.__spec__.loader) is type(plain.__spec__.loader)
    assert watched.__loader__ is watched.__spec__.loader
    assert watched.__spec__.origin == watched.__file__


def test_looking_for_a_module_without_importing_it_calls_nobody():
    seen = []
    imports.when_imported("watched", lambda: seen.append(1))
    spec = importlib.util.find_spec("watched")
    assert spec.loader.get_source("watched").startswith("from helper")
    assert seen == []
    importlib.import_module("watched")
    assert seen == [1]


def test_a_module_whose_import_fails_fails_as_ever_and_is_waited_for_still():
    seen = []
    imports.when_imported("broken", lambda: seen.append(1))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="of the program"):
            importlib.import_module("broken")
    assert seen == []


def test_a_module_that_does_not_exist_is_not_found_as_ever():
    imports.when_imported("nowhere_to_be_found", lambda: None)
    with pytest.raises(ModuleNotFoundError, match="No module named 'nowhere_to_be_found'"):
        importlib.import_module("nowhere_to_be_found")


def test_a_callback_that_fails_is_counted_and_the_import_succeeds(monkeypatch, our_warnings):
    monkeypatch.setattr(guard, "reraise", False)
    before = guard.internal_errors().get("import_hook", 0)
    imports.when_imported("watched", lambda: 1 / 0)
    assert importlib.import_module("watched").state == "complete"
    assert guard.internal_errors()["import_hook"] == before + 1
    our_warnings.clear()  # said the first time in a process


def test_a_module_from_a_zip_file_is_called_back_too(tmp_path, monkeypatch):
    archive = tmp_path / "modules.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("zipped.py", "state = 'complete'")
    monkeypatch.syspath_prepend(str(archive))
    seen = []
    imports.when_imported("zipped", lambda: seen.append(sys.modules["zipped"].state))
    importlib.import_module("zipped")
    assert seen == ["complete"]


def test_a_module_that_is_half_loaded_is_called_back_at_the_next_import_after_it_is_done(tmp_path):
    (tmp_path / "next_one.py").write_text("")
    seen = []
    imports.when_imported("helper", lambda: imports.when_imported("watched", lambda: seen.append("watched")))
    importlib.import_module("watched")  # imports helper at its top, so `watched` is half loaded when it is waited for
    importlib.import_module("next_one")
    assert seen == ["watched"]


def test_after_forgetting_the_finder_is_gone_and_nobody_is_called():
    seen = []
    imports.when_imported("watched", lambda: seen.append(1))
    imports.forget_all()
    assert imports._finder not in sys.meta_path
    importlib.import_module("watched")
    assert seen == []


def test_an_sdk_that_lacks_a_patch_point_is_one_line_and_the_rest_is_watched(child):
    ended = child(
        """
        import mcp.client.stdio
        del mcp.client.stdio._create_platform_compatible_process
        import otel_mcp
        otel_mcp.instrument()
        from otel_mcp._ground import patching
        print(patching.counts()[("mcp", "active")] > 10)
        """,
        prelude=False,
    )
    assert (ended.code, ended.out) == (0, "True\n")
    [line] = ended.lines
    assert "patch points (mcp.client.stdio:_create_platform_compatible_process), so not everything is seen" in line


def test_an_sdk_that_is_absent_is_the_programs_to_find_out(child):
    ended = child(
        """
        import sys
        sys.modules["mcp"] = None
        import otel_mcp
        otel_mcp.instrument()
        try:
            import mcp
        except ImportError as error:
            print(type(error).__name__)
        """,
        prelude=False,
    )
    assert (ended.code, ended.out, ended.err) == (0, "ModuleNotFoundError\n", "")
