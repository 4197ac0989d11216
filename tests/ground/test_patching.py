"""The table's two verbs, on modules made for it."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from otel_mcp._ground import patching
from otel_mcp._ground.patching import Patch, PatchSet


class Base:
    def speak(self) -> str:
        return "base"


class Child(Base):
    """Inherits what is patched on it."""


def make_helper() -> Callable[[], str]:
    def func() -> str:
        return "helper"

    return lambda: func()


@pytest.fixture
def module() -> Iterator[types.ModuleType]:
    made: Any = types.ModuleType("module_under_patch")
    made.Child, made.Base, made.helper = Child, Base, make_helper()
    made.value = "value"
    sys.modules[made.__name__] = made
    yield made
    del sys.modules[made.__name__]


def patch(path: str, word: str = "ours", **options: Any) -> Patch:
    def wrap(original: Any) -> Any:
        return lambda *args: f"{word}({original(*args)})"

    return Patch("test", "module_under_patch", path, wrap, **options)


def test_an_inherited_attribute_is_removed_again_not_copied(module: Any) -> None:
    patches = PatchSet()
    patches.install([patch("Child.speak")])
    assert (Child().speak(), Base().speak()) == ("ours(base)", "base")
    patches.uninstall()
    assert "speak" not in vars(Child)
    assert Child().speak() == "base"


def test_a_closure_cell_reaches_those_who_have_the_function_already(module: Any) -> None:
    mine = module.helper
    patches = PatchSet()
    patches.install([patch("helper", cell="func")])
    assert mine() == "ours(helper)"
    assert module.helper is mine
    patches.uninstall()
    assert mine() == "helper"


def test_what_somebody_else_put_on_top_stays(module: Any) -> None:
    patches = PatchSet()
    patches.install([patch("Base.speak")])
    ours = Base.speak
    Base.speak = lambda self: f"theirs({ours(self)})"  # type: ignore[method-assign]
    try:
        patches.uninstall()
        assert Base().speak() == "theirs(ours(base))"
        assert patches.switch.on is False
    finally:
        Base.speak = ours.__closure__[0].cell_contents  # type: ignore[method-assign, index, union-attr, attr-defined]


def test_points_that_are_not_there_are_missing_optional_ones_are_nothing_and_broken_ones_failed(
    module: Any, our_warnings: list[str]
) -> None:
    def broken(original: Any) -> Any:
        raise ZeroDivisionError

    patches = PatchSet()
    patches.install(
        [
            patch("Base.speak"),
            patch("Base.shout"),
            patch("Base.sing", optional=True),
            patch("helper", cell="nothing of that name"),
            Patch("test", "not_imported", "x", lambda original: original),
            Patch("test", "module_under_patch", "value", broken),
        ]
    )
    assert {status.point.split(":")[1]: status.state for status in patches.statuses.values()} == {
        "Base.speak": "active",
        "Base.shout": "missing",
        "helper": "missing",
        "x": "missing",
        "value": "failed",
    }
    assert our_warnings == ["otel_mcp: otel_mcp: hook module_under_patch:value failed: ZeroDivisionError: "]
    our_warnings.clear()
    patches.uninstall()
    assert patches.statuses == {}


def test_a_second_install_puts_in_only_what_could_not_be_put_in_before(module: Any) -> None:
    patches = PatchSet()
    rows = [patch("Base.speak"), patch("late")]
    patches.install(rows)
    module.late = lambda: "late"
    patches.install(rows)
    assert (Base().speak(), module.late()) == ("ours(base)", "ours(late)")
    patches.uninstall()
    assert (Base().speak(), module.late()) == ("base", "late")


def test_the_gauge_has_every_state_of_a_target_that_was_tried(module: Any) -> None:
    target = "a target of this test"
    patches = patching.patch_set(target)
    try:
        rows = [patch("Base.speak"), patch("Base.shout")]
        patches.install([Patch(target, row.module, row.path, row.wrap) for row in rows])
        counts = {state: count for (found, state), count in patching.counts().items() if found == target}
    finally:
        patches.uninstall()
        patching._sets.pop(target)
    assert counts == {"active": 1, "missing": 1, "failed": 0}
