"""What ATen's elementwise functions mean on single exact values.

`RULES` has a row per operation: how to build the result, and where the exact domain ends. Outside it (a pole, ∞, NaN, a
negative under a root) the answer is what PyTorch's own float64 kernel says there: ∞, −∞, NaN or a plain number.
Letters are generic real numbers: a formula holds wherever it is defined.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from flint import fmpq

from workings.errors import DomainError, UndecidedError
from workings.exact.numbers import algebra
from workings.exact.numbers.assume import assume
from workings.exact.numbers.build import build
from workings.exact.numbers.infinite import ARITHMETIC, arithmetic
from workings.exact.numbers.proof import rational_value
from workings.exact.numbers.ranges import possible_signs
from workings.exact.numbers.rounding import floor_of, to_float
from workings.exact.numbers.sign import compare, decided, sign
from workings.exact.numbers.value import HALF, NAN, ONE, ZERO, Value, constant, height, letter_nodes, letters, rational
from workings.exact.reading.recover import as_is
from workings.exact.tensor.lift import as_mask, lift_float

Build = Callable[..., Value]
Outside = Callable[..., bool]


class Rule(NamedTuple):
    """`outside` says for which arguments PyTorch's float kernel answers instead."""

    build: Build
    outside: Outside | None = None


def scalar(name: str, *xs: Value) -> Value:
    """The operation `name` on these values."""
    rule = RULES[name]
    special = any(x.special for x in xs)
    if special and name in ARITHMETIC:
        return arithmetic(name, *xs)
    if special or (rule.outside is not None and rule.outside(*xs)):
        return _as_torch_does(name, xs)
    return rule.build(*xs)


def _as_torch_does(name: str, xs: tuple[Value, ...]) -> Value:
    function = _TORCH.get(name) or getattr(torch.ops.aten, name)
    return lift_float(float(function(*[torch.tensor(_stand_in(x), dtype=torch.float64) for x in xs])))


def sample_float(v: Value) -> float:
    """The nearest double. Letters stand at their sample values, and that is noted."""
    x = to_float(v)
    if v.free:
        named = ", ".join(sorted(letters(v)))
        assume("order", f"{v.text()} was taken as the float {x!r} (at the sample values of {named})", v, "≈", as_is(x))
    return x


def _stand_in(v: Value) -> float:
    """A double near v, finite where v is, on the same side of every integer: asin(1 + 10⁻⁵⁰) has no value, asin(1) has."""
    x = sample_float(v)
    if v.special:
        return x
    if math.isinf(x):
        return math.copysign(sys.float_info.max, x)
    side = compare(v, rational(int(x))) if x.is_integer() else 0
    return math.nextafter(x, side * math.inf) if side else x


_TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "log_sigmoid": torch.nn.functional.logsigmoid,
    "softplus": torch.nn.functional.softplus,
    "sgn": torch.sign,
}


# ---- where the exact domain ends. A value with letters is inside: its sign is not asked.
def known_sign(v: Value) -> int | None:
    """The sign of a number; None for a value with letters."""
    return None if v.free else sign(v)


def _negative(x: Value) -> bool:
    return known_sign(x) == -1


def _not_positive(x: Value) -> bool:
    return known_sign(x) in (-1, 0)


def _beyond(limit: Value, *, or_at: bool = False) -> Outside:
    """Whether |x| > limit (or ≥)."""
    least = 0 if or_at else 1
    return lambda x: not x.free and max(compare(x, limit), compare(algebra.scale(x, -1), limit)) >= least


def _below(limit: Value, *, or_at: bool = False) -> Outside:
    """Whether x < limit (or ≤)."""
    return lambda x: not x.free and compare(x, limit) <= (0 if or_at else -1)


def _zero_divisor(_: Value, b: Value) -> bool:
    return b is ZERO or (not b.free and b.kind != "q" and sign(b) == 0)


def _gamma_pole(x: Value) -> bool:
    return x.kind == "q" and type(x.args[0]) is int and x.args[0] <= 0


def _not_between_0_and_1(x: Value) -> bool:
    return not x.free and not (sign(x) > 0 and compare(x, ONE) < 0)


def _no_real_zeta(s: Value, a: Value) -> bool:
    """Whether Σ (a + k)^−s diverges, has a pole, or roots of negative numbers."""
    if compare(s, ONE) <= 0 or _gamma_pole(a):
        return True
    return known_sign(a) == -1 and not (s.kind == "q" and type(s.args[0]) is int)


