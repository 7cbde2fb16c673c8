"""Examples that `workings systems` shows: a network with a mistake in it, a linear layer as a convolution, costs of layers.

Axes: c channels, n m height and width, k classes, x = c·n·m features.
"""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from workings.models.counts import attention_cost, projection_operations, recurrent_cost
from workings.nn import conv2d


def wrong_linear() -> nn.Sequential:
    """The network for house numbers as a listing printed it: 144 features arrive at a Linear for 120."""
    return nn.Sequential(
        nn.Conv2d(1, 8, 5),
        nn.AvgPool2d(4),
        nn.ReLU(),
        nn.Conv2d(8, 16, 4, padding=1),
        nn.AvgPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(120, 10),
    )


def linear_as_convolution(X: Float[Tensor, "c n m"], W: Float[Tensor, "k x"]) -> tuple[Tensor, Tensor]:
    r"""Flatten and Linear, and the same weights as a kernel of the map's size: the two are equal.

    $$\theta = W \operatorname{vec}(X), \qquad Y = K * X, \qquad K = W \text{ as } k \times c \times n \times m$$

    >>> import torch
    >>> linear_as_convolution(torch.ones(1, 2, 2), torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
    (tensor([10.]), tensor([10.]))
    """
    θ = W @ X.flatten()
    K = W.unflatten(1, X.shape)
    Y = conv2d(X.unsqueeze(0), K).flatten()
    return θ, Y


def layer_costs(n: int, d: int) -> tuple[bool, bool]:
    """Multiplications of a recurrent layer and of attention: is attention the cheaper one, without and with its projections?

    >>> layer_costs(50, 512), layer_costs(1000, 512)
    ((True, False), (False, False))
    """
    recurrent = recurrent_cost(n, d).operations
    attention = attention_cost(n, d).operations
    projections = projection_operations(n, d)
    alone = attention < recurrent
    whole = attention + projections < recurrent
    return alone, whole
