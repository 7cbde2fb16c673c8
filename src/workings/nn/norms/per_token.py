"""Normalisation of a token: layer norm and RMS norm, whose equations stand in `workings.equations.norms`.

Layer norm needs nothing but its own token; batch norm shares μ and σ² over a batch (`batch_norm`).

Axes: b batch, d width of a token.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from workings.equations import norms as equations
from workings.errors import DomainError
from workings.fused import fused
from workings.nn.fits import check_shapes, where


def check_layer_norm(x: Tensor, gamma: Tensor | None = None, beta: Tensor | None = None, eps: float = 1e-5) -> None:
    """Refuse shapes that do not fit, and a token of equal entries where ε does not keep its variance from 0."""
    check_shapes(equations.layer_norm, x, gamma, beta)
    if eps > 0:
        return
    _check_epsilon(eps)
    if (at := where(x, lambda x: (x == x[..., :1]).all(dim=-1))) is not None:
        raise DomainError(
            f"(x − μ) / √(σ² + ε) is 0/0 where all entries of a token are equal and ε = 0, as at {at}: give an ε above 0."
        )


def check_rms_norm(x: Tensor, gamma: Tensor | None = None, eps: float = 1e-5) -> None:
    """Refuse shapes that do not fit, and a token of zeros where ε does not keep its mean square from 0."""
    check_shapes(equations.rms_norm, x, gamma)
    if eps > 0:
        return
    _check_epsilon(eps)
    if (at := where(x, lambda x: (x == 0).all(dim=-1))) is not None:
        raise DomainError(
            f"x / √(mean(x²) + ε) is 0/0 where all entries of a token are 0 and ε = 0, as at {at}: give an ε above 0."
        )


def _check_epsilon(eps: float) -> None:
    if not eps >= 0:
        raise DomainError(f"√(σ² + ε) needs ε ≥ 0, not {eps:g}.")


def layer_norm_kernel(x: Tensor, gamma: Tensor | None = None, beta: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    return torch.layer_norm(x, x.shape[-1:], gamma, beta, eps)


def rms_norm_kernel(x: Tensor, gamma: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    return F.rms_norm(x, x.shape[-1:], gamma, eps)


layer_norm = fused(layer_norm_kernel, check_layer_norm)(equations.layer_norm)
rms_norm = fused(rms_norm_kernel, check_rms_norm)(equations.rms_norm)


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
