"""Convolution and pooling of images, whose equations stand in `workings.equations.windows`, in the letters of the course.

Axes: b batch, c channels in, o channels out, i j inside a kernel, n m height and width, y x places.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from workings.equations import windows as equations
from workings.equations.windows import Sizes, pair
from workings.fused import fused, special_case_of
from workings.nn.fits import check_shapes
from workings.nn.vision.convolution import conv_shape

_Images = Float[Tensor, "*b c n m"]
_Maps = Float[Tensor, "*b o y x"]


def _check_convolution(X: Tensor, W: Tensor, b: Tensor | None = None, S: Sizes = 1, P: Sizes = 0) -> None:
    """Refuse images and kernels whose channels do not agree, and kernels that have no place on the image."""
    check_shapes(conv2d, X, W, b)
    conv_shape(X.shape[-2:], W.shape[-2:], S, P)


def _conv2d_kernel(X: _Images, W: Tensor, b: Tensor | None = None, S: Sizes = 1, P: Sizes = 0) -> _Maps:
    Y = functional.conv2d(X.reshape(-1, *X.shape[-3:]), W, b, pair(S), pair(P))
    return Y.reshape(*X.shape[:-3], *Y.shape[1:])


@fused(_conv2d_kernel, _check_convolution)
@special_case_of(equations.convolution)
def conv2d(
    X: Float[Tensor, "*b c n m"],
    W: Float[Tensor, "o c i j"],
    b: Float[Tensor, " o"] | None = None,
    S: Sizes = 1,
    P: Sizes = 0,
) -> dict[str, Any]:
    r"""Each window of `X`, as a column of U, times the kernels, as rows of W; S is the stride, P the padding.

    $$Y = W U + b$$

    >>> import torch
    >>> conv2d(torch.ones(1, 3, 3), torch.ones(1, 1, 2, 2))
    tensor([[[4., 4.],
             [4., 4.]]])
    """
    return {"X": X, "W": W, "b": b, "stride": S, "padding": P}


def _check_average_pool(X: Tensor, F: Sizes, S: Sizes | None = None) -> None:
    check_shapes(average_pool, X)
    conv_shape(X.shape[-2:], F, F if S is None else S)


def _check_max_pool(X: Tensor, F: Sizes, S: Sizes | None = None) -> None:
    check_shapes(max_pool, X)
    conv_shape(X.shape[-2:], F, F if S is None else S)


def _pool_kernel(kernel: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """PyTorch's pooling, for any batch."""

    def pool(X: Float[Tensor, "*b n m"], F: Sizes, S: Sizes | None = None) -> Float[Tensor, "*b y x"]:
        Y = kernel(X.reshape(-1, 1, *X.shape[-2:]), pair(F), pair(F if S is None else S))
        return Y.reshape(*X.shape[:-2], *Y.shape[-2:])

    return pool


@fused(_pool_kernel(functional.avg_pool2d), _check_average_pool)
@special_case_of(equations.avg_pool2d)
def average_pool(X: Float[Tensor, "*b n m"], F: Sizes, S: Sizes | None = None) -> dict[str, Any]:
    """The mean of each window of size F, S apart (F, unless said): every entry counts the same.

    >>> import torch
    >>> average_pool(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2)
    tensor([[[2.5000]]])
    """
    return {"X": X, "size": F, "stride": F if S is None else S}


@fused(_pool_kernel(functional.max_pool2d), _check_max_pool)
@special_case_of(equations.max_pool2d)
def max_pool(X: Float[Tensor, "*b n m"], F: Sizes, S: Sizes | None = None) -> dict[str, Any]:
    """The largest entry of each window of size F, S apart (F, unless said): the strongest response, wherever it is.

    >>> import torch
    >>> max_pool(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2)
    tensor([[[4.]]])
    """
    return {"X": X, "size": F, "stride": F if S is None else S}
