"""Which suites run where: the one place to change it.

The suites that meet the MCP SDK run everywhere. The others cannot behave differently from one SDK to the next, so they
run at the two far ends only: newest Python with newest SDK, oldest Python with oldest SDK.
"""

from __future__ import annotations

from dataclasses import dataclass

OLDEST, NEWEST = (3, 10), (3, 13)
SDKS = ("1.26", "1.30", "2.3")

# Folders below tests/ that do not meet the SDK. A folder that is not named here runs everywhere.
INDEPENDENT_OF_THE_SDK = frozenset(
    {"calllog", "cli", "contract", "dashboards", "docs", "ground", "house", "packaging", "report", "start"}
)

# Folders that meet the SDK as any program does, by its public methods: both majors at the two far ends say what there
# is to say of them. The SDK's own code is met by `outcomes`, `scenarios` and `sdk`, and those run everywhere.
AT_THE_FAR_ENDS = frozenset({
    "demo", "doctor", "examples", "faults", "foreign", "hooks",
    "resilience", "security", "servers", "stress", "unchanged",
})  # fmt: skip

# Folders and files that do not depend on the Python version either: in the first environment only. Of the report,
# what a browser makes of its page, and what its method claims of months of calls.
ONCE = frozenset({
    "benchmarks", "contract", "dashboards", "docs", "house", "packaging",
    "report/test_report_page.py", "report/test_report_truth.py",
})  # fmt: skip

# Folders that need other packages and have environments of their own.
ELSEWHERE = ("hosts", "scenarios/hermes", "coexistence", "bounds")  # targets of make with environments of their own


@dataclass(frozen=True)
class Environment:
    """One Python with one SDK; ``whole``: the independent suites too."""

    python: tuple[int, int]
    sdk: str
    whole: bool = False

    @property
    def name(self) -> str:
        return f"py{self.python[0]}.{self.python[1]}-mcp{self.sdk}"


def quick(oldest: tuple[int, int], newest: tuple[int, int]) -> list[Environment]:
    """``make test``: three SDKs on the newest Python at hand, the outer two on the oldest."""
    return [
        Environment(newest, "2.3", whole=True),
        Environment(newest, "1.30"),
        Environment(newest, "1.26"),
        *([] if oldest == newest else [Environment(oldest, "2.3"), Environment(oldest, "1.26", whole=True)]),
    ]


def full(pythons: list[tuple[int, int]]) -> list[Environment]:
    """``make test-matrix``: every Python with every SDK, everything in each."""
    return [Environment(python, sdk, whole=True) for python in pythons for sdk in SDKS]
