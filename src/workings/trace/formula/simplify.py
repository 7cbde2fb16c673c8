"""Formulas put together in their simplest form: −(−a) is a, (aᵀ)ᵀ is a, 1·a is a, 2·(a/2) and 2·(0.5·a) are a.

Every constructor pulls the coefficient of its parts to the front, so that it meets the others and cancels:

    over(times(Number(2), x), Number(2))      →  x
    times(Number(2), times(Number(0.1), x))   →  0.2·x
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from workings.trace.formula.tree import Apply, Formula, Number

Term = tuple[Fraction, Formula | None]
ONE = Number(1)
ZERO = Number(0)


class _Decimal(Fraction):
    """A coefficient that was written with a point, and so is what is made of it. It meets other coefficients only, where
    Fraction's own signatures know of floats."""

    def __add__(self, other: Any) -> _Decimal:  # type: ignore[override]
        return _Decimal(Fraction.__add__(self, other))

    def __mul__(self, other: Any) -> _Decimal:  # type: ignore[override]
        return _Decimal(Fraction.__mul__(self, other))

    def __truediv__(self, other: Any) -> _Decimal:  # type: ignore[override]
        return _Decimal(Fraction.__truediv__(self, other))

    def __rtruediv__(self, other: Any) -> _Decimal:  # type: ignore[override]
        return _Decimal(Fraction.__rtruediv__(self, other))

    def __neg__(self) -> _Decimal:
        return _Decimal(Fraction.__neg__(self))

    __radd__, __rmul__ = __add__, __mul__  # type: ignore[assignment]


_MOST_DIGITS = 12
"""Digits of a decimal that is computed with; a longer one, such as √2 in floats, stays as it is."""


def _number(formula: Formula) -> Fraction | None:
    """The coefficient that a literal is: a whole number, or a short decimal."""
    match formula:
        case Number(value=bool()):
            return None
        case Number(value=int(value)):
            return Fraction(value)
        case Number(value=float(value)) if math.isfinite(value) and len(repr(value)) <= _MOST_DIGITS:
            return _Decimal(repr(value))
    return None


def split(formula: Formula) -> Term:
    """The rational coefficient and what it multiplies (None: nothing but the number)."""
    if (number := _number(formula)) is not None:
        return number, None
    match formula:
        case Apply(op="neg", args=(part,)):
            return _scaled(Fraction(-1), part)
        case Apply(op="mul", args=(a, part)) if (number := _number(a)) is not None:
            return _scaled(number, part)
        case Apply(op="mul", args=(part, b)) if (number := _number(b)) is not None:
            return _scaled(number, part)
        case Apply(op="div", args=(part, b)) if number := _number(b):
            return _scaled(1 / number, part)
    return Fraction(1), formula


def _scaled(factor: Fraction, part: Formula) -> Term:
    coefficient, core = split(part)
    return factor * coefficient, core


def join(coefficient: Fraction, core: Formula | None) -> Formula:
    """The coefficient times the core, as it is written: −a, 2a, a/3, 2a/3, 0.2a."""
    if coefficient < 0:
        positive = join(-coefficient, core)
        return Number(-positive.value) if isinstance(positive, Number) else Apply("neg", (positive,))
    top, bottom = coefficient.numerator, coefficient.denominator
    if isinstance(coefficient, _Decimal) and bottom != 1 and len(repr(float(coefficient))) <= _MOST_DIGITS:
        decimal = Number(float(coefficient))
        return decimal if core is None else Apply("mul", (decimal, core))
    if core is None or top == 0:
        numerator: Formula = Number(top)
    else:
        numerator = core if top == 1 else Apply("mul", (Number(top), core))
    return numerator if bottom == 1 else Apply("div", (numerator, Number(bottom)))


def linear(op: str, a: Formula, **options: Any) -> Formula:
    """An operation that lets a coefficient pass: op(2a) is 2 op(a). Options keep their order."""
    coefficient, core = split(a)
    return join(coefficient, Apply(op, (ONE if core is None else core,), tuple(options.items())))


def negate(a: Formula) -> Formula:
    coefficient, core = split(a)
    return join(-coefficient, core)


def times(a: Formula, b: Formula) -> Formula:
    (p, x), (q, y) = split(a), split(b)
    return join(p * q, y if x is None else x if y is None else Apply("mul", (x, y)))


def over(a: Formula, b: Formula) -> Formula:
    (p, x), (q, y) = split(a), split(b)
    if not q:
        return Apply("div", (a, b))
    if y is None:
        return join(p / q, x)
    c = p / q
    if x is None:
        return join(Fraction(1, c.denominator) * (1 if c > 0 else -1), Apply("div", (Number(abs(c.numerator)), y)))
    return join(c, ONE if x == y else Apply("div", (x, y)))


def plus(a: Formula, b: Formula) -> Formula:
    (p, x), (q, y) = split(a), split(b)
    if x is not None and x == y and p + q:  # of a − a only its shape is known
        return join(p + q, x)
    match a:
        case Apply(op="add", args=(first, last)) if y is not None and split(last)[1] == y and split(last)[0] + q:
            return plus(first, plus(last, b))
    if a == ZERO or b == ZERO:
        return b if a == ZERO else a
    if isinstance(b, Apply) and b.op == "neg":
        return minus(a, b.args[0])
    return Apply("add", (a, b))


def minus(a: Formula, b: Formula) -> Formula:
    if isinstance(b, Apply) and b.op == "neg":
        return plus(a, b.args[0])
    return Apply("sub", (a, b))


def product(a: Formula, b: Formula) -> Formula:
    """The matrix product."""
    (p, x), (q, y) = split(a), split(b)
    assert x is not None and y is not None, "a matrix is no number"
    return join(p * q, Apply("matmul", (x, y)))


def transposed(a: Formula) -> Formula:
    """aᵀ; the transpose of a product is the product of the transposes, the other way round."""
    match split(a):
        case coefficient, Apply(op="transpose", args=(part,)):
            return join(coefficient, part)
        case coefficient, Apply(op="matmul", args=(left, right)):
            return times(join(coefficient, None), product(transposed(right), transposed(left)))
        case coefficient, core:
            return join(coefficient, Apply("transpose", (core or ONE,)))
