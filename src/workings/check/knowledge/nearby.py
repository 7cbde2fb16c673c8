"""Values near a line: the printed ones of its sides, those that names were given before it, and whether two agree."""

from __future__ import annotations

from bisect import bisect_left

from flint import arb

from workings.check.argument.argument import Argument
from workings.check.argument.lines import Line
from workings.check.claims.claim import side_at
from workings.check.latex.syntax import Node
from workings.check.value.compare import value_of
from workings.check.value.rounding import units
from workings.check.value.scope import Decimals, Definition, Scope
from workings.check.value.value import Value, entries

MOST_NAMES = 3000
"""In a document with more names than this (a table of data) no name is looked for by its kind."""


def value_at(line: Line, index: int, decimals: Decimals = Decimals.PRINTED) -> Value | None:
    """The value of a closed side."""
    return value_of(side_at(line, index), Scope(), decimals)


def unit_at(line: Line, index: int) -> list[arb]:
    """The unit of the last place of each printed number of a side; nothing for a calculation."""
    return units(line.sides[index]) or []


def definition_before(argument: Argument, scope: Scope, name: Node, line: Line) -> Definition | None:
    """The last value that a name was given before a line, in the same part of the document."""
    return last_before(scope.definitions.get(scope.name(name), []), line.start, argument.part(line))


def last_before(given: list[Definition], start: int, part: int) -> Definition | None:
    """The last definition before a position; none if it stands in another part."""
    index = bisect_left(given, start, key=lambda definition: definition.start)
    return given[index - 1] if index and given[index - 1].part == part else None


def is_near(one: Value, other: Value) -> bool:
    """A near miss: three entries of five agree, or a number is within a fifth."""
    pairs = list(zip(entries(one), entries(other), strict=False))
    if len(pairs) == 1:
        return bool(abs(pairs[0][0] - pairs[0][1]) <= abs(pairs[0][0]) / 5)
    agree = sum(bool(abs(x - y) <= abs(x) / 50 + arb("1e-3")) for x, y in pairs)
    return len(pairs) == len(entries(one)) == len(entries(other)) and agree >= 0.6 * len(pairs)


def agrees(true: Value, printed: Value, shown: list[arb]) -> bool:
    """Whether a printed value is the true one, up to less than a unit of each last place and a two-hundredth."""
    x, y = entries(true), entries(printed)
    if len(x) != len(y):
        return False
    shown = shown if len(shown) == len(y) else [arb(0)] * len(y)
    return all(
        abs(a - b).abs_lower() <= u * arb("0.99") + abs(a.mid()) / 200 + arb("1e-9")
        for a, b, u in zip(x, y, shown, strict=True)
    )
