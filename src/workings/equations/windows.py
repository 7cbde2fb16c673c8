r"""Convolution and pooling: the same arithmetic on every window of the input.

    U = windows of X                 one column for each place of the kernel
    Y = W U + b                      convolution: a matrix product
    Y = mean(U), Y = max(U)          pooling

A kernel of k on n entries, p of padding on each side, fits in ⌊(n + 2p − k)/s⌋ + 1 places at stride s.

Axes: b batch, c channels in, o channels out, i j inside the kernel, y x places.
"""

from __future__ import annotations

from math import inf

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

Pair = tuple[int, int]


def conv2d(
    X: Float[Tensor, "*b c n m"],
    W: Float[Tensor, "o g i j"],
    β: Float[Tensor, " o"] | None = None,
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
    groups: int = 1,
) -> Float[Tensor, "*b o y x"]:
    r"""Slide the kernels `W` over the images `X`: each window is one column of U, each kernel one row of W.

    $$Y = W U + \beta$$
    """
    U = columns(X, W.shape[-2:], stride, padding, dilation, groups)  # b, c·i·j, places
    M = rows(W, groups)  # o, c·i·j
    Y = M @ U
    Y = in_places(Y, X, W, stride, padding, dilation)  # b o y x
    if β is not None:
        Y = Y + β.reshape(-1, 1, 1)
    return Y


def columns(X: Tensor, size: tuple[int, ...], stride: Pair, padding: Pair, dilation: Pair, groups: int = 1) -> Tensor:
    """Each window of the images as a column; with groups of channels, an axis of these before it.

    >>> import torch
    >>> columns(torch.arange(4.0).reshape(1, 1, 2, 2), (1, 2), (1, 1), (0, 0), (1, 1))
    tensor([[[0., 2.],
             [1., 3.]]])
    """
    U = F.unfold(X, size, dilation, padding, stride)
    return U if groups == 1 else U.unflatten(-2, (groups, -1))


def rows(W: Tensor, groups: int = 1) -> Tensor:
    """Each kernel as a row; with groups of channels, an axis of these before it."""
    return W.flatten(1) if groups == 1 else W.flatten(1).unflatten(0, (groups, -1))


def in_places(Y: Tensor, X: Tensor, W: Tensor, stride: Pair, padding: Pair, dilation: Pair) -> Float[Tensor, "*b o y x"]:
    """The columns of Y as maps: each number in the place of its window."""
    size = [places(*n) for n in zip(X.shape[-2:], W.shape[-2:], stride, padding, dilation, strict=True)]
    return Y.reshape(*X.shape[:-3], len(W), *size)


def conv1d(
    X: Float[Tensor, "*b c n"],
    W: Float[Tensor, "o g i"],
    β: Float[Tensor, " o"] | None = None,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
) -> Float[Tensor, "*b o x"]:
    r"""Slide the kernels `W` along the sequences `X`.

    $$Y = W U + \beta$$
    """
    o, _, i = W.shape
    X = F.pad(X, (padding, padding))
    U = X.unfold(-1, dilation * (i - 1) + 1, stride)[..., ::dilation]  # b c x i
    U = U.mT.flatten(-3, -2).unflatten(-2, (groups, -1))  # b g, c/g·i, x
    M = W.reshape(groups, o // groups, -1)  # g, o/g, c/g·i
    Y = M @ U
    Y = Y.flatten(-3, -2)
    if β is not None:
        Y = Y + β.reshape(-1, 1)
    return Y


def avg_pool2d(
    X: Float[Tensor, "*b h w"], size: Pair, stride: Pair, padding: Pair = (0, 0), divisor: int | None = None
) -> Float[Tensor, "*b y x"]:
    r"""The mean of each window; `divisor` divides the sum instead of the window's size.

    $$Y = \frac{1}{i\,j} \sum_{i, j} U$$
    """
    P = F.pad(X, (padding[1], padding[1], padding[0], padding[0]))
    U = windows(P, size, stride)  # … y x i j
    Y = U.mean((-2, -1)) if divisor is None else U.sum((-2, -1)) / divisor
    return Y


def max_pool2d(
    X: Float[Tensor, "*b h w"], size: Pair, stride: Pair, padding: Pair = (0, 0), dilation: Pair = (1, 1)
) -> Float[Tensor, "*b y x"]:
    r"""The largest entry of each window.

    $$Y = \max_{i, j} U$$
    """
    P = F.pad(X, (padding[1], padding[1], padding[0], padding[0]), value=-inf)
    U = windows(P, size, stride, dilation)  # … y x i j
    Y = U.amax((-2, -1))
    return Y


def windows(X: Tensor, size: Pair, stride: Pair, dilation: Pair = (1, 1)) -> Float[Tensor, "*b y x i j"]:
    """Every place of a window over the last two axes."""
    (i, j), (di, dj) = size, dilation
    U = X.unfold(-2, di * (i - 1) + 1, stride[0]).unfold(-2, dj * (j - 1) + 1, stride[1])
    return U[..., ::di, ::dj]


def places(n: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """How many places a kernel has on `n` entries.

    >>> places(32, kernel=5, stride=1, padding=0, dilation=1)
    28
    """
    return (n + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
