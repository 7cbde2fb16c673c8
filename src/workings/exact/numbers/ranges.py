"""Which signs a formula in letters can have, whatever real numbers the letters are: w² + 1 is positive, w² is not negative.

By the range of each part, from the inside out: w² ∈ [0, ∞), so w² + 1 ∈ [1, ∞). Where ranges say nothing, because parts
depend on each other (w² − 2w + 2), by the real roots of a polynomial in one letter (Sturm 1829), or as a form of degree two
in several (the pivots of its symmetric matrix).
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any, NamedTuple

from flint import fmpq, fmpq_poly

from workings.exact.numbers.ball import enclosure
from workings.exact.numbers.digits import fraction
from workings.exact.numbers.rational_form import Bounds, NoForm, RationalForm
from workings.exact.numbers.value import Rational, Value, bottom_up

_ALL = frozenset((-1, 0, 1))
_LARGEST = 200
"""Formulas of up to this many nodes are looked at."""
_BOUNDS = Bounds(generators=8, terms=120, degree=20)
_End = Fraction | float


def possible_signs(v: Value) -> frozenset[int]:
    """The signs that v can have where it is defined; all three where nothing is known."""
    if v.size > _LARGEST:
        return _ALL
    found = _range_of(v).signs()
    return found if len(found) == 1 else found & _signs_of_polynomial(v)


class _Range(NamedTuple):
    """All numbers between two ends, with the ends where they are closed."""

    low: _End
    high: _End
    low_open: bool = False
    high_open: bool = False
    nonzero: bool = False

    def signs(self) -> frozenset[int]:
        negative = {-1} if self.low < 0 else set()
        positive = {1} if self.high > 0 else set()
        holds_zero = (self.low < 0 or (self.low == 0 and not self.low_open)) and (
            self.high > 0 or (self.high == 0 and not self.high_open)
        )
        return frozenset(negative | positive | ({0} if holds_zero and not self.nonzero else set()))


_REALS = _Range(-math.inf, math.inf, True, True)
_BETWEEN = _Range(Fraction(-1), Fraction(1))
_FUNCTIONS = {
    "exp": _Range(Fraction(0), math.inf, True, True),
    "cosh": _Range(Fraction(1), math.inf, False, True),
    "abs": _Range(Fraction(0), math.inf, False, True),
    "sin": _BETWEEN,
    "cos": _BETWEEN,
    "tanh": _Range(Fraction(-1), Fraction(1), True, True),
    "erf": _Range(Fraction(-1), Fraction(1), True, True),
    "erfc": _Range(Fraction(0), Fraction(2), True, True),
}
"""The range of a function of any real number."""
_RISING = {"exp": (0, 1), "log": (1, 0), **dict.fromkeys("sinh tanh asinh atan asin atanh erf".split(), (0, 0))}
"""Functions that rise, and a point of each: log(1) is 0, so log is positive right of 1."""


def _range_of(v: Value) -> _Range:
    done: dict[Value, _Range] = {}
    for x in bottom_up(v):
        done[x] = _range(x, done)
    return done[v]


def _range(x: Value, done: dict[Value, _Range]) -> _Range:
    if x.special:
        return _REALS
    if not x.free:
        return _of_number(x)
    if x.kind == "add":
        total = _Range(Fraction(0), Fraction(0))
        for c, t in x.args:
            total = _sum(total, _scaled(done[t], c))
        return total
    if x.kind == "mul":
        product = _Range(Fraction(1), Fraction(1))
        for base, r in x.args:
            product = _product(product, _power(done[base], r))
        return product
    if x.kind == "dot":
        total = _Range(Fraction(0), Fraction(0))
        for a, b in zip(*x.args, strict=True):
            total = _sum(total, _power(done[a], 2) if a is b else _product(done[a], done[b]))
        return total
    found = _FUNCTIONS.get(x.kind, _REALS)
    return _risen(found, done[x.args[0]], *_RISING[x.kind]) if x.kind in _RISING else found


def _risen(found: _Range, x: _Range, at: int, value: int) -> _Range:
    """The range of a function that rises through a point, for arguments on one side of it."""
    if x.low >= at:
        found = found._replace(low=Fraction(value), low_open=x.low > at or x.low_open)
    if x.high <= at:
        found = found._replace(high=Fraction(value), high_open=x.high < at or x.high_open)
    return found


def _of_number(x: Value) -> _Range:
    if x.kind == "q":
        return _Range(_fraction(x.args[0]), _fraction(x.args[0]))
    ball = enclosure(x)
    if not ball.is_finite():
        return _REALS
    low, high = (fraction(end) for end in (ball.lower(), ball.upper()))
    return _Range(low, high, nonzero=low > 0 or high < 0)


def _fraction(c: Rational) -> Fraction:
    return Fraction(c) if isinstance(c, int) else Fraction(int(c.p), int(c.q))


def _times(a: _End, b: _End) -> _End:
    return Fraction(0) if a == 0 or b == 0 else a * b


def _sign(a: _End) -> int:
    return (a > 0) - (a < 0)


def _scaled(a: _Range, c: Rational) -> _Range:
    ends = _times(a.low, _fraction(c)), _times(a.high, _fraction(c))
    if c > 0:
        return _Range(*ends, a.low_open, a.high_open, a.nonzero)
    return _Range(ends[1], ends[0], a.high_open, a.low_open, a.nonzero)


def _sum(a: _Range, b: _Range) -> _Range:
    low = a.low + b.low if isinstance(a.low, Fraction) and isinstance(b.low, Fraction) else -math.inf
    high = a.high + b.high if isinstance(a.high, Fraction) and isinstance(b.high, Fraction) else math.inf
    return _Range(low, high, a.low_open or b.low_open, a.high_open or b.high_open)


def _product(a: _Range, b: _Range) -> _Range:
    corners = [
        (_times(x, y), (x_open and y != 0) or (y_open and x != 0) or (x_open and y_open))
        for x, x_open in ((a.low, a.low_open), (a.high, a.high_open))
        for y, y_open in ((b.low, b.low_open), (b.high, b.high_open))
    ]
    low, high = min(end for end, _ in corners), max(end for end, _ in corners)
    low_open, high_open = (all(is_open for end, is_open in corners if end == limit) for limit in (low, high))
    nonzero = 0 not in a.signs() and 0 not in b.signs()
    return _Range(low, high, low_open or (nonzero and low == 0), high_open or (nonzero and high == 0), nonzero)


def _power(a: _Range, r: Rational) -> _Range:
    nonzero = r < 0 or 0 not in a.signs()
    if type(r) is not int and a.low < 0:  # a root, which is not defined everywhere
        return _REALS
    if type(r) is not int:
        return _Range(Fraction(0), math.inf, nonzero, True, nonzero)
    if r < 0:
        return _inverse(_power(a, -r))
    if r == 1:
        return a
    ends = [end**r if isinstance(end, Fraction) else math.inf * _sign(end) ** r for end in (a.low, a.high)]
    if r % 2:
        return _Range(ends[0], ends[1], a.low_open, a.high_open, nonzero)
    if a.low > 0 or a.high < 0:
        return _Range(min(ends), max(ends), True, True, True) if a.low_open or a.high_open else _Range(min(ends), max(ends))
    return _Range(Fraction(0), max(ends), nonzero, a.low_open and a.high_open, nonzero)


def _inverse(a: _Range) -> _Range:
    if a.low < 0 < a.high:
        return _REALS._replace(nonzero=True)
    low, high = (_reciprocal(end, side) for end, side in ((a.high, -1), (a.low, 1)))
    return _Range(low, high, True, True, True) if a.low_open or a.high_open or 0 in (a.low, a.high) else _Range(low, high)


def _reciprocal(end: _End, side: int) -> _End:
    return side * math.inf if end == 0 else 1 / end if isinstance(end, Fraction) else Fraction(0)


# ---- where parts depend on each other
def _signs_of_polynomial(v: Value) -> frozenset[int]:
    """The signs of a quotient of polynomials in letters."""
    try:
        form = RationalForm(v, _BOUNDS)
    except NoForm:
        return _ALL
    if any(kind != "root" or base.kind != "letter" or d != 1 for (kind, base), d in form.generators.items()):
        return _ALL
    top, bottom = _signs_of(form.top), _signs_of(form.bottom) - {0}
    return frozenset(s * t for s in top for t in bottom)


def _signs_of(p: Any) -> frozenset[int]:
    terms = dict(p.to_dict())
    variables = [i for i in range(len(next(iter(terms), ()))) if any(powers[i] for powers in terms)]
    if len(variables) <= 1:
        return _signs_in_one_letter(terms, variables)
    if max(sum(powers) for powers in terms) == 2:
        return _signs_of_degree_two(terms, variables)
    return _ALL


def _signs_in_one_letter(terms: dict[tuple[int, ...], fmpq], variables: list[int]) -> frozenset[int]:
    powers = {(key[variables[0]] if variables else 0): fmpq(c) for key, c in terms.items()}
    p = fmpq_poly([powers.get(k, fmpq(0)) for k in range(max(powers, default=0) + 1)])
    if p.degree() <= 0:
        return frozenset((_sign(_fraction(p[0])),))
    c, factors = p.factor()
    found = {_sign(_fraction(c))}
    for factor, n in factors:
        if _has_real_root(factor):
            if n % 2:
                return _ALL
            found.add(0)
        elif _sign(_fraction(factor[factor.degree()])) < 0 and n % 2:
            found = {-s for s in found}
    return frozenset(found)


def _has_real_root(p: fmpq_poly) -> bool:
    """By the changes of sign in Sturm's chain between −∞ and ∞."""
    chain = [p, p.derivative()]
    while chain[-1].degree() > 0:
        rest = -(chain[-2] % chain[-1])
        if rest.degree() < 0:
            break
        chain.append(rest)
    ends = [[_sign(_fraction(q[q.degree()])) * side ** q.degree() for q in chain] for side in (-1, 1)]
    changes = [sum(a != b for a, b in itertools.pairwise(signs)) for signs in ends]
    return changes[0] != changes[1]


