"""Sampling an image at real coordinates (`grid_sample`), in two or three dimensions.

A grid coordinate in [−1, 1] becomes a place p along an axis of n pixels; the padding rule brings p inside; then
neighbours are averaged. At the ends of an axis the clipped coordinate has slope 0, as in PyTorch's kernels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from workings.exact.dispatch.operation import rule
from workings.exact.dispatch.vjp import vjp
from workings.exact.ops.linalg import exact_tensor

_LINEAR, _NEAREST, _CUBIC = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)
A = -0.75
"""The free parameter of PyTorch's cubic kernel."""


def _place(g: Any, n: int, align: bool) -> Any:
    """−1 and 1 are the centres of the outer pixels, or (not aligned) their outer edges."""
    return (g + 1) * (n - 1) / 2 if align else ((g + 1) * n - 1) / 2


def _clip(p: Any, n: int) -> Any:
    inside = (p > 0) & (p < n - 1)
    return torch.where(inside, p, p.detach().clamp(0, n - 1))


def _reflect(p: Any, n: int, align: bool) -> Any:
    """Fold p back at the centres (aligned) or the outer edges of the outer pixels."""
    low, span = (0.0, n - 1) if align else (-0.5, n)
    if span == 0:
        return torch.zeros_like(p)
    q = p - low
    q = torch.where(q < 0, -q, q)
    turns = (q.detach() / span).floor()
    rest = q - turns * span
    folded = torch.where(turns.remainder(2) == 0, rest, span - rest)
    return folded + low


def _bring_inside(p: Any, n: int, padding: int, align: bool) -> Any:
    if padding == _REFLECTION:
        p = _reflect(p, n, align)
    return p if padding == _ZEROS else _clip(p, n)


def _pixels(x: Any, at: Sequence[torch.Tensor]) -> Any:
    """x[b, c, at…], 0 outside the image: b batch, c channel."""
    sizes = x.shape[2:]
    inside = torch.ones_like(at[0], dtype=torch.bool)
    flat = torch.zeros_like(at[0])
    for i, n in zip(at, sizes, strict=True):
        inside &= (i >= 0) & (i < n)
        flat = flat * n + i.clamp(0, n - 1)
    batch, channels = x.shape[:2]
    index = flat.reshape(batch, 1, -1).expand(-1, channels, -1)
    pixels = x.flatten(2).gather(2, index).reshape(batch, channels, *flat.shape[1:])
    return torch.where(inside.unsqueeze(1), pixels, torch.zeros_like(pixels))


def _whole(p: Any) -> torch.Tensor:
    return p.detach().to(torch.int64)


def _weighted_sum(x: Any, taps: Sequence[Sequence[tuple[torch.Tensor, Any]]]) -> Any:
    """Σ over one tap of each axis of (product of weights) × pixel."""
    total: Any = None
    for chosen in itertools.product(*taps):
        weight = math.prod([w for _, w in chosen[1:]], start=chosen[0][1])
        term = _pixels(x, [i for i, _ in chosen]) * weight.unsqueeze(1)
        total = term if total is None else total + term
    return total


def _linear_taps(p: Any) -> list[tuple[torch.Tensor, Any]]:
    low = p.detach().floor()
    return [(_whole(low), low + 1 - p), (_whole(low) + 1, p - low)]


def _near(t: Any) -> Any:
    """The cubic kernel for 0 ≤ t ≤ 1"""
    return ((A + 2) * t - (A + 3)) * t * t + 1


def _far(t: Any) -> Any:
    """The cubic kernel for 1 ≤ t ≤ 2"""
    return ((A * t - 5 * A) * t + 8 * A) * t - 4 * A


def _cubic_taps(p: Any, bring_inside: Callable[[Any], Any]) -> list[tuple[torch.Tensor, Any]]:
    low = p.detach().floor()
    t = p - low
    weights = [_far(t + 1), _near(t), _near(1 - t), _far(2 - t)]
    return [(_whole(bring_inside(low + k - 1)), w) for k, w in enumerate(weights)]


@rule("grid_sampler_2d", "grid_sampler_3d")
def grid_sampler(x: Any, grid: Any, mode: int, padding: int, align: bool) -> Any:
    x, grid = exact_tensor(x), exact_tensor(grid)
    sizes = x.shape[2:]
    places = [_place(g, n, align) for g, n in zip(reversed(grid.unbind(-1)), sizes, strict=True)]
    if mode == _CUBIC:
        taps = [
            _cubic_taps(p, lambda q, n=n: _bring_inside(q, n, padding, align))  # type: ignore[misc]
            for p, n in zip(places, sizes, strict=True)
        ]
        return _weighted_sum(x, taps)
    places = [_bring_inside(p, n, padding, align) for p, n in zip(places, sizes, strict=True)]
    if mode == _NEAREST:
        return _pixels(x, [_whole(p.detach().round()) for p in places])
    return _weighted_sum(x, [_linear_taps(p) for p in places])


@rule("grid_sampler_2d_backward", "grid_sampler_3d_backward")
def grid_sampler_backward(
    g: Any, x: Any, grid: Any, mode: int, padding: int, align: bool, mask: Sequence[bool]
) -> tuple[Any, ...]:
    grads = vjp(lambda x, grid: grid_sampler(x, grid, mode, padding, align), [x, grid], g)
    return tuple(grad if wanted else None for grad, wanted in zip(grads, mask, strict=True))
