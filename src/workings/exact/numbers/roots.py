"""Algebraic numbers: the real roots of polynomials with rational coefficients, and arithmetic in the field of one root.

A root is written in radicals up to degree two, otherwise as `root_of(k, c₀, c₁, …)`: the k-th real root, counted from 0
upwards, of the irreducible polynomial c₀ + c₁x + … with integer coefficients. Its enclosures are certified by FLINT.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import flint
from flint import arb, fmpq, fmpq_poly, fmpz_poly

from workings.errors import DomainError
from workings.exact.numbers import algebra
from workings.exact.numbers.ball import precision
from workings.exact.numbers.build import build
from workings.exact.numbers.functions import FUNCTIONS, Function
from workings.exact.numbers.sign import compare
from workings.exact.numbers.value import HALF, Value, rational


@dataclass(frozen=True)
class Root:
    """A real root, its minimal polynomial, and how often it occurs."""

    value: Value
    polynomial: fmpq_poly
    count: int


def real_roots(p: fmpq_poly) -> list[Root]:
    """The distinct real roots of p, ascending."""
    found: list[Root] = []
    for factor, count in p.numer().factor()[1]:
        found += [Root(v, fmpq_poly(factor), count) for v in _roots_of_irreducible(factor)]
    ascending = functools.cmp_to_key(compare)
    return sorted(found, key=lambda root: ascending(root.value))


def _roots_of_irreducible(f: fmpz_poly) -> list[Value]:
    c = [int(k) for k in f.coeffs()]
    if f.degree() == 1:
        return [rational(fmpq(-c[0], c[1]))]
    if f.degree() == 2:
        discriminant = c[1] ** 2 - 4 * c[0] * c[2]
        if discriminant < 0:
            return []
        middle, half_width = fmpq(-c[1], 2 * c[2]), algebra.power(rational(fmpq(discriminant, 4 * c[2] ** 2)), HALF)
        return [rational(middle) - half_width, rational(middle) + half_width]
    number = len(_real_root_balls(tuple(c), 64))
    return [build("root_of", rational(k), *[rational(i) for i in c]) for k in range(number)]


_MOST_DEGREES = 64


def root_of(k: Value, *coefficients: Value) -> Value:
    """The k-th real root of c₀ + c₁x + …, counted from 0 upwards, in the form `real_roots` writes it."""
    integers = [v.rational for v in (k, *coefficients) if type(v.rational) is int]
    if not 2 <= len(coefficients) <= _MOST_DEGREES + 1 or len(integers) <= len(coefficients) or not integers[-1]:
        raise DomainError(
            f"root_of takes the number of a root, then the 2 to {_MOST_DEGREES + 1} integer coefficients of a "
            "polynomial, the constant first and the last not 0."
        )
    found = [root.value for root in real_roots(fmpq_poly(integers[1:]))]
    if not 0 <= integers[0] < len(found):
        raise DomainError(f"This polynomial has {len(found)} real roots, numbered from 0: there is no root {integers[0]}.")
    return found[integers[0]]


@functools.lru_cache(maxsize=1000)
def _real_root_balls(coefficients: tuple[int, ...], bits: int) -> list[arb]:
    """Enclosures of the real roots, ascending. FLINT gives real roots as real balls."""
    with precision(bits):
        roots: list[Any] = fmpz_poly(list(coefficients)).complex_roots()  # each with its count
        real = [r if isinstance(r, arb) else r.real for r, _ in roots if isinstance(r, arb) or r.imag == 0]
    return sorted(real, key=lambda r: r.mid())


def _root_ball(k: arb, *coefficients: arb) -> arb:
    integers = tuple(_integer(c) for c in coefficients)
    return _real_root_balls(integers, flint.ctx.prec)[_integer(k)]


def _integer(x: arb) -> int:
    found = x.unique_fmpz()
    assert found is not None, "root_of takes integers, which balls hold exactly"
    return int(found)


FUNCTIONS["root_of"] = Function(_root_ball)


class Field:
    """ℚ(λ) for a root λ: polynomials in λ modulo its minimal polynomial, so that being zero is decided by algebra."""

    def __init__(self, root: Root) -> None:
        self.root = root
        self.modulus = root.polynomial

    def reduced(self, p: fmpq_poly) -> fmpq_poly:
        return p % self.modulus

    def inverse(self, p: fmpq_poly) -> fmpq_poly:
        return self.reduced(p.xgcd(self.modulus)[1])

    def value(self, p: fmpq_poly) -> Value:
        """p(λ), as a combination of powers of λ."""
        powers = ((k, c) for k, c in enumerate(p.coeffs()) if c)
        return algebra.add_all(algebra.scale(algebra.power(self.root.value, k), c) for k, c in powers)

    def kernel(self, rows: list[list[fmpq_poly]]) -> list[list[fmpq_poly]]:
        """A basis of the vectors x with M x = 0, by elimination in the field."""
        n = len(rows)
        pivots: list[int] = []
        for j in range(n):
            i = len(pivots)
            p = next((k for k in range(i, n) if rows[k][j]), None)
            if p is None:
                continue
            rows[i], rows[p] = rows[p], rows[i]
            scale = self.inverse(rows[i][j])
            rows[i] = [self.reduced(x * scale) for x in rows[i]]
            for k in range(n):
                if k != i and rows[k][j]:
                    factor = rows[k][j]
                    rows[k] = [self.reduced(x - factor * y) for x, y in zip(rows[k], rows[i], strict=True)]
            pivots.append(j)
        basis = []
        for j in (j for j in range(n) if j not in pivots):
            x = [fmpq_poly([int(k == j)]) for k in range(n)]
            for row, pivot in zip(rows, pivots, strict=False):
                x[pivot] = -row[j]
            basis.append(x)
        return basis

    def gram_schmidt(self, basis: list[list[fmpq_poly]]) -> list[list[fmpq_poly]]:
        """Gram–Schmidt in the field, without normalisation."""
        found: list[list[fmpq_poly]] = []
        for a in basis:
            u = a
            for w in found:
                c = self.reduced(self.inner(a, w) * self.inverse(self.inner(w, w)))
                u = [self.reduced(x - c * y) for x, y in zip(u, w, strict=True)]
            found.append(u)
        return found

    def inner(self, x: list[fmpq_poly], y: list[fmpq_poly]) -> fmpq_poly:
        return self.reduced(sum((a * b for a, b in zip(x, y, strict=True)), fmpq_poly()))
