"""Sums and products of many values at once: in normal form, or as PyTorch's arithmetic where ∞ or NaN takes part."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce

from workings.exact.dispatch.scalar import scalar
from workings.exact.numbers import algebra
from workings.exact.numbers.value import INF, NAN, NEG_INF, ONE, ZERO, Value

Row = tuple[Value, ...]
_SPECIALS = frozenset((INF, NEG_INF, NAN))


def dot(row: Row, column: Row) -> Value:
    """Σ xᵢ yᵢ"""
    if _SPECIALS.isdisjoint(row) and _SPECIALS.isdisjoint(column):
        return algebra.dot(row, column)
    return sum_of([scalar("mul", x, y) for x, y in zip(row, column, strict=True)])


def sum_of(vs: Sequence[Value]) -> Value:
    """Σ v"""
    if _SPECIALS.isdisjoint(vs):
        return algebra.add_all(vs)
    return reduce(partial(scalar, "add"), vs, ZERO)


def product_of(vs: Sequence[Value]) -> Value:
    """Π v"""
    return reduce(partial(scalar, "mul"), vs, ONE)
