"""Operations as written text means them: exact, real and of bounded size, or refused with the reason.

Where tensors follow PyTorch (1/0 is ∞), written text follows the textbook: 1/0, log(0) and √(−1) are
mistakes. A number is asked for its sign; letters are generic real numbers, so 1/w and log(w) stand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from flint import fmpq

from workings.errors import BudgetError, DomainError
from workings.exact.numbers import algebra
from workings.exact.numbers.ball import enclosure
from workings.exact.numbers.build import build
from workings.exact.numbers.functions import FUNCTIONS
from workings.exact.numbers.ranges import possible_signs
from workings.exact.numbers.roots import root_of
from workings.exact.numbers.sign import sign
from workings.exact.numbers.value import HALF, LARGE, ONE, ZERO, Rational, Value, rational

_HIGHEST = 2**31
"""The numerator and the denominator of an exponent are at most this."""
_MOST_BITS = 2**24
"""The rational factors of a result come to at most so many bits: 10^(10^6) has 3.3 million. Powers this long are kept as
powers, so they cost nothing until somebody asks for their digits."""


def total(terms: Sequence[Value]) -> Value:
    """The sum of the terms."""
    if len(terms) == 1:
        return terms[0]
    _check_finite(*terms)
    return _within_bits(algebra.add_all(terms))


def product(factors: Sequence[Value]) -> Value:
    """The product of the factors, taken in halves so that no long chain of nodes is built."""
    if len(factors) == 1:
        return factors[0]
    _check_finite(*factors)
    middle = len(factors) // 2
    return _within_bits(algebra.multiply(product(factors[:middle]), product(factors[middle:])))


def inverse(v: Value) -> Value:
    """1/v"""
    _check_finite(v)
    if _sign(v) == 0:
        raise DomainError("Division by zero.")
    return algebra.power(v, -1)


def power(b: Value, x: Value) -> Value:
    """b^x: a power product for rational x, e^(x log b) for b > 0, else the function `pow`."""
    _check_finite(b, x)
    s = _sign(b)
    if s == 0:
        return _power_of_zero(x)
    if x.kind == "q":
        return _rational_power(b, x.args[0], s)
    if s == -1:
        raise DomainError("A power of a negative number is real for whole exponents only.")
    if s == 1 or algebra.is_known_positive(b):
        return _exponential(algebra.multiply(x, algebra.log(b)))
    return build("pow", b, x)


def _power_of_zero(x: Value) -> Value:
    s = _sign(x)
    if s == -1:
        raise DomainError("Division by zero: 0 has no negative power.")
    if s is None:
        raise DomainError("A power of 0 needs an exponent whose sign is known.")
    return ZERO if s else ONE


def _rational_power(b: Value, r: Rational, s: int | None) -> Value:
    if b.kind == "exp":
        return _exponential(algebra.scale(b.args[0], r))
    q = fmpq(r)
    if s == -1 and q.q != 1:
        raise DomainError("A root of a negative number is not real.")
    if max(abs(int(q.p)), int(q.q)) > _HIGHEST:
        raise BudgetError(f"Expected an exponent with a numerator and a denominator of at most {_HIGHEST:,}.")
    _check_bits(_bits(b) * abs(q))
    return algebra.power(b, r)


def _exponential(x: Value) -> Value:
    """e^x; the powers that c log n turns into are bounded first."""
    _check_finite(x)
    for c, t in x.args if x.kind == "add" else ():
        if t.kind == "log":
            _check_bits(_bits(t.args[0]) * abs(c))
    return algebra.exp(x)


def square_root(x: Value) -> Value:
    """√x"""
    return power(x, rational(HALF))


def _absolute(x: Value) -> Value:
    """|x|, without the bars where the sign is known."""
    signs = possible_signs(x) if x.free else {_sign(x)}
    if -1 not in signs:
        return x
    return build("abs", x) if 1 in signs else algebra.scale(x, -1)


def _sigmoid(x: Value) -> Value:
    """1/(1 + e^−x)"""
    return algebra.power(algebra.add(ONE, _exponential(algebra.scale(x, -1))), -1)


class _Domain(NamedTuple):
    """Where a function of numbers is real, in words and as a test."""

    words: str
    holds: Callable[[Value], bool]


_UNIT = _Domain("a number from −1 to 1", lambda x: _sign(ONE - _absolute(x)) != -1)
_INSIDE = _Domain("a number between −1 and 1", lambda x: _sign(ONE - _absolute(x)) == 1)
_NO_POLE = _Domain("a number that is not 0, −1, −2, …", lambda x: type(x.rational) is not int or x.rational > 0)
_DOMAINS = {
    "log": _Domain("a positive number", lambda x: _sign(x) == 1),
    "tan": _Domain("a number where cos is not 0", lambda x: _sign(build("cos", x)) != 0),
    "asin": _UNIT,
    "acos": _UNIT,
    "acosh": _Domain("a number from 1 on", lambda x: _sign(x - ONE) != -1),
    "atanh": _INSIDE,
    "erfinv": _INSIDE,
    "lgamma": _NO_POLE,
    "digamma": _NO_POLE,
}
_OWN: dict[str, Callable[..., Value]] = {
    "sqrt": square_root,
    "exp": _exponential,
    "abs": _absolute,
    "sigmoid": _sigmoid,
    "pow": power,
    "root_of": root_of,
}
_OTHER_NAMES = {"ln": "log", "arcsin": "asin", "arccos": "acos", "arctan": "atan"}
NAMES = sorted({*FUNCTIONS, *_OWN, *_OTHER_NAMES})


def call(name: str, arguments: Sequence[Value]) -> Value:
    """The function of this name."""
    row = _OTHER_NAMES.get(name, name)
    count = len(arguments) if row == "root_of" else FUNCTIONS[row].takes if row in FUNCTIONS else 1
    if len(arguments) != count:
        raise DomainError(f"{name} takes {count} argument{'s' * (count > 1)}, found {len(arguments)}.")
    _check_finite(*arguments)
    domain = _DOMAINS.get(row)
    if domain and not arguments[0].free and not domain.holds(arguments[0]):
        raise DomainError(f"{name} needs {domain.words}.")
    return _within_bits(_OWN[row](*arguments) if row in _OWN else build(row, *arguments))


def _sign(v: Value) -> int | None:
    """The sign of a number; None for a formula in letters."""
    if v.free or v.kind == "exp":
        return 1 if v.kind == "exp" else None
    if not enclosure(v).is_finite():  # a tower of powers, beyond every enclosure
        raise BudgetError("The sign of a number this large is not known.")
    return sign(v)


def _check_finite(*vs: Value) -> None:
    if any(v.special for v in vs):
        raise DomainError("∞ and nan stand alone: write the result of calculating with them.")


def _bits(v: Value) -> Rational:
    """About log₂ of the rational factors of `v`: the bits that each power of it adds to a result."""
    if v.kind == "q":
        q = fmpq(v.args[0])
        return max((abs(int(q.p)) - 1).bit_length(), (int(q.q) - 1).bit_length())
    if v.kind == "mul":
        return sum(_bits(base) * abs(r) for base, r in v.args if base.kind == "q")
    if v.kind == "add":
        inner = _bits(v.args[0][1]) if len(v.args) == 1 else 0
        together = sum if v.size <= LARGE else max  # a large sum is not scaled to whole coefficients
        return inner + together(_bits(rational(c)) for c, _ in v.args)
    return 0


def _check_bits(bits: Rational) -> None:
    if bits > _MOST_BITS:
        raise BudgetError(f"Expected a result of at most {_MOST_BITS:,} bits, about 10^(5·10^6).")


def _within_bits(v: Value) -> Value:
    _check_bits(_bits(v))
    return v
