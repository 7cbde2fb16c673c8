"""Certified numbers: enclosures by ball arithmetic, and what follows from them (signs, order, floats, decimals).

An enclosure [m ± r] contains the value, proved by the arithmetic (Arb, through python-flint). Each node keeps its best
one, so
a shared graph is evaluated once, whatever its size when written out.
"""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

import flint
from flint import arb, fmpq

from workings.errors import BudgetError, DomainError, UndecidedError, WorkingsError
from workings.exact.numbers import algebra
from workings.exact.numbers.digits import fraction, round_fraction
from workings.exact.numbers.functions import FUNCTIONS
from workings.exact.numbers.proof import positive_form, proved_zero, structural_sign
from workings.exact.numbers.rebuild import replaced
from workings.exact.numbers.tokens import MOST_NAMED, listed, spelled
from workings.exact.numbers.value import (
    INF,
    LOCK,
    NEG_INF,
    ZERO,
    Rational,
    Value,
    bottom_up,
    letter,
    letters,
    operands,
    rational,
)
from workings.exact.tensor.assume import assume

FIRST_BITS = 128
LAST_BITS = 4096
"""Where the search for a sign stops: a value that is still indistinguishable from zero needs a proof, or is assumed zero."""
LADDER = (FIRST_BITS, 512, 2048, LAST_BITS)
MOST_BITS = 4 * LAST_BITS
LONGEST_INTEGER = 2**20
"""The bits of the longest integer that a number is rounded to."""
SHORT = 200
"""Formulas of up to this many nodes are also looked at with `MOST_BITS`, and in their simplest form."""


@contextlib.contextmanager
def precision(bits: int) -> Iterator[None]:
    """Ball arithmetic with this many bits inside the block."""
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        yield
    finally:
        flint.ctx.prec = before


def enclosure(v: Value, bits: int = FIRST_BITS) -> arb:
    """A ball that contains `v`, computed with this working precision. Letters stand at their sample values."""
    if v.bits >= bits:
        return v.ball
    with LOCK, precision(bits):
        todo: list[tuple[Value, bool]] = [(v, False)]
        while todo:
            x, ready = todo.pop()
            if x.bits >= bits:
                continue
            if not ready:
                missing = [(y, False) for y in operands(x) if y.bits < bits]
                if missing:
                    todo.append((x, True))
                    todo += missing
                    continue
            x.ball, x.bits = _sampled(x) if x.kind == "letter" else _evaluate(x, _OWN), bits
    return v.ball


def enclosure_at(v: Value, point: Mapping[str, Rational], bits: int = FIRST_BITS) -> arb:
    """A ball that contains `v` where the letters have these values; their sample values are not looked at."""
    balls: dict[Value, arb] = {}
    with precision(bits):
        for x in bottom_up(v):
            balls[x] = arb(point[x.args[0]]) if x.kind == "letter" else _evaluate(x, balls.__getitem__)
    return balls[v]


def refinements(v: Value) -> Iterator[arb]:
    """Enclosures of `v`, tighter and tighter; of a short formula also those of its simplest form, where less cancels."""
    for bits in LADDER:
        yield enclosure(v, bits)
    if v.size > SHORT:
        return
    if not v.free:
        simplest = _simplest(v)
        for bits in LADDER if simplest is not v else ():
            yield enclosure(simplest, bits)
    yield enclosure(v, MOST_BITS)


def _simplest(v: Value) -> Value:
    from workings.exact.typeset.settle import settle

    return settle(v)


_OWN = operator.attrgetter("ball")
"""The enclosure a node keeps."""


def _sampled(v: Value) -> arb:
    """The sample value of a letter."""
    if v.sample is None:
        name, given = spelled(v.args[0]), _keywords([v.args[0]], "0.5")
        raise UndecidedError(
            f"The letter {name} has no value, so this cannot be decided. Give it a sample value, "
            f"symbols({given}), or replace it, x.substitute({given})."
        )
    return arb(v.sample)


def _keywords(names: list[str], value: str) -> str:
    """Letters given values in a call: w=0.5, or **{"W_{1,2}": 0.5} where a name is none of Python's."""
    shown = listed(names)
    if all(name.isidentifier() for name in shown if name != "…"):
        return ", ".join(name if name == "…" else f"{name}={value}" for name in shown)
    return "**{" + ", ".join(name if name == "…" else f'"{name}": {value}' for name in shown) + "}"


def _evaluate(v: Value, ball: Callable[[Value], arb]) -> arb:
    """The enclosure of a node whose operands have theirs."""
    kind, args = v.kind, v.args
    if kind == "q":
        return arb(args[0])
    if kind == "add":
        return _sum([(c, ball(t)) for c, t in args])
    if kind == "mul":
        out = arb(1)
        for base, r in args:
            out = out * _power(ball(base), r)
        return out
    if kind == "dot":
        return sum(map(operator.mul, map(ball, args[0]), map(ball, args[1])), arb(0))
    if kind == "const":
        return arb.pi() if args[0] == "pi" else arb.const_euler()
    if kind == "nan":
        return arb.nan()
    if v.special:
        return arb.pos_inf() if kind == "inf" else arb.neg_inf()
    return FUNCTIONS[kind].ball(*map(ball, args))


