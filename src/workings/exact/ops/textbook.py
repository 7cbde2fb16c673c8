"""Operations whose kernels are stabilised for floats, by their textbook definitions (no maximum is subtracted)."""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import Any

import torch

from workings.errors import DomainError
from workings.exact.dispatch.elementwise import apply, choose, comparison
from workings.exact.dispatch.operation import label_of, rule, same_values, state, wrap
from workings.exact.dispatch.scalar import absolute, sample_float
from workings.exact.dispatch.shapes import axes
from workings.exact.numbers import algebra
from workings.exact.numbers.rounding import to_float
from workings.exact.numbers.sign import compare, sign
from workings.exact.numbers.value import ONE, ZERO, Value, rational
from workings.exact.ops import forward_mode
from workings.exact.ops.contract import total
from workings.exact.reading.recover import TAKEN
from workings.exact.tensor.arena import payload_of, values_of
from workings.exact.tensor.exact_tensor import OVERRIDES, ExactTensor
from workings.exact.tensor.lift import payload
from workings.exact.tensor.make import exact


@rule("_softmax", "softmax.int")
def softmax(x: Any, dim: int, half_to_float: Any = False) -> Any:
    """e^x / Σ e^x"""
    forward_mode.remember(x, dim)
    if not axes(dim, x.dim()):
        return torch.ones_like(x)
    e = apply("exp", x)
    return apply("div", e, total(e, dim, True))


@rule("_safe_softmax")
def safe_softmax(x: Any, dim: int, dtype: Any = None) -> Any:
    """Softmax, with rows of −∞ only giving zeros."""
    masked = comparison("isneginf", x).all(dim, keepdim=True)
    return torch.where(masked, torch.zeros_like(x), softmax(x, dim))


@rule("_log_softmax")
def log_softmax(x: Any, dim: int, half_to_float: Any = False) -> Any:
    """x − log Σ e^x"""
    forward_mode.remember(x, dim)
    if not axes(dim, x.dim()):
        return torch.zeros_like(x)
    return apply("sub", x, apply("log", total(apply("exp", x), dim, True)))


@rule("logsumexp")
def logsumexp(x: Any, dim: Any, keepdim: bool = False) -> ExactTensor:
    """log Σ e^x"""
    forward_mode.remember(x, dim)
    return apply("log", total(apply("exp", x), dim, keepdim))


@rule("log_sigmoid_forward")
def log_sigmoid_forward(x: Any) -> Any:
    return apply("log_sigmoid", x), torch.zeros_like(x)


@rule("log_sigmoid_backward")
def log_sigmoid_backward(g: Any, x: Any, buffer: Any) -> ExactTensor:
    return apply("mul", g, apply("sigmoid", apply("neg", x)))


_SHORTCUT = 20
"""From this threshold on, softplus differs from its linear branch by less than e^−20: a float kernel's shortcut."""


@rule("softplus")
def softplus(x: Any, beta: Any = 1, threshold: Any = _SHORTCUT) -> Any:
    """log(1 + e^{βx})/β, and x where βx exceeds a threshold that was lowered on purpose."""
    curve = apply("div", apply("softplus", apply("mul", x, beta)), beta)
    return curve if threshold >= _SHORTCUT else torch.where(comparison("gt", apply("mul", x, beta), threshold), x, curve)


@rule("softplus_backward")
def softplus_backward(g: Any, x: Any, beta: Any, threshold: Any) -> Any:
    slope = apply("mul", g, apply("sigmoid", apply("mul", x, beta)))
    return slope if threshold >= _SHORTCUT else torch.where(comparison("gt", apply("mul", x, beta), threshold), g, slope)


@rule("clamp", "clamp.Tensor")
def clamp(x: Any, min: Any = None, max: Any = None) -> Any:
    if min is not None:
        x = choose("maximum", x, min)
    return x if max is None else choose("minimum", x, max)


rule("clamp_min")(partial(choose, "maximum"))
rule("clamp_max")(partial(choose, "minimum"))
rule("hardtanh")(lambda x, min_val=-1, max_val=1: clamp(x, min_val, max_val))


@rule("logit")
def logit(x: Any, eps: Any = None) -> ExactTensor:
    return apply("logit", x if eps is None else clamp(x, eps, 1 - eps))


@rule("polygamma")
def polygamma(n: int, x: Any) -> ExactTensor:
    if n == 0:
        return apply("digamma", x)
    return apply("mul", apply("special_zeta", n + 1, x), (-1) ** (n + 1) * math.factorial(n))


@rule("frexp")
def frexp(x: Any) -> Any:
    """x = m·2ⁿ with 1/2 ≤ |m| < 1."""
    exponents = [_binary_exponent(v) for v in values_of(payload(x))]
    powers = payload_of([algebra.power(rational(2), n) for n in exponents], x.shape)
    return apply("div", x, wrap(powers)), torch.tensor(exponents, dtype=torch.int32).reshape(x.shape)


def _binary_exponent(v: Value) -> int:
    """The n with 2ⁿ⁻¹ ≤ |v| < 2ⁿ; 0 for 0, ∞ and NaN."""
    if v.special or sign(v) == 0:
        return 0
    n = math.frexp(abs(to_float(v)))[1]
    while compare(absolute(v), algebra.power(rational(2), n)) >= 0:
        n += 1
    while compare(absolute(v), algebra.power(rational(2), n - 1)) < 0:
        n -= 1
    return n


@rule("angle")
def angle(x: Any) -> Any:
    return torch.where(comparison("lt", x, 0), torch.full_like(x, math.pi), torch.zeros_like(x))


