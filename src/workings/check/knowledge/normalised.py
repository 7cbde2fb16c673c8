"""Normalised members of a family, with the statistics that the document gave: x̂ᵢ = (xᵢ − μ) / √(σ² + ε)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from flint import arb

from workings.check.argument.argument import Argument
from workings.check.argument.lines import Line
from workings.check.claims.finding_writer import entry_node
from workings.check.knowledge.families import furthest_off, printed_side, square
from workings.check.knowledge.nearby import agrees, definition_before, is_near, unit_at, value_at
from workings.check.latex.syntax import Node, Number, Script, Symbol
from workings.check.latex.weights import plain
from workings.check.value.rounding import one_shape
from workings.check.value.scope import Scope
from workings.check.value.value import Value, each, entries, entrywise

_MARKS = {"hat", "tilde", "bar", "widehat", "widetilde"}
_EPSILONS = ("0", "1e-8", "1e-5", "1e-3")
_NORMALISED = re.compile(r"normali[sz]|standardi[sz]", re.I)


def check_normalised(line: Line, argument: Argument, scope: Scope) -> None:
    """x̂₃ = (x₃ − μ)/σ with the values that the document gave."""
    match line.sides[0]:
        case Script(base=Symbol(name=name, style=style), below=below, above=above):
            pass
        case _:
            return
    if not _MARKS & set(style):
        return
    kept = tuple(mark for mark in style if mark not in _MARKS)
    member = definition_before(argument, scope, plain(Script(Symbol(name, kept), below, above)), line)
    index = printed_side(line) if member is not None else None
    if member is None or index is None or argument.is_doubtful(line) or not _NORMALISED.search(argument.window(line, 3000)):
        return
    mean, printed = _first_value(argument, scope, line, _MEANS), value_at(line, index)
    variance = _first_value(argument, scope, line, _VARIANCES) if mean is not None else None
    if mean is None or variance is None or printed is None or argument.has_finding(line, index):
        return
    rest = entrywise(lambda x, y: x - y, member.value, mean, "−")
    trues = []
    for epsilon in _EPSILONS:
        scale = each(lambda v, e=epsilon: (v + arb(e)).max(arb(0)).sqrt(), variance)  # type: ignore[misc]
        if any(x.contains(0) for x in entries(scale)):
            continue
        trues.append(one_shape(entrywise(lambda x, y: x / y, rest, scale, "/"), printed))
    shown = unit_at(line, index)
    pairs = [pair for pair in trues if pair is not None]
    if not pairs or any(agrees(*pair, shown) for pair in pairs):
        return
    flipped = all(abs(x + y) <= abs(x) / 100 + arb("1e-3") for x, y in zip(*map(entries, pairs[0]), strict=True))
    if is_near(*pairs[0]) or flipped:
        entry, true, place = furthest_off(pairs[0], shown)
        truth = f"{true} in {place}" if place else true
        why = f"(x − μ)/σ with the values given before is {truth}."
        argument.add(line, 0, index, "likely", "statistic", truth, why, at=entry_node(line.sides[index], entry))


_SUBSCRIPTS: tuple[Node | None, ...] = (None, Symbol("B"), Symbol("B", ("cal",)), Symbol("x"))
_MEANS = [(Symbol("mu") if b is None else Script(Symbol("mu"), b), False) for b in _SUBSCRIPTS]
_VARIANCES = [(Script(Symbol("sigma"), b, Number("2")), False) for b in _SUBSCRIPTS] + [
    (Symbol("sigma") if b is None else Script(Symbol("sigma"), b), True) for b in _SUBSCRIPTS
]


def _first_value(argument: Argument, scope: Scope, line: Line, names: Sequence[tuple[Node, bool]]) -> Value | None:
    """The value of the first of these names that has one, squared if it is a deviation."""
    for name, is_root in names:
        found = definition_before(argument, scope, name, line)
        if found is not None:
            return square(found.value) if is_root else found.value
        squared = isinstance(name, Script) and name.above is not None
        if squared and (value := _stated_square(argument, line, name)) is not None:
            return value
    return None


def _stated_square(argument: Argument, line: Line, name: Node) -> Value | None:
    """σ² = 5 gives no name a value; its line is looked up."""
    part, start = argument.part(line), line.start
    value: Value | None = None
    for other in argument.lines:
        if other.start >= start:
            break
        if argument.part(other) == part and len(other.sides) > 1 and plain(other.sides[0]) == name:
            closed = list(other.closed_sides())
            value = value_at(other, closed[-1]) if closed else value
    return value
