r"""Normalisation of a token: values with mean 0 and variance 1, then a learned scale and shift.

    μ = mean(x)                        over the entries of one token
    σ² = mean((x − μ)²)                the population variance: divided by n, not n − 1
    n = (x − μ) / √(σ² + ε)
    y = γ ⊙ n + β

Layer norm (Ba et al. 2016) needs nothing but its own token; batch norm shares μ and σ² over a batch (`batch_norm`). RMS norm
(Zhang & Sennrich 2019) leaves the mean and the shift out: y = γ ⊙ x / √(mean(x²) + ε).

Axes: b batch, d width of a token.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from workings.errors import DomainError
from workings.nn.fits import check_shapes, where
from workings.nn.fused import fused


def check_epsilon(eps: float) -> None:
    if not eps >= 0:
        raise DomainError(f"√(σ² + ε) needs ε ≥ 0, not {eps:g}.")


def check_varied(x: Tensor, eps: float) -> None:
    """Refuse a token of equal entries where ε does not keep its variance from 0."""
    if eps == 0 and (at := where(x, lambda x: (x == x[..., :1]).all(dim=-1))) is not None:
        raise DomainError(
            f"(x − μ) / √(σ² + ε) is 0/0 where all entries of a token are equal and ε = 0, as at {at}: give an ε above 0."
        )


def check_nonzero(x: Tensor, eps: float) -> None:
    """Refuse a token of zeros where ε does not keep its mean square from 0."""
    if eps == 0 and (at := where(x, lambda x: (x == 0).all(dim=-1))) is not None:
        raise DomainError(
            f"x / √(mean(x²) + ε) is 0/0 where all entries of a token are 0 and ε = 0, as at {at}: give an ε above 0."
        )


def layer_norm_kernel(x: Tensor, gamma: Tensor | None = None, beta: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    check_shapes(layer_norm, x, gamma, beta)
    check_epsilon(eps)
    if eps == 0:
        check_varied(x, eps)
    return torch.layer_norm(x, x.shape[-1:], gamma, beta, eps)


@fused(layer_norm_kernel)
def layer_norm(
    x: Float[Tensor, "*b d"],
    gamma: Float[Tensor, " d"] | None = None,
    beta: Float[Tensor, " d"] | None = None,
    eps: float = 1e-5,
) -> Float[Tensor, "*b d"]:
    r"""Each token with mean 0 and variance 1 over its own entries, then scaled and shifted.

    $$y = \gamma \odot \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta$$

    >>> layer_norm(torch.tensor([1.0, 3.0]), eps=0.0)
    tensor([-1.,  1.])
    """
    check_shapes(layer_norm, x, gamma, beta)
    check_epsilon(eps)
    check_varied(x, eps)
    d = x.shape[-1]
    mu = x.sum(dim=-1, keepdim=True) / d
    var = ((x - mu) ** 2).sum(dim=-1, keepdim=True) / d
    y = (x - mu) / torch.sqrt(var + eps)
    if gamma is not None:
        y = gamma * y
    if beta is not None:
        y = y + beta
    return y


def rms_norm_kernel(x: Tensor, gamma: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    check_shapes(rms_norm, x, gamma)
    check_epsilon(eps)
    check_nonzero(x, eps)
    return F.rms_norm(x, x.shape[-1:], gamma, eps)


@fused(rms_norm_kernel)
def rms_norm(x: Float[Tensor, "*b d"], gamma: Float[Tensor, " d"] | None = None, eps: float = 1e-5) -> Float[Tensor, "*b d"]:
    r"""Each token divided by the root of its mean square, then scaled.

    $$y = \gamma \odot \frac{x}{\sqrt{\operatorname{mean}(x^2) + \varepsilon}}$$

    >>> rms_norm(torch.tensor([1.0, 7.0]), eps=0.0)
    tensor([0.2000, 1.4000])
    """
    check_shapes(rms_norm, x, gamma)
    check_epsilon(eps)
    check_nonzero(x, eps)
    d = x.shape[-1]
    m = (x**2).sum(dim=-1, keepdim=True) / d
    y = x / torch.sqrt(m + eps)
    if gamma is not None:
        y = gamma * y
    return y


class LayerNorm(nn.Module):
    """Layer norm with a learned scale γ and, unless `bias` is false, a shift β."""

    def __init__(self, width: int, eps: float = 1e-5, bias: bool = True) -> None:
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(width))
        self.beta = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x: Float[Tensor, "*b d"]) -> Float[Tensor, "*b d"]:
        if self.beta is None:
            return layer_norm(x, self.gamma, eps=self.eps)
        return layer_norm(x, self.gamma, self.beta, self.eps)


class RMSNorm(nn.Module):
    """RMS norm with a learned scale γ."""

    def __init__(self, width: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(width))

    def forward(self, x: Float[Tensor, "*b d"]) -> Float[Tensor, "*b d"]:
        return rms_norm(x, self.gamma, self.eps)
