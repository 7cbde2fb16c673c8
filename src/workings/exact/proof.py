"""Proofs that a value is zero: by algebra, where the formula is small enough for it."""

from __future__ import annotations

import math

from workings.exact import algebra
from workings.exact.value import ZERO, Value

PROVABLE = 400
"""Formulas of up to this many nodes are looked at."""
MOST_TERMS = 5_000
"""Multiplying out stops being worth it beyond this many terms."""


def structural_sign(v: Value) -> int | None:
    """The sign of a value with letters where its form alone tells it."""
    if algebra.known_positive(v):
        return 1
    if algebra.known_positive(algebra.scale(v, -1)):
        return -1
    return None


def proved_zero(v: Value) -> bool:
    """Whether multiplying out shows v = 0. False means: no proof found."""
    if v is ZERO:
        return True
    if v.size > PROVABLE or multiplied_out(v) > MOST_TERMS:
        return False
    import sympy

    from workings.exact.sympy_form import to_sympy

    numerator = sympy.numer(sympy.together(to_sympy(v)))
    return bool(sympy.expand_log(sympy.expand(numerator), force=True).expand() == 0)


def multiplied_out(v: Value) -> float:
    """About how many terms v has when it is brought over one denominator and multiplied out."""
    if v.kind == "add":
        bottoms = _denominators([t for _, t in v.args])
        return sum(multiplied_out(t) for _, t in v.args) * math.prod(bottoms.values(), start=1.0)
    if v.kind == "dot":
        pairs = zip(*v.args, strict=True)
        bottoms = _denominators([*v.args[0], *v.args[1]])
        return sum(multiplied_out(x) * multiplied_out(y) for x, y in pairs) * math.prod(bottoms.values(), start=1.0)
    if v.kind == "mul":
        powers = [multiplied_out(base) ** min(abs(float(r)), 50.0) for base, r in v.args]
        return math.prod(min(p, 1e12) for p in powers)
    return 1.0 if not v.args or v.kind in ("q", "letter", "const") else max(map(multiplied_out, v.args), default=1.0)


def _denominators(terms: list[Value]) -> dict[Value, float]:
    """The sums that stand in denominators, with their sizes when multiplied out."""
    found: dict[Value, float] = {}
    for t in terms:
        for base, r in t.args if t.kind == "mul" else ():
            if r < 0 and base.kind == "add":
                size = min(multiplied_out(base) ** min(-float(r), 50.0), 1e12)
                found[base] = max(found.get(base, 1.0), size)
    return found
