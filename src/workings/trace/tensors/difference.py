"""How far two values are apart, and whether rounding explains it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from workings.errors import WorkingsError
from workings.exact.tensor.equality import equal
from workings.exact.tensor.exact_tensor import ExactTensor
from workings.trace.tensors.dense import dense
from workings.trace.tensors.state import same_bits

_ROUNDINGS = 1000
"""A difference of this many roundings of the largest number at hand is rounding; more is a difference. Where a number has
few digits, that is half of these."""


_PLAIN = (torch.float32, torch.float64)


def largest_difference(a: Any, b: Any) -> float:
    """The largest difference of two tensors of one shape; 0 for exact values that are proved equal, ∞ for other shapes.

    >>> largest_difference(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.5]))
    0.5
    """
    x, y = torch.as_tensor(a).detach(), torch.as_tensor(b).detach()
    if x.shape != y.shape:
        return float("inf")
    if not (x.layout is y.layout is torch.strided):
        return _of_sparse(x, y)
    if isinstance(x, ExactTensor) and isinstance(y, ExactTensor) and equal(x, y).equal:
        return 0.0
    if x.dtype is y.dtype and x.dtype in _PLAIN and type(x) is type(y) is Tensor and torch.equal(x, y):
        return 0.0  # so it is most often, and this asks once, without a copy
    try:
        x, y = doubles(x), doubles(y)
    except WorkingsError:  # letters without a sample value
        return float("inf")
    same = (x == y) | (x.isnan() & y.isnan())
    gap = (x - y).abs()
    gap = torch.where(same, torch.zeros_like(gap), gap)
    return float(gap.nan_to_num(float("inf")).max()) if gap.numel() else 0.0


def _of_sparse(x: Tensor, y: Tensor) -> float:
    """Where one of two is sparse, or both are."""
    if same_bits(x, y):
        return 0.0
    a, b = _rows(x), _rows(y)
    return float("inf") if a is None or b is None else largest_difference(a, b)


def _rows(x: Tensor) -> Tensor | None:
    return x if x.layout is torch.strided else dense(x)


def is_rounding(difference: float, *near: Any, computed_with: Iterable[Any] = ()) -> bool:
    """Whether rounding explains the difference, next to numbers of this size. Exact values have none.

    `computed_with` are values whose precision counts and whose size does not: the factors of a product.

    >>> is_rounding(6e-6, torch.tensor(9e-6), computed_with=[torch.tensor(1.0)])
    False
    """
    tensors, factors = _of_floats(near), _of_floats(computed_with)
    if difference == 0 or any(isinstance(value, ExactTensor) for value in (*tensors, *factors)):
        return difference == 0
    tensors = [value for value in map(_rows, tensors) if value is not None]
    real = [torch.view_as_real(value.detach().resolve_conj()) if value.is_complex() else value for value in tensors]
    sizes = [float(doubles(value).nan_to_num(0, 0, 0).abs().max()) for value in real if value.numel()]
    coarsest = max((torch.finfo(value.dtype).eps for value in (*tensors, *factors)), default=0.0)
    return difference <= min(_ROUNDINGS * coarsest, math.sqrt(coarsest)) * max(sizes, default=0.0)


def _of_floats(values: Iterable[Any]) -> list[Tensor]:
    return [value for value in values if isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex())]


def doubles(value: Tensor) -> Tensor:
    """The nearest doubles, as an ordinary tensor; pairs of them where the numbers are complex."""
    if isinstance(value, ExactTensor):
        return value.float64()
    return value.detach().to(torch.complex128 if value.is_complex() else torch.float64)
