"""Certified numbers: enclosures by ball arithmetic, and what follows from them (signs, order, floats, decimals).

An enclosure [m ± r] contains the value, proved by the arithmetic (Arb, through python-flint). Each node keeps its best
one, so
a shared graph is evaluated once, whatever its size when written out.
"""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Iterator
from fractions import Fraction

import flint
from flint import arb, fmpq

from workings.errors import BudgetError, UndecidedError
from workings.exact import algebra
from workings.exact.assume import assume
from workings.exact.functions import FUNCTIONS
from workings.exact.proof import positive_form, proved_zero, structural_sign
from workings.exact.value import INF, LOCK, NEG_INF, ZERO, Rational, Value, letter, letters, operands

FIRST_BITS = 128
LAST_BITS = 4096
"""Where the search for a sign stops: a value that is still indistinguishable from zero needs a proof, or is assumed zero."""


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
            x.ball, x.bits = _evaluate(x), bits
    return v.ball


def _evaluate(v: Value) -> arb:
    kind, args = v.kind, v.args
    if kind == "q":
        return arb(args[0])
    if kind == "add":
        return _sum(args)
    if kind == "mul":
        out = arb(1)
        for base, r in args:
            out = out * _power(base.ball, r)
        return out
    if kind == "dot":
        return sum(map(operator.mul, [x.ball for x in args[0]], [y.ball for y in args[1]]), arb(0))
    if kind == "const":
        return arb.pi() if args[0] == "pi" else arb.const_euler()
    if kind == "letter":
        if v.sample is None:
            raise UndecidedError(
                f"The letter {args[0]} has no value, so this cannot be decided. Give it a sample value, "
                f"symbols({args[0]}=0.5), or replace it, x.substitute({args[0]}=0.5)."
            )
        return arb(v.sample)
    if kind == "nan":
        return arb.nan()
    if v.special:
        return arb.pos_inf() if kind == "inf" else arb.neg_inf()
    return FUNCTIONS[kind].ball(*[x.ball for x in args])


def _sum(terms: tuple[tuple[Rational, Value], ...]) -> arb:
    out = arb(0)
    for c, t in terms:
        out = out + (t.ball if c == 1 else t.ball * c)
    return out


def _power(b: arb, r: Rational) -> arb:
    if isinstance(r, int):
        if r > 0 and b.mid() == 0:  # FLINT answers NaN for a ball around 0 itself
            return arb(0, b.abs_upper() ** r)
        return b**r if r >= 0 else 1 / b ** (-r)
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


def _sign_of_number(v: Value) -> int:
    bits = FIRST_BITS
    while bits <= LAST_BITS:
        ball = enclosure(v, bits)
        if ball > 0 or ball < 0:
            return 1 if ball > 0 else -1
        if not ball.is_finite():
            return _sign_of_enormous(v)
        if bits == FIRST_BITS and proved_zero(v):
            return 0
        bits *= 4 if bits < 2048 else 2
    assume("zero", f"a difference is taken as 0: it is smaller than 2^{_exponent(ball)}, not proved to vanish")
    return 0


def _exponent(ball: arb) -> int:
    """e with |v| < 2^e."""
    mantissa, exponent = abs(ball).upper().man_exp()
    return int(exponent) + int(mantissa).bit_length()


def _sign_of_enormous(v: Value) -> int:
    """The sign of a number too large to enclose, where its form tells it."""
    if positive_form(v):
        return 1
    if positive_form(algebra.scale(v, -1)):
        return -1
    raise BudgetError(
        f"The sign of a formula of {v.size:,} nodes is not known: a part of it is too large or too small to be enclosed."
    )


def _sign_with_letters(v: Value) -> int:
    """From the form alone, from a proof that it vanishes, or at the letters' sample values (noted)."""
    from workings.exact.text import text

    found = structural_sign(v)
    if found is not None:
        return found
    names = sorted(letters(v))
    samples = [letter(name).sample for name in names]
    if any(sample is None for sample in samples):
        if proved_zero(v):
            return 0
        asked = ", ".join(f"{name}=…" for name, sample in zip(names, samples, strict=True) if sample is None)
        raise UndecidedError(
            f"Whether {text(v)} is positive, negative or zero depends on {' and '.join(names)}. Give sample values that "
            f"decide it, symbols({asked}), or replace the letters, x.substitute({asked})."
        )
    ball = enclosure(v, FIRST_BITS)
    if not (ball > 0 or ball < 0) and proved_zero(v):
        return 0
    s = 1 if ball > 0 else -1 if ball < 0 else 0
    at = ", ".join(f"{name} = {sample}" for name, sample in zip(names, samples, strict=True))
    assume("order", f"{text(v)} {'<=>'[s + 1]} 0 (decided at {at})")
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


