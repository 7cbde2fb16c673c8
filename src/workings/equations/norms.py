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

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from workings.fused import special_case_of

Batch = Float[Tensor, "..."]
Sample = Float[Tensor, "..."]
"""What belongs to the entries of one sample; it may be the same for several."""


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
    H: Batch,
    gamma: Sample | None = None,
    beta: Sample | None = None,
    eps: float = 0.0,
    variance: str = "population",
    *,
    mu: Sample | None = None,
    var: Sample | None = None,
) -> Batch:
    r"""Each entry with mean 0 and variance 1 over the batch (training), or by the stored `mu` and `var` (test).

    $$Y = \gamma \odot \frac{H - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta$$

    The sample variance divides by n − 1 instead of n.

    >>> batch_norm(torch.tensor([[1.0], [3.0]])).T
    tensor([[-1.,  1.]])
    """
    if mu is None or var is None:
        n = divisor(H, variance)
        mu = H.mean(dim=0)
        var = ((H - mu) ** 2).sum(dim=0) / n
    Y = (H - mu) / torch.sqrt(var + eps)
    if gamma is not None:
        Y = gamma * Y
    if beta is not None:
        Y = Y + beta
    return Y


VARIANCES = {"population": 0, "sample": 1}
"""Name of a variance → what its divisor is short of n."""


def divisor(H: Tensor, variance: str) -> int:
    """What the squares are divided by: n samples, or n − 1."""
    return H.shape[0] - VARIANCES[variance]


def _channels_first(Y: Tensor, x: Tensor, *_: Any) -> Tensor:
    """The rows of Y, one for each place of each example, on the axes of x."""
    return Y if x.dim() == 2 else Y.reshape(len(x), *x.shape[2:], -1).movedim(-1, 1)


@special_case_of(batch_norm, _channels_first)
def batch_norm_of_channels(
    x: Float[Tensor, "b c *s"],
    running: tuple[Float[Tensor, " c"], Float[Tensor, " c"]] | None = None,
    gamma: Float[Tensor, " c"] | None = None,
    beta: Float[Tensor, " c"] | None = None,
    eps: float = 1e-5,
) -> dict[str, Any]:
    """PyTorch's batch norm: the places of an image are samples too. With `running`, that mean and variance are used.

    The fused operation also updates the running statistics when it trains; that is not part of this value.
    """
    H = x if x.dim() == 2 else x.movedim(1, -1).flatten(0, -2)
    mu, var = running or (None, None)
    return {"H": H, "gamma": gamma, "beta": beta, "eps": eps, "mu": mu, "var": var}


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
