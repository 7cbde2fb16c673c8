"""The simplest form of a value: 1 for e^a/(1 + e^a) + 1/(1 + e^a), and p(1 − p) worked out.

It is what people read, and what encloses tighter where much cancels.

A formula of up to `MOST` nodes is also written as a quotient of polynomials without a common factor
(`rational_form.py`), each of the two both multiplied out and factored; the shortest of all that is shown.
Longer formulas stay as they are.
"""

from __future__ import annotations

from workings.errors import DomainError, UndecidedError
from workings.exact.numbers import algebra
from workings.exact.numbers.ball import enclosure
from workings.exact.numbers.build import build, looks_negative
from workings.exact.numbers.rational_form import MOST_TO_FACTOR, NoForm, RationalForm
from workings.exact.numbers.rebuild import ATOMS, REBUILD, Made, rebuild
from workings.exact.numbers.value import CAP, LOCK, ZERO, Value, bottom_up

MOST = 200
_NEGATIVE_EXPONENT = 3
"""Nodes by which a formula with e^(−x) counts as longer, so that e^x/(1 + e^x) is preferred to 1/(1 + e^(−x))."""


def simplest(v: Value) -> Value:
    """The shortest form of `v` that cancelling, multiplying out and factoring find, or `v` itself.

    >>> from workings.exact.numbers.letter import letter
    >>> from workings.exact.numbers.value import ONE
    >>> w = letter("w")
    >>> simplest((w * w - ONE) / (w - ONE)).text()
    'w + 1'
    """
    if v.size > MOST or v.kind in ATOMS:
        return v
    with LOCK:
        try:
            inside = rebuild(v, _SIMPLIFIED, _function)
        except DomainError:  # a zero that only simplifying shows stands in a denominator: the value does not exist
            return v
        found = _shortest_of([v, *_forms(inside)])
        return found if _same(v, found) else v


def _product(v: Value, made: Made) -> Value:
    inside = {base: made[base] if type(r) is int else _shortest(made[base]) for base, r in v.args}
    return algebra.multiply_all(algebra.power(inside[base], r) for base, r in v.args)


def _function(v: Value, made: Made) -> Value:
    return build(v.kind, *[_shortest(made[x]) for x in v.args])


_SIMPLIFIED = REBUILD | {"mul": _product}
"""How a formula is made again with what stands under its roots, and the arguments of its functions, simplified."""


def _shortest(v: Value) -> Value:
    return v if v.kind in ATOMS else _shortest_of([v, *_forms(v)])


def _forms(v: Value) -> list[Value]:
    """`v`, and the quotient of its shortest top and bottom."""
    try:
        form = RationalForm(v)
    except NoForm:
        return [v]
    top, bottom = _either(form, form.top), _either(form, form.bottom)
    if ZERO in bottom:  # a zero that only multiplying out shows: the value does not exist
        return [v]
    return [v, *(a * algebra.power(b, -1) for a in top for b in bottom)]


def _either(form: RationalForm, p: object) -> list[Value]:
    """A polynomial multiplied out, and factored where that is quick."""
    found = [form.expanded(p)]
    if 1 < len(p) <= MOST_TO_FACTOR:  # type: ignore[arg-type]
        found.append(form.factored(p))
    return found


def _shortest_of(forms: list[Value]) -> Value:
    """The one of the fewest nodes; among those, of the fewest characters; among those, the first."""
    sizes = [_nodes(v) for v in forms]
    shortest = list(dict.fromkeys(v for v, size in zip(forms, sizes, strict=True) if size == min(sizes)))
    return shortest[0] if len(shortest) == 1 else min(shortest, key=lambda v: len(v.text(most=CAP)))


def _nodes(v: Value) -> int:
    if v.size > 2 * MOST:
        return v.size
    negative = any(x.kind == "exp" and looks_negative(x.args[0]) for x in bottom_up(v))
    return v.size + (_NEGATIVE_EXPONENT if negative else 0)


def _same(v: Value, found: Value) -> bool:
    """Whether the enclosures agree, where letters have sample values; the steps are identities anyway."""
    try:
        return v is found or bool(enclosure(v).overlaps(enclosure(found)))
    except UndecidedError:
        return True
