"""Statistics of a listed family x₁ … xₙ: mean, variance, standard deviation.

    μ = Σ xᵢ / n,  σ² = Σ (xᵢ − μ)² / n  (or n − 1)

A family is x₁ … xₙ, each given a value of one shape, or the entries of one listed vector. Only near misses are reported: a
value that is quite another may be a statistic of something else.
"""

from __future__ import annotations

import contextlib
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter

from flint import arb

from workings.check.argument.argument import Argument
from workings.check.argument.lines import Line
from workings.check.argument.words import decimal, where
from workings.check.claims.finding_writer import entry_node
from workings.check.knowledge.nearby import agrees, is_near, unit_at, value_at
from workings.check.latex.syntax import Big, Function, Group, Node, Number, Script, Symbol
from workings.check.value.rounding import one_shape, units
from workings.check.value.scope import Scope
from workings.check.value.value import Mismatch, Table, Undecided, Value, each, entries, entrywise

_MEAN = re.compile(r"\b(?:means?|averages?)\b", re.I)
_VARIANCE = re.compile(r"\bvariances?\b", re.I)
_DEVIATION = re.compile(r"\b(?:standard deviations?|std)\b", re.I)
_OTHER = re.compile(
    r"\b(?:weighted|moving|running|exponential|median|prior|gaussian|posterior|kernel|learn\w*|cluster\w*"
    r"|class\w*|components?|population|true|initial\w*|first|trimmed|harmonic|geometric|target|desired|expect\w*)\b",
    re.I,
)
_WORDS = {"mean": _MEAN, "variance": _VARIANCE, "deviation": _DEVIATION}
_NAMES = {"mean": "mean", "variance": "variance", "deviation": "standard deviation"}
_RECENT = 200
"""So many values before a line are looked at."""
_MOST_MEMBERS = 100
"""Nobody lists more members than this to average them."""


@dataclass(frozen=True)
class _Family:
    """The members of a family, in order, and its letter."""

    name: Node
    members: list[Value]
    start: int
    """Where its last member was given."""


_Given = dict[int, list[tuple[int, Node, Value]]]
"""For each part of a document what its names were given, in the order of the text."""


def check_families(argument: Argument, scope: Scope) -> None:
    """Every printed statistic."""
    given: _Given = {}
    for name, definitions in scope.definitions.items():
        for definition in definitions:
            given.setdefault(definition.part, []).append((definition.start, name, definition.value))
    for part in given.values():
        part.sort(key=itemgetter(0))
    for line in argument.lines if given else []:
        if len(line.sides) > 1:
            with contextlib.suppress(Mismatch, Undecided, ArithmeticError, RecursionError, ValueError):
                _check_statistic(line, argument, given)


def _check_statistic(line: Line, argument: Argument, given: _Given) -> None:
    """A printed statistic of a family that was listed before it in the same part."""
    kind = _statistic(line)
    if kind is None or argument.is_doubtful(line) or _OTHER.search(line.words):
        return
    index = printed_side(line)
    if index is None or argument.has_finding(line, index):
        return
    printed = value_at(line, index)
    if printed is None:
        return
    found = list(_families(argument, given, line, kind))
    shown = unit_at(line, index)
    pairs = [(family, true, way) for family in found for true, way in _true_values(kind, family)]
    if any((pair := one_shape(true, printed)) and agrees(*pair, shown) for _, true, _ in pairs):
        return
    for family, true, way in pairs:
        pair = one_shape(true, printed)
        if pair is not None and is_near(*pair):
            level = "likely" if isinstance(printed, Table) or _is_named(line, kind) else "possible"
            entry, truth, place = furthest_off(pair, shown)
            wrote = f"In {place}: you wrote" if place else "You wrote"
            listed = f"the {len(family.members)} values (line {argument.document.place(family.start).line})"
            why = f"{wrote} {decimal(entries(pair[1])[entry])}; the {_NAMES[kind]} of {listed} is {truth}."
            truth = f"{truth} in {place}" if place else truth
            argument.add(line, 0, index, level, "statistic", truth, why, way, entry_node(line.sides[index], entry))
            return


def _is_named(line: Line, kind: str) -> bool:
    """Whether words or a formula say that it is a statistic: a lone μ may be anything."""
    said = line.formulas[0].before[-200:]
    spread = kind != "mean" and (_VARIANCE.search(said) or _DEVIATION.search(said))
    in_letters = any(isinstance(part, Big) for side in line.sides for part in side.walk())
    return bool(_WORDS[kind].search(said) or spread or in_letters or isinstance(line.sides[0], Function))


