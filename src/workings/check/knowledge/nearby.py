"""What stands near a line: its words, its paragraph, the values that names were given before it in its part."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from flint import arb

from workings.check.claims.argument import Argument
from workings.check.claims.finding_writer import side_at
from workings.check.claims.lines import EQUAL, Line
from workings.check.document.finding import Finding
from workings.check.latex.syntax import Node
from workings.check.value.compare import value_of
from workings.check.value.names import is_closed
from workings.check.value.rounding import units
from workings.check.value.scope import Decimals, Definition, Scope
from workings.check.value.value import Value, entries

MOST_NAMES = 3000
"""In a document with more names than this (a table of data) no name is looked for by its kind."""


def start_of(line: Line) -> int:
    """Where a line begins in the document's text."""
    return line.formulas[0].position(line.sides[0].span[0])


def words(line: Line) -> str:
    """The prose before and after a line in its paragraph."""
    return f"{line.formulas[0].before} {line.formulas[-1].after}"


def window(argument: Argument, line: Line, before: int = 1500, after: int = 300) -> str:
    """The text around a line, formulas included."""
    start = start_of(line)
    return argument.document.text[max(0, start - before) : start + after]


def paragraph(argument: Argument, position: int) -> int:
    """The number of the paragraph that a position stands in."""
    return bisect_right(argument.document.prose, position, key=lambda prose: prose.start)


def in_doubt(argument: Argument, line: Line) -> bool:
    """Whether the words before a line make it an assumption, or say that it is wrong."""
    return argument.is_supposed(line) or argument.is_denied(line)


def closed_sides(line: Line) -> Iterator[int]:
    """The sides after the first that hold nothing but numbers, as far as equalities reach."""
    for index in range(1, len(line.sides)):
        if line.relations[index - 1] not in EQUAL:
            return
        if is_closed(line.sides[index]):
            yield index


def value_at(line: Line, index: int, decimals: Decimals = Decimals.PRINTED) -> Value | None:
    """The value of a closed side."""
    return value_of(side_at(line, index), Scope(), decimals)


def unit_at(line: Line, index: int) -> list[arb]:
    """The unit of the last place of each printed number of a side; nothing for a calculation."""
    return units(line.sides[index]) or []


def definition_before(argument: Argument, scope: Scope, name: Node, line: Line) -> Definition | None:
    """The last value that a name was given before a line, in the same part of the document."""
    start, part = start_of(line), argument.part(line)
    given = scope.definitions.get(scope.name(name), [])
    return last_before(given, start, part)


def last_before(given: list[Definition], start: int, part: int) -> Definition | None:
    """The last definition before a position; none if it stands in another part."""
    index = bisect_left(given, start, key=lambda definition: definition.start)
    return given[index - 1] if index and given[index - 1].part == part else None


def has_finding(argument: Argument, line: Line, index: int) -> bool:
    """Whether something sure was already found in a side."""
    formula, (first, last) = line.formulas[index], line.sides[index].span
    start, end = formula.position(first), formula.position(max(first, last - 1))
    return any(start <= f.start <= end and f.level in ("error", "likely") for f in argument.report.findings)


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


def add(argument: Argument, start: int, end: int, level: str, kind: str, truth: str, why: str, reading: str = "") -> None:
    """Report a place of the text that is no side of a line."""
    says = " ".join(argument.document.text[start:end].split())[:160]
    argument.report.findings.append(Finding(start, end, level, kind, says, truth, why, reading))