def _no_real_power(a: Value, b: Value) -> bool:
    base = known_sign(a)
    if base == 0:
        return True
    return base == -1 and not (b.kind == "q" and type(b.args[0]) is int)


# ---- rules
def _add(a: Value, b: Value) -> Value:
    a, b = as_mask(a), as_mask(b)
    return arithmetic("add", a, b) if a.special or b.special else algebra.add(a, b)


def _subtract(a: Value, b: Value) -> Value:
    a = as_mask(a)
    return a if a.special else algebra.subtract(a, b)


def _exp(x: Value) -> Value:
    x = as_mask(x)
    return ZERO if x.special else algebra.exp(x)


def _power(a: Value, b: Value) -> Value:
    """a^b: an exact power for rational b, e^{b log a} for a number a > 0, a formula otherwise."""
    if a is ONE:
        return ONE
    if b.kind == "q":
        exponent = b.args[0]
        if a.kind == "q" and abs(exponent) * height(a.args[0]) > 2**24:
            return build("pow", a, b)
        return algebra.power(a, exponent)
    if a.kind == "exp":
        return algebra.exp(a.args[0] * b)
    if algebra.is_known_positive(a):
        return algebra.exp(b * algebra.log(a))
    return build("pow", a, b)


def _square_root(x: Value) -> Value:
    return algebra.power(x, HALF)


def absolute(x: Value) -> Value:
    """|x|: decided where the sign is known (or a sample value decides it), else a formula."""
    if x.free and not has_samples(x):
        signs = possible_signs(x)
        known = x if signs <= {0, 1} else algebra.scale(x, -1) if signs <= {0, -1} else None
        return build("abs", x) if known is None else known
    return x if decided(x, ZERO, lambda c: c >= 0) else algebra.scale(x, -1)


def _signum(x: Value) -> Value:
    """The sign; x/|x| for letters without sample values, which holds where x is not 0."""
    if x.free and not has_samples(x):
        signs = possible_signs(x)
        return rational(next(iter(signs))) if len(signs) == 1 else x / build("abs", x)
    return rational(sign(x))


def has_samples(x: Value) -> bool:
    """Whether every letter in x has a sample value."""
    return all(one.sample is not None for one in letter_nodes(x))


def integer_part(x: Value) -> int:
    """x without its fraction: towards zero."""
    return floor_of(x) if sign(x) >= 0 else -floor_of(algebra.scale(x, -1))


def _floor(x: Value) -> Value:
    return rational(floor_of(x))


def _ceil(x: Value) -> Value:
    return rational(-floor_of(algebra.scale(x, -1)))


def _trunc(x: Value) -> Value:
    return rational(integer_part(x))


def _round(x: Value) -> Value:
    """To the nearest integer, halves to even."""
    n = floor_of(x)
    c = compare(x - rational(n), rational(HALF))
    return rational(n + (c > 0 or (c == 0 and n % 2 == 1)))


def _remainder(a: Value, b: Value) -> Value:
    return _short(a - _floor(a / b) * b)


def _fmod(a: Value, b: Value) -> Value:
    return _short(a - _trunc(a / b) * b)


def _short(v: Value) -> Value:
    """The rest of a long number, which its formula does not show: 10^(10^6) − 7·⌊10^(10^6)/7⌋ is 2."""
    q = None if v.kind == "q" else rational_value(v)
    return v if q is None else rational(q)


def _copysign(a: Value, b: Value) -> Value:
    return absolute(a) if sign(b) >= 0 else algebra.scale(absolute(a), -1)


def _log_base(n: int) -> Build:
    return lambda x: algebra.log(x) / algebra.log(rational(n))


def _two_to(x: Value) -> Value:
    return _power(rational(2), x)


def _sigmoid(x: Value) -> Value:
    """1/(1 + e^{−x})"""
    return algebra.power(ONE + algebra.exp(algebra.scale(x, -1)), -1)


def _softplus(x: Value) -> Value:
    """log(1 + e^x)"""
    return algebra.log(ONE + algebra.exp(x))


def _tan(x: Value) -> Value:
    half_turns = (x / constant("pi")).rational
    if isinstance(half_turns, fmpq) and half_turns.q == 2:
        raise DomainError(f"tan has a pole at {x.text()}: it has no value there, and grows without bound on both sides.")
    return build("tan", x)


def _sinc(x: Value) -> Value:
    if x is ZERO:
        return ONE
    y = constant("pi") * x
    return build("sin", y) / y


def _times_log(a: Value, b: Value) -> Value:
    return ZERO if a is ZERO else a * algebra.log(b)


