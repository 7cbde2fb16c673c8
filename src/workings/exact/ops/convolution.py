"""Convolution as a matrix product of unfolded patches, any number of dimensions.

y[n, c, o] = b[c] + Σ_{k} w[c, k] x[n, patch at o, k]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.functional import pad

from workings.exact.dispatch.operation import rule
from workings.exact.dispatch.shapes import refusal
from workings.exact.dispatch.vjp import vjp


def _each(v: Sequence[int], n: int) -> list[int]:
    return list(v) * n if len(v) == 1 else list(v)


def _padding(sides: Sequence[tuple[int, int]]) -> list[int]:
    """F.pad's order: last axis first."""
    return [amount for side in reversed(sides) for amount in side]


@rule("convolution", "_convolution", "convolution_overrideable")
def convolution(
    x: Any,
    w: Any,
    bias: Any,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool = False,
    output_padding: Sequence[int] = (0,),
    groups: int = 1,
    *backend_flags: bool,
) -> Any:
    n = w.dim() - 2
    stride, padding, dilation = _each(stride, n), _each(padding, n), _each(dilation, n)
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:], strict=True)]
    beyond = not transposed and any(s + 2 * p < r for s, p, r in zip(x.shape[2:], padding, reach, strict=True))
    if beyond or x.shape[1] != (w.shape[0] if transposed else w.shape[1] * groups):
        settings = (None, stride, padding, dilation, transposed, output_padding, groups)
        raise refusal(lambda x, w: torch.convolution(x, w, *settings), x, w)
    if transposed:
        x, w = _as_ordinary(x, w, stride, padding, dilation, _each(output_padding, n), groups)
        stride = [1] * n
    else:
        x = pad(x, _padding([(p, p) for p in padding]))
    y = _patches_times_kernel(x, w, stride, dilation, groups)
    return y if bias is None else y + bias.reshape(1, -1, *[1] * n)


def _patches_times_kernel(x: Any, w: Any, stride: list[int], dilation: list[int], groups: int) -> Any:
    n = w.dim() - 2
    for i in range(n):
        reach = dilation[i] * (w.shape[2 + i] - 1) + 1
        x = x.unfold(2 + i, reach, stride[i])[..., :: dilation[i]]
    batch, channels = x.shape[:2]
    out = x.shape[2 : 2 + n]
    x = x.reshape(batch, groups, channels // groups, math.prod(out), -1).transpose(2, 3).flatten(3)  # b g o (c k)
    y = x @ w.reshape(groups, w.shape[0] // groups, -1).transpose(1, 2)  # b g o c'
    return y.transpose(2, 3).reshape(batch, w.shape[0], *out)


def _as_ordinary(
    x: Any, w: Any, stride: list[int], padding: list[int], dilation: list[int], extra: list[int], groups: int
) -> tuple[Any, Any]:
    """A transposed convolution is an ordinary one on a zero-stuffed input with the flipped kernel."""
    n = w.dim() - 2
    for i in range(n):
        if stride[i] > 1:
            length = (x.shape[2 + i] - 1) * stride[i] + 1
            x = pad(x.unsqueeze(3 + i), [0] * (2 * (n - 1 - i)) + [0, stride[i] - 1])
            x = x.flatten(2 + i, 3 + i).narrow(2 + i, 0, length)
    sides = [dilation[i] * (w.shape[2 + i] - 1) - padding[i] for i in range(n)]
    x = pad(x, _padding([(s, s + e) for s, e in zip(sides, extra, strict=True)]))
    w = w.flip(list(range(2, 2 + n))).unflatten(0, (groups, -1)).transpose(1, 2).flatten(0, 1)
    return x, w


@rule("convolution_backward")
def convolution_backward(g: Any, x: Any, w: Any, bias_sizes: Any, *settings: Any) -> Any:
    """`settings` are those of `convolution` after its bias, then which of the three gradients are wanted."""
    *forward, mask = settings
    dx, dw = vjp(lambda x, w: convolution(x, w, None, *forward), [x, w], g)
    db = g.sum([d for d in range(g.dim()) if d != 1])
    return tuple(grad if wanted else None for grad, wanted in zip((dx, dw, db), mask, strict=True))
