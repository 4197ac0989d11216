"""The label budget."""

from __future__ import annotations

import sys
import threading

from hypothesis import given
from hypothesis import strategies as st

from otel_mcp._ground import labels as l
from otel_mcp._ground import text
from otel_mcp._ground.labels import Labels, Sets
from otel_mcp._ground.verdicts import FIXED_ERROR_TYPES
from otel_mcp._ledger.ledger import Ledger
from otel_mcp._ledger.model import Transport


def test_a_tool_gets_its_label_only_when_it_was_listed_or_answered() -> None:
    labels = Labels()
    assert labels.tool("odoo", "invented", proven=False) == "_other"
    assert labels.known_tool("odoo", "invented") is None
    assert labels.tool("odoo", "search", proven=True) == "search"
    assert labels.tool("odoo", "search", proven=False) == "search"
    assert labels.folded == {"gen_ai.tool.name": 1}


def test_ten_thousand_invented_names_are_one_other() -> None:
    labels = Labels()
    assert {labels.tool("odoo", f"tool {number}", proven=False) for number in range(10_000)} == {"_other"}
    assert labels.folded["gen_ai.tool.name"] == 10_000


def test_the_tool_budget_is_of_the_process_and_may_be_nothing() -> None:
    labels = Labels(tool_labels=3)
    given_ = [labels.tool(f"connector {number % 2}", str(number), proven=True) for number in range(5)]
    assert given_ == ["0", "1", "2", "_other", "_other"]
    assert Labels(tool_labels=0).tool("odoo", "search", proven=True) == "_other"


def test_methods_and_locks_have_a_budget_of_each_connector() -> None:
    labels = Labels()
    for connector in ("a", "b"):
        methods = [labels.method(connector, f"x/{number}") for number in range(l.MAX_METHODS + 2)]
        assert methods[-2:] == ["_other"] * 2
        assert "_other" not in methods[:-2]
        locks = [labels.lock(connector, f"lock {number}") for number in range(l.MAX_LOCKS + 1)]
        assert (locks[-1], "_other" in locks[:-1]) == ("_other", False)


def test_a_gauge_that_asks_at_each_scrape_counts_nothing_as_folded() -> None:
    labels = Labels()
    asked = [labels.method_asked("odoo", str(number)) for number in range(20) for _ in range(2)]
    assert (asked.count("_other"), labels.folded) == (24, {})
    assert labels.method("odoo", "19") == "_other"
    assert labels.folded == {"mcp.method.name": 1}


def test_error_types_of_the_contract_cost_nothing_of_the_budget() -> None:
    labels = Labels()
    free = [labels.error_type(str(-32000 - number)) for number in range(l.MAX_ERROR_TYPES)]
    assert "_OTHER" not in free
    assert labels.error_type("-1") == "_OTHER"
    assert {labels.error_type(name) for name in FIXED_ERROR_TYPES} == FIXED_ERROR_TYPES


def test_a_protocol_version_has_to_look_like_one() -> None:
    labels = Labels()
    assert labels.protocol("2025-11-25") == "2025-11-25"
    assert labels.protocol("made up by a server") == "_other"


def test_a_label_is_one_line_of_printable_characters() -> None:
    labels = Labels()
    given_ = [
        labels.tool("odoo", "two\nlines", proven=True),
        labels.method("odoo", "\u202edetrever"),
        labels.lock("odoo", "\x1b[31m"),
        labels.error_type("lone \udc80 surrogate"),
        labels.protocol("2025-11-25\n"),
    ]
    assert given_ == ["two\\u000alines", "\\u202edetrever", "\\u001b[31m", "lone \\udc80 surrogate", "_other"]


def test_a_name_of_a_megabyte_is_kept_nowhere() -> None:
    labels, ledger = Labels(), Ledger()
    assert labels.tool("odoo", "x" * 1_000_000, proven=True) == "_other"
    ledger.listed(ledger.connector("odoo"), ["x" * 1_000_000, "search"], [], first_page=True)
    assert ledger.connector("odoo").listed == {"search"}
    assert ledger.connector("odoo").tools == 2


def test_long_names_are_cut() -> None:
    assert text.short("x" * 200) == "x" * 200
    assert len(text.short("x" * 10_000)) == len(text.label("\n" * 10_000)) == 200
    assert len(text.short("\udc80" * 150)) == 200


def test_a_full_cache_of_sets_folds_what_comes_after_and_keeps_what_it_has() -> None:
    labels = Labels()
    sets: Sets[list[int]] = Sets(labels, most=2)
    first = sets.get(("a",), ("_other",), lambda key: [])
    sets.get(("b",), ("_other",), lambda key: [])
    folded = sets.get(("c",), ("_other",), lambda key: [])
    assert sets.get(("d",), ("_other",), lambda key: []) is folded
    assert sets.get(("a",), ("_other",), lambda key: []) is first
    assert list(sets.values) == [("a",), ("b",), ("_other",)]
    assert labels.folded == {"set": 2}


def test_a_connector_says_its_state_while_sessions_come_and_go_in_other_threads() -> None:
    connector = Ledger().open_session("odoo", Transport("stdio"), provisional=False, reason=None).connector
    (session,) = connector.sessions.values()
    connector.sessions = dict.fromkeys(range(300), session)
    done = threading.Event()

    def come_and_go() -> None:
        for number in range(300, 20_000):
            connector.sessions[number] = session
            connector.sessions.pop(number - 300, None)
        done.set()

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        coming = threading.Thread(target=come_and_go)
        coming.start()
        states = set()
        while not done.is_set():
            states.add(connector.state())
        coming.join()
    finally:
        sys.setswitchinterval(before)
    assert states == {"connecting"}


def test_threads_that_race_share_one_budget() -> None:
    labels = Labels(tool_labels=50)
    start = threading.Barrier(8)

    def ask(worker: int) -> None:
        start.wait()
        for number in range(100):
            labels.tool("odoo", f"{worker}-{number}", proven=True)

    threads = [threading.Thread(target=ask, args=(worker,)) for worker in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert labels.folded["gen_ai.tool.name"] == 8 * 100 - 50


@given(st.lists(st.tuples(st.text(max_size=3), st.text(), st.booleans())))
def test_no_more_labels_than_the_budget_ever_come_out(asked: list[tuple[str, str, bool]]) -> None:
    labels = Labels(tool_labels=4)
    given_ = {(connector, labels.tool(connector, tool, proven=proven)) for connector, tool, proven in asked}
    assert len({entry for entry in given_ if entry[1] != "_other"}) <= 4
