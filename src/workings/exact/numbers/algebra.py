"""Sums, products and powers in normal form.

A value is a linear combination of power products, Σ cᵢ Π bⱼ^rⱼ: terms that are the same formula are collected, factors of
the same base merge their exponents, e^a e^b is e^{a+b}, and rational powers of rationals are products of primes. Products of
sums are not multiplied out. Formulas beyond `LARGE` nodes are taken as they are: exact, shared, not rearranged.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from flint import fmpq, fmpz

from workings.errors import DomainError
from workings.exact.numbers.ball import enclosure
from workings.exact.numbers.value import (
    BITS_PER_NODE,
    HALF,
    LARGE,
    ONE,
    ZERO,
    Rational,
    Value,
    height,
    key_of,
    node,
    rational,
    whole,
)

_Terms = dict[Value, Any]


def _total(terms: _Terms) -> Value:
    """Σ c·t of terms that are already collected: sums, products and the constant under `ONE`."""
    items = [(t, c) for t, c in terms.items() if c]
    if not items:
        return ZERO
    if len(items) == 1:
        t, c = items[0]
        if t is ONE:
            return rational(c)
        if c == 1:
            return t
    if len(items) > 1:
        items.sort(key=lambda item: item[0].serial)
    args = tuple([(whole(c), t) for t, c in items])
    key = ("add", *[(t.serial, key_of(c)) for c, t in args])
    return node(key, "add", args, [t for _, t in args], sum([height(c) for c, _ in args]))


def _collect(into: _Terms, v: Value, c: Rational) -> None:
    """Add c·v to the terms, opened up where `v` is itself a small sum."""
    if v.kind == "q" and v.size <= LARGE:
        into[ONE] = into.get(ONE, 0) + v.args[0] * c
    elif v.kind == "add" and (v.size <= LARGE or _one_term(v)):
        for k, t in v.args:
            into[t] = into.get(t, 0) + k * c
    else:
        into[v] = into.get(v, 0) + c


def _one_term(v: Value) -> bool:
    """Whether v = c·t with a coefficient of ordinary length."""
    return len(v.args) == 1 and v.size - v.args[0][1].size <= LARGE


def add(a: Value, b: Value) -> Value:
    """a + b"""
    if a is ZERO:
        return b
    if b is ZERO:
        return a
    if a.kind == "q" and b.kind == "q" and a.size + b.size <= LARGE:
        return rational(a.args[0] + b.args[0])
    terms: _Terms = {}
    _collect(terms, a, 1)
    _collect(terms, b, 1)
    return _total(terms)


def subtract(a: Value, b: Value) -> Value:
    """a − b"""
    if a is b:
        return ZERO
    if a.kind == "q" and b.kind == "q" and a.size + b.size <= LARGE:
        return rational(a.args[0] - b.args[0])
    terms: _Terms = {}
    _collect(terms, a, 1)
    _collect(terms, b, -1)
    return _total(terms)


def add_all(vs: Iterable[Value]) -> Value:
    """The sum of many values at once."""
    terms: _Terms = {}
    for v in vs:
        _collect(terms, v, 1)
    return _total(terms)


def multiply_all(vs: Iterable[Value]) -> Value:
    """The product of many values, from the left."""
    return functools.reduce(multiply, vs, ONE)


def scale(v: Value, c: Rational) -> Value:
    """c·v for a rational c."""
    if not c:
        return ZERO
    if c == 1:
        return v
    if v.kind == "q" and v.size <= LARGE:
        return rational(v.args[0] * c)
    terms: _Terms = {}
    _collect(terms, v, c)
    return _total(terms)


def split(v: Value) -> tuple[Rational, Value]:
    """v = c·u with a rational c: the coefficient of a single term, the content of a small sum."""
    if v.kind == "q" and v.size <= LARGE:
        return v.args[0], ONE
    if v.kind != "add":
        return 1, v
    if _one_term(v):
        return v.args[0]
    if v.size > LARGE:
        return 1, v
    c = _content([k for k, _ in v.args])
    return c, v if c == 1 else scale(v, 1 / fmpq(c))


def _content(coefficients: list[Rational]) -> Rational:
    """The rational that leaves coprime integers, the first of them positive."""
    fractions = [fmpq(c) for c in coefficients]
    top = math.gcd(*[int(c.p) for c in fractions])
    bottom = math.lcm(*[int(c.q) for c in fractions])
    sign = -1 if coefficients[-1] < 0 and all(c < 0 for c in coefficients) else 1
    return whole(fmpq(sign * top, bottom))


def multiply(a: Value, b: Value) -> Value:
    """a·b"""
    if a.kind == "q" and a.size <= LARGE:
        return scale(b, a.args[0])
    if b.kind == "q" and b.size <= LARGE:
        return scale(a, b.args[0])
    ca, ua = split(a)
    cb, ub = split(b)
    factors = dict(_factors(ua))
    for base, r in _factors(ub):
        factors[base] = factors.get(base, 0) + r
    return scale(_product(factors), ca * cb)


def _factors(v: Value) -> tuple[tuple[Value, Rational], ...]:
    return v.args if v.kind == "mul" and len(v.args) <= LARGE // 4 else ((v, 1),)


def _product(factors: _Terms) -> Value:
    """Π b^r, with e^a e^b = e^{a+b} and powers of primes kept between 0 and 1."""
    coefficient: Rational = 1
    kept: _Terms = {}
    exponents: _Terms = {}
    powers_of_e = 0
    for base, r in factors.items():
        if not r:
            continue
        if base.kind == "q" and _fits(base.args[0], r):
            whole_part = math.floor(r) if isinstance(r, int) else int(r.floor())
            if whole_part:
                coefficient = coefficient * _integer_power(base.args[0], whole_part)
                r = r - whole_part
            if r:
                kept[base] = whole(r)
        elif base.kind == "exp" and base.size <= LARGE:
            powers_of_e += 1
            last_base, last_power = base, r
            _collect(exponents, base.args[0], r)
        else:
            kept[base] = whole(r)
    if powers_of_e == 1 and last_power == 1:  # nothing merges: the node is there already
        kept[last_base] = 1
    elif powers_of_e:
        merged = exp(_total(exponents))
        c, u = split(merged)
        coefficient = coefficient * c
        if u is not ONE:
            if u.kind == "exp":
                kept[u] = 1
            else:  # e^{log x} and the like turned into other factors: put them in with the rest
                for base, r in _factors(u):
                    kept[base] = kept.get(base, 0) + r
                if any(base.kind == "q" for base, _ in _factors(u)):
                    return scale(_product(kept), coefficient)
                kept = {base: r for base, r in kept.items() if r}
    return scale(_power_product(kept), coefficient)


def _power_product(factors: dict[Value, Rational]) -> Value:
    items = [(base, whole(r)) for base, r in factors.items()]
    if not items:
        return ONE
    if len(items) == 1 and items[0][1] == 1:
        return items[0][0]
    items.sort(key=lambda item: item[0].serial)
    key = ("mul", *[(base.serial, key_of(r)) for base, r in items])
    return node(key, "mul", tuple(items), [base for base, _ in items])


def _fits(q: Rational, r: Any) -> bool:
    """Whether q^r is worth computing: it stays short, and its root is of an ordinary order."""
    short = height(q) * abs(r) <= LARGE * BITS_PER_NODE or q in (1, -1)
    return short and (isinstance(r, int) or r.q < 2**31)


def _integer_power(q: Rational, n: int) -> Rational:
    if n < 0 and not q:
        raise DomainError("Division by zero.")
    return whole(fmpq(q) ** n)


def power(v: Value, r: Any) -> Value:
    """v^r for a rational r. Where v is negative and r is a fraction there is no real value: callers ask first."""
    r = whole(r)
    if r == 1:
        return v
    if not r:
        return ONE
    if v.kind == "q":
        return _rational_power(v.args[0], r) if _fits(v.args[0], r) else _power_product({v: r})
    c, u = split(v)
    if isinstance(r, int):
        if not _fits(c, r):
            return _power_product({v: r})
        return scale(_product({base: k * r for base, k in _factors(u)}), _integer_power(c, r))
    # A root from here on. (xy)^r = x^r y^r needs signs: only factors that are known to be positive come out of it.
    root = _denest(v) if r.q == 2 else None
    if root is not None:
        return power(root, int(r.p))
    if c > 0 and c != 1:
        return multiply(_rational_power(c, r), power(u, r))
    if u.kind == "mul" and c == 1:
        signed = [_positive_base(base, k) for base, k in u.args]
        u = _product(dict(signed)) if len({base for base, _ in signed}) == len(signed) else u
    if u.kind == "mul" and c == 1:
        safe = [(base, k) for base, k in u.args if is_known_positive(base)]
        if safe:
            rest = _power_product({base: k for base, k in u.args if not is_known_positive(base)})
            factors = {base: k * r for base, k in safe}
            if rest is not ONE:
                if rest.kind == "mul" and len(rest.args) == 1 and _is_fraction(rest.args[0][1]):
                    rest, r = rest.args[0][0], rest.args[0][1] * r
                factors[rest] = factors.get(rest, 0) + r
            return _product(factors)
        if len(u.args) == 1 and _is_fraction(u.args[0][1]):
            return _product({u.args[0][0]: u.args[0][1] * r})
    if u.kind == "exp" and c == 1:
        return exp(scale(u.args[0], r))
    return _product({v if c != 1 else u: r})


def _positive_base(base: Value, k: Rational) -> tuple[Value, Rational]:
    """(−b)^k for b^k where k is even and the number b is negative."""
    if isinstance(k, int) and k % 2 == 0 and not base.free and is_known_positive(scale(base, -1)):
        return scale(base, -1), k
    return base, k


def _is_fraction(k: Rational) -> bool:
    """Whether b^k is real only for b ≥ 0 (k a proper fraction), so that (b^k)^r = b^{kr} loses no sign."""
    return not isinstance(k, int)


def _denest(v: Value) -> Value | None:
    """√(a + b√c) = √((a + d)/2) ± √((a − d)/2) where d² = a² − b²c is a rational square."""
    if v.kind != "add" or len(v.args) != 2 or v.args[0][1] is not ONE or v.args[1][1].kind != "mul":
        return None
    (a, _), (b, t) = v.args
    c = power(t, 2).rational if all(base.kind == "q" for base, _ in t.args) else None
    square = fmpq(a) ** 2 - fmpq(b) ** 2 * c if c is not None else fmpq(-1)
    d = _exact_root(square, 2) if a > 0 and square >= 0 else None
    if d is None:
        return None
    low, high = (_rational_power((a + s * d) / 2, HALF) for s in (-1, 1))
    return add(high, scale(low, 1 if b > 0 else -1))


def _rational_power(q: Rational, r: Rational) -> Value:
    if isinstance(r, int):
        return rational(_integer_power(q, r))
    if q == 1:
        return ONE
    q = fmpq(q)
    root = _exact_root(q, int(r.q))
    if root is not None:
        return rational(root ** int(r.p))
    factors: dict[Value, Rational] = {}
    for part, sign in ((q.p, 1), (q.q, -1)):
        for prime, k in primes(int(part)):
            base = rational(prime)
            factors[base] = factors.get(base, 0) + sign * k * r
    return _product(factors)


def _exact_root(q: fmpq, n: int) -> fmpq | None:
    top, bottom = fmpz(q.p).root(n), fmpz(q.q).root(n)
    return fmpq(top, bottom) if top**n == q.p and bottom**n == q.q else None


@lru_cache(maxsize=100_000)
def primes(n: int) -> tuple[tuple[int, int], ...]:
    """Factors of n with multiplicities: primes, except that what stays beyond 64 bits is kept whole."""
    if n == 1:
        return ()
    if n.bit_length() <= 64:
        return tuple((int(p), int(k)) for p, k in fmpz(n).factor())
    small: list[tuple[int, int]] = []
    for p in (2, 3, 5, 7):
        k = 0
        while n % p == 0:
            n, k = n // p, k + 1
        if k:
            small.append((p, k))
    if n > 1:
        root = math.isqrt(n)
        small.append((root, 2) if root * root == n else (n, 1))
    return tuple(small)


def is_known_positive(v: Value) -> bool:
    """Whether v > 0 is plain from its form (for letters) or from its enclosure (for numbers)."""
    if not v.free:
        return bool(enclosure(v, 128) > 0)
    if v.kind == "add":
        return v.size <= LARGE and all(c > 0 and is_known_positive(t) for c, t in v.args)
    if v.kind == "mul":
        return all(is_known_positive(base) for base, _ in v.args)
    return v.kind in ("exp", "cosh")


def exp(v: Value) -> Value:
    """e^v, with e^{c log x + y} = x^c e^y."""
    if v is ZERO:
        return ONE
    terms = v.args if v.kind == "add" and v.size <= LARGE else ((1, v),) if v.kind == "log" else ()
    logs = [(c, t) for c, t in terms if t.kind == "log"]
    if logs:
        out = exp(_total({t: c for c, t in terms if t.kind != "log"}))
        for c, t in logs:
            out = multiply(out, power(t.args[0], c))
        return out
    return node(("exp", v.serial), "exp", (v,), (v,))


def log(v: Value) -> Value:
    """log v for v > 0, with log e^x = x and the logarithm of a product of positive factors taken apart."""
    if v is ONE:
        return ZERO
    if v.kind == "exp":
        return v.args[0]
    if v.kind == "q" and v.size <= LARGE:
        q = fmpq(v.args[0])
        if q < 1:
            return scale(log(rational(1 / q)), -1)
        n, k = _perfect_power(int(q.p), int(q.q))
        base = rational(n)
        return scale(node(("log", base.serial), "log", (base,), (base,)), k)
    c, u = split(v)
    if u.kind == "mul" and c > 0 and u.size <= LARGE and all(is_known_positive(base) for base, _ in u.args):
        parts = [scale(log(base), r) for base, r in u.args]
        return add_all([*parts, log(rational(c))] if c != 1 else parts)
    if u.kind == "exp" and c > 0 and c != 1:
        return add(log(rational(c)), u.args[0])
    return node(("log", v.serial), "log", (v,), (v,))


@lru_cache(maxsize=10_000)
def _perfect_power(p: int, q: int) -> tuple[Rational, int]:
    """p/q = n^k with the largest k (for sizes where that is quick)."""
    if q == 1 and p.bit_length() <= 64:
        k = math.gcd(*[k for _, k in primes(p)])
        return int(fmpz(p).root(k)), k
    return whole(fmpq(p, q)), 1


def dot(row: tuple[Value, ...], column: tuple[Value, ...]) -> Value:
    """Σ xᵢ yᵢ: in normal form while it is small, otherwise as one shared node."""
    terms: _Terms = {}
    size = 0
    for x, y in zip(row, column, strict=True):
        if x is ZERO or y is ZERO:
            continue
        if (x.kind == "q" and x.size <= LARGE) or (y.kind == "q" and y.size <= LARGE):
            c, term = (x.args[0], y) if x.kind == "q" and x.size <= LARGE else (y.args[0], x)
            size += term.size if term.kind != "q" else 0
        elif x.size + y.size <= LARGE:
            c, term = 1, multiply(x, y)
            size += x.size + y.size
        else:
            return unexpanded_dot(row, column)
        if size > LARGE and len(terms) > LARGE // 4:
            return unexpanded_dot(row, column)
        _collect(terms, term, c)
    return _total(terms)


def unexpanded_dot(row: tuple[Value, ...], column: tuple[Value, ...]) -> Value:
    """Σ xᵢ yᵢ as one node, whatever its size; terms with a factor 0 are left out."""
    pairs = [(x, y) for x, y in zip(row, column, strict=True) if x is not ZERO and y is not ZERO]
    if len(pairs) == 1:
        return multiply(*pairs[0])
    row, column = tuple(x for x, _ in pairs), tuple(y for _, y in pairs)
    key = ("dot", *[x.serial for x in itertools.chain(row, column)])
    return node(key, "dot", (row, column), itertools.chain(row, column))


Value.__add__, Value.__sub__, Value.__mul__ = add, subtract, multiply
Value.__truediv__ = lambda a, b: multiply(a, power(b, -1))
Value.__neg__ = lambda v: scale(v, -1)
