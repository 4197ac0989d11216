"""``otel-mcp run``: the program as it is, watched."""

import os
import signal
import subprocess
import sys

import pytest

from harness.package import FOLDER
from otel_mcp._cli.main import main

HOOK = 'import sys; print(any(type(each).__module__ == "otel_mcp._start.imports" for each in sys.meta_path))'
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "PYTHONPATH"))}


@pytest.fixture
def packages(tmp_path):
    """A folder on the path that has the package and no start file."""
    folder = tmp_path / "packages"
    folder.mkdir()
    (folder / "otel_mcp").symlink_to(FOLDER / "otel_mcp")
    return folder


@pytest.fixture
def otel_mcp(packages, tmp_path):
    """Run ``otel-mcp`` with these words."""

    def run(*words, start=subprocess.run, pythonpath=(), **options):
        path = os.pathsep.join([str(packages), *map(str, pythonpath)])
        return start(
            [sys.executable, "-m", "otel_mcp", *map(str, words)],
            env={**CLEAN, "PYTHONPATH": path}, cwd=tmp_path, text=True, **options,
        )  # fmt: skip

    return run


@pytest.fixture
def run(otel_mcp):
    """Run ``otel-mcp run …`` to its end."""
    return lambda *words, **options: otel_mcp("run", *words, capture_output=True, timeout=60, **options)


def test_the_program_runs_watched_without_a_start_file(run):
    ended = run("--", sys.executable, "-c", HOOK)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "True\n", "")


def test_the_two_dashes_may_be_left_out_and_the_programs_own_options_are_its_own(run):
    ended = run(sys.executable, "-c", "import sys; print(sys.argv[1:])", "--json", "-h", "--", "x")
    assert (ended.stdout, ended.stderr) == ("['--json', '-h', '--', 'x']\n", "")


@pytest.mark.parametrize("code", [0, 1, 7, 255])
def test_the_exit_code_is_the_programs(run, code):
    assert run("--", sys.executable, "-c", f"import sys; sys.exit({code})").returncode == code


def test_input_and_output_are_the_programs(run):
    ended = run("--", sys.executable, "-c", "import sys; sys.stdout.write(sys.stdin.read().upper())", input="text\n")
    assert ended.stdout == "TEXT\n"


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_reaches_the_program_and_its_end_by_signal_is_passed_on(otel_mcp, number):
    # Reset, because a test run in the background inherits some of them ignored.
    script = f"import signal; signal.signal({int(number)}, signal.SIG_DFL); print('up', flush=True); signal.pause()"
    process = otel_mcp("run", "--", sys.executable, "-c", script, start=subprocess.Popen, stdout=subprocess.PIPE)
    with process:
        assert process.stdout.readline() == "up\n"
        process.send_signal(number)
        assert process.wait(30) == -number


@pytest.mark.skipif(os.name != "posix", reason="exec")
def test_the_program_has_the_process_id_that_was_started(otel_mcp):
    process = otel_mcp("run", "--", sys.executable, "-c", "import os; print(os.getpid())",
                       start=subprocess.Popen, stdout=subprocess.PIPE)  # fmt: skip
    out, _ = process.communicate(timeout=60)
    assert int(out) == process.pid


def test_an_interpreter_without_the_package_runs_the_program_and_one_line_says_what_to_do(tmp_path, packages):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    bare = tmp_path / "bare" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    script = f"import sys; sys.path.insert(0, {str(packages)!r}); from otel_mcp._cli.main import main; main()"
    program = "import subprocess, sys; print(1, flush=True); subprocess.run([sys.executable, '-c', 'print(2)'])"
    grandchild = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {program!r}])"
    ended = subprocess.run(
        [sys.executable, "-c", script, "run", "--", bare, "-c", grandchild],
        env=CLEAN, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (0, "1\n2\n")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    line = (
        f"otel_mcp: {bare} (Python {version}) does not have otel-mcp-client; install it there ({bare} -m pip install "
        "otel-mcp-client). The program runs unwatched.\n"
    )
    assert ended.stderr == line * 2, "said by the program and by what it starts, and by nothing further down"


def test_a_sitecustomize_that_was_there_runs_as_if_ours_were_not(run, tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "sitecustomize.py").write_text("import sys\nsys.theirs = __file__\n")
    ended = run(
        "--", sys.executable, "-c",
        "import sys, sitecustomize; print(sys.theirs == sitecustomize.__file__, any('_start' in p for p in sys.path))",
        pythonpath=[tmp_path / "theirs"],
    )  # fmt: skip
    assert (ended.stdout, ended.stderr) == ("True False\n", "")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("no-such-program-anywhere", "is not found in PATH"),
        ("./nowhere", "does not exist"),
        ("./one.json", "is not executable"),
        ("./folder", "is a folder"),
    ],
)
def test_a_program_that_cannot_be_run_is_one_line_that_says_why(name, why, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.json").write_text("{}")
    (tmp_path / "folder").mkdir()
    assert main(["run", "--", name]) == 2
    assert capsys.readouterr() == ("", f"otel-mcp run: {name!r} {why}\n")


def test_no_program_at_all_is_one_line_and_exit_code_2(run):
    ended = run()
    assert ended.returncode == 2
    assert ended.stderr.startswith("otel-mcp run: say which program to run")


def test_version_and_help(otel_mcp):
    from otel_mcp import __version__

    ended = otel_mcp("--version", capture_output=True)
    assert (ended.returncode, ended.stdout) == (0, f"otel-mcp-client {__version__}\n")
    ended = otel_mcp("--help", capture_output=True)
    assert ended.returncode == 0
    for name in ("run", "demo", "doctor", "top", "report", "dashboards"):
        assert f"\n    {name}" in ended.stdout


def test_without_a_command_the_help_goes_to_stderr_and_the_exit_code_is_2(otel_mcp):
    ended = otel_mcp(capture_output=True)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "usage: otel-mcp" in ended.stderr


def test_the_command_line_starts_without_opentelemetry_and_without_mcp():
    script = (
        "import sys; from otel_mcp._cli import main\n"
        "try: main.main(['run', '--help'])\nexcept SystemExit: pass\n"
        "print([name for name in sys.modules if name.startswith(('opentelemetry', 'mcp', 'rich', 'duckdb'))])"
    )
    env = {**CLEAN, "PYTHONPATH": str(FOLDER)}
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, check=True).stdout
    assert out.splitlines()[-1] == "[]"