def _signs_of_degree_two(terms: dict[tuple[int, ...], fmpq], variables: list[int]) -> frozenset[int]:
    """By the pivots of its symmetric matrix, the row of 1 first."""
    n = len(variables) + 1
    matrix = [[fmpq(0)] * n for _ in range(n)]
    for powers, c in terms.items():
        places = [k + 1 for k, i in enumerate(variables) for _ in range(powers[i])]
        i, j = ([0] * (2 - len(places)) + places)[:2]
        matrix[i][j] += fmpq(c) / 2
        matrix[j][i] += fmpq(c) / 2
    for s in (1, -1):
        pivots = _pivots([[s * x for x in row] for row in matrix[::-1]], n)
        if pivots is not None:
            return frozenset((s,)) if all(pivots) else frozenset((0, s))
    return _ALL


def _pivots(rows: list[list[fmpq]], n: int) -> list[fmpq] | None:
    """The pivots of elimination where none is negative; None for a matrix that is not positive semidefinite."""
    a = [row[::-1] for row in rows]
    found = []
    for k in range(n):
        if a[k][k] < 0 or (a[k][k] == 0 and any(a[k][j] for j in range(k, n))):
            return None
        found.append(a[k][k])
        for i in range(k + 1, n):
            if a[k][k]:
                factor = a[i][k] / a[k][k]
                a[i] = [x - factor * y for x, y in zip(a[i], a[k], strict=True)]
    return found
