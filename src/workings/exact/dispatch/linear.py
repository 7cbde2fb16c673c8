"""Linear: fixed linear maps (averages, interpolation, scatter-adds, most backward kernels), read off the real kernel.

The kernel is run on each one-hot input; what comes out is a column of the map. Its weights are rationals (1/9, 3/4, …),
computed by the kernel in floating point and recovered here.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

import torch
from flint import fmpq

from workings.exact.dispatch.operation import call, carries_values, schema_of, wrap, wrap_floats
from workings.exact.dispatch.sums import dot
from workings.exact.numbers.value import ZERO, Value, rational
from workings.exact.tensor.arena import payload_of, values_of
from workings.exact.tensor.lift import lift_float, payload

LINEAR = frozenset(
    """
    avg_pool1d avg_pool2d avg_pool3d avg_pool2d_backward avg_pool3d_backward _adaptive_avg_pool2d
    _adaptive_avg_pool3d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward adaptive_avg_pool1d
    adaptive_avg_pool2d scatter_add index_add index_put _index_put_impl put embedding_dense_backward col2im
    unfold_backward max_pool2d_with_indices_backward max_pool3d_with_indices_backward
    adaptive_max_pool2d_backward adaptive_max_pool3d_backward fractional_max_pool2d_backward
    fractional_max_pool3d_backward reflection_pad1d_backward reflection_pad2d_backward reflection_pad3d_backward
    replication_pad1d_backward replication_pad2d_backward replication_pad3d_backward upsample_linear1d
    upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d _upsample_bilinear2d_aa _upsample_bicubic2d_aa
    upsample_linear1d_backward upsample_bilinear2d_backward upsample_trilinear3d_backward
    upsample_bicubic2d_backward _upsample_bilinear2d_aa_backward _upsample_bicubic2d_aa_backward
    upsample_nearest1d_backward upsample_nearest2d_backward upsample_nearest3d_backward
    _upsample_nearest_exact1d_backward _upsample_nearest_exact2d_backward _upsample_nearest_exact3d_backward
    native_dropout_backward trace value_selecting_reduction_backward
    """.split()
)


def linear(func: Any, given: dict[str, Any]) -> Any:
    """Σ (input value × its column of the map)."""
    backward = schema_of(func).name.endswith("_backward")
    blank = {n: torch.zeros(x.shape, dtype=torch.float64) for n, x in given.items() if carries_values(n, x)}
    inputs = [n for n in blank if not (backward and n == "self")]  # a backward takes it for its shape: not probed
    zero = call(func, {**given, **blank})
    if not isinstance(zero, torch.Tensor):
        return wrap_floats(zero)
    terms: list[list[tuple[Value, Value]]] = [[] for _ in range(zero.numel())]
    for n in inputs:
        for i, v in enumerate(values_of(payload(given[n]))):
            if v is ZERO:
                continue
            one_hot = torch.zeros(given[n].numel(), dtype=torch.float64)
            one_hot[i] = 1
            column = call(func, {**given, **blank, n: one_hot.reshape(given[n].shape)}).reshape(-1)
            for j in column.nonzero().reshape(-1).tolist():
                terms[j].append((_weight(float(column[j])), v))
    return wrap(payload_of([dot(*zip(*t, strict=True)) if t else ZERO for t in terms], zero.shape))


def _weight(w: float) -> Value:
    """A rational weight that a kernel computed in floating point (a few roundings off)."""
    near = _nearest_fraction(w)
    return lift_float(w) if near is None else rational(near)


@functools.lru_cache(maxsize=10_000)
def _nearest_fraction(w: float) -> fmpq | None:
    near = Fraction(w).limit_denominator(3000)
    return fmpq(near.numerator, near.denominator) if abs(float(near) - w) < 1e-14 + 1e-13 * abs(w) else None
