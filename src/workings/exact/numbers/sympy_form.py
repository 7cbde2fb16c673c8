"""Exact values as SymPy expressions and back: for display, simplification and proofs, never for arithmetic."""

from __future__ import annotations

from typing import Any

import sympy
from flint import fmpq

from workings.errors import BudgetError, DomainError
from workings.exact.numbers import algebra
from workings.exact.numbers.build import build
from workings.exact.numbers.functions import FUNCTIONS
from workings.exact.numbers.letter import letter
from workings.exact.numbers.value import INF, NAN, NEG_INF, ONE, Rational, Value, bottom_up, constant, rational


def to_sympy(v: Value) -> Any:
    """The SymPy expression of a value; letters are real symbols."""
    try:
        return _whole(v)
    except RecursionError:
        raise BudgetError(
            f"SymPy works by recursion, and this formula of {v.size:,} nodes is nested too deeply for it. "
            "Use .decimals(n), .text() or .to_json(), or take it apart first."
        ) from None


def _whole(v: Value) -> Any:
    done: dict[Value, Any] = {}
    for x in bottom_up(v):
        done[x] = _one(x, done)
    return done[v]


def _number(q: Rational) -> Any:
    return sympy.Integer(q) if isinstance(q, int) else sympy.Rational(int(q.p), int(q.q))


def _one(v: Value, done: dict[Value, Any]) -> Any:
    kind, args = v.kind, v.args
    if kind == "q":
        return _number(args[0])
    if kind == "letter":
        return sympy.Symbol(args[0], real=True)
    if kind == "const":
        return sympy.pi if args[0] == "pi" else sympy.EulerGamma
    if kind == "add":
        return sympy.Add(*[_number(c) * done[t] for c, t in args])
    if kind == "mul":
        return sympy.Mul(*[done[b] ** _number(r) for b, r in args])
    if kind == "dot":
        return sympy.Add(*[done[x] * done[y] for x, y in zip(*args, strict=True)])
    if v.special:
        return {"inf": sympy.oo, "-inf": -sympy.oo, "nan": sympy.nan}[kind]
    if kind == "gamma_lower":  # the regularised one
        return sympy.lowergamma(*[done[a] for a in args]) / sympy.gamma(done[args[0]])
    if kind == "root_of":
        polynomial = sympy.Poly([done[a] for a in reversed(args[1:])], sympy.Dummy("x"))
        return sympy.CRootOf(polynomial, int(done[args[0]]))
    return getattr(sympy, FUNCTIONS[kind].sympy or kind)(*[done[a] for a in args])


_NAMES = {row.sympy or name: name for name, row in FUNCTIONS.items()}


def from_sympy(e: Any) -> Value:
    """The value of a SymPy expression made of what exact values are made of."""
    if e.is_Rational:
        return rational(fmpq(int(e.p), int(e.q)))
    if e.is_Symbol:
        return letter(e.name)
    fixed = {
        sympy.pi: constant("pi"),
        sympy.EulerGamma: constant("euler"),
        sympy.oo: INF,
        -sympy.oo: NEG_INF,
        sympy.nan: NAN,
        sympy.E: algebra.exp(ONE),
    }
    if e in fixed:
        return fixed[e]
    if e.is_Add:
        return algebra.add_all([from_sympy(a) for a in e.args])
    if e.is_Mul:
        return algebra.multiply_all(map(from_sympy, e.args))
    if e.is_Pow and e.exp.is_Rational:
        return algebra.power(from_sympy(e.base), fmpq(int(e.exp.p), int(e.exp.q)))
    name = _NAMES.get(e.func.__name__)
    if name is None:
        raise DomainError(f"{e.func.__name__} has no exact value here; it came from SymPy as {e}.")
    return build(name, *[from_sympy(a) for a in e.args])
