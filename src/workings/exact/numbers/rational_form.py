"""A value as a quotient of two polynomials, worked by FLINT: how `simplest` cancels, expands and factors.

The variables are what a value is made of besides + − × ÷: letters, constants, roots and functions,

    b^(1/d)    for a base b that occurs with exponents of denominator d
    e^(ct)     for a term t that occurs in exponents of e with multiples of c

so that e^(w + 1/2) is the monomial e^w · e^(1/2), and e^(2w) the square of e^w. Every step is an identity;
a form that would grow beyond the bounds below, or whose denominator is 0, is given up (`NoForm`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from flint import Ordering, fmpq, fmpq_mpoly_ctx

from workings.exact.numbers import algebra
from workings.exact.numbers.value import ONE, ZERO, Rational, Value, bottom_up, rational, whole


class Bounds(NamedTuple):
    """What a polynomial on the way may come to; products and powers are estimated before they are worked out."""

    generators: int
    terms: int
    degree: int


_DISPLAY = Bounds(generators=8, terms=120, degree=40)
MOST_TO_FACTOR = 40
"""Terms of a polynomial that is worth factoring."""

Quotient = tuple[Any, Any]


class NoForm(Exception):
    """The polynomials outgrew their bounds, or a denominator is the polynomial 0."""


class RationalForm:
    """`v` as top/bottom, without a common factor."""

    def __init__(self, v: Value, bounds: Bounds = _DISPLAY) -> None:
        self.bounds = bounds
        self.generators: dict[tuple[str, Value], fmpq] = _generators(v)
        if not 0 < len(self.generators) <= bounds.generators:
            raise NoForm
        names = tuple(f"g{i}" for i in range(len(self.generators)))
        self.context = fmpq_mpoly_ctx.get(names, Ordering.deglex)
        self.variables = dict(zip(self.generators, self.context.gens(), strict=True))
        self.one = self.context.constant(1)
        self.done: dict[Value, Quotient] = {}
        for x in _arithmetic(v):
            self.done[x] = self._quotient(x)
        self.top, self.bottom = self.done[v]

    def _quotient(self, v: Value) -> Quotient:
        """The quotient of a node whose operands have theirs."""
        if v.kind == "q":
            return self.context.constant(fmpq(v.args[0])), self.one
        if v.kind == "add":
            return self._sum([(self.done[t][0] * fmpq(c), self.done[t][1]) for c, t in v.args])
        if v.kind == "dot":
            pairs = zip(*v.args, strict=True)
            return self._sum([self._product([self.done[x], self.done[y]]) for x, y in pairs])
        if v.kind == "mul":
            return self._product([self._power(base, r) for base, r in v.args])
        return self._power(v, 1)

    def _power(self, base: Value, r: Rational) -> Quotient:
        """base^r: a monomial in generators, or a whole power of a sum or product."""
        if base.kind != "exp" and ("root", base) not in self.generators:
            return self._power_of_quotient(*self.done[base], int(r))
        monomial = inverse = self.one
        for key, c in _monomial_parts(base, r):
            n = int((fmpq(c) / self.generators[key]).p)
            if n >= 0:
                monomial = monomial * self.variables[key] ** n
            else:
                inverse = inverse * self.variables[key] ** -n
        return self.bounded(monomial), self.bounded(inverse)

    def _power_of_quotient(self, top: Any, bottom: Any, n: int) -> Quotient:
        if n < 0:
            top, bottom, n = bottom, top, -n
        if bottom == 0:
            raise NoForm
        if max(math.comb(len(p) + n - 1, n) for p in (top, bottom)) > self.bounds.terms:
            raise NoForm
        return self.bounded(top**n), self.bounded(bottom**n)

    def _sum(self, parts: list[Quotient]) -> Quotient:
        top, bottom = self.context.constant(0), self.one
        for a, b in parts:
            if b == bottom:
                top = top + a
            else:
                common = b.gcd(bottom)
                left, right = b / common, bottom / common
                top, bottom = self.times(top, left) + self.times(a, right), self.times(bottom, left)
        return self.reduced(top, bottom)

    def _product(self, parts: list[Quotient]) -> Quotient:
        top, bottom = self.one, self.one
        for a, b in parts:
            top, bottom = self.reduced(self.times(top, a), self.times(bottom, b))
        return top, bottom

    def times(self, p: Any, q: Any) -> Any:
        """p·q, unless that would be long."""
        if len(p) * len(q) > 4 * self.bounds.terms:
            raise NoForm
        return self.bounded(p * q)

    def bounded(self, p: Any) -> Any:
        """`p`, unless it is long or of a high degree."""
        if len(p) > self.bounds.terms or (len(p) and p.total_degree() > self.bounds.degree):
            raise NoForm
        return p

    def reduced(self, top: Any, bottom: Any) -> Quotient:
        """top/bottom without their common factor, the leading coefficient of the bottom 1."""
        common = top.gcd(bottom)
        c = (bottom / common).leading_coefficient()
        return self.bounded(top / common / c), self.bounded(bottom / common / c)

    def expanded(self, p: Any) -> Value:
        """The value of a polynomial, as a sum of monomials."""
        return algebra.add_all(self._monomial(powers, c) for powers, c in p.to_dict().items())

    def factored(self, p: Any) -> Value:
        """The value of a polynomial, as a product of its factors."""
        content, factors = p.factor()
        return algebra.multiply_all(
            [rational(content), *(algebra.power(self.expanded(factor), int(n)) for factor, n in factors)]
        )

    def _monomial(self, powers: tuple[int, ...], c: fmpq) -> Value:
        out = rational(c)
        exponent = ZERO
        for ((kind, base), step), n in zip(self.generators.items(), powers, strict=True):
            r = whole(int(n) * step)
            if kind == "e":
                exponent = exponent + algebra.scale(base, r)
            else:
                out = out * algebra.power(base, r)
        return out * algebra.exp(exponent)


def _arithmetic(v: Value) -> Iterator[Value]:
    """The nodes of `v` above its generators, operands first: those that are added and multiplied."""
    inside = {v}
    order = bottom_up(v)
    for x in reversed(order):
        if x in inside:
            inside.update(_polynomial_operands(x))
    return (x for x in order if x in inside)


def _polynomial_operands(v: Value) -> list[Value]:
    """The operands of a sum or product that are part of its polynomial."""
    if v.kind == "add":
        return [t for _, t in v.args]
    if v.kind == "dot":
        return [*v.args[0], *v.args[1]]
    return [base for base, r in v.args if not _is_generator(base, r)] if v.kind == "mul" else []


def _is_generator(base: Value, r: Rational) -> bool:
    return type(r) is not int or base.kind not in ("q", "add", "mul", "dot")


def _monomial_parts(base: Value, r: Rational) -> list[tuple[tuple[str, Value], Rational]]:
    """base^r as generators and their exponents: one of each term t for e^(Σ c t)."""
    if base.kind != "exp":
        return [(("root", base), r)]
    x = base.args[0]
    terms = [(x.args[0], ONE)] if x.kind == "q" else x.args if x.kind == "add" else [(1, x)]
    return [(("e", t), c * r) for c, t in terms]


def _generators(v: Value) -> dict[tuple[str, Value], fmpq]:
    """The variables, each with the exponent that those it occurs with are multiples of."""
    found: dict[tuple[str, Value], fmpq] = {}
    for x in _arithmetic(v):
        powers = x.args if x.kind == "mul" else [] if x.kind in ("q", "add", "dot") else [(x, 1)]
        for base, r in powers:
            if not _is_generator(base, r):
                continue
            for key, c in _monomial_parts(base, r):
                at_most = fmpq(1 if key[0] == "root" else 0)  # w² stays the square of w, so that w² − 1 has factors
                found[key] = found.get(key, at_most).gcd(fmpq(c))
    return found
