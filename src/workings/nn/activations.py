r"""Activations, their slopes, and how the slopes die out.

    σ(x) = 1/(1 + e^−x)        σ′ = σ(x) σ(−x) ~ e^−|x|
    tanh x                     tanh′ = 1 − tanh² x = 1/cosh² x ~ 4 e^−2|x|
    relu(x) = max(x, 0)        relu′ = 1 where x > 0, else 0
    identity(x) = x            1

The slopes are written so that they keep their digits where they are tiny: in floating point 1 − σ and 1 − tanh² are 0 long
before the slope is.

Axes: s any shape.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from workings.errors import WorkingsError

Values = Float[Tensor, "*s"]
Function = Callable[[Tensor], Tensor]


def identity(x: Values) -> Values:
    """No activation."""
    return x


def sigmoid_slope(x: Values) -> Values:
    r"""How fast σ rises: at most ¼, and next to nothing far from 0.

    $$\sigma' = \sigma(x)\,\sigma(-x) = \sigma(x)\,(1 - \sigma(x))$$

    >>> sigmoid_slope(torch.tensor(0.0))
    tensor(0.2500)
    """
    d = torch.sigmoid(x) * torch.sigmoid(-x)
    return d


def tanh_slope(x: Values) -> Values:
    r"""How fast tanh rises: at most 1.

    $$\tanh' = \frac{1}{\cosh^2 x} = 1 - \tanh^2 x$$

    >>> tanh_slope(torch.tensor(0.0))
    tensor(1.)
    """
    d = 1 / torch.cosh(x) ** 2
    return d


def relu_slope(x: Values) -> Values:
    """1 where a signal passes, 0 where it does not; at 0, where there is no slope, 0 as PyTorch has it.

    >>> relu_slope(torch.tensor([-3.0, 0.0, 1000.0]))
    tensor([0., 0., 1.])
    """
    d = torch.where(x > 0, torch.ones_like(x), torch.zeros_like(x))
    return d


def identity_slope(x: Values) -> Values:
    """1 everywhere."""
    d = torch.ones_like(x)
    return d


def sigmoid_tail(x: Values) -> Values:
    r"""What σ′ comes to far from 0.

    $$\sigma' \sim e^{-|x|}$$
    """
    d = torch.exp(-x.abs())
    return d


def tanh_tail(x: Values) -> Values:
    r"""What tanh′ comes to far from 0.

    $$\tanh' \sim 4 e^{-2|x|}$$
    """
    d = 4 * torch.exp(-2 * x.abs())
    return d


SLOPES: dict[str, tuple[Function, Function]] = {
    "tanh": (torch.tanh, tanh_slope),
    "sigmoid": (torch.sigmoid, sigmoid_slope),
    "relu": (torch.relu, relu_slope),
    "identity": (identity, identity_slope),
}
"""Each activation g with its slope g′."""


def activation(name: str) -> tuple[Function, Function]:
    """g and g′ by name."""
    if name not in SLOPES:
        raise WorkingsError(f"No activation is called {name!r}: there are {', '.join(SLOPES)}.")
    return SLOPES[name]