def _bessel(kind: str, order: int) -> Build:
    return partial(build, f"bessel_{kind}", rational(order))


def _decay(x: Value) -> Value:
    """e^−|x|"""
    return algebra.exp(algebra.scale(absolute(x), -1))


RULES: dict[str, Rule] = {
    "add": Rule(_add),
    "sub": Rule(_subtract),
    "mul": Rule(algebra.multiply),
    "neg": Rule(lambda x: algebra.scale(x, -1)),
    "div": Rule(lambda a, b: a / b, _zero_divisor),
    "reciprocal": Rule(lambda x: algebra.power(x, -1), lambda x: _zero_divisor(x, x)),
    "pow": Rule(_power, _no_real_power),
    "sqrt": Rule(_square_root, _negative),
    "rsqrt": Rule(lambda x: algebra.power(x, -HALF), _not_positive),
    "hypot": Rule(lambda a, b: _square_root(a * a + b * b)),
    "abs": Rule(absolute),
    "sign": Rule(_signum),
    "sgn": Rule(_signum),
    "floor": Rule(_floor),
    "ceil": Rule(_ceil),
    "trunc": Rule(_trunc),
    "round": Rule(_round),
    "remainder": Rule(_remainder, _zero_divisor),
    "fmod": Rule(_fmod, _zero_divisor),
    "copysign": Rule(_copysign),
    "exp": Rule(_exp),
    "exp2": Rule(_two_to),
    "expm1": Rule(lambda x: algebra.exp(x) - ONE),
    "log": Rule(algebra.log, _not_positive),
    "log2": Rule(_log_base(2), _not_positive),
    "log10": Rule(_log_base(10), _not_positive),
    "log1p": Rule(lambda x: algebra.log(ONE + x), _below(rational(-1), or_at=True)),
    "logit": Rule(lambda x: algebra.log(x / (ONE - x)), _not_between_0_and_1),
    "logaddexp": Rule(lambda a, b: algebra.log(algebra.exp(a) + algebra.exp(b))),
    "logaddexp2": Rule(lambda a, b: _log_base(2)(_two_to(a) + _two_to(b))),
    "xlogy": Rule(_times_log, lambda a, b: a is not ZERO and _not_positive(b)),
    "special_xlog1py": Rule(lambda a, b: _times_log(a, ONE + b), lambda a, b: a is not ZERO and _not_positive(ONE + b)),
    "special_entr": Rule(lambda x: algebra.scale(_times_log(x, x), -1), _negative),
    "sigmoid": Rule(_sigmoid),
    "log_sigmoid": Rule(lambda x: algebra.scale(_softplus(algebra.scale(x, -1)), -1)),
    "softplus": Rule(_softplus),
    "sin": Rule(partial(build, "sin")),
    "cos": Rule(partial(build, "cos")),
    "tan": Rule(_tan),
    "asin": Rule(partial(build, "asin"), _beyond(ONE)),
    "acos": Rule(partial(build, "acos"), _beyond(ONE)),
    "atan": Rule(partial(build, "atan")),
    "atan2": Rule(partial(build, "atan2"), lambda a, b: a is ZERO and b is ZERO),
    "sinh": Rule(partial(build, "sinh")),
    "cosh": Rule(partial(build, "cosh")),
    "tanh": Rule(partial(build, "tanh")),
    "asinh": Rule(partial(build, "asinh")),
    "acosh": Rule(partial(build, "acosh"), _below(ONE)),
    "atanh": Rule(partial(build, "atanh"), _beyond(ONE, or_at=True)),
    "sinc": Rule(_sinc),
    "erf": Rule(partial(build, "erf")),
    "erfc": Rule(partial(build, "erfc")),
    "erfinv": Rule(partial(build, "erfinv"), _beyond(ONE, or_at=True)),
    "special_erfcx": Rule(lambda x: algebra.exp(x * x) * build("erfc", x)),
    "special_ndtri": Rule(
        lambda x: _square_root(rational(2)) * build("erfinv", algebra.scale(x, 2) - ONE), _not_between_0_and_1
    ),
    "special_ndtr": Rule(lambda x: algebra.scale(build("erfc", x * rational(-1) * algebra.power(rational(2), -HALF)), HALF)),
    "special_log_ndtr": Rule(lambda x: algebra.log(RULES["special_ndtr"].build(x))),
    "lgamma": Rule(partial(build, "lgamma"), _gamma_pole),
    "digamma": Rule(partial(build, "digamma"), _gamma_pole),
    "special_zeta": Rule(partial(build, "zeta"), _no_real_zeta),
    "igamma": Rule(partial(build, "gamma_lower"), lambda a, x: _not_positive(a) or _not_positive(x)),
    "igammac": Rule(lambda a, x: ONE - build("gamma_lower", a, x), lambda a, x: _not_positive(a) or _not_positive(x)),
    "special_airy_ai": Rule(partial(build, "airy_ai")),
    "i0": Rule(_bessel("i", 0)),
    "special_i0e": Rule(lambda x: _decay(x) * _bessel("i", 0)(x)),
    "special_i1": Rule(_bessel("i", 1)),
    "special_i1e": Rule(lambda x: _decay(x) * _bessel("i", 1)(x)),
    "special_bessel_j0": Rule(_bessel("j", 0)),
    "special_bessel_j1": Rule(_bessel("j", 1)),
    "special_bessel_y0": Rule(_bessel("y", 0), _not_positive),
    "special_bessel_y1": Rule(_bessel("y", 1), _not_positive),
    "special_modified_bessel_i0": Rule(_bessel("i", 0)),
    "special_modified_bessel_i1": Rule(_bessel("i", 1)),
    "special_modified_bessel_k0": Rule(_bessel("k", 0), _not_positive),
    "special_modified_bessel_k1": Rule(_bessel("k", 1), _not_positive),
    "special_scaled_modified_bessel_k0": Rule(lambda x: algebra.exp(x) * _bessel("k", 0)(x), _not_positive),
    "special_scaled_modified_bessel_k1": Rule(lambda x: algebra.exp(x) * _bessel("k", 1)(x), _not_positive),
    "special_spherical_bessel_j0": Rule(lambda x: ONE if x is ZERO else build("sin", x) / x),
}


