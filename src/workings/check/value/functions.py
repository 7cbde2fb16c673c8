"""The functions that a formula may name, on numbers and tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import flint
from flint import arb

from workings.check.value.axes import is_down, reduced
from workings.check.value.reading import Reading
from workings.check.value.value import (
    NoValue,
    Reason,
    Table,
    Undecided,
    Value,
    concatenate,
    determinant,
    each,
    entries,
    entrywise,
    free_list,
    inverse,
    scalar,
)

ZERO, _ONE = arb(0), arb(1)


def degree() -> arb:
    """π / 180, to the precision of the moment."""
    return arb.pi() / 180


def _real(rule: Callable[[arb], arb], name: str) -> Callable[[arb], arb]:
    """`rule`, refusing arguments at which it is not a real number."""

    def value(x: arb) -> arb:
        if name == "a root" and x < 0:
            raise NoValue("the root of a negative number")
        y = rule(x)
        if not y.is_finite() and x.is_finite():
            raise Undecided(f"{name} is not a real number there", Reason.NUMBER)
        return y

    return value


def _logistic(x: arb) -> arb:
    """1 / (1 + e⁻ˣ)."""
    return 1 / (1 + (-x).exp())


_ENTRYWISE: dict[str, Callable[[arb], arb]] = {
    **{name: getattr(arb, name) for name in "exp sin cos sinh cosh tanh atan sech erf floor ceil".split()},
    "tan": _real(arb.tan, "tan"),
    "arctan": arb.atan,
    "arcsin": _real(arb.asin, "arcsin"),
    "arccos": _real(arb.acos, "arccos"),
    "sqrt": _real(arb.sqrt, "a root"),
    "abs": abs,
    "sign": arb.sgn,
    "sgn": arb.sgn,
    "round": lambda x: (x + arb(1) / 2).floor(),
    "relu": lambda x: x.max(ZERO),
    "sigmoid": _logistic,
    "sig": _logistic,
    "softplus": lambda x: (1 + x.exp()).log(),
    "silu": lambda x: x * _logistic(x),
    "swish": lambda x: x * _logistic(x),
    "gelu": lambda x: x * (1 + (x / arb(2).sqrt()).erf()) / 2,
}


def logarithm(value: Value, base: arb | None) -> Value:
    """log x / log base, of positive numbers."""

    def rule(x: arb) -> arb:
        if x.is_zero():
            raise Undecided("the logarithm of zero", Reason.NUMBER)
        if x < 0:
            raise NoValue("the logarithm of a negative number")
        if not x > 0:
            raise Undecided("the logarithm of what may not be positive", Reason.NUMBER)
        return x.log() if base is None else x.log() / base.log()

    return each(rule, value)


def exponential(x: arb) -> arb:
    """eˣ, where −∞ gives 0."""
    if x.is_finite():
        if float(x) > 1e5:
            raise Undecided("the exponential is too large", Reason.LARGE)
        return x.exp()
    return ZERO if not x.is_nan() and x < 0 else x.exp()


def _softmax_row(row: tuple[arb, ...]) -> tuple[arb, ...]:
    """softmax: eˣ / Σ eˣ, each share of at most 1."""
    finite = [x for x in row if x.is_finite()]
    top = _extreme("max", [x.mid() for x in finite]) if finite else ZERO
    powers = [exponential(x - top) if x.is_finite() else exponential(x) for x in row]
    total = sum(powers, ZERO)
    if not total > 0:
        raise Undecided("softmax of nothing but −∞", Reason.NUMBER)
    return tuple(p / total for p in powers)


def _softmax(value: Value, reading: Reading) -> Table:
    """softmax of each row; of each column; of a vector as one."""
    if not isinstance(value, Table):
        raise Undecided("softmax of a number")
    if value.shape[1] == 1 or (reading.softmax == "columns" and value.shape[0] > 1):
        return Table(tuple(map(_softmax_row, value.T.rows)), value.free).T
    return Table(tuple(map(_softmax_row, value.rows)), value.free)


def _variance(numbers: list[arb], reading: Reading) -> arb:
    """Σ (x − μ)² / n, or / (n − 1)."""
    n = len(numbers)
    mean = sum(numbers, ZERO) / n
    divisor = n if reading.spread == "n" else n - 1
    if divisor == 0:
        raise Undecided("the sample variance of one number")
    return sum(((x - mean) * (x - mean) for x in numbers), ZERO) / divisor


def norm(value: Value, p: str) -> arb:
    """‖x‖₁, ‖x‖₂ = ‖x‖_F, ‖x‖_∞."""
    sizes = [abs(x) for x in entries(value)]
    if isinstance(value, Table) and not value.is_vector and p != "F":
        if p == "2":
            return _largest_stretch(value)
        raise Undecided("a norm of a matrix that is not computed")
    if p in ("2", "F"):
        return sum((x * x for x in sizes), ZERO).sqrt()
    if p == "1":
        return sum(sizes, ZERO)
    if p == "∞":
        return _extreme("max", sizes)
    raise Undecided(f"the norm ‖·‖_{p}")


def _largest_stretch(a: Table) -> arb:
    """‖A‖₂ = √λ, the largest eigenvalue λ of AᵀA."""
    n, m = a.shape
    matrix = flint.arb_mat(n, m, a.entries)
    try:
        eigenvalues = flint.acb_mat(matrix.transpose() * matrix).eig(nonstop=True)
    except (ValueError, RuntimeError) as error:
        raise Undecided("eigenvalues that cannot be told apart") from error
    return _extreme("max", [value.real.mid() for value in eigenvalues]).sqrt()


def _extreme(name: str, numbers: list[arb]) -> arb:
    """max or min."""
    result = numbers[0]
    for x in numbers[1:]:
        result = result.max(x) if name == "max" else result.min(x)
    return result


def _position(name: str, numbers: list[arb], first: int) -> arb:
    """argmax or argmin, counted from `first`, where it is certain."""
    best = _extreme(name[3:], numbers)
    found = [i for i, x in enumerate(numbers, first) if x.overlaps(best)]
    if len(found) != 1:
        raise Undecided("more than one entry is the largest")
    return arb(found[0])


def _numbers_of(values: list[Value]) -> list[arb]:
    """The numbers of one table, or of several arguments."""
    return [x for value in values for x in entries(value)]


def _trace(value: Value) -> arb:
    """Σ Aᵢᵢ."""
    if not isinstance(value, Table):
        return value
    return sum((row[i] for i, row in enumerate(value.rows)), ZERO)


def _diagonal(values: list[Value]) -> Table:
    """diag(x): a matrix with x on its diagonal; the diagonal of a matrix."""
    [value] = values if len(values) == 1 else [free_list(_numbers_of(values))]
    if not isinstance(value, Table):
        raise Undecided("diag of a number")
    if not value.is_vector:
        return free_list([row[i] for i, row in enumerate(value.rows) if i < len(row)])
    x = value.entries
    return Table(tuple(tuple(x[i] if i == j else ZERO for j in range(len(x))) for i in range(len(x))))


def _binomial(n: Value, k: Value) -> arb:
    """n over k."""
    above, below = scalar(n), scalar(k)
    if not (above.is_integer() and below.is_integer() and 0 <= float(below) <= float(above) <= 2000):
        raise Undecided("a binomial of what are not moderate whole numbers", Reason.LARGE)
    return arb.bin_uiui(int(float(above)), int(float(below)))


def _common(name: str, numbers: list[arb]) -> arb:
    """The greatest common divisor or the least common multiple."""
    if not all(x.is_integer() and abs(float(x)) < 2**53 for x in numbers):
        raise Undecided(f"the {name} of what are not moderate whole numbers", Reason.LARGE)
    rule = math.gcd if name == "gcd" else math.lcm
    return arb(rule(*(int(float(x)) for x in numbers)))


def factorial(value: Value) -> arb:
    """n!"""
    n = scalar(value)
    if not n.is_integer() or not 0 <= float(n) <= 5000:
        raise Undecided("a factorial of what is not a moderate whole number", Reason.LARGE)
    return arb.fac_ui(int(float(n)))


def call(name: str, values: list[Value], reading: Reading) -> Value:
    """The value of a named function."""
    if not values:
        raise Undecided(f"{name} of nothing", Reason.UNFINISHED)
    if name in _ENTRYWISE and len(values) == 1:
        return each(exponential if name == "exp" else _ENTRYWISE[name], values[0])
    if name in ("softmax", "softargmax", "logsoftmax"):
        result = _softmax(values[0] if len(values) == 1 else free_list(_numbers_of(values)), reading)
        return each(arb.log, result) if name == "logsoftmax" else result
    if name in ("max", "min"):
        if len(values) == 2 and any(isinstance(value, Table) for value in values):
            return entrywise(lambda x, y: _extreme(name, [x, y]), values[0], values[1], ",")
        return _extreme(name, _numbers_of(values))
    if name in ("argmax", "argmin"):
        return _position(name, _numbers_of(values), reading.first)
    if name in ("mean", "avg", "var", "std", "sum"):
        numbers = _numbers_of(values)
        if len(values) == 1 and not isinstance(values[0], Table):
            raise Undecided(f"{name} of one number")
        if name == "sum":
            return sum(numbers, ZERO)
        if name in ("mean", "avg"):
            return sum(numbers, ZERO) / len(numbers)
        return _variance(numbers, reading) if name == "var" else _variance(numbers, reading).sqrt()
    if name in ("concat", "cat"):
        return concatenate(values, below=not reading.beside)
    if name == "diag":
        return _diagonal(values)
    if name in ("gcd", "lcm") and len(values) > 1:
        return _common(name, _numbers_of(values))
    if name == "binom" and len(values) == 2:
        return _binomial(*values)
    if len(values) == 1 and name in _ONE_ARGUMENT:
        return _ONE_ARGUMENT[name](values[0])
    raise Undecided(f"{name} is not known", Reason.FUNCTION)


def call_along(name: str, values: list[Value], along: tuple[int, ...], reading: Reading) -> Value:
    """The value of a function along an axis: mean_{axis −1}(x), softmax_{axis −2}(S), cat_{axis −1}(A, B)."""
    if name in ("concat", "cat") and len(along) == 1:
        if all(isinstance(value, Table) and value.free for value in values):
            return free_list(_numbers_of(values))
        return concatenate(values, below=is_down(along))
    if len(values) != 1:
        raise Undecided(f"{name} of several things along an axis")
    if name in ("softmax", "softargmax", "logsoftmax"):
        return call(name, values, replace(reading, softmax="columns" if is_down(along) else "rows"))
    if name not in ("mean", "avg", "sum", "max", "min", "var", "std", "argmax", "argmin", "norm"):
        raise Undecided(f"{name} along an axis", Reason.FUNCTION)

    def rule(numbers: list[arb]) -> arb:
        return scalar(call(name, [free_list(numbers)], reading))

    return reduced(rule, values[0], along)


def _need_table(value: Value) -> Table:
    """A table, or no value."""
    if not isinstance(value, Table):
        raise Undecided("a matrix is needed")
    return value


_ONE_ARGUMENT: dict[str, Callable[[Value], Value]] = {
    "tr": _trace,
    "trace": _trace,
    "det": lambda value: determinant(_need_table(value)),
    "inv": lambda value: inverse(_need_table(value)),
    "norm": lambda value: norm(value, "2"),
    "transpose": lambda value: _need_table(value).T,
    "flatten": lambda value: free_list(entries(value)),
    "vec": lambda value: free_list(entries(_need_table(value).T)),
}
