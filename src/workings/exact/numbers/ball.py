"""Enclosures: balls that contain a value, by interval arithmetic.

An enclosure [m ± r] contains the value, proved by the arithmetic (Arb, through python-flint). Each node keeps its best
one, so a shared graph is evaluated once, whatever its size when written out.
"""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable, Iterator, Mapping

import flint
from flint import arb

from workings.errors import UndecidedError
from workings.exact.numbers.functions import FUNCTIONS
from workings.exact.numbers.names import keywords, spelling
from workings.exact.numbers.value import LOCK, Rational, Value, bottom_up, operands

FIRST_BITS = 128


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
    with LOCK, precision(bits):  # FLINT's precision is one for the whole process
        todo: list[tuple[Value, bool]] = [(v, False)]  # no recursion: formulas are deeper than Python's stack
        while todo:
            x, ready = todo.pop()
            if x.bits >= bits:  # shared: another path through the graph came here first
                continue
            if not ready:
                missing = [(y, False) for y in operands(x) if y.bits < bits]
                if missing:
                    todo.append((x, True))
                    todo += missing
                    continue
            x.ball, x.bits = _sample_ball(x) if x.kind == "letter" else _evaluate(x, _OWN), bits
    return v.ball


def enclosure_at(v: Value, point: Mapping[str, Rational], bits: int = FIRST_BITS) -> arb:
    """A ball that contains `v` where the letters have these values; their sample values are not looked at."""
    balls: dict[Value, arb] = {}  # not those that the nodes keep, which are at the sample values
    with precision(bits):
        for x in bottom_up(v):
            balls[x] = arb(point[x.args[0]]) if x.kind == "letter" else _evaluate(x, balls.__getitem__)
    return balls[v]


_OWN = operator.attrgetter("ball")
"""The enclosure a node keeps."""


def _sample_ball(v: Value) -> arb:
    """The sample value of a letter."""
    if v.sample is None:
        name, given = spelling(v.args[0]), keywords([v.args[0]], "0.5")
        raise UndecidedError(
            f"The letter {name} has no value, so this cannot be decided. Give it a sample value, "
            f"symbols({given}), or replace it, x.substitute({given})."
        )
    return arb(v.sample)


def _evaluate(v: Value, ball: Callable[[Value], arb]) -> arb:
    """The enclosure of a node whose operands have theirs."""
    kind, args = v.kind, v.args
    if kind == "q":
        return arb(args[0])
    if kind == "add":
        return sum([ball(t) if c == 1 else ball(t) * c for c, t in args], arb(0))
    if kind == "mul":
        return math.prod([_power(ball(base), r) for base, r in args], start=arb(1))
    if kind == "dot":
        return sum(map(operator.mul, map(ball, args[0]), map(ball, args[1])), arb(0))
    if kind == "const":
        return arb.pi() if args[0] == "pi" else arb.const_euler()
    if kind == "nan":
        return arb.nan()
    if v.special:
        return arb.pos_inf() if kind == "inf" else arb.neg_inf()
    return FUNCTIONS[kind].ball(*map(ball, args))


def _power(b: arb, r: Rational) -> arb:
    if isinstance(r, int):
        if r > 0 and b.mid() == 0:  # FLINT answers NaN for a ball around 0 itself, though 0 ± r^k encloses it
            return arb(0, b.abs_upper() ** r)
        return b**r if r >= 0 else 1 / b ** (-r)
    # What stands under a root was found to be at least 0, but its ball may reach below: without this, √(x − x + 10⁻⁹⁹)
    # would be NaN at every precision whose ball still holds 0.
    if r > 0 and not b.is_nan() and b.contains(0):
        top = b.upper()
        return arb(0).union(_power(top, r)) if top > 0 else arb(0)
    if r.q == 2:  # tighter than e^(r log b), and much faster
        root = b.sqrt()
        n = int(r.p)
        return root**n if n >= 0 else 1 / root ** (-n)
    return b ** arb(r)


def exponent_of(ball: arb) -> int:
    """e with |v| < 2^e."""
    mantissa, exponent = abs(ball).upper().man_exp()
    return int(exponent) + int(mantissa).bit_length()