def _statistic(line: Line) -> str | None:
    """Which statistic the left side names, by its letter or by the words before it."""
    left = line.sides[0]
    power = False
    if isinstance(left, Script) and left.above == Number("2"):
        left, power = (left.base if left.below is None else Script(left.base, left.below)), True
    base = left.base if isinstance(left, Script) else left
    if isinstance(left, Script) and (left.above is not None or isinstance(left.below, Number)):
        return None  # μ₁: of which of several families?
    before = line.formulas[0].before[-70:]
    match base:
        case Function(name="mean" | "avg" | "var" | "std" as name, arguments=()):
            return {"mean": "mean", "avg": "mean", "var": "variance", "std": "deviation"}[name]
        case Symbol(name=name, style=style):
            if name.lower() in ("mean", "var", "std", "variance"):
                return {"mean": "mean", "std": "deviation"}.get(name.lower(), "variance")
            if (name == "mu" and not power) or (any(mark in style for mark in ("bar", "overline")) and not power):
                return "mean"
            if name == "sigma" or (name == "s" and (_VARIANCE.search(before) or _DEVIATION.search(before))):
                return "variance" if power else "deviation"
            if name == "m" and not power and _MEAN.search(before):
                return "mean"
    return None


def printed_side(line: Line) -> int | None:
    """The side with the printed value, if no calculation in numbers says where it comes from."""
    found = list(line.closed_sides())
    return found[0] if len(found) == 1 and units(line.sides[found[0]]) is not None else None


def _families(argument: Argument, given: _Given, line: Line, kind: str) -> Iterator[_Family]:
    """The families that are listed before a line in its part: those with an index, then single vectors."""
    known = given.get(argument.part(line), [])
    last = bisect_left(known, line.start, key=itemgetter(0))
    groups: dict[Node, dict[int, tuple[Value, int]]] = {}
    vectors: list[_Family] = []
    said = _WORDS[kind].search(line.formulas[0].before[-120:])
    for name, (start, value) in {name: (start, v) for start, name, v in known[max(0, last - _RECENT) : last]}.items():
        member = _member_of(name)
        if member is not None:
            groups.setdefault(member[0], {})[member[1]] = value, start
        elif isinstance(name, Symbol) and isinstance(value, Table) and said:
            vectors += _listed(name, value, start)
    for name, members in sorted(groups.items(), key=lambda item: -max(m[1] for m in item[1].values())):
        numbers = sorted(members)
        shapes = {v.shape if isinstance(v, Table) else () for v, _ in members.values()}
        if (
            3 <= len(numbers) <= _MOST_MEMBERS
            and numbers[0] <= 1
            and len(shapes) == 1
            and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        ):
            yield _Family(name, [members[i][0] for i in numbers], max(members[i][1] for i in numbers))
    yield from sorted((v for v in vectors if 3 <= len(v.members) <= _MOST_MEMBERS), key=lambda family: -family.start)[:4]


def _listed(name: Node, table: Table, start: int) -> list[_Family]:
    """The entries of a vector; the rows of a matrix (one for each member), or its columns."""
    if table.is_vector:
        return [_Family(name, list(table.entries), start)]
    return [_Family(name, [Table((row,), free=True) for row in rows], start) for rows in (table.rows, table.T.rows)]


def _member_of(name: Node) -> tuple[Node, int] | None:
    """x₃, x^{(3)}: the letter and the number."""
    match name:
        case Script(base=Symbol(style=style) as base, below=Number(text=text), above=None):
            pass
        case Script(base=Symbol(style=style) as base, below=None, above=Group(items=(Number(text=text),))):
            pass
        case _:
            return None
    if (
        not text.isdigit()
        or len(text) > 4
        or base.name in ("mu", "sigma")
        or {"hat", "tilde", "bar", "widehat"} & set(style)
    ):
        return None
    return base, int(text)


def _true_values(kind: str, family: _Family) -> Iterator[tuple[Value, str]]:
    """The statistic, each with the divisor that it uses: entry by entry, and for deviations both σ and σ²."""
    n = len(family.members)
    mean = _average(family.members, n)
    if kind == "mean":
        yield mean, ""
        return
    squares = [square(entrywise(lambda x, y: x - y, member, mean, "−")) for member in family.members]
    ways = ((n, "a variance divides by n"), (n - 1, "a variance divides by n − 1"))
    spreads = [(_average(squares, divisor), way) for divisor, way in ways]
    roots = [(each(lambda x: x.max(arb(0)).sqrt(), value), way) for value, way in spreads]
    yield from (spreads if kind == "variance" else roots)
    if kind == "deviation":
        yield from spreads  # σ written for σ²


def _average(values: list[Value], n: int) -> Value:
    """Σ xᵢ / n."""
    total = values[0]
    for value in values[1:]:
        total = entrywise(lambda x, y: x + y, total, value, "+")
    return each(lambda x: x / n, total)


def square(value: Value) -> Value:
    """x², entry by entry."""
    return each(lambda x: x * x, value)


def furthest_off(pair: tuple[Value, Value], shown: list[arb]) -> tuple[int, str, str]:
    """The entry that is furthest off, its true value with the digits shown, and its place in words."""
    gaps = [float(abs(x - y)) for x, y in zip(*map(entries, pair), strict=True)]
    entry = gaps.index(max(gaps))
    true = decimal(entries(pair[0])[entry], shown[entry] if entry < len(shown) else None)
    return entry, true, where(pair[0], entry)
