r"""Linear layers, lookups and softmax.

    y = x Wᵀ + b                     linear
    y = W[x]                         embedding: row x of the table
    p = e^x / Σ e^x                  softmax
    ℓ = x − log Σ e^x                log-softmax

Axes: i inputs of a layer, o outputs, n entries of the table, d width of an entry.
"""

from __future__ import annotations

from math import log

import torch
from jaxtyping import Float, Int
from torch import Tensor

from workings.written_out import follows_equations


def linear(x: Float[Tensor, "*b i"], W: Float[Tensor, "o i"], b: Float[Tensor, " o"] | None = None) -> Float[Tensor, "*b o"]:
    r"""Each output is a weighted sum of the inputs.

    $$y = x W^\top + b$$

    >>> linear(torch.tensor([1.0, 2.0]), torch.tensor([[3.0, 4.0]]), torch.tensor([5.0]))
    tensor([16.])
    """
    y = x @ W.T
    if b is not None:
        y = y + b
    return y


def embedding(x: Int[Tensor, "*b"], W: Float[Tensor, "n d"]) -> Float[Tensor, "*b d"]:
    """The rows of `W` at the indices `x`.

    >>> embedding(torch.tensor([1, 0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    y = W[x]
    return y


def softmax(x: Float[Tensor, "*b"], dim: int = -1, dtype: torch.dtype | None = None) -> Float[Tensor, "*b"]:
    r"""Positive numbers that sum to 1, in the proportions e^x.

    $$p = \frac{e^{x}}{\sum e^{x}}$$

    >>> softmax(torch.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """
    if dtype is not None:
        x = x.to(dtype)
    if is_steep(x):
        x = x - x.amax(dim, keepdim=True)
    E = torch.exp(x)
    p = E / E.sum(dim, keepdim=True)
    return p


def log_softmax(x: Float[Tensor, "*b"], dim: int = -1, dtype: torch.dtype | None = None) -> Float[Tensor, "*b"]:
    r"""The logarithm of softmax.

    $$\ell = x - \log \sum e^{x}$$
    """
    if dtype is not None:
        x = x.to(dtype)
    if is_steep(x):
        x = x - x.amax(dim, keepdim=True)
    Z = torch.exp(x).sum(dim, keepdim=True)
    y = x - torch.log(Z)
    return y


def is_steep(x: Tensor) -> bool:
    """Whether e^x leaves the range of floats, so that the maximum is subtracted first; the quotient stays the same."""
    if follows_equations([x]):
        return False
    finite = x.detach()[x.detach().isfinite()]
    return finite.numel() > 0 and finite.abs().max().item() > log(torch.finfo(x.dtype).max)
