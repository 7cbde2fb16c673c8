"""Distances, scatter-reductions and losses that PyTorch does not decompose: by definition, their vjp as backward."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from workings.exact.dispatch.operation import rule, wrap
from workings.exact.dispatch.scalar import CHOICES, scalar
from workings.exact.dispatch.sums import product_of, sum_of
from workings.exact.dispatch.vjp import vjp
from workings.exact.numbers.value import Value, rational
from workings.exact.ops.linalg import exact_tensor
from workings.exact.tensor.arena import payload_of, values_of
from workings.exact.tensor.lift import payload


@rule("_cdist_forward")
def cdist(x: Any, y: Any, p: float, mode: Any = None) -> Any:
    """‖xᵢ − yⱼ‖ₚ for all pairs."""
    return torch.linalg.vector_norm(exact_tensor(x).unsqueeze(-2) - exact_tensor(y).unsqueeze(-3), p, -1)


@rule("_cdist_backward")
def cdist_backward(g: Any, x: Any, y: Any, p: float, distance: Any) -> Any:
    return vjp(lambda x: cdist(x, y, p), [x], g)[0]


@rule("_pdist_forward")
def pdist(x: Any, p: float = 2) -> Any:
    """‖xᵢ − xⱼ‖ₚ for i < j."""
    i, j = torch.triu_indices(x.shape[0], x.shape[0], 1)
    return torch.linalg.vector_norm(x[i] - x[j], p, -1)


@rule("_pdist_backward")
def pdist_backward(g: Any, x: Any, p: float, distance: Any) -> Any:
    return vjp(lambda x: pdist(x, p), [x], g)[0]


@rule("hardshrink_backward", "softshrink_backward")
def shrink_backward(g: Any, x: Any, limit: Any) -> Any:
    return torch.where((x > limit) | (x < -limit), g, torch.zeros_like(g))


REDUCTIONS: dict[str, Callable[[Sequence[Value]], Value]] = {
    "sum": sum_of,
    "mean": lambda vs: scalar("div", sum_of(vs), rational(len(vs))),
    "prod": product_of,
    "amax": functools.partial(functools.reduce, CHOICES["maximum"]),
    "amin": functools.partial(functools.reduce, CHOICES["minimum"]),
}


@rule("scatter_reduce")
def scatter_reduce(x: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool = True) -> Any:
    """Each target collects the sources that point to it, then reduces them."""
    if x.dim():
        place = torch.arange(x.numel()).reshape(x.shape).gather(dim, index)
        src = src[tuple(slice(0, n) for n in index.shape)]
    else:
        place = torch.zeros_like(index)
    collected: dict[int, list[Value]] = {}
    for p, v in zip(place.reshape(-1).tolist(), values_of(payload(src)), strict=True):
        collected.setdefault(p, []).append(v)
    out = values_of(payload(x))
    for p, vs in collected.items():
        out[p] = REDUCTIONS[reduce]([out[p], *vs] if include_self else vs)
    return wrap(payload_of(out, x.shape))


@rule("index_reduce")
def index_reduce(x: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Any:
    if x.dim() == 0:
        flat = scatter_reduce(x.reshape(1), 0, index.reshape(-1), src.reshape(-1), reduce, include_self)
        return flat.reshape(())
    spread = index.reshape([-1 if d == dim % x.dim() else 1 for d in range(x.dim())]).expand(src.shape)
    return scatter_reduce(x, dim, spread, src, reduce, include_self)


@rule("multi_margin_loss")
def multi_margin_loss(x: Any, target: Any, p: Any = 1, margin: Any = 1, weight: Any = None, reduction: int = 1) -> Any:
    """Mean over classes j ≠ y of max(0, margin − x_y + x_j)^p."""
    x = x.reshape(1) if x.dim() == 0 else x
    X, y = x.reshape(-1, x.shape[-1]), target.reshape(-1)
    m = (margin - X.gather(1, y[:, None]) + X).relu()
    m = m * m if p == 2 else m
    if weight is not None:
        m = m * weight[y][:, None]
    m = m.scatter(1, y[:, None], 0.0).sum(1) / x.shape[-1]
    return m.mean() if reduction == 1 else m.sum() if reduction == 2 else m.reshape(target.shape)


@rule("multi_margin_loss_backward")
def multi_margin_loss_backward(g: Any, x: Any, *settings: Any) -> Any:
    return vjp(lambda x: multi_margin_loss(x, *settings), [x], g)[0]


@rule("multilabel_margin_loss_forward")
def multilabel_margin_loss(x: Any, target: torch.Tensor, reduction: int = 1) -> Any:
    """Σ over targets j and other classes i of max(0, 1 − x_j + x_i), divided by the number of classes.

    A row of `target` lists classes, up to the first negative one.
    """
    y = target.reshape(-1, target.shape[-1]) if target.dim() else target.reshape(1, 1)
    X = exact_tensor(x).reshape(y.shape)
    is_target, losses = torch.zeros(y.shape, dtype=torch.bool), []
    for row, labels, mask in zip(X.unbind(), y.tolist(), is_target.unbind(), strict=True):
        listed = labels[: next((i for i, k in enumerate(labels) if k < 0), len(labels))]
        mask[listed] = True
        losses.append((1 - row[listed][:, None] + row[~mask]).relu().sum() / len(labels))
    loss = torch.stack(losses)
    loss = loss.mean() if reduction == 1 else loss.sum() if reduction == 2 else loss.reshape(target.shape[:-1])
    return loss, wrap(payload(is_target.reshape(target.shape)))


@rule("multilabel_margin_loss_backward")
def multilabel_margin_loss_backward(g: Any, x: Any, target: Any, reduction: int, is_target: Any) -> Any:
    return vjp(lambda x: multilabel_margin_loss(x, target, reduction)[0], [x], g)[0]
