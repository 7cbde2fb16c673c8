r"""Convolution and pooling of images.

    Y = W U + b        U has a column for each window of the image, W a row for each kernel
    Y = mean(window)   average pooling
    Y = max(window)    max pooling

Axes: b batch, c channels in, o channels out, i j inside a kernel, n m height and width, y x places.
"""

from __future__ import annotations

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from workings.equations.windows import windows
from workings.fused import fused
from workings.nn.fits import check_shapes
from workings.nn.vision.convolution import Sizes, conv_shape, pair
from workings.trace.shapes.arithmetic import each

Images = Float[Tensor, "*b c n m"]
Maps = Float[Tensor, "*b o y x"]


def check_maps(X: Tensor, W: Tensor, b: Tensor | None, S: Sizes, P: Sizes) -> None:
    """Refuse images and kernels whose channels do not agree, and kernels that have no place on the image."""
    check_shapes(conv2d, X, W, b)
    conv_shape(X.shape[-2:], W.shape[-2:], S, P)


def in_places(Y: Float[Tensor, "... o places"], X: Tensor, W: Tensor, S: Sizes, P: Sizes) -> Maps:
    """The columns of Y as maps, with the batch of X."""
    return Y.reshape(*X.shape[:-3], len(W), *conv_shape(X.shape[-2:], W.shape[-2:], S, P))


def conv2d_kernel(X: Images, W: Tensor, b: Tensor | None = None, S: Sizes = 1, P: Sizes = 0) -> Maps:
    check_maps(X, W, b, S, P)
    Y = functional.conv2d(X.reshape(-1, *X.shape[-3:]), W, b, pair(S), pair(P))
    return Y.reshape(*X.shape[:-3], *Y.shape[1:])


@fused(conv2d_kernel)
def conv2d(X: Images, W: Float[Tensor, "o c i j"], b: Float[Tensor, " o"] | None = None, S: Sizes = 1, P: Sizes = 0) -> Maps:
    r"""Each window of `X`, as a column of U, times the kernels, as rows of W.

    $$Y = W U + b$$

    >>> import torch
    >>> conv2d(torch.ones(1, 3, 3), torch.ones(1, 1, 2, 2))
    tensor([[[4., 4.],
             [4., 4.]]])
    """
    check_maps(X, W, b, S, P)
    U = functional.unfold(one_batch(X), W.shape[-2:], padding=each(P, 2), stride=each(S, 2))  # b, c·i·j, places
    Y = W.flatten(1) @ U
    Y = in_places(Y, X, W, S, P)
    if b is not None:
        Y = Y + b.reshape(-1, 1, 1)
    return Y


def one_batch(X: Images) -> Float[Tensor, "... c n m"]:
    """The images with one axis of batch at most, which is what PyTorch's unfold takes."""
    return X if X.dim() < 5 else X.flatten(0, -4)


def check_windows(pool: Callable[..., Tensor], X: Tensor, F: Sizes, S: Sizes) -> None:
    """Refuse what has no window to pool."""
    check_shapes(pool, X)
    conv_shape(X.shape[-2:], F, S)


def average_pool_kernel(X: Float[Tensor, "*b n m"], F: Sizes, S: Sizes | None = None) -> Float[Tensor, "*b y x"]:
    S = F if S is None else S
    check_windows(average_pool, X, F, S)
    Y = functional.avg_pool2d(X.reshape(-1, 1, *X.shape[-2:]), pair(F), pair(S))
    return Y.reshape(*X.shape[:-2], *Y.shape[-2:])


@fused(average_pool_kernel)
def average_pool(X: Float[Tensor, "*b n m"], F: Sizes, S: Sizes | None = None) -> Float[Tensor, "*b y x"]:
    """The mean of each window: every entry counts the same.

    >>> import torch
    >>> average_pool(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2)
    tensor([[[2.5000]]])
    """
    S = F if S is None else S
    check_windows(average_pool, X, F, S)
    U = windows(X, each(F, 2), each(S, 2))  # type: ignore[arg-type]  # … y x i j
    Y = U.mean(dim=(-2, -1))
    return Y


def max_pool_kernel(X: Float[Tensor, "*b n m"], F: Sizes, S: Sizes | None = None) -> Float[Tensor, "*b y x"]:
    S = F if S is None else S
    check_windows(max_pool, X, F, S)
    Y = functional.max_pool2d(X.reshape(-1, 1, *X.shape[-2:]), pair(F), pair(S))
    return Y.reshape(*X.shape[:-2], *Y.shape[-2:])


@fused(max_pool_kernel)
def max_pool(X: Float[Tensor, "*b n m"], F: Sizes, S: Sizes | None = None) -> Float[Tensor, "*b y x"]:
    """The largest entry of each window: the strongest response, wherever in the window it is.

    >>> import torch
    >>> max_pool(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2)
    tensor([[[4.]]])
    """
    S = F if S is None else S
    check_windows(max_pool, X, F, S)
    U = windows(X, each(F, 2), each(S, 2))  # type: ignore[arg-type]  # … y x i j
    Y = U.amax(dim=(-2, -1))
    return Y