def _sum(terms: list[tuple[Rational, arb]]) -> arb:
    out = arb(0)
    for c, ball in terms:
        out = out + (ball if c == 1 else ball * c)
    return out


def _power(b: arb, r: Rational) -> arb:
    if isinstance(r, int):
        if r > 0 and b.mid() == 0:  # FLINT answers NaN for a ball around 0 itself
            return arb(0, b.abs_upper() ** r)
        return b**r if r >= 0 else 1 / b ** (-r)
    if r > 0 and not b.is_nan() and b.contains(0):  # what stands under a root was found to be at least 0
        top = b.upper()
        return arb(0).union(_power(top, r)) if top > 0 else arb(0)
    if r.q == 2:
        root = b.sqrt()
        n = int(r.p)
        return root**n if n >= 0 else 1 / root ** (-n)
    return b ** arb(r)


def sign(v: Value) -> int:
    """−1, 0 or 1. Decided by enclosures; a zero is proved, or assumed and noted."""
    if v.kind == "q":
        return (v.args[0] > 0) - (v.args[0] < 0)
    if v.special:
        return sign_of_specials(v)
    return _sign_with_letters(v) if v.free else _sign_of_number(v)


def certified_sign(v: Value) -> int | None:
    """The sign, proved (letters stand at their sample values); None where `v` is too small to be told from 0."""
    ball = arb.nan()
    for step, ball in enumerate(refinements(v)):
        if ball > 0 or ball < 0:
            return 1 if ball > 0 else -1
        if step == 0 and proved_zero(v):
            return 0
    found = _sign_of_form(v)
    if found is None and not abs(ball) < _SMALL:
        raise _unknown(v, "The sign")
    return found


def _sign_of_number(v: Value) -> int:
    found = certified_sign(v)
    if found is None:
        size = _exponent(enclosure(v, LAST_BITS))
        assume("zero", f"a difference is taken as 0: it is smaller than 2^{size}, not proved to vanish")
    return found or 0


def _exponent(ball: arb) -> int:
    """e with |v| < 2^e."""
    mantissa, exponent = abs(ball).upper().man_exp()
    return int(exponent) + int(mantissa).bit_length()


def _sign_of_form(v: Value) -> int | None:
    """The sign of a number that no enclosure tells from 0, or that is too large for one, where its form tells it."""
    for s in (1, -1):
        if positive_form(algebra.scale(v, s)):
            return s
    if v.kind == "add" and len(v.args) == 2:
        (c, t), (d, u) = v.args
        if (c > 0) != (d > 0):
            found = compare_powers(algebra.scale(t, abs(c)), algebra.scale(u, abs(d)))
            return found if c > 0 or found is None else -found
    return None


def compare_powers(a: Value, b: Value) -> int | None:
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
        if enclosure(v) * s > 0 or positive_form(algebra.scale(v, s)):
            return s
    return None


def _is_power(v: Value) -> bool:
    """Whether v = c·e^x: its logarithm is a smaller formula."""
    return algebra.split(v)[1].kind == "exp"


def _unknown(v: Value, what: str) -> WorkingsError:
    """Why `v` cannot be enclosed: a part of it has no real value, or is too large, or too much cancels."""
    from workings.exact.typeset.text import text

    enclosure(v, LAST_BITS)
    part = next((x for x in bottom_up(v) if not x.ball.is_finite()), None)
    if part is None or not part.ball.is_nan():
        why = f"{LAST_BITS:,} bits are too few" if part is None else "a part of it is too large or too small to be enclosed"
        return BudgetError(f"{what} of a formula of {v.size:,} nodes cannot be certified: {why}.")
    if part.free:
        return UndecidedError(f"{text(part)} has no real value at {_samples(part)}. Give other sample values.")
    return DomainError(f"{text(part)} has no real value, or is too close to a pole to be enclosed.")


def _samples(v: Value) -> str:
    """The sample values of its letters: w = 3/10."""
    names = sorted(letters(v))
    shown = [f"{spelled(name)} = {fmpq(letter(name).sample or 0)}" for name in names[:MOST_NAMED]]
    return ", ".join(shown + ["…"] * (len(names) > MOST_NAMED))


def _sign_with_letters(v: Value) -> int:
    """From the form alone, from a proof that it vanishes, or at the letters' sample values (noted)."""
    from workings.exact.typeset.text import text

    found = structural_sign(v)
    if found is not None:
        return found
    names = sorted(letters(v))
    unknown = [name for name in names if letter(name).sample is None]
    if unknown:
        if proved_zero(v):
            return 0
        asked = _keywords(unknown, "…")
        raise UndecidedError(
            f"Whether {text(v)} is positive, negative or zero depends on {' and '.join(listed(names))}. Give sample values "
            f"that decide it, symbols({asked}), or replace the letters, x.substitute({asked})."
        )
    s = certified_sign(v)
    if s == 0:
        return 0
    if s is None:
        s = sign(replaced(v, {name: rational(letter(name).sample or 0) for name in names}))
    assume("order", f"{text(v)} {'<=>'[s + 1]} 0 (decided at {_samples(v)})")
    return s


