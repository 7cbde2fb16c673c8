r"""Normalisation.

    μ = mean(x)                      v = mean((x − μ)²)
    n = (x − μ) / √(v + ε)           mean 0, variance 1
    y = γ n + β                      scale and shift, learned

They differ in the axes of the mean: layer norm the last ones of each example, batch norm everything but the channel, group
norm a group of channels of each example. RMS norm (Zhang & Sennrich 2019) leaves the mean out: n = x / √(mean(x²) + ε).

Axes: b batch, c channels.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

Scale = Float[Tensor, "..."] | None


def layer_norm(
    x: Float[Tensor, "*b"], shape: Sequence[int], γ: Scale = None, β: Scale = None, ε: float = 1e-5
) -> Float[Tensor, "*b"]:
    r"""Each example with mean 0 and variance 1 over its last axes, whose sizes are `shape`.

    $$y = \frac{x - \mu}{\sqrt{v + \varepsilon}}\,\gamma + \beta$$

    >>> layer_norm(torch.tensor([1.0, 3.0]), [2], ε=0.0)
    tensor([-1.,  1.])
    """
    axes = tuple(range(-len(shape), 0))
    μ = x.mean(axes, keepdim=True)
    v = ((x - μ) ** 2).mean(axes, keepdim=True)
    y = (x - μ) / torch.sqrt(v + ε)
    if γ is not None:
        y = y * γ
    if β is not None:
        y = y + β
    return y


def rms_norm(x: Float[Tensor, "*b"], shape: Sequence[int], γ: Scale = None, ε: float = 1e-5) -> Float[Tensor, "*b"]:
    r"""Each example divided by the root of its mean square.

    $$y = \frac{x}{\sqrt{\operatorname{mean}(x^2) + \varepsilon}}\,\gamma$$
    """
    axes = tuple(range(-len(shape), 0))
    m = (x**2).mean(axes, keepdim=True)
    y = x / torch.sqrt(m + ε)
    if γ is not None:
        y = y * γ
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
