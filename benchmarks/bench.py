"""What every benchmark is given, and how tables are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from environments import Environment, Environments
from turns import Command


@dataclass(frozen=True)
class Bench:
    """Where the subjects live, whether a look is enough (`quick`), and whether very many calls are wanted (`long`)."""

    environments: Environments
    quick: bool = False
    long: bool = False

    def choose(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    @property
    def sdk(self) -> str:
        """The SDK of benchmarks that need only one: the newest."""
        return self.environments.sdks[-1]

    def command(
        self, script: str, *arguments: object, sdk: str | None = None, peer: str | None = None, **variables: str
    ) -> Command:
        """A subject of ours, or a peer's.

        Raises:
            Unavailable: there is no such environment.
        """
        python = self.environments.python(Environment(sdk or self.sdk, peer))
        return Command(python, script, [str(argument) for argument in arguments], variables)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)