def compare(a: Value, b: Value) -> int:
    """The sign of a − b. NaN compares as equal to nothing; callers treat it first."""
    if a is b:
        return 0
    if a.kind == "q" and b.kind == "q":
        return (a.args[0] > b.args[0]) - (a.args[0] < b.args[0])
    if a.special or b.special:
        return sign_of_specials(a) - sign_of_specials(b)
    if not a.free and not b.free:
        x, y = enclosure(a), enclosure(b)
        if x < y:
            return -1
        if x > y:
            return 1
    return sign(a - b)


def sign_of_specials(v: Value) -> int:
    """±1 for ±∞, else 0."""
    return 1 if v is INF else -1 if v is NEG_INF else 0


def nearest_integer(v: Value) -> int:
    """The integer nearest to `v`, or next to the nearest."""
    ball = enclosure(v, LAST_BITS)
    if ball.is_finite() and LAST_BITS < _exponent(ball) + 64 <= LONGEST_INTEGER:
        ball = enclosure(v, _exponent(ball) + 64)
    if not ball.rad() < 1:
        raise _unknown(v, "The nearest integer")
    return round(fraction(ball))


def to_float(v: Value) -> float:
    """The nearest double (the enclosure is refined until it is tighter than a double's spacing)."""
    if v.kind == "q":
        return _rational_to_float(v.args[0])
    if v.special:
        return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[v.kind]
    for ball in refinements(v):
        if ball.is_finite() and ball.rel_accuracy_bits() >= 60:
            return float(ball.mid())
        if abs(ball) < _TINY:
            return 0.0
    return _float_of_form(v)


def _float_of_form(v: Value) -> float:
    """e^x where x itself is beyond every double; 0 where that is proved, or assumed and noted."""
    c, u = algebra.split(v)
    if u.kind == "exp" and not enclosure(u).is_finite():
        return math.copysign(math.inf if sign(u.args[0]) > 0 else 0.0, c)
    if sign(v) == 0:
        return 0.0
    raise _unknown(v, "The nearest double")


_SMALL = arb(2) ** -64
"""Only what is known to be smaller may be taken as 0."""
_TINY = arb(2) ** -1200
"""Far below the least positive double: such a value is 0.0 as a float, whatever its sign."""


def _rational_to_float(q: Rational) -> float:
    try:
        return float(q) if isinstance(q, int) else int(q.p) / int(q.q)
    except OverflowError:
        return math.inf if q > 0 else -math.inf


def decimals(v: Value, digits: int = 6) -> str:
    """`v` rounded to this many significant digits, each of them certified."""
    if digits < 1:
        raise DomainError(f"Decimals need at least 1 significant digit; {digits} were asked for.")
    if v.special:
        return {"inf": "∞", "-inf": "−∞", "nan": "nan"}[v.kind]
    if v is ZERO:
        return "0"
    if v.kind == "q":
        return round_fraction(Fraction(int(fmpq(v.args[0]).p), int(fmpq(v.args[0]).q)), digits)
    bits = max(FIRST_BITS, int(digits * 3.33) + 64)
    while bits <= 2 * max(LAST_BITS, 8 * digits):
        low, high = _rounded_ends(enclosure(v, bits), digits, bits)
        if low == high:
            return low
        bits *= 2
    simplest = v if v.free else _simplest(v)
    if simplest is not v:
        return decimals(simplest, digits)
    if enclosure(v, LAST_BITS).is_finite() and sign(v) == 0:
        return "0"
    raise _unknown(v, f"{digits} digits" if digits > 1 else "1 digit")


def _rounded_ends(ball: arb, digits: int, bits: int) -> tuple[str, str]:
    """Both ends of the enclosure, rounded: when they agree, so does the value."""
    if ball.is_zero():
        return "0", "0"
    if not ball.is_finite() or ball.contains(0):
        return "", "?"
    if abs(int(ball.mid().man_exp()[1])) > 100_000:
        return _scientific_ends(ball, digits, bits)
    with precision(bits + 64):
        ends = ball.lower(), ball.upper()
    low, high = (round_fraction(fraction(end), digits) for end in ends)
    return low, high


def _scientific_ends(ball: arb, digits: int, bits: int) -> tuple[str, str]:
    """The same for numbers such as 10^(10^18): through the logarithm, their digits written out would fill the memory."""
    with precision(bits):
        logarithm = abs(ball).log() / arb.const_log10()
        exponent = logarithm.floor().unique_fmpz()
        if exponent is None:
            return "", "?"
        mantissa = arb(10) ** (logarithm - exponent)
        ends = mantissa.lower(), mantissa.upper()
    sign_text = "-" if ball < 0 else ""
    low, high = (round_fraction(fraction(end), digits) for end in ends)
    return f"{sign_text}{low}e{exponent}", f"{sign_text}{high}e{exponent}"
