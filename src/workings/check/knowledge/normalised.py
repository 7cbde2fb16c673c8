"""Normalised members of a family, with the statistics that the document gave: x̂ᵢ = (xᵢ − μ) / √(σ² + ε)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from flint import arb

from workings.check.claims.argument import Argument
from workings.check.claims.finding_writer import entry_node
from workings.check.claims.lines import Line
from workings.check.claims.words import decimal, where
from workings.check.knowledge.families import printed_side, square
from workings.check.knowledge.nearby import (
    agrees,
    closed_sides,
    definition_before,
    has_finding,
    in_doubt,
    is_near,
    start_of,
    unit_at,
    value_at,
    window,
)
from workings.check.latex.syntax import Node, Number, Script, Symbol
from workings.check.latex.weights import plain
from workings.check.value.rounding import one_shape
from workings.check.value.scope import Scope
from workings.check.value.value import Value, each, entries, entrywise

MARKS = {"hat", "tilde", "bar", "widehat", "widetilde"}
EPSILONS = ("0", "1e-8", "1e-5", "1e-3")
NORMALISED = re.compile(r"normali[sz]|standardi[sz]", re.I)


def check_normalised(line: Line, argument: Argument, scope: Scope) -> None:
    """x̂₃ = (x₃ − μ)/σ with the values that the document gave."""
    match line.sides[0]:
        case Script(base=Symbol(name=name, style=style), below=below, above=above):
            pass
        case _:
            return
    if not MARKS & set(style):
        return
    kept = tuple(mark for mark in style if mark not in MARKS)
    member = definition_before(argument, scope, plain(Script(Symbol(name, kept), below, above)), line)
    index = printed_side(line) if member is not None else None
    if member is None or index is None or in_doubt(argument, line) or not NORMALISED.search(window(argument, line, 3000)):
        return
    mean, printed = first_value(argument, scope, line, MEANS), value_at(line, index)
    variance = first_value(argument, scope, line, VARIANCES) if mean is not None else None
    if mean is None or variance is None or printed is None or has_finding(argument, line, index):
        return
    rest = entrywise(lambda x, y: x - y, member.value, mean, "−")
    trues = []
    for epsilon in EPSILONS:
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
        gaps = [float(abs(x - y)) for x, y in zip(*map(entries, pairs[0]), strict=True)]
        entry = gaps.index(max(gaps))
        place = where(pairs[0][0], entry)
        true = decimal(entries(pairs[0][0])[entry], shown[entry] if entry < len(shown) else None)
        why = f"(x − μ)/σ with the values given before is {true}{' in ' + place if place else ''}."
        truth = true + (f" in {place}" if place else "")
        argument.add(line, 0, index, "likely", "statistic", truth, why, at=entry_node(line.sides[index], entry))


SUBSCRIPTS: tuple[Node | None, ...] = (None, Symbol("B"), Symbol("B", ("cal",)), Symbol("x"))
MEANS = [(Symbol("mu") if b is None else Script(Symbol("mu"), b), False) for b in SUBSCRIPTS]
VARIANCES = [(Script(Symbol("sigma"), b, Number("2")), False) for b in SUBSCRIPTS] + [
    (Symbol("sigma") if b is None else Script(Symbol("sigma"), b), True) for b in SUBSCRIPTS
]


def first_value(argument: Argument, scope: Scope, line: Line, names: Sequence[tuple[Node, bool]]) -> Value | None:
    """The value of the first of these names that has one, squared if it is a deviation."""
    for name, is_root in names:
        found = definition_before(argument, scope, name, line)
        if found is not None:
            return square(found.value) if is_root else found.value
        if (
            isinstance(name, Script)
            and name.above is not None
            and (value := stated_square(argument, line, name)) is not None
        ):
            return value
    return None


def stated_square(argument: Argument, line: Line, name: Script) -> Value | None:
    """σ² = 5 gives no name a value; its line is looked up."""
    part, start = argument.part(line), start_of(line)
    value: Value | None = None
    for other in argument.lines:
        if start_of(other) >= start:
            break
        if argument.part(other) == part and len(other.sides) > 1 and plain(other.sides[0]) == name:
            index = next((i for i in reversed(list(closed_sides(other)))), None)
            value = value_at(other, index) if index is not None else value
    return value
