"""How a value is laid out: which roots merge, what stands under a bar, the order of terms and factors.

`_RULES` has a row for each kind of value; a kind without a row is a function and becomes a call. To teach
the printers a new kind of value, add a row that returns a layout (see `layout.py`): both writers can then
print it. Right: a row that arranges the layouts of its operands, `table.layouts[x]`. Wrong: a row that
returns a string in disguise, or asks for `v.serial`. Terms and factors are ordered by what they say, never
by when they were made, so equal formulas print alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from flint import fmpq

from workings.exact.numbers.value import HALF, ONE, Rational, Value, bottom_up
from workings.exact.typeset.layout import Layout, fraction, number, product, root
from workings.exact.typeset.surd import surd


class _Term(NamedTuple):
    """c·Π bᵢ^rᵢ, one term of a sum."""

    coefficient: Rational
    factors: tuple[tuple[Value, Rational], ...] = ()


class _LayoutTable:
    """The layouts of a value and of all it is made of."""

    def __init__(self, v: Value, decimals: bool = True) -> None:
        self.decimals = decimals
        self.layouts: dict[Value, Layout] = {}
        self.degrees: dict[Value, int | None] = {}
        for x in bottom_up(v):
            self.degrees[x] = _degree(self, x)
            self.layouts[x] = _RULES.get(x.kind, _call)(self, x)


def lay_out(v: Value, decimals: bool = True) -> Layout:
    """The layout of `v`. Its formula is written out in full: see `elision.py` for those too long for that."""
    return _LayoutTable(v, decimals).layouts[v]


# ---------------------------------------------------------------------------------------------- products


def _power(table: _LayoutTable, base: Value, r: Rational) -> Layout:
    """base^r for r > 0, with |b| for √(b²) and (w − 1/2)² for a multiple of (2w − 1)²."""
    inside = table.layouts[base]
    p = _leading(base, r)
    if p != 1:
        inside = _lay_sum(table, [_term(fmpq(c) / p, t) for c, t in base.args])
    if base.kind == "mul" and len(base.args) == 1 and base.args[0][1] == 2 and fmpq(r).q == 2:
        inside, r = Layout("call", (table.layouts[base.args[0][0]],), "abs"), 2 * r
    if r == 1:
        return inside
    if r == HALF:
        return Layout("root", (inside,))
    return Layout("power", (inside, number(r)))


_RANK = {"const": 0, "letter": 1, "add": 2, "dot": 2, "mul": 2}
"""Constants, then letters, then sums; functions, without a row, come last."""


def _in_order(table: _LayoutTable, factors: list[tuple[Value, Rational]]) -> list[Layout]:
    ranked = [(_RANK.get(base.kind, 3), _power(table, base, r)) for base, r in factors]
    return [x for _, x in sorted(ranked, key=lambda item: (item[0], item[1].key))]


def _leading(base: Value, r: Rational) -> Rational:
    """p of a square (p w + q)² that is shown as p² (w + q/p)², so that it reads as a vertex: 8(w − 1/2)²."""
    if base.kind == "add" and len(base.args) == 2 and type(r) is int and r > 1:
        linear = [c for c, t in base.args if t.kind == "letter"]
        if len(linear) == 1 and linear[0] > 0 and any(t is ONE for _, t in base.args):
            return linear[0]
    return 1


def _lay_product(table: _LayoutTable, term: _Term) -> Layout:
    """c·Π bᵢ^rᵢ for c > 0 as a fraction: roots of numbers merged, negative exponents under the bar."""
    coefficient = fmpq(term.coefficient)
    for base, r in term.factors:
        coefficient = coefficient * fmpq(_leading(base, r)) ** int(r) if _leading(base, r) != 1 else coefficient
    numbers: dict[Rational, int] = {}
    roots: tuple[list[Layout], list[Layout]] = [], []
    others: tuple[list[tuple[Value, Rational]], list[tuple[Value, Rational]]] = [], []
    for base, r in term.factors:
        below = r < 0
        if type(base.rational) is int and not below:
            numbers[r] = numbers.get(r, 1) * base.rational
        elif abs(r) == HALF and base.kind in ("const", "letter"):
            roots[below].append(table.layouts[base])
        else:
            others[below].append((base, -r if below else r))
    c = surd(coefficient, numbers.pop(HALF, 1), table.decimals, plain=not any(roots))
    for side, radicand in zip(roots, c.radicands, strict=True):
        side.sort(key=lambda x: x.key)
        side[:0] = [number(radicand, c.decimals)] if radicand != 1 else []
    if all(roots):
        roots = [fraction(product(roots[0]), product(roots[1]))], []
    powers = [Layout("power", (number(n), number(r))) for r, n in sorted(numbers.items())]
    top = [*root(roots[0]), *powers, *_in_order(table, others[0])]
    bottom = [*root(roots[1]), *_in_order(table, others[1])]
    if c.top != 1:
        top.insert(0, number(c.top))
    if c.bottom != 1:
        bottom.insert(0, number(c.bottom))
    return fraction(product(top), product(bottom))


def _lay_term(table: _LayoutTable, term: _Term) -> Layout:
    if term.coefficient < 0:
        return Layout("minus", (_lay_product(table, _Term(-term.coefficient, term.factors)),))
    return _lay_product(table, term)


# ------------------------------------------------------------------------------------------------- sums


def _term(c: Rational, t: Value) -> _Term:
    """c·t as coefficient and factors."""
    if t.kind == "q":
        return _Term(c * t.args[0])
    if t.kind == "mul":
        return _Term(c, t.args)
    if t.kind == "add" and len(t.args) == 1:
        return _term(c * t.args[0][0], t.args[0][1])
    return _Term(c, ((t, 1),))


def _times(x: Value, y: Value) -> _Term:
    """x·y of a dot product."""
    (a, left), (b, right) = _term(1, x), _term(1, y)
    powers = dict(left)
    for base, r in right:
        powers[base] = powers.get(base, 0) + r
    return _Term(a * b, tuple((base, r) for base, r in powers.items() if r))


def _degree(table: _LayoutTable, v: Value) -> int | None:
    """The degree of a polynomial in letters; `None` for what is none."""
    if not v.free:
        return 0
    if v.kind == "letter":
        return 1
    if v.kind == "add":
        degrees = [table.degrees[t] for _, t in v.args]
        return None if None in degrees else max(d for d in degrees if d is not None)
    return _degree_of(table, _Term(1, v.args)) if v.kind == "mul" else None


def _degree_of(table: _LayoutTable, term: _Term) -> int | None:
    total = 0
    for base, r in term.factors:
        degree = table.degrees[base]
        if degree is None or (degree and (type(r) is not int or r < 0)):
            return None
        total += degree * int(r) if degree else 0
    return total


def _place(table: _LayoutTable, term: _Term) -> tuple[object, ...]:
    """Where a term stands in a sum: by degree; then rationals, roots, other numbers, functions of letters."""
    degree = _degree_of(table, term)
    key = _lay_product(table, _Term(1, term.factors)).key
    if degree:
        return (0, -degree, sorted((table.layouts[b].key, -r) for b, r in term.factors if b.free), key)
    if degree is None:
        return (5, 0, [], key)
    kinds = {base.kind for base, _ in term.factors}
    rank = 1 if not kinds else 2 if kinds == {"q"} else 3 if kinds <= {"q", "const"} else 4
    return (rank, 0, [], key)


def _order_terms(table: _LayoutTable, terms: list[_Term]) -> list[_Term]:
    """The terms in order, a positive one first where there is one: 16w − 8, 1/2 − w, π − 3."""
    terms = sorted(terms, key=lambda term: _place(table, term))
    if terms[0].coefficient > 0:
        return terms
    if terms[-1].coefficient > 0 and all(_degree_of(table, term) is not None for term in terms):
        return terms[::-1]
    return sorted(terms, key=lambda term: bool(term.coefficient < 0))


def _lay_sum(table: _LayoutTable, terms: list[_Term]) -> Layout:
    """Σ, over one bar where all terms have the same denominator: (1 + √5)/2."""
    if len(terms) == 1:
        return _lay_term(table, terms[0])
    below = {int(fmpq(term.coefficient).q) for term in terms}
    q = below.pop() if len(below) == 1 else 1
    terms = _order_terms(table, [_Term(term.coefficient * q, term.factors) for term in terms])
    if q > 1 and terms[0].coefficient < 0:
        return Layout("minus", (_lay_sum(table, [_Term(-c / fmpq(q), factors) for c, factors in terms]),))
    signs = "".join("-" if term.coefficient < 0 else "+" for term in terms)
    parts = tuple(_lay_product(table, _Term(abs(fmpq(term.coefficient)), term.factors)) for term in terms)
    return fraction(Layout("sum", parts, signs), number(q))


# ------------------------------------------------------------------------------------------------ kinds


def _exp(table: _LayoutTable, v: Value) -> Layout:
    e = Layout("constant", word="e")
    return e if v.args[0] is ONE else Layout("power", (e, table.layouts[v.args[0]]))


def _call(table: _LayoutTable, v: Value) -> Layout:
    return Layout("call", tuple(table.layouts[x] for x in v.args), v.kind)


_RULES: dict[str, Callable[[_LayoutTable, Value], Layout]] = {
    "q": lambda table, v: number(v.args[0]),
    "letter": lambda table, v: Layout("name", word=v.args[0]),
    "const": lambda table, v: Layout("constant", word=v.args[0]),
    "add": lambda table, v: _lay_sum(table, [_term(c, t) for c, t in v.args]),
    "mul": lambda table, v: _lay_product(table, _Term(1, v.args)),
    "dot": lambda table, v: _lay_sum(table, [_times(x, y) for x, y in zip(*v.args, strict=True)]),
    "exp": _exp,
    "pow": lambda table, v: Layout("power", (table.layouts[v.args[0]], table.layouts[v.args[1]])),
    "inf": lambda table, v: Layout("constant", word="inf"),
    "-inf": lambda table, v: Layout("minus", (Layout("constant", word="inf"),)),
    "nan": lambda table, v: Layout("constant", word="nan"),
}