@rule("_to_copy", "convert_element_type")
def to_copy(x: Any, dtype: torch.dtype | None = None, **options: Any) -> Any:
    """Another floating dtype is another label on the same exact values; integers truncate; complex is outside."""
    if dtype is None or dtype.is_floating_point:
        return same_values(x, dtype or x.dtype)
    if dtype is torch.bool:
        return comparison("ne", x, 0)
    if dtype.is_complex:
        raise DomainError("Exact values are real: x.to(complex) is outside the exact domain. Use x.float64() first.")
    return _integers(apply("trunc", x), dtype)


def _integers(x: ExactTensor, dtype: torch.dtype) -> torch.Tensor:
    """Whole values as integers of 64 bits, then of this type, as PyTorch converts them; one that does not fit is refused."""
    for v in x.elements():
        if v.special or abs(v.args[0]) >= 2**63:
            raise DomainError(f"{v.text()} is no integer of 64 bits, the longest that x.to({dtype}) can give.")
    return torch.tensor([v.args[0] for v in x.elements()], dtype=torch.int64).reshape(x.shape).to(dtype)


@rule("to", "type_as")
def to(x: Any, *args: Any, **options: Any) -> Any:
    """Reached below autograd only: composite operations arrive whole there."""
    dtype = next((a for a in [*args, *options.values()] if isinstance(a, torch.dtype)), None)
    dtype = dtype or next((a.dtype for a in args if isinstance(a, torch.Tensor)), x.dtype)
    return x if dtype == x.dtype else to_copy(x, dtype)


@rule("_local_scalar_dense")
def item(x: Any) -> float:
    """`x.item()`"""
    (v,) = values_of(payload(x))
    x = sample_float(v)
    if not v.free:
        TAKEN.values[x] = v
    return x


@rule("copy_")
def copy_(target: Any, source: Any, non_blocking: bool = False) -> Any:
    if isinstance(target, ExactTensor):
        target.payload.copy_(payload(source))
        return target
    if target.is_floating_point():
        return NotImplemented
    return target.copy_(to_copy(source, target.dtype))


@rule("embedding_renorm_")
def embedding_renorm_(weight: Any, indices: torch.Tensor, max_norm: float, norm_type: float) -> Any:
    """Of the rows in use, those longer than `max_norm` are shortened to it (PyTorch adds 10⁻⁷ to their length)."""
    rows = indices.unique()
    used = weight[rows]
    length = torch.linalg.vector_norm(used, norm_type, -1, keepdim=True)
    fitting = torch.where(length > max_norm, used * (max_norm / (length + 1e-7)), used)
    weight.payload[rows] = payload(fitting)
    return weight


@rule("linalg_vector_norm")
def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """How many elements differ from 0, for the order 0; PyTorch's decomposition has the others."""
    return total(wrap(payload(comparison("ne", x, 0))), dim, keepdim) if ord == 0 else NotImplemented


@rule("complex", "polar", "view_as_complex")
def complex_numbers(*parts: Any) -> Any:
    raise DomainError("Exact values are real: complex numbers have no exact form here. Use x.float64() first.")


def _new_tensor(x: Any, data: Any, *, dtype: Any = None, requires_grad: bool = False, **options: Any) -> Any:
    """`x.new_tensor(data)`: exact, as x is; numbers are read as they are written."""
    return same_values(exact(data), dtype or x.dtype).requires_grad_(requires_grad)


OVERRIDES[torch.Tensor.new_tensor] = _new_tensor


def _running_product(x: Any, dim: int, *, dtype: Any = None) -> Any:
    """`x.cumprod(dim)` as products: PyTorch's gradient divides by each element, and asks which are 0."""
    x = x if dtype is None else x.to(dtype)
    if x.dim() == 0:
        return x.clone()
    return torch.stack(list(itertools.accumulate(x.unbind(dim), torch.mul)), dim) if x.shape[dim] else x.clone()


OVERRIDES[torch.cumprod] = OVERRIDES[torch.Tensor.cumprod] = _running_product


@rule("empty_like", "new_empty", "new_empty_strided")
def empty(x: Any, size: Any = None, stride: Any = None, **options: Any) -> Any:
    """Zeros: uninitialised memory would be meaningless handles."""
    if isinstance(options.get("dtype"), torch.dtype) and not options["dtype"].is_floating_point:
        return torch.zeros(x.shape if size is None else size, dtype=options["dtype"])
    shape = x.shape if size is None else size
    if stride is not None:
        return wrap(torch.empty_strided(shape, stride, dtype=torch.float64).zero_())
    memory = options.get("memory_format")
    if size is None and memory in (None, torch.preserve_format):
        return wrap(torch.empty_like(payload(x)).zero_())
    return wrap(torch.zeros(tuple(shape), dtype=torch.float64))


def _constant_like(fill: Any) -> Any:
    def like(x: Any, size: Any = None, *args: Any, **options: Any) -> Any:
        dtype = options.get("dtype") or x.dtype
        shape = x.shape if size is None else tuple(size)
        if not dtype.is_floating_point:
            return torch.full(shape, int(fill is ONE), dtype=dtype)
        state.label = label_of((x,), options)
        return wrap(payload_of([fill], ()).expand(shape).clone())

    return like


rule("zeros_like", "new_zeros")(_constant_like(ZERO))
rule("ones_like", "new_ones")(_constant_like(ONE))


@rule("nan_to_num")
def nan_to_num(x: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    largest = torch.finfo(torch.float64).max
    for name, replacement in (("isnan", nan or 0), ("isposinf", posinf), ("isneginf", neginf)):
        fill = {"isposinf": int(largest), "isneginf": -int(largest)}.get(name) if replacement is None else replacement
        x = torch.where(comparison(name, x), apply("mul", torch.ones_like(x), fill), x)
    return x
