"""Proofs that a value is zero: by bringing it over one denominator and multiplying out, where that is quick."""

from __future__ import annotations

from workings.exact import algebra
from workings.exact.rational_form import Bounds, RationalForm, TooLarge
from workings.exact.value import ZERO, Value

LARGEST = 1_000
"""Formulas of up to this many nodes are looked at."""
BOUNDS = Bounds(generators=24, terms=4_000, degree=60)


def structural_sign(v: Value) -> int | None:
    """The sign of a value with letters where its form alone tells it."""
    if algebra.known_positive(v):
        return 1
    if algebra.known_positive(algebra.scale(v, -1)):
        return -1
    return None


def positive_form(v: Value) -> bool:
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


def proved_zero(v: Value) -> bool:
    """Whether multiplying out shows v = 0. False means: no proof found."""
    if v is ZERO:
        return True
    if v.size > LARGEST:
        return False
    try:
        form = RationalForm(v, BOUNDS)
    except TooLarge:
        return False
    return form.expanded(form.top) is ZERO and form.expanded(form.bottom) is not ZERO
