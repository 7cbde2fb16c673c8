"""Formulas rewritten by identities, so that equal ones look alike: for proofs, not for display.

    tan x = sin x / cos x        cos² x = 1 − sin² x       cosh, sinh, tanh by e^x       erfc x = 1 − erf x
    |x|² = x²                    √(x²) = |x|               log 6 = log 2 + log 3         log x² = 2 log |x|
    log(e^x + e^2x) = x + log(1 + e^x)                     e^(x(y + 1)) = e^(xy + x)

They hold wherever both sides are defined.
"""

from __future__ import annotations

from flint import fmpq

from workings.exact.numbers import algebra
from workings.exact.numbers.build import build
from workings.exact.numbers.rational_form import NoForm, RationalForm
from workings.exact.numbers.rebuild import REBUILD, Made, Row, rebuild
from workings.exact.numbers.value import HALF, ONE, Rational, Value, bottom_up, rational, whole


def rewrite(v: Value) -> Value:
    """`v` by the identities above; `v` itself where none applies."""
    return rebuild(v, REBUILD | _IDENTITIES) if any(map(_applies, bottom_up(v))) else v


def _applies(v: Value) -> bool:
    if v.kind == "mul":
        return any(base.kind in ("abs", "cos") or _even_power(base) is not None for base, _ in v.args)
    if v.kind == "exp":
        return any(_is_product_of_sums(x) for x in bottom_up(v.args[0]))
    return v.kind in _IDENTITIES


def _is_product_of_sums(v: Value) -> bool:
    return v.kind == "mul" and any(base.kind == "add" and type(r) is int and r > 0 for base, r in v.args)


def _even_power(v: Value) -> tuple[Value, int] | None:
    """b and n where v = b^n with an even n."""
    if v.kind == "mul" and len(v.args) == 1 and type(v.args[0][1]) is int and v.args[0][1] % 2 == 0:
        return v.args[0]
    return None


def _size(v: Value) -> Value:
    return v if algebra.is_known_positive(v) else build("abs", v)


def _product(v: Value, made: Made) -> Value:
    return algebra.multiply_all(_power(made[base], r) for base, r in v.args)


def _power(b: Value, r: Rational) -> Value:
    if type(r) is int and b.kind == "abs":
        return algebra.power(b.args[0], r - r % 2) * algebra.power(b, r % 2)
    if type(r) is int and r > 1 and b.kind == "cos":
        sine = build("sin", b.args[0])
        return algebra.power(ONE - sine * sine, r // 2) * algebra.power(b, r % 2)
    square = _even_power(b)
    if type(r) is not int and square is not None:
        return _power(_size(square[0]), whole(square[1] * r))
    return algebra.power(b, r)


def _tangent(v: Value, made: Made) -> Value:
    x = made[v.args[0]]
    return build("sin", x) / build("cos", x)


def _exponentials(v: Value, made: Made) -> Value:
    x = made[v.args[0]]
    up, down = algebra.exp(x), algebra.exp(-x)
    if v.kind == "tanh":
        return (up - down) / (up + down)
    return algebra.scale(up + down if v.kind == "cosh" else up - down, HALF)


def _logarithm(v: Value, made: Made) -> Value:
    """The logarithm of a product, taken apart."""
    x = made[v.args[0]]
    if x.kind == "q":
        return _log_of_fraction(fmpq(x.args[0]))
    square = _even_power(x)
    if square is not None:
        return algebra.scale(algebra.log(_size(square[0])), square[1])
    return _log_of_quotient(x)


def _log_of_fraction(q: fmpq) -> Value:
    parts = [*((p, k) for p, k in algebra.primes(int(q.p))), *((p, -k) for p, k in algebra.primes(int(q.q)))]
    return algebra.add_all(algebra.scale(algebra.log(rational(p)), k) for p, k in parts)


def _log_of_quotient(x: Value) -> Value:
    """log x by the factors of its quotient of polynomials, where these are positive."""
    try:
        form = RationalForm(x)
    except NoForm:
        return algebra.log(x)
    (c, top), (d, bottom) = form.top.factor(), form.bottom.factor()
    factors = [*((form.expanded(p), int(n)) for p, n in top), *((form.expanded(p), -int(n)) for p, n in bottom)]
    if c / d <= 0 or not all(algebra.is_known_positive(factor) for factor, _ in factors):
        return algebra.log(x)
    logarithms = [algebra.scale(algebra.log(factor), n) for factor, n in factors]
    return algebra.add_all([_log_of_fraction(c / d), *logarithms])


def _exponential(v: Value, made: Made) -> Value:
    """With the exponent multiplied out."""
    x = made[v.args[0]]
    try:
        form = RationalForm(x) if x.free else None
    except NoForm:
        form = None
    if form is None or form.bottom != form.one:
        return algebra.exp(x)
    return algebra.exp(form.expanded(form.top))


_IDENTITIES: dict[str, Row] = {
    "exp": _exponential,
    "mul": _product,
    "tan": _tangent,
    "cosh": _exponentials,
    "sinh": _exponentials,
    "tanh": _exponentials,
    "log": _logarithm,
    "erfc": lambda v, made: ONE - build("erf", made[v.args[0]]),
}
