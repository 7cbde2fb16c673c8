"""Signs and order of values: from their rational, by enclosures, by proofs, by their form, or at sample values (noted)."""

from __future__ import annotations

from collections.abc import Callable

from flint import arb

from workings.errors import UndecidedError
from workings.exact.numbers import algebra
from workings.exact.numbers.assume import assume
from workings.exact.numbers.ball import enclosure, exponent_of
from workings.exact.numbers.names import keywords, name_list
from workings.exact.numbers.proof import has_positive_form, is_proved_zero, rational_value, structural_sign
from workings.exact.numbers.ranges import possible_signs
from workings.exact.numbers.rebuild import with_numbers
from workings.exact.numbers.refine import LAST_BITS, certification_error, refinements, samples_of
from workings.exact.numbers.value import INF, NEG_INF, ZERO, Value, letter_nodes, letters, rational

_SMALL = arb(2) ** -64
"""Only what is known to be smaller may be taken as 0."""


def sign(v: Value) -> int:
    """−1, 0 or 1. Decided by enclosures; a zero is proved, or assumed and noted."""
    if v.kind == "q":
        return (v.args[0] > 0) - (v.args[0] < 0)
    if v.special:
        return _sign_of_specials(v)
    return _sign_with_letters(v) if v.free else _sign_of_number(v)


def certified_sign(v: Value) -> int | None:
    """The sign, proved (letters stand at their sample values); None where `v` is too small to be told from 0."""
    ball = arb.nan()
    for step, ball in enumerate(refinements(v)):
        if ball > 0 or ball < 0:
            return 1 if ball > 0 else -1
        # No precision tells 0 from what is small; a proof costs less than the rest of the ladder.
        if step == 0:
            q = rational_value(v)
            if q is not None:
                return (q > 0) - (q < 0)
            if is_proved_zero(v):
                return 0
    found = _sign_of_form(v)
    if found is None and not abs(ball) < _SMALL:
        raise certification_error(v, "The sign")
    return found


def _sign_of_number(v: Value) -> int:
    found = certified_sign(v)
    if found is None:
        size = exponent_of(enclosure(v, LAST_BITS))
        assume("zero", f"a difference is taken as 0: it is smaller than 2^{size}, not proved to vanish")
    return found or 0


def _sign_of_form(v: Value) -> int | None:
    """The sign of a number that no enclosure tells from 0, or that is too large for one, where its form tells it."""
    for s in (1, -1):
        if has_positive_form(algebra.scale(v, s)):
            return s
    if v.kind == "add" and len(v.args) == 2:
        (c, t), (d, u) = v.args
        if (c > 0) != (d > 0):
            found = _compare_powers(algebra.scale(t, abs(c)), algebra.scale(u, abs(d)))
            return found if c > 0 or found is None else -found
    return None


def _compare_powers(a: Value, b: Value) -> int | None:
    """The order of numbers such as e^e^e^9: that of their logarithms, taken until they can be enclosed."""
    while True:
        x, y = _plain_sign(a), _plain_sign(b)
        if x is None or y is None:
            return None
        if x != y or x == 0:
            return (x > y) - (x < y)
        if x < 0:
            a, b = algebra.scale(b, -1), algebra.scale(a, -1)
        if not (_is_power(a) or _is_power(b)):
            return None
        a, b = algebra.log(a), algebra.log(b)
        if a is b:
            return 0
        low, high = enclosure(a), enclosure(b)
        if low < high or low > high:
            return 1 if low > high else -1


def _plain_sign(v: Value) -> int | None:
    """The sign that the form or the first enclosure tells."""
    if v is ZERO:
        return 0
    for s in (1, -1):
        if enclosure(v) * s > 0 or has_positive_form(algebra.scale(v, s)):
            return s
    return None


def _is_power(v: Value) -> bool:
    """Whether v = c·e^x: its logarithm is a smaller formula."""
    return algebra.split(v)[1].kind == "exp"


def _sign_with_letters(v: Value) -> int:
    """From the form alone, from a proof that it vanishes, or at the letters' sample values (noted)."""
    found = structural_sign(v)
    if found is not None:
        return found
    signs = possible_signs(v)
    if len(signs) == 1:
        return next(iter(signs))
    names = sorted(letters(v))
    unknown = sorted(x.args[0] for x in letter_nodes(v) if x.sample is None)
    if unknown:
        if is_proved_zero(v):
            return 0
        asked = keywords(unknown, "…")
        raise UndecidedError(
            f"Whether {v.text()} is positive, negative or zero depends on {' and '.join(name_list(names))}. Give sample "
            f"values that decide it, symbols({asked}), or replace the letters, x.substitute({asked})."
        )
    s = certified_sign(v)
    if s == 0:
        return 0
    if s is None:
        s = sign(with_numbers(v, {x.args[0]: rational(x.sample or 0) for x in letter_nodes(v)}))
    relation = "<=>"[s + 1]
    assume("order", f"{v.text()} {relation} 0 (decided at {samples_of(v)})", v, relation, ZERO)
    return s


def compare(a: Value, b: Value) -> int:
    """The sign of a − b. NaN compares as equal to nothing; callers treat it first."""
    if a is b:
        return 0
    if a.kind == "q" and b.kind == "q":
        return (a.args[0] > b.args[0]) - (a.args[0] < b.args[0])
    if a.special or b.special:
        return _sign_of_specials(a) - _sign_of_specials(b)
    if not a.free and not b.free:
        x, y = enclosure(a), enclosure(b)
        if x < y:
            return -1
        if x > y:
            return 1
    return sign(a - b)


def decided(a: Value, b: Value, test: Callable[[int], bool]) -> bool:
    """Whether `test` holds of the sign of a − b: for all letters where it does not depend on them, as in w² ≥ 0."""
    if (a.free or b.free) and not a.special and not b.special and a is not b:
        answers = {test(s) for s in possible_signs(a - b)}
        if len(answers) == 1:
            return answers.pop()
    return test(compare(a, b))


def _sign_of_specials(v: Value) -> int:
    """±1 for ±∞, else 0."""
    return 1 if v is INF else -1 if v is NEG_INF else 0
