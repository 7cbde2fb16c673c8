"""A claim that one side of a line is equal to another, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb

from workings.check.argument.lines import Line
from workings.check.document.relation import Outcome
from workings.check.latex.syntax import Node
from workings.check.value.compare import Side, Verdict
from workings.check.value.names import is_closed
from workings.check.value.value import Value, entries


@dataclass(frozen=True)
class Known:
    """A side that has a value: closed, or by the values of the names in it."""

    index: int
    side: Side
    used: frozenset[Node] = frozenset()
    called: frozenset[Node] = frozenset()
    """The declared functions in it."""

    @property
    def is_closed(self) -> bool:
        """Whether numbers alone give it its value."""
        return not self.used and not self.called and is_closed(self.side.node)


@dataclass(frozen=True)
class Claim:
    """One side of a line is equal to a later one."""

    line: Line
    one: Known
    other: Known

    @property
    def used(self) -> frozenset[Node]:
        """The names whose values give the sides theirs."""
        return self.one.used | self.other.used

    @property
    def about(self) -> bool:
        """Whether it only says «about»."""
        return "≈" in self.line.relations[self.one.index : self.other.index]

    @property
    def is_closed(self) -> bool:
        """Whether numbers alone decide it."""
        return self.one.is_closed and self.other.is_closed


@dataclass(frozen=True)
class Decision:
    """What came of a claim; a verdict where the sides have values."""

    outcome: Outcome
    verdict: Verdict | None = None
    basis: str = "closed"
    reason: str = ""
    cause: int = -1
    values: str = ""


def side_at(line: Line, index: int) -> Side:
    """One side of a line with its source."""
    node = line.sides[index]
    return Side(node, line.formulas[index].text[node.span[0] : node.span[1]])


def is_same(one: Value, other: Value) -> bool:
    """Whether two values are one, up to a rounding in the third digit."""
    x, y = entries(one), entries(other)
    return len(x) == len(y) and all(abs(a - b) <= (abs(a) + abs(b)) / 100 + arb("1e-9") for a, b in zip(x, y, strict=True))
