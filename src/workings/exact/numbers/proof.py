"""Proofs that a value is zero: by bringing it over one denominator, multiplying out and applying identities, where
that is quick."""

from __future__ import annotations

import math

from flint import fmpq

from workings.errors import DomainError
from workings.exact.numbers import algebra
from workings.exact.numbers.identities import rewrite
from workings.exact.numbers.rational_form import Bounds, NoForm, RationalForm
from workings.exact.numbers.value import ZERO, Value, bottom_up

_LARGEST = 1_000
"""Formulas of up to this many nodes are looked at."""
_BOUNDS = Bounds(generators=24, terms=4_000, degree=400)
_ROUNDS = 3
"""How often a numerator is multiplied out and rewritten."""


def structural_sign(v: Value) -> int | None:
    """The sign of a value with letters where its form alone tells it."""
    if algebra.is_known_positive(v):
        return 1
    if algebra.is_known_positive(algebra.scale(v, -1)):
        return -1
    return None


def has_positive_form(v: Value) -> bool:
    """Whether v > 0 is plain from its form alone: sums and products of exponentials and positive numbers."""
    todo = [v]
    while todo:
        x = todo.pop()
        if x.kind == "add":
            if any(c < 0 for c, _ in x.args):
                return False
            todo += [t for _, t in x.args]
        elif x.kind == "mul":
            todo += [base for base, _ in x.args]
        elif not (x.kind in ("exp", "cosh", "const") or (x.kind == "q" and x.args[0] > 0)):
            return False
    return True


_MOST_BITS = 2**24
_MOST_NODES = 10_000


def rational_value(v: Value) -> fmpq | None:
    """The rational number that a formula of rationals comes to: long ones are not multiplied out before."""
    if v.free or v.kind not in ("q", "add", "mul", "dot"):
        return None
    nodes = bottom_up(v)
    if len(nodes) > _MOST_NODES:
        return None
    found: dict[Value, fmpq] = {}
    for x in nodes:
        q = _rational_of(x, found)
        if q is None or q.height_bits() > _MOST_BITS:
            return None
        found[x] = q
    return found[v]


def _rational_of(x: Value, found: dict[Value, fmpq]) -> fmpq | None:
    if x.kind == "q":
        return fmpq(x.args[0])
    if x.kind == "add":
        return sum((c * found[t] for c, t in x.args), fmpq(0))
    if x.kind == "dot":
        return sum((found[a] * found[b] for a, b in zip(*x.args, strict=True)), fmpq(0))
    if x.kind != "mul" or not all(type(r) is int and found[b].height_bits() * abs(r) <= _MOST_BITS for b, r in x.args):
        return None
    return math.prod((found[b] ** int(r) for b, r in x.args), start=fmpq(1)) if all(found[b] for b, _ in x.args) else None


def is_proved_zero(v: Value) -> bool:
    """Whether multiplying out shows v = 0. False means: no proof found."""
    if v.kind == "q" or v.size > _LARGEST:
        return v is ZERO
    if v.kind == "mul":  # a root of zero, say; but not 0/0
        zero = {r > 0 for base, r in v.args if is_proved_zero(base)}
        return zero == {True}
    try:
        return _vanishes(v)
    except (NoForm, DomainError):
        return False


def _vanishes(v: Value) -> bool:
    for _ in range(_ROUNDS):
        form = RationalForm(v, _BOUNDS)
        top, bottom = form.expanded(form.top), form.expanded(form.bottom)
        if ZERO in (bottom, rewrite(bottom)):
            return False
        v = rewrite(top)
        if v.kind == "q" or v is top:
            return v is ZERO
    return False
