"""Sums written out, Σ and Π over whole numbers, limits and derivatives."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from flint import arb, fmpq

from workings.check.latex.latex import latex
from workings.check.latex.syntax import Axes, Big, Chain, Derivative, Node, Number, Product, Script, Sum, Symbol, Words
from workings.check.value.axes import reduced
from workings.check.value.evaluation.context import EvaluationContext, rule, value
from workings.check.value.functions import ZERO
from workings.check.value.names import variable
from workings.check.value.reading import is_percent
from workings.check.value.scope import Decimals
from workings.check.value.value import (
    Reason,
    Table,
    Undecided,
    Value,
    ball_precision,
    each,
    entries,
    entrywise,
    plus,
    product,
    scalar,
)

_MOST_TERMS = 20_000
"""A sum with more terms than this is left undecided."""
_NEAR = arb(2) ** -60
"""How close to its place a limit is looked at."""
_STEP = arb(2) ** -40
"""How far to either side a derivative looks."""


@rule(Sum)
def terms_together(node: Sum, context: EvaluationContext) -> Value:
    """a + b − c, from left to right."""
    total: Value | None = None
    for sign, term in node.terms:
        if sign not in "+-":
            raise Undecided(f"{sign} stands for two values")
        x = value(term, context)
        if context.reading.relative and total is not None and is_percent(term):
            x = product(total, x, "")
        if sign == "-":
            x = each(lambda entry: -entry, x)
        total = x if total is None else plus(total, x, context.reading.lists == "arrays")
    if total is None:
        raise Undecided("an empty sum")
    return total


@rule(Big)
def big(node: Big, context: EvaluationContext) -> Value:
    """Σ and Π over whole numbers, and limits."""
    if node.operator == "lim":
        return _limit(node, context)
    if node.operator == "∫":
        return _integral(node, context)
    if node.operator not in ("∑", "∏"):
        raise Undecided(f"{node.operator} is not computed")
    if node.operator == "∑" and node.above is None and (node.below is None or isinstance(node.below, Axes)):
        along = None if node.below is None else node.below.numbers
        return reduced(lambda numbers: sum(numbers, ZERO), value(node.body, context), along)
    letter, numbers = _bounds(node, context)
    total: Value | None = None
    for i in numbers:
        term = value(node.body, context.bound({letter: arb(i)}))
        if total is None:
            total = term
        else:
            total = plus(total, term) if node.operator == "∑" else product(total, term, "")
    if total is None:
        return ZERO if node.operator == "∑" else arb(1)
    return total


_POINTS = 20
"""The points of the rule of Gauss in each panel of an integral."""
_PANELS = (4, 8, 64, 128)
_HOPELESS = arb("1e-6")
"""A change that more panels do not cure: what is integrated has an edge or a pole."""


@cache
def _gauss() -> list[tuple[arb, arb]]:
    """The places and weights of the rule of Gauss on [−1, 1]."""
    with ball_precision():
        return [arb.legendre_p_root(_POINTS, k, weight=True) for k in range(_POINTS)]


def _integral(node: Big, context: EvaluationContext) -> Value:
    """∫ f(x) dx between numbers: more and more panels, until the value no longer changes."""
    letter = variable(node)
    if letter is None or node.below is None or node.above is None or context.decimals is Decimals.ROUNDED:
        raise Undecided("an integral that is not computed")
    a, b = value(node.below, context), value(node.above, context)
    if isinstance(a, Table) or isinstance(b, Table):
        raise Undecided("an integral along a path")
    if not a.is_finite() or not b.is_finite() or not isinstance(node.body, Product):
        raise Undecided("an integral without an end")
    factors = node.body.factors[:-2]
    body: Node = Product(factors) if factors else Number("1")
    before: arb | None = None
    for panels in _PANELS:
        width = (b - a) / panels
        total = ZERO
        for i in range(panels):
            middle = a + (2 * i + 1) * width / 2
            for place, weight in _gauss():
                total += weight * scalar(value(body, context.bound({letter: (middle + width / 2 * place).mid()})))
        total *= width / 2
        if before is not None and abs(total - before) < (abs(total) + 1) * arb("1e-15"):
            return _snapped(total.mid())
        if before is not None and not abs(total - before) < (abs(total) + 1) * _HOPELESS:
            break
        before = total
    raise Undecided("an integral that does not settle")


def _bounds(node: Big, context: EvaluationContext) -> tuple[Node, range]:
    """The letter that a sum counts with, and the whole numbers that it takes."""
    match node.below:
        case Chain(items=(Symbol() as letter, start), relations=("=",)) if node.above is not None:
            first, last = scalar(value(start, context)), scalar(value(node.above, context))
        case Symbol() as letter if node.above is None:
            first, last = arb(1), arb(_terms(letter, node.body, context))
        case _:
            raise Undecided("a sum without bounds", Reason.SIZE)
    if not first.is_integer() or not last.is_integer() or not float(last) - float(first) < _MOST_TERMS:
        raise Undecided("a sum whose bounds are not moderate whole numbers", Reason.LARGE)
    return letter, range(int(float(first)), int(float(last)) + 1)


def _terms(letter: Node, body: Node, context: EvaluationContext) -> int:
    """How many terms Σ_i has: as many as the vectors with the index i have entries."""
    lengths = set()
    for part in body.walk():
        if isinstance(part, Script) and part.below == letter:
            vector = context.known(part.base)
            if isinstance(vector, Table) and vector.is_vector:
                lengths.add(len(vector.entries))
    if len(lengths) != 1:
        raise Undecided("a sum without bounds", Reason.SIZE)
    return lengths.pop()


def _limit(node: Big, context: EvaluationContext) -> Value:
    """lim: the value close to the place, if it no longer changes there."""
    match node.below:
        case Chain(items=(Symbol() as letter, place), relations=("→",)):
            far, near = (value(node.body, context.bound({letter: point})) for point in _points_near(place, context))
        case _:
            raise Undecided("a limit without its place")
    change = entrywise(lambda a, b: abs(a - b), far, near, "−")
    if any(not x < arb("1e-12") for x in entries(change)):
        raise Undecided("a limit that does not settle")
    return each(lambda x: _snapped(x.mid()), near)


def _points_near(place: Node, context: EvaluationContext) -> list[arb]:
    """Two points ever closer to x, x⁺ or x⁻; far out if it is ±∞."""
    side = 1
    if isinstance(place, Script) and place.below is None and isinstance(place.above, Symbol | Sum | Words):
        side = -1 if "-" in latex(place.above) else 1
        place = place.base
    if context.decimals is Decimals.ROUNDED:
        raise Undecided("a limit of rounded numbers")
    target = scalar(value(place, context))
    steps = [_NEAR, _NEAR / 16]
    if target.is_finite():
        return [target + side * step for step in steps]
    return [(-1 if target < 0 else 1) / step for step in steps]


def _snapped(x: arb) -> arb:
    """The short number that a limit is close to, if there is one."""
    if abs(x) > 1e15:
        return x
    ratio = Fraction(float(x)).limit_denominator(1000)
    short = arb(fmpq(ratio.numerator, ratio.denominator))
    return short if abs(short - x) < arb("1e-12") else x


@rule(Derivative)
def derivative(node: Derivative, context: EvaluationContext) -> Value:
    """∂f/∂x at the known value of x, by a central difference whose error is far below any printed digit."""
    if node.body is None or len(node.by) != 1 or context.decimals is Decimals.ROUNDED:
        raise Undecided("a derivative that is not computed")
    letter = node.by[0]
    here = context.known(letter)
    if here is None or isinstance(here, Table):
        raise Undecided("a derivative at an unknown place", Reason.LETTERS)
    ahead, behind = (value(node.body, context.bound({letter: here + side * _STEP})) for side in (1, -1))
    return each(lambda x: x.mid(), entrywise(lambda a, b: (a - b) / (2 * _STEP), ahead, behind, "−"))