# ---- comparisons: on pairs, so that letters are compared only where the program asks
def _ordering(test: Callable[[int], bool]) -> Callable[[Value, Value], bool]:
    """A comparison by the sign of a − b; none with NaN holds."""
    return lambda a, b: a is not NAN and b is not NAN and _decided(a, b, test)


def _equal(a: Value, b: Value) -> bool:
    if a is NAN or b is NAN or a is b:
        return a is b and a is not NAN
    return _decided(a, b, lambda c: c == 0)


def _decided(a: Value, b: Value, test: Callable[[int], bool]) -> bool:
    """A comparison. PyTorch's gradients ask for exceptions, such as a norm of 0: there letters are generic, noted."""
    try:
        return decided(a, b, test)
    except UndecidedError:
        answers = {test(s) for s in possible_signs(a - b) - {0}}
        if torch._C._current_graph_task_id() < 0 or len(answers) != 1:
            raise
        assume("order", f"{(a - b).text()} ≠ 0 (letters are generic numbers)", a - b, "≠", ZERO)
        return answers.pop()


COMPARISONS: dict[str, Callable[..., bool]] = {
    "eq": _equal,
    "ne": lambda a, b: not _equal(a, b),
    "lt": _ordering(lambda c: c < 0),
    "le": _ordering(lambda c: c <= 0),
    "gt": _ordering(lambda c: c > 0),
    "ge": _ordering(lambda c: c >= 0),
    "isnan": lambda x: x is NAN,
    "isinf": lambda x: x.kind in ("inf", "-inf"),
    "isposinf": lambda x: x.kind == "inf",
    "isneginf": lambda x: x.kind == "-inf",
    "isfinite": lambda x: not x.special,
    "signbit": lambda x: x is not NAN and sign(x) < 0,
    "logical_not": lambda x: _equal(x, ZERO),
    "logical_and": lambda a, b: not _equal(a, ZERO) and not _equal(b, ZERO),
    "logical_or": lambda a, b: not _equal(a, ZERO) or not _equal(b, ZERO),
    "logical_xor": lambda a, b: _equal(a, ZERO) != _equal(b, ZERO),
}


def _larger(a: Value, b: Value) -> Value:
    return NAN if a is NAN or b is NAN else a if decided(a, b, lambda c: c >= 0) else b


def _smaller(a: Value, b: Value) -> Value:
    return NAN if a is NAN or b is NAN else a if decided(a, b, lambda c: c <= 0) else b


CHOICES: dict[str, Callable[..., Value]] = {
    "maximum": _larger,
    "minimum": _smaller,
    "fmax": lambda a, b: b if a is NAN else a if b is NAN else _larger(a, b),
    "fmin": lambda a, b: b if a is NAN else a if b is NAN else _smaller(a, b),
    "relu": lambda x: _larger(x, ZERO),
}
