r"""Linear layers as convolutions, and back.

A Flatten and a Linear on maps of c channels, height by width, are one convolution whose kernel covers the map; on a larger
image that convolution gives a map of answers.

Axes: c channels in, o channels out, i j inside a kernel.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from workings.equations.windows import pair
from workings.errors import ShapeError


def linear_to_conv(linear: nn.Linear, channels: int, height: int, width: int) -> nn.Conv2d:
    """The convolution that is Flatten and `linear` on maps of channels·height·width: the same numbers, reshaped.

    >>> linear_to_conv(nn.Linear(144, 10), 16, 3, 3)
    Conv2d(16, 10, kernel_size=(3, 3), stride=(1, 1))
    """
    if channels * height * width != linear.in_features:
        raise ShapeError(
            f"Flatten gives {channels}·{height}·{width} = {channels * height * width} features, "
            f"but the linear layer takes {linear.in_features}."
        )
    W = linear.weight.reshape(-1, channels, height, width)
    return conv_of(W, linear.bias)


def conv_to_linear(conv: nn.Conv2d) -> nn.Linear:
    """The linear layer that, after Flatten, is `conv` where its kernel covers the whole map: `linear_to_conv` undone."""
    if conv.groups != 1 or set(conv.dilation) != {1} or set(conv.padding) not in ({0}, set("valid")):
        raise ShapeError(f"A linear layer is a convolution without padding, dilation and groups; this is {conv}.")
    W = conv.weight.flatten(1)
    linear = nn.Linear(W.shape[1], W.shape[0], bias=conv.bias is not None)
    return with_parameters(linear, W, conv.bias)


def spread(conv: nn.Conv2d, height: int, width: int) -> nn.Conv2d:
    """The convolution that is the 1×1 `conv` followed by the mean over height·width: its kernel is constant in space.

    >>> conv = nn.Conv2d(16, 10, 1)  # 170 parameters
    >>> spread(conv, 3, 3)  # 1450, of which 144·10 are nine equal copies of 160
    Conv2d(16, 10, kernel_size=(3, 3), stride=(1, 1))
    """
    if tuple(conv.kernel_size) != (1, 1):
        raise ShapeError(f"A mean over the map can be moved into a 1×1 kernel; this one is {pair(conv.kernel_size)}.")
    W = conv.weight.expand(-1, -1, height, width) / (height * width)
    return conv_of(W, conv.bias)


def conv_of(W: Float[Tensor, "o c i j"], b: Tensor | None) -> nn.Conv2d:
    """A convolution with these kernels and biases."""
    conv = nn.Conv2d(W.shape[1], W.shape[0], (W.shape[2], W.shape[3]), bias=b is not None)
    return with_parameters(conv, W, b)


def with_parameters(layer: Any, W: Tensor, b: Tensor | None) -> Any:
    """The layer with copies of these numbers as its weight and bias."""
    layer.weight = nn.Parameter(W.detach().clone(memory_format=torch.contiguous_format))
    layer.bias = None if b is None else nn.Parameter(b.detach().clone())
    return layer
