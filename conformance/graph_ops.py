"""The operations random graphs are made of: name → what to run on x, y and a small number k, and when they fit.

Every operation keeps to its domain (a logarithm of numbers well above 0, an exponential of small ones), so that float64
stays finite and its error can be told from a wrong result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

Fits = Callable[[Tensor, Tensor], bool]


def always(x: Tensor, y: Tensor) -> bool:
    return True


def small(x: Tensor, y: Tensor) -> bool:
    """No entry of x is larger than 6."""
    return float(x.detach().abs().max()) <= 6


def positive(x: Tensor, y: Tensor) -> bool:
    return float(x.detach().min()) > 0.05


def inside(x: Tensor, y: Tensor) -> bool:
    """Every entry of x is well between −1 and 1."""
    return float(x.detach().abs().max()) < 0.95


def has_axes(x: Tensor, y: Tensor) -> bool:
    return x.dim() > 0


def many(x: Tensor, y: Tensor) -> bool:
    """The last axis has two entries or more."""
    return x.dim() > 0 and x.shape[-1] > 1


def matrix(x: Tensor, y: Tensor) -> bool:
    return x.dim() == 2


def square(x: Tensor, y: Tensor) -> bool:
    return x.dim() == 2 and x.shape[0] == x.shape[1]


def alike(x: Tensor, y: Tensor) -> bool:
    return x.shape == y.shape and x.dim() > 0


def broadcast(x: Tensor, y: Tensor) -> bool:
    return all(a == b or 1 in (a, b) for a, b in zip(reversed(x.shape), reversed(y.shape), strict=False))


def chains(x: Tensor, y: Tensor) -> bool:
    """x @ y is defined."""
    return x.dim() in (1, 2) and y.dim() in (1, 2) and x.shape[-1] == y.shape[0]


@dataclass(frozen=True)
class Op:
    """`run(x, y, k)`, to be called when `fits(x, y)`."""

    run: Callable[[Tensor, Tensor, int], Any]
    fits: Fits = always


ELEMENTWISE = {
    "neg": Op(lambda x, y, k: -x),
    "abs": Op(lambda x, y, k: x.abs()),
    "relu": Op(lambda x, y, k: x.relu()),
    "leaky_relu": Op(lambda x, y, k: F.leaky_relu(x, 1 / 8)),
    "elu": Op(lambda x, y, k: F.elu(x), small),
    "gelu": Op(lambda x, y, k: F.gelu(x), small),
    "silu": Op(lambda x, y, k: F.silu(x), small),
    "softplus": Op(lambda x, y, k: F.softplus(x), small),
    "sigmoid": Op(lambda x, y, k: x.sigmoid(), small),
    "tanh": Op(lambda x, y, k: x.tanh(), small),
    "exp": Op(lambda x, y, k: x.exp(), small),
    "expm1": Op(lambda x, y, k: x.expm1(), small),
    "log": Op(lambda x, y, k: x.log(), positive),
    "log1p of a square": Op(lambda x, y, k: (x * x).log1p(), small),
    "sqrt": Op(lambda x, y, k: x.sqrt(), positive),
    "rsqrt": Op(lambda x, y, k: x.rsqrt(), positive),
    "reciprocal": Op(lambda x, y, k: x.reciprocal(), positive),
    "sin": Op(lambda x, y, k: x.sin(), small),
    "cos": Op(lambda x, y, k: x.cos(), small),
    "atan": Op(lambda x, y, k: x.atan()),
    "asin": Op(lambda x, y, k: x.asin(), inside),
    "erf": Op(lambda x, y, k: x.erf(), small),
    "square": Op(lambda x, y, k: x.square()),
    "cube": Op(lambda x, y, k: x**3, small),
    "clamp": Op(lambda x, y, k: x.clamp(-1, k)),
    "times a fraction": Op(lambda x, y, k: x * (k + 1) / 3),
    "plus a number": Op(lambda x, y, k: x + k / 4),
}

PAIRS = {
    "add": Op(lambda x, y, k: x + y, broadcast),
    "sub": Op(lambda x, y, k: x - y, broadcast),
    "mul": Op(lambda x, y, k: x * y, broadcast),
    "div": Op(lambda x, y, k: x / (1 + y * y), broadcast),
    "maximum": Op(lambda x, y, k: torch.maximum(x, y), broadcast),
    "minimum": Op(lambda x, y, k: torch.minimum(x, y), broadcast),
    "where": Op(lambda x, y, k: torch.where(x > y, x, -y), broadcast),
    "addcmul": Op(lambda x, y, k: torch.addcmul(x, x, y, value=k / 2), broadcast),
    "lerp": Op(lambda x, y, k: torch.lerp(x, y, k / 4), alike),
    "matmul": Op(lambda x, y, k: x @ y, chains),
    "outer": Op(lambda x, y, k: torch.outer(x.reshape(-1), y.reshape(-1))),
    "cat": Op(lambda x, y, k: torch.cat([x, y]), alike),
    "stack": Op(lambda x, y, k: torch.stack([x, y], -1), alike),
    "mse_loss": Op(lambda x, y, k: F.mse_loss(x, y), alike),
    "huber_loss": Op(lambda x, y, k: F.huber_loss(x, y, reduction="none"), alike),
    "cosine_similarity": Op(lambda x, y, k: F.cosine_similarity(x, 1 + y * y, dim=-1), alike),
    "einsum": Op(lambda x, y, k: torch.einsum("ij,ij->j", x, y), lambda x, y: alike(x, y) and x.dim() == 2),
}

REDUCTIONS = {
    "sum": Op(lambda x, y, k: x.sum(k % x.dim(), keepdim=k > 1), has_axes),
    "mean": Op(lambda x, y, k: x.mean(k % x.dim()), has_axes),
    "var": Op(lambda x, y, k: x.var(-1, correction=0), many),
    "amax": Op(lambda x, y, k: x.amax(k % x.dim()), has_axes),
    "prod": Op(lambda x, y, k: x.prod(-1), lambda x, y: has_axes(x, y) and small(x, y)),
    "logsumexp": Op(lambda x, y, k: x.logsumexp(k % x.dim()), lambda x, y: has_axes(x, y) and small(x, y)),
    "norm": Op(lambda x, y, k: (1 + x * x).norm(dim=-1), has_axes),
    "softmax": Op(lambda x, y, k: x.softmax(k % x.dim()), lambda x, y: has_axes(x, y) and small(x, y)),
    "log_softmax": Op(lambda x, y, k: x.log_softmax(-1), lambda x, y: has_axes(x, y) and small(x, y)),
    "layer_norm": Op(lambda x, y, k: F.layer_norm(x, x.shape[-1:], eps=1 / 8), many),
    "cumsum": Op(lambda x, y, k: x.cumsum(k % x.dim()), has_axes),
    "cumprod": Op(lambda x, y, k: x.cumprod(-1), lambda x, y: has_axes(x, y) and small(x, y)),
    "det": Op(lambda x, y, k: torch.linalg.det(x), square),
}

PLACES = {
    "transpose": Op(lambda x, y, k: x.mT, matrix),
    "flatten": Op(lambda x, y, k: x.reshape(-1)),
    "unsqueeze": Op(lambda x, y, k: x.unsqueeze(-1), lambda x, y: x.dim() < 3),
    "slice": Op(lambda x, y, k: x[..., k % x.shape[-1] :], has_axes),
    "select": Op(lambda x, y, k: x[k % x.shape[0]], has_axes),
    "index": Op(lambda x, y, k: x[[k % x.shape[0], 0]], has_axes),
    "gather": Op(lambda x, y, k: x.gather(-1, torch.zeros(x.shape, dtype=torch.long) + k % x.shape[-1]), has_axes),
    "flip": Op(lambda x, y, k: x.flip(-1), has_axes),
    "roll": Op(lambda x, y, k: x.roll(k, -1), has_axes),
    "pad": Op(lambda x, y, k: F.pad(x, (1, 0), value=0.5), has_axes),
    "tril": Op(lambda x, y, k: x.tril(), matrix),
    "masked_fill": Op(lambda x, y, k: x.masked_fill(x > 1, 0.25)),
    "sort": Op(lambda x, y, k: x.sort(-1)[0], has_axes),
    "topk": Op(lambda x, y, k: x.topk(1 + k % x.shape[-1])[0], has_axes),
    "write in place": Op(lambda x, y, k: _written(x, k), has_axes),
}

OPS = {**ELEMENTWISE, **PAIRS, **REDUCTIONS, **PLACES}


def _written(x: Tensor, k: int) -> Tensor:
    out = x.clone()
    out[..., k % x.shape[-1]] *= 2
    out[0] += 1
    return out
