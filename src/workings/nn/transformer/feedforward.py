r"""The position-wise feed-forward network (Vaswani et al. 2017, §3.3) and its gated form (Shazeer 2020).

    H = φ(X W₁ + b₁)                 φ: ReLU or GELU
    Y = H W₂ + b₂

    H = silu(X W₁) ⊙ (X W₃)          SwiGLU: one product opens the gate for the other
    Y = H W₂

Every token goes through the same weights on its own: two convolutions of width 1.

Axes: b batch and tokens, d width of a token, h hidden width, o width of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import sqrt

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from workings.errors import DomainError
from workings.fused import fused
from workings.nn.fits import check_shapes

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}
GATED = "swiglu"


def activation_function(name: str) -> Callable[[Tensor], Tensor]:
    """The function φ, or a message with the names there are."""
    if name not in ACTIVATIONS:
        names = ", ".join(map(repr, ACTIVATIONS))
        raise DomainError(f"The activation of a feed-forward network is one of {names} or '{GATED}', not {name!r}.")
    return ACTIVATIONS[name]


def _feed_forward_kernel(
    X: Tensor, W_1: Tensor, b_1: Tensor | None, W_2: Tensor, b_2: Tensor | None, activation: str = "relu"
) -> Tensor:
    check_shapes(feed_forward, X, W_1, b_1, W_2, b_2)
    H = activation_function(activation)(X @ W_1 if b_1 is None else F.linear(X, W_1.mT, b_1))
    return H @ W_2 if b_2 is None else F.linear(H, W_2.mT, b_2)


@fused(_feed_forward_kernel)
def feed_forward(
    X: Float[Tensor, "*b d"],
    W_1: Float[Tensor, "d h"],
    b_1: Float[Tensor, " h"] | None,
    W_2: Float[Tensor, "h o"],
    b_2: Float[Tensor, " o"] | None,
    activation: str = "relu",
) -> Float[Tensor, "*b o"]:
    r"""Two linear maps with a nonlinearity between them, the same for every token; b₁ and b₂ may be left out (None).

    $$Y = \varphi(X W_1 + b_1) W_2 + b_2$$

    >>> I, zero = torch.eye(2), torch.zeros(2)
    >>> feed_forward(torch.tensor([3.0, -4.0]), I, zero, I, zero)
    tensor([3., 0.])
    """
    check_shapes(feed_forward, X, W_1, b_1, W_2, b_2)
    phi = activation_function(activation)
    if b_1 is None:
        H = phi(X @ W_1)
    else:
        H = phi(X @ W_1 + b_1)
    if b_2 is None:
        Y = H @ W_2
    else:
        Y = H @ W_2 + b_2
    return Y


def _swiglu_kernel(X: Tensor, W_1: Tensor, W_3: Tensor, W_2: Tensor) -> Tensor:
    check_shapes(swiglu, X, W_1, W_3, W_2)
    return F.linear(F.silu(F.linear(X, W_1.mT)) * F.linear(X, W_3.mT), W_2.mT)


@fused(_swiglu_kernel)
def swiglu(
    X: Float[Tensor, "*b d"], W_1: Float[Tensor, "d h"], W_3: Float[Tensor, "d h"], W_2: Float[Tensor, "h o"]
) -> Float[Tensor, "*b o"]:
    r"""A feed-forward network whose hidden layer is a product: a gate and what it lets through.

    $$Y = (\operatorname{silu}(X W_1) \odot X W_3) W_2$$

    >>> I = torch.eye(1)
    >>> swiglu(torch.tensor([2.0]), I, I, I)  # 2 σ(2) · 2
    tensor([3.5232])
    """
    check_shapes(swiglu, X, W_1, W_3, W_2)
    G = F.silu(X @ W_1)
    H = G * (X @ W_3)
    Y = H @ W_2
    return Y


class FeedForward(nn.Module):
    """A feed-forward network with its weights, and biases unless `bias` is false.

    `activation="swiglu"` makes it gated, with a third matrix and no biases.

    >>> sum(p.numel() for p in FeedForward(512, 2048).parameters())  # 2 · 512 · 2048 + 2048 + 512
    2099712
    """

    def __init__(self, width: int, hidden: int | None = None, activation: str = "relu", bias: bool = True) -> None:
        super().__init__()
        hidden = 4 * width if hidden is None else hidden
        if min(width, hidden) < 1:
            raise DomainError(f"A feed-forward network needs widths of at least 1, not {width} and {hidden}.")
        self.activation, self.gated = activation, activation == GATED
        self.W_1 = weights(width, hidden)
        self.W_2 = weights(hidden, width)
        if self.gated:
            self.W_3 = weights(width, hidden)
        else:
            activation_function(activation)
            self.b_1 = weights(hidden, fan_in=width) if bias else None
            self.b_2 = weights(width, fan_in=hidden) if bias else None

    def forward(self, X: Float[Tensor, "*b d"]) -> Float[Tensor, "*b d"]:
        if self.gated:
            return swiglu(X, self.W_1, self.W_3, self.W_2)
        return feed_forward(X, self.W_1, self.b_1, self.W_2, self.b_2, self.activation)


def weights(*shape: int, fan_in: int | None = None) -> nn.Parameter:
    """Uniform in ±1/√(inputs), which is how `nn.Linear` begins."""
    bound = 1 / sqrt(shape[0] if fan_in is None else fan_in)
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound))
