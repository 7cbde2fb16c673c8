"""Sums and products over axes: matrix products, sums, means, variances, running sums."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from flint import fmpq

from workings.exact.dispatch.elementwise import apply
from workings.exact.dispatch.operation import is_exact, rule, wrap
from workings.exact.dispatch.scalar import scalar
from workings.exact.dispatch.shapes import axes as axes_of
from workings.exact.dispatch.shapes import refusal
from workings.exact.dispatch.sums import Row, dot, product_of, sum_of
from workings.exact.numbers.value import Value
from workings.exact.tensor.arena import payload_of, values_of
from workings.exact.tensor.exact_tensor import ExactTensor
from workings.exact.tensor.lift import lift_float, lift_tensor, payload


def _rows(matrix: torch.Tensor) -> list[Row]:
    n, m = matrix.shape
    flat = values_of(matrix)
    return [tuple(flat[i * m : (i + 1) * m]) for i in range(n)]


def _matrix_product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The payload of A B: each pair of a distinct row and a distinct column is multiplied once."""
    rows, columns = _rows(a), _rows(b.t())
    distinct = list(dict.fromkeys(columns))
    lines: dict[Row, list[Value]] = {}
    for row in rows:
        if row not in lines:
            products = {column: dot(row, column) for column in distinct}
            lines[row] = [products[column] for column in columns]
    return payload_of([v for row in rows for v in lines[row]], (a.shape[0], b.shape[1]))


@rule("mm")
def mm(a: Any, b: Any, out_dtype: Any = None) -> ExactTensor:
    if not a.dim() == b.dim() == 2 or a.shape[1] != b.shape[0]:
        raise refusal(torch.mm, a, b)
    return wrap(_matrix_product(payload(a), payload(b)))


@rule("bmm")
def bmm(a: Any, b: Any, out_dtype: Any = None) -> ExactTensor:
    if not a.dim() == b.dim() == 3 or (a.shape[0], a.shape[2]) != b.shape[:2]:
        raise refusal(torch.bmm, a, b)
    if not a.shape[0]:
        return wrap(torch.zeros(0, a.shape[1], b.shape[2], dtype=torch.float64))
    return wrap(torch.stack([_matrix_product(x, y) for x, y in zip(payload(a), payload(b), strict=True)]))


@rule("dot", "vdot")
def vector_dot(a: Any, b: Any) -> ExactTensor:
    if a.shape != b.shape:
        raise refusal(torch.dot, a, b)
    return wrap(payload_of([dot(tuple(values_of(payload(a))), tuple(values_of(payload(b))))], ()))


@rule("addbmm")
def addbmm(s: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    return torch.add(apply("mul", s, beta), bmm(a, b).sum(0), alpha=alpha)


def _reduce(x: Any, dim: Any, keepdim: bool, f: Callable[[Sequence[Value]], Value]) -> ExactTensor:
    """f over these axes."""
    p = payload(x)
    axes = axes_of(dim, p.dim())
    kept = [d for d in range(p.dim()) if d not in axes]
    shape = [p.shape[d] for d in kept]
    length = math.prod(p.shape[d] for d in axes)
    flat = values_of(p.permute([*kept, *axes]))
    out = payload_of([f(flat[i * length : (i + 1) * length]) for i in range(math.prod(shape))], shape)
    if keepdim:
        out = out.reshape([1 if d in axes else p.shape[d] for d in range(p.dim())])
    return wrap(out)


@rule("sum")
def total(x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> ExactTensor:
    return _reduce(x, dim, keepdim, sum_of)


@rule("prod")
def prod(x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> ExactTensor:
    return _reduce(x, dim, keepdim, product_of)


@rule("mean")
def mean(x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> ExactTensor:
    return apply("div", total(x, dim, keepdim), _count(x, dim))


def _count(x: Any, dim: Any) -> int:
    return math.prod(x.shape[d] for d in axes_of(dim, x.dim()))


@rule("var.correction", "var.dim", "var")
def var(x: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> ExactTensor:
    """Σ (x − μ)² / (n − c), c = 1 unless said otherwise."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    deviation = apply("sub", x, mean(x, dim, True))
    squares = total(apply("mul", deviation, deviation), dim, keepdim)
    degrees = _count(x, dim) - correction
    return apply("div", squares, max(degrees, 0))


@rule("var_mean.correction", "var_mean")
def var_mean(x: Any, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> Any:
    axes = None if isinstance(dim, bool) else dim
    return var(x, dim, unbiased, keepdim, correction=correction), mean(x, axes, keepdim)


def _scan(name: str) -> Callable[..., ExactTensor]:
    def scan(x: Any, dim: int, dtype: Any = None) -> ExactTensor:
        p = payload(x)
        axes_of(dim, p.dim())
        if p.dim() == 0:
            return wrap(p.clone())
        moved = p.movedim(dim, -1)
        n = moved.shape[-1]
        flat = values_of(moved)
        lines = [flat[i : i + n] for i in range(0, len(flat), n)] if n else []
        out = [v for line in lines for v in itertools.accumulate(line, lambda a, b: scalar(name, a, b))]
        return wrap(payload_of(out, moved.shape).movedim(-1, dim))

    return scan


rule("cumsum")(_scan("add"))
rule("cumprod")(_scan("mul"))


@rule("logcumsumexp")
def logcumsumexp(x: Any, dim: int) -> Any:
    return torch.log(torch.cumsum(torch.exp(x), dim))


def _scale(x: Any, c: Any) -> Any:
    """c·x, without work for c = 1."""
    return x if type(c) is int and c == 1 else apply("mul", x, c)


@rule("add")
def add(a: Any, b: Any, *, alpha: Any = 1) -> ExactTensor:
    return apply("add", a, _scale(b, alpha))


@rule("sub")
def sub(a: Any, b: Any, *, alpha: Any = 1) -> ExactTensor:
    return apply("sub", a, _scale(b, alpha))


@rule("rsub")
def rsub(a: Any, b: Any, alpha: Any = 1) -> ExactTensor:
    return apply("sub", b, _scale(a, alpha))


@rule("addcmul")
def addcmul(x: Any, a: Any, b: Any, *, value: Any = 1) -> ExactTensor:
    return apply("add", x, _scale(apply("mul", a, b), value))


@rule("addcdiv")
def addcdiv(x: Any, a: Any, b: Any, *, value: Any = 1) -> ExactTensor:
    return apply("add", x, _scale(apply("div", a, b), value))


def _factor(x: Any) -> Any:
    """An operand of a product: the lowest float is a number there, not yet a mask."""
    if isinstance(x, float):
        return lift_float(x, masks=False)
    return wrap(lift_tensor(x, masks=False)) if isinstance(x, torch.Tensor) and not is_exact(x) else x


@rule("mul")
def mul(a: Any, b: Any) -> ExactTensor:
    return apply("mul", _factor(a), _factor(b))


@rule("div")
def div(a: Any, b: Any, *, rounding_mode: str | None = None) -> ExactTensor:
    quotient = apply("div", _factor(a), _factor(b))
    return quotient if rounding_mode is None else apply(rounding_mode, quotient)


@rule("floor_divide")
def floor_divide(a: Any, b: Any) -> ExactTensor:
    return apply("floor", apply("div", a, b))


@rule("square")
def square(x: Any) -> ExactTensor:
    return apply("mul", x, x)


@rule("round.decimals")
def round_decimals(x: Any, *, decimals: int) -> ExactTensor:
    ten = fmpq(10) ** decimals
    return apply("div", apply("round", apply("mul", x, ten)), ten)
