r"""Normalisation: values with mean 0 and variance 1, then a learned scale and shift.

    μ = mean(x)
    σ² = mean((x − μ)²)                the population variance: divided by n, not n − 1
    n = (x − μ) / √(σ² + ε)
    y = γ ⊙ n + β

They differ in the axes of the mean: layer norm (Ba et al. 2016) the entries of each token, batch norm everything but the
channel, group norm a group of channels of each example. RMS norm (Zhang & Sennrich 2019) leaves the mean and the shift out:
y = γ ⊙ x / √(mean(x²) + ε).

Axes: b batch, d width of a token, c channels.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


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
    mu = x.mean(dim=-1, keepdim=True)
    var = ((x - mu) ** 2).mean(dim=-1, keepdim=True)
    y = (x - mu) / torch.sqrt(var + eps)
    if gamma is not None:
        y = gamma * y
    if beta is not None:
        y = y + beta
    return y


def rms_norm(x: Float[Tensor, "*b d"], gamma: Float[Tensor, " d"] | None = None, eps: float = 1e-5) -> Float[Tensor, "*b d"]:
    r"""Each token divided by the root of its mean square, then scaled.

    $$y = \gamma \odot \frac{x}{\sqrt{\operatorname{mean}(x^2) + \varepsilon}}$$

    >>> rms_norm(torch.tensor([1.0, 7.0]), eps=0.0)
    tensor([0.2000, 1.4000])
    """
    m = (x**2).mean(dim=-1, keepdim=True)
    y = x / torch.sqrt(m + eps)
    if gamma is not None:
        y = gamma * y
    return y


def batch_norm(
    x: Float[Tensor, "b c *s"],
    running: tuple[Float[Tensor, " c"], Float[Tensor, " c"]] | None = None,
    γ: Float[Tensor, " c"] | None = None,
    β: Float[Tensor, " c"] | None = None,
    ε: float = 1e-5,
) -> Float[Tensor, "b c *s"]:
    r"""Each channel with mean 0 and variance 1 over the batch, or by the `running` mean and variance when they are given.

    $$y = \frac{x - \mu}{\sqrt{v + \varepsilon}}\,\gamma + \beta$$

    The fused operation also updates the running statistics when it trains; that is not part of this value.
    """
    axes = [axis for axis in range(x.dim()) if axis != 1]
    channel = [-1 if axis == 1 else 1 for axis in range(x.dim())]
    if running is None:
        μ = x.mean(axes, keepdim=True)
        v = ((x - μ) ** 2).mean(axes, keepdim=True)
    else:
        μ, v = running[0].reshape(channel), running[1].reshape(channel)
    y = (x - μ) / torch.sqrt(v + ε)
    if γ is not None:
        y = y * γ.reshape(channel)
    if β is not None:
        y = y + β.reshape(channel)
    return y


def group_norm(
    x: Float[Tensor, "b c *s"],
    groups: int,
    γ: Float[Tensor, " c"] | None = None,
    β: Float[Tensor, " c"] | None = None,
    ε: float = 1e-5,
) -> Float[Tensor, "b c *s"]:
    r"""Each group of channels of an example with mean 0 and variance 1.

    $$y = \frac{x - \mu}{\sqrt{v + \varepsilon}}\,\gamma + \beta$$
    """
    channel = [-1 if axis == 1 else 1 for axis in range(x.dim())]
    G = x.reshape(x.shape[0], groups, -1)  # b groups, the rest
    μ = G.mean(-1, keepdim=True)
    v = ((G - μ) ** 2).mean(-1, keepdim=True)
    n = (G - μ) / torch.sqrt(v + ε)
    y = n.reshape(x.shape)
    if γ is not None:
        y = y * γ.reshape(channel)
    if β is not None:
        y = y + β.reshape(channel)
    return y
