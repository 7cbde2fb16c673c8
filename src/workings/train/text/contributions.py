r"""What each word adds to the decision of a deep averaging network.

    s(X) = θ_c − max_{k≠c} θ_k        the margin of class c, of the text with vectors X
    l_t = s(X) − s(X without t)       leave one out
    g_t = ∂s/∂x_t · x_t               gradient × input

Axes: t words of a text, d width of a vector, c classes.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

Network = Callable[[Float[Tensor, "b d"]], Float[Tensor, "b c"]]


class Contributions(NamedTuple):
    """The margin of a class, and each word's part in it by both ways."""

    margin: float
    leave_one_out: list[float]
    gradient_input: list[float]


def margin(θ: Float[Tensor, "b c"], c: int) -> Float[Tensor, " b"]:
    """How far class c is above the best other one.

    >>> margin(torch.tensor([[1.0, 3.0, 2.0]]), 1)
    tensor([1.])
    """
    others = θ.index_fill(1, torch.tensor([c]), -inf)
    return θ[:, c] - others.max(dim=1).values


def contributions(network: Network, X: Float[Tensor, "t d"], c: int) -> Contributions:
    """For a network on the mean of the words' vectors; without its only word a text is zeros."""
    n = len(X)
    X = X.detach().requires_grad_()
    s = margin(network(X.mean(dim=0, keepdim=True)), c)[0]
    (G,) = torch.autograd.grad(s, X)
    with torch.no_grad():
        g = (G * X).sum(dim=1)
        without = (X.sum(dim=0) - X) / max(1, n - 1) if n > 1 else torch.zeros_like(X)
        l = s - margin(network(without), c)
    return Contributions(s.item(), l.tolist(), g.tolist())
