"""Runs the unchanged program beside another instrumentor: alone, loaded before us, loaded after us.

A test file has a class that inherits from `CoExistence` and says which instrumentor it is about. What the tests see is
one row a load order of the table in docs/coexistence.md, and the row has to stand there.
"""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from harness.children import LONG_ENOUGH, events, read_jsonl
from harness.package import environment
from harness.servers import Fault, servers_in

ORDERS = ("alone", "before", "after")
PAGE = Path(__file__).parents[2] / "docs" / "coexistence.md"
MCP = importlib.metadata.version("mcp")
MAJOR = int(MCP.partition(".")[0])
OF_THE_SDK = "mcp-python-sdk"
TIME_TO_IMPORT = 240.0
"""Seconds; OpenLIT imports every library that it knows, three times at once here."""


@dataclass(frozen=True)
class Beside:
    code: int
    out: str
    err: str
    spans: list[dict[str, Any]]
    calls: list[dict[str, Any]]

    def ours(self) -> Counter[str]:
        """Our spans by method; those without one are connects."""
        return Counter(span["method"] for span in self.spans if span["scope"] == "otel_mcp" and span["method"])

    def theirs(self) -> int:
        return sum(span["scope"] not in ("otel_mcp", OF_THE_SDK) for span in self.spans)

    def of_the_sdk(self) -> int:
        """Spans that mcp 2.x makes itself."""
        return sum(span["scope"] == OF_THE_SDK for span in self.spans)

    def attempts(self) -> Counter[str]:
        """Attempts of calls, by method, as the call log has them."""
        return Counter(call["method"] for call in self.calls for _ in range(call["attempts"]))


class CoExistence:
    """The tests, the same for every instrumentor; a subclass fills in what is its own."""

    PEER: ClassVar[str]
    DISTRIBUTION: ClassVar[str]
    SPANS: ClassVar[frozenset[int]]
    """Majors of the SDK on which it makes spans of its own for the calls."""
    STARTS: ClassVar[frozenset[int]] = frozenset({1, 2})
    """Majors of the SDK on which a program with it starts at all."""
    MORE_AFTER_US: ClassVar[bool] = False
    """Whether it makes more spans of its own if it is loaded after us, on 1.x."""
    HARMS: ClassVar[frozenset[int]] = frozenset()
    """Majors of the SDK on which it harms the program, which doctor has to report."""

    @pytest.fixture(scope="class")
    @classmethod
    def beside(cls, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Beside]:
        return run_beside(cls.PEER, tmp_path_factory.mktemp(cls.PEER))

    @pytest.fixture(scope="class")
    @classmethod
    def doctor(cls) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-m", "otel_mcp", "doctor", "--json"],
            capture_output=True, text=True, env=environment(OTEL_EXPORTER_PROMETHEUS_PORT="0"),
        )  # fmt: skip
        told: dict[str, Any] = json.loads(done.stdout)
        return told

    @pytest.mark.parametrize("order", ["before", "after"])
    def test_the_program_runs_and_ends_as_it_did_without_us(self, beside: Mapping[str, Beside], order: str) -> None:
        alone, with_us = beside["alone"], beside[order]
        assert (with_us.code, with_us.out) == (alone.code, alone.out), with_us.err
        assert (alone.code == 0) is (MAJOR in self.STARTS)
        assert ("side by side" in alone.out) is (MAJOR in self.STARTS)

    @pytest.mark.parametrize("order", ["before", "after"])
    def test_every_attempt_has_one_span_of_ours_and_theirs_stay(self, beside: Mapping[str, Beside], order: str) -> None:
        if MAJOR not in self.STARTS:
            assert beside[order].spans == beside[order].calls == []
            return
        attempts, ours = beside[order].attempts(), beside[order].ours()
        assert attempts["tools/call"] > 20
        assert {method: ours[method] for method in attempts} == attempts
        assert beside[order].of_the_sdk() == 0
        theirs, alone = beside[order].theirs(), beside["alone"].theirs()
        assert (alone > 0) is (MAJOR in self.SPANS)
        assert theirs > alone if self.MORE_AFTER_US and MAJOR == 1 and order == "after" else theirs == alone

    def test_doctor_says_what_it_is_and_reports_it_where_it_does_harm(self, doctor: dict[str, Any]) -> None:
        assert self.DISTRIBUTION in doctor["other instrumentors"]
        assert bool(self._findings(doctor)) is (MAJOR in self.HARMS)

    @pytest.mark.parametrize("order", ["before", "after"])
    def test_the_row_stands_on_the_page(self, beside: Mapping[str, Beside], doctor: dict[str, Any], order: str) -> None:
        row = self._row(beside, doctor, order)
        print(row)
        assert row in PAGE.read_text(encoding="utf-8").splitlines()

    def _findings(self, doctor: dict[str, Any]) -> list[str]:
        return [each["sentence"] for each in doctor["findings"] if each["section"] == "other instrumentors"]

    def _row(self, beside: Mapping[str, Beside], doctor: dict[str, Any], order: str) -> str:
        alone, with_us = beside["alone"], beside[order]
        note = doctor["other instrumentors"][self.DISTRIBUTION].partition(": ")[2]
        says = "; ".join([note, *("finding" for _ in self._findings(doctor))])
        version = importlib.metadata.version(self.DISTRIBUTION)
        if MAJOR in self.STARTS:
            calls = sum(with_us.attempts().values())
            ours = sum(count for method, count in with_us.ours().items() if method in with_us.attempts())
            cells = [f"the same ({len(with_us.calls)} calls)", f"{ours} for {calls} attempts",
                     f"{with_us.theirs()} ({alone.theirs()})"]  # fmt: skip
        else:
            cells = ["the same: it does not start", "-", "-"]
        return f"| {self.PEER} {version} | {MCP} | {order} us | {' | '.join(cells)} | {says} |"


def run_beside(peer: str, folder: Path) -> Mapping[str, Beside]:
    """What the program printed and what was seen of it, for each order."""
    with servers_in(folder) as servers:
        stdio, good, bad = servers.stdio(), servers.http(), servers.http(Fault("status", 503, tool="progress"))
        config = folder / "config.json"
        target = stdio.target
        config.write_text(
            json.dumps({"command": target.command, "args": target.args, "env": target.env,
                        "url": good.target, "bad_url": bad.target})
        )  # fmt: skip
        program = [sys.executable, str(Path(__file__).with_name("beside.py")), str(config)]
        running = {}
        for order in ORDERS:
            variables = {"OTEL_MCP_CALL_LOG": str(folder / f"{order}.jsonl"), "OTEL_EXPORTER_PROMETHEUS_PORT": "0"}
            with (folder / f"{order}.out").open("w") as out, (folder / f"{order}.err").open("w") as err:
                running[order] = subprocess.Popen(
                    [*program, str(folder / f"{order}.json"), peer, order],
                    stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment(**variables),
                )  # fmt: skip
        try:
            codes = {order: process.wait(timeout=TIME_TO_IMPORT + LONG_ENOUGH) for order, process in running.items()}
        finally:
            for process in running.values():
                process.kill()
                process.wait()
    return {order: _seen(folder, order, code) for order, code in codes.items()}


def _seen(folder: Path, order: str, code: int) -> Beside:
    told = folder / f"{order}.json"
    return Beside(
        code,
        (folder / f"{order}.out").read_text(),
        (folder / f"{order}.err").read_text(),
        json.loads(told.read_text()) if told.exists() else [],
        events(read_jsonl(folder / f"{order}.jsonl"), "call"),
    )
