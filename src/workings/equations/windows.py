r"""Convolution and pooling: the same arithmetic on every window of the input.

    U = windows of X                 one column for each place of the kernel
    Y = W U + b                      convolution: a matrix product
    Y = mean(U), Y = max(U)          pooling

A kernel of k on n entries, p of padding on each side, fits in ⌊(n + 2p − k)/s⌋ + 1 places at stride s.

Axes: b batch, c channels in, o channels out, i j inside the kernel, y x places.
"""

from __future__ import annotations

from math import inf
from typing import Any

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from workings.fused import special_case_of

Sizes = int | tuple[int, ...]
"""One for both axes, or one for each."""


def pair(size: Sizes) -> tuple[int, int]:
    """The sizes on two axes."""
    height, width = (size, size) if isinstance(size, int) else size
    return height, width


def convolution(
    X: Float[Tensor, "*b c n m"],
    W: Float[Tensor, "o g i j"],
    b: Float[Tensor, " o"] | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int | None = None,
) -> Float[Tensor, "*b o y x"]:
    r"""Slide the kernels `W` over the images `X`: each window is one column of U, each kernel one row of W.

    $$Y = W U + b$$

    With `groups`, each group of kernels sees its own group of channels.
    """
    U = F.unfold(one_batch(X), W.shape[-2:], dilation=dilation, padding=padding, stride=stride)  # b, c·i·j, places
    if groups is None:
        Y = W.flatten(1) @ U
    else:
        Y = W.flatten(1).unflatten(0, (groups, -1)) @ U.unflatten(-2, (groups, -1))
    Y = in_places(Y, X, W, stride, padding, dilation)  # b o y x
    if b is not None:
        Y = Y + b.reshape(-1, 1, 1)
    return Y


@special_case_of(convolution)
def conv2d(
    X: Tensor, W: Tensor, b: Tensor | None, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> dict[str, Any]:
    """`torch.nn.functional.conv2d`."""
    given = {"X": X, "W": W, "b": b, "stride": stride, "padding": padding, "dilation": dilation}
    return given | {"groups": groups if groups > 1 else None}


def one_batch(X: Float[Tensor, "*b c n m"]) -> Float[Tensor, "... c n m"]:
    """The images with one axis of batch at most, which is what PyTorch's unfold takes."""
    return X if X.dim() < 5 else X.flatten(0, -4)


def in_places(Y: Tensor, X: Tensor, W: Tensor, stride: Sizes, padding: Sizes, dilation: Sizes) -> Float[Tensor, "*b o y x"]:
    """The columns of Y as maps: each number in the place of its window."""
    return Y.reshape(*X.shape[:-3], len(W), *map_size(X, W, stride, padding, dilation))


def map_size(X: Tensor, W: Tensor, *options: Sizes) -> list[int]:
    """How many places the kernels have on each axis, for a stride, a padding and a dilation."""
    return [places(*n) for n in zip(X.shape[-2:], W.shape[-2:], *map(pair, options), strict=True)]


def conv1d(
    X: Float[Tensor, "*b c n"],
    W: Float[Tensor, "o g i"],
    b: Float[Tensor, " o"] | None = None,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
) -> Float[Tensor, "*b o x"]:
    r"""Slide the kernels `W` along the sequences `X`.

    $$Y = W U + b$$
    """
    o, _, i = W.shape
    X = F.pad(X, (padding, padding))
    U = X.unfold(-1, dilation * (i - 1) + 1, stride)[..., ::dilation]  # b c x i
    U = U.mT.flatten(-3, -2).unflatten(-2, (groups, -1))  # b g, c/g·i, x
    M = W.reshape(groups, o // groups, -1)  # g, o/g, c/g·i
    Y = M @ U
    Y = Y.flatten(-3, -2)
    if b is not None:
        Y = Y + b.reshape(-1, 1)
    return Y


def avg_pool2d(
    X: Float[Tensor, "*b h w"], size: Sizes, stride: Sizes, padding: Sizes | None = None, divisor: int | None = None
) -> Float[Tensor, "*b y x"]:
    r"""The mean of each window; `divisor` divides the sum instead of the window's size.

    $$Y = \frac{1}{i\,j} \sum_{i, j} U$$
    """
    if padding is not None:
        X = F.pad(X, both_ends(padding))
    U = windows(X, size, stride)  # … y x i j
    if divisor is None:
        Y = U.mean(dim=(-2, -1))
    else:
        Y = U.sum(dim=(-2, -1)) / divisor
    return Y


def max_pool2d(
    X: Float[Tensor, "*b h w"], size: Sizes, stride: Sizes, padding: Sizes | None = None, dilation: Sizes = 1
) -> Float[Tensor, "*b y x"]:
    r"""The largest entry of each window.

    $$Y = \max_{i, j} U$$
    """
    if padding is not None:
        X = F.pad(X, both_ends(padding), value=-inf)
    U = windows(X, size, stride, dilation)  # … y x i j
    Y = U.amax(dim=(-2, -1))
    return Y


def both_ends(padding: Sizes) -> tuple[int, ...]:
    """The padding at each end of the last two axes, as PyTorch's pad takes it: the last axis first."""
    rows, columns = pair(padding)
    return columns, columns, rows, rows


def windows(X: Tensor, size: Sizes, stride: Sizes, dilation: Sizes = 1) -> Float[Tensor, "*b y x i j"]:
    """Every place of a window over the last two axes."""
    (i, j), (si, sj), (di, dj) = pair(size), pair(stride), pair(dilation)
    U = X.unfold(-2, di * (i - 1) + 1, si).unfold(-2, dj * (j - 1) + 1, sj)
    return U[..., ::di, ::dj]


def places(n: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """How many places a kernel has on `n` entries.

    >>> places(32, kernel=5, stride=1, padding=0, dilation=1)
    28
    """
    return (n + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