def to_float(v: Value) -> float:
    """The nearest double (the enclosure is refined until it is tighter than a double's spacing)."""
    if v.kind == "q":
        return _rational_to_float(v.args[0])
    if v.special:
        return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[v.kind]
    bits = FIRST_BITS
    while True:
        ball = enclosure(v, bits)
        if not ball.is_finite():
            return _float_of_enormous(v)
        if ball.rel_accuracy_bits() >= 60:
            return float(ball.mid())
        if abs(ball) < _TINY:
            return 0.0
        if bits >= LAST_BITS:
            return 0.0 if sign(v) == 0 else float(ball.mid())
        bits *= 4 if bits < 2048 else 2


def _float_of_enormous(v: Value) -> float:
    """e^x where x itself is beyond every double."""
    if v.kind == "exp":
        return math.inf if sign(v.args[0]) > 0 else 0.0
    raise BudgetError(f"A formula of {v.size:,} nodes has no float: a part of it is too large or too small to be enclosed.")


_TINY = arb(2) ** -1200
"""Far below the least positive double: such a value is 0.0 as a float, whatever its sign."""


def _rational_to_float(q: Rational) -> float:
    try:
        return float(q) if isinstance(q, int) else int(q.p) / int(q.q)
    except OverflowError:
        return math.inf if q > 0 else -math.inf


def decimals(v: Value, digits: int = 6) -> str:
    """`v` rounded to this many significant digits, each of them certified."""
    if v.special:
        return {"inf": "∞", "-inf": "−∞", "nan": "nan"}[v.kind]
    if v is ZERO:
        return "0"
    if v.kind == "q":
        return _round_rational(Fraction(int(fmpq(v.args[0]).p), int(fmpq(v.args[0]).q)), digits)
    bits = max(FIRST_BITS, int(digits * 3.33) + 64)
    while True:
        low, high = _rounded_ends(enclosure(v, bits), digits, bits)
        if low == high:
            return low
        if bits > max(LAST_BITS, 8 * digits):
            if sign(v) == 0:
                return "0"
            raise BudgetError(f"No {digits} digits of a formula of {v.size:,} nodes could be certified with {bits:,} bits.")
        bits *= 2


def _rounded_ends(ball: arb, digits: int, bits: int) -> tuple[str, str]:
    """Both ends of the enclosure, rounded: when they agree, so does the value."""
    if not ball.is_finite():
        return "", "?"
    if not ball.contains(0) and abs(int(ball.mid().man_exp()[1])) > 100_000:
        return _scientific_ends(ball, digits, bits)
    with precision(bits + 64):
        ends = ball.lower(), ball.upper()
    low, high = (_round_rational(_fraction(end), digits) for end in ends)
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
    low, high = (_round_rational(_fraction(end), digits) for end in ends)
    return f"{sign_text}{low}e{exponent}", f"{sign_text}{high}e{exponent}"


def _fraction(x: arb) -> Fraction:
    mantissa, exponent = x.man_exp()
    m, e = int(mantissa), int(exponent)
    return Fraction(m << e) if e >= 0 else Fraction(m, 1 << -e)


def _round_rational(x: Fraction, digits: int) -> str:
    """Round half to even at `digits` significant digits; trailing zeros only where the number was cut."""
    if x == 0:
        return "0"
    minus = "-" if x < 0 else ""
    x = abs(x)
    place = digits - 1 - _exponent_of_ten(x)
    n = round(x * Fraction(10) ** place)
    if n == 10**digits:
        n, place = n // 10, place - 1
    exact = Fraction(n) == x * Fraction(10) ** place
    return minus + _positional(str(n), place, digits, exact)


def _exponent_of_ten(x: Fraction) -> int:
    """⌊log₁₀ x⌋ for x > 0."""
    guess = math.floor((x.numerator.bit_length() - x.denominator.bit_length()) * math.log10(2))
    while Fraction(10) ** guess > x:
        guess -= 1
    while Fraction(10) ** (guess + 1) <= x:
        guess += 1
    return guess


def _positional(n: str, place: int, digits: int, exact: bool) -> str:
    exponent = len(n) - 1 - place
    if exact:
        n = n.rstrip("0") or "0"
    if exponent < -5 or exponent >= max(digits, 16):
        mantissa = n[0] + ("." + n[1:] if n[1:] else "")
        return f"{mantissa}e{exponent}"
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + n
    n = n.ljust(exponent + 1, "0")
    whole, rest = n[: exponent + 1], n[exponent + 1 :]
    return whole + ("." + rest if rest else "")
