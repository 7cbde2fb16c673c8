r"""Convolution and pooling: sizes, parameters, receptive fields, and what a linear layer is as a convolution.

    out = ⌊(N + 2P − F)/S⌋ + 1             places of a kernel of F on N entries, padding P, stride S
    filters (k_h k_w channels + 1)         parameters of a convolution with biases
    r ← r + (F − 1) j        j ← j S       receptive field r and jump j, layer by layer, from r = j = 1

A Flatten and a Linear on maps of c channels, height by width, are one convolution whose kernel covers the map; on a larger
image that convolution gives a map of answers.

Axes: b batch, c channels in, o channels out, g channels of a kernel, i j inside it, n m height and width, y x places.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from math import floor, prod
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from workings.errors import ShapeError
from workings.nn.fused import fused
from workings.trace.sizes import each
from workings.trace.textbook.windows import windows

Sizes = int | Sequence[int]
Images = Float[Tensor, "*b c n m"]
Maps = Float[Tensor, "*b o y x"]


# ------------------------------------------------------------------------------------------------ sizes and parameters


def conv_size(N: int, F: int, S: int = 1, P: int = 0, dilation: int = 1) -> int:
    r"""How many places a kernel of F has on N entries with P of padding at each end, S apart.

    $$\text{out} = \left\lfloor \frac{N + 2P - F}{S} \right\rfloor + 1$$

    A dilated kernel covers dilation·(F − 1) + 1 entries, which then stand for F.

    >>> conv_size(32, 5), conv_size(7, 4, P=1), conv_size(128, 5, S=3)
    (28, 6, 42)
    """
    if dilation != 1:
        F = dilation * (F - 1) + 1
    N, F, S, P = possible(N, F, S, P)
    out = floor((N + 2 * P - F) / S) + 1
    return out


def pool_size(N: int, F: int, S: int | None = None, P: int = 0) -> int:
    """The same for pooling, whose stride is its window unless said.

    >>> pool_size(28, 4), pool_size(6, 2)
    (7, 3)
    """
    S = F if S is None else S
    out = conv_size(N, F, S, P)
    return out


def conv_shape(N: Sequence[int], F: Sizes, S: Sizes = 1, P: Sizes = 0, dilation: Sizes = 1) -> tuple[int, ...]:
    """`conv_size` of every axis by itself.

    >>> conv_shape((128, 128), (3, 5), S=(1, 3))
    (126, 42)
    """
    axes = zip(N, *(each(value, len(N)) for value in (F, S, P, dilation)), strict=True)
    return tuple(conv_size(*axis) for axis in axes)


def discarded(N: int, F: int, S: int = 1, P: int = 0, dilation: int = 1) -> int:
    """How many entries at the end no place of the kernel reaches: what the floor cuts off, less the padding there.

    >>> discarded(128, 5, S=3), discarded(128, 4, S=3), discarded(6, 2, S=2)
    (0, 1, 0)
    """
    N, F, S, P = possible(N, dilation * (F - 1) + 1, S, P)
    rest = (N + 2 * P - F) % S
    lost = max(0, rest - P)
    return lost


def possible(N: int, F: int, S: int, P: int) -> tuple[int, int, int, int]:
    """The sizes, if a kernel of F has a place at all."""
    if min(N, F, S) < 1 or P < 0:
        raise ShapeError(f"⌊(N + 2P − F)/S⌋ + 1 needs N, F, S ≥ 1 and P ≥ 0: N = {N}, F = {F}, S = {S}, P = {P}.")
    if F > N + 2 * P:
        raise ShapeError(
            f"A kernel of {F} has no place on N + 2P = {N} + 2·{P} = {N + 2 * P} entries: pad more or shrink it."
        )
    return N, F, S, P


def same_padding(F: int) -> int:
    """The padding at each end that keeps the size at stride 1: P = (F − 1)/2.

    >>> same_padding(5)
    2
    """
    if F % 2 == 0:
        raise ShapeError(
            f"The same size at stride 1 needs 2P = F − 1, so an odd kernel: F = {F} would need P = {F - 1}/2. "
            f"Take {F - 1} or {F + 1}."
        )
    P = (F - 1) // 2
    return P


def conv_parameters(filters: int, kernel: Sizes, channels: int, bias: bool = True) -> int:
    """Each filter has one number for each place of its kernel and channel, and a bias.

    >>> conv_parameters(8, 5, 1), conv_parameters(16, 4, 8), conv_parameters(8, 5, 1, bias=False)
    (208, 2064, 200)
    """
    height, width = each(kernel, 2)
    biases = 1 if bias else 0
    count = filters * (height * width * channels + biases)
    return count


def linear_parameters(inputs: int, outputs: int, bias: bool = True) -> int:
    """One number for each pair of input and output, and a bias for each output.

    >>> linear_parameters(144, 10)
    1450
    """
    biases = 1 if bias else 0
    count = outputs * (inputs + biases)
    return count


def receptive_field(layers: nn.Module | Iterable[tuple[int, ...]], axis: int = -1) -> int:
    r"""How many entries of the input, along one axis, a unit after the last layer looks at.

    $$r \leftarrow r + (F - 1)\,j \qquad j \leftarrow j\,S$$

    `layers` are pairs of kernel and stride (a third number dilates the kernel), or a model whose layers run in the order
    they were made; there the layers up to the first Flatten or Linear count, because that one sees everything.

    >>> receptive_field([(5, 1), (4, 4), (4, 1), (2, 2)])  # 5, then 5 + 3 = 8, then 8 + 3·4 = 20, then 20 + 1·4 = 24
    24
    """
    r, j = 1, 1
    for F, S in kernels(layers, axis):
        r = r + (F - 1) * j
        j = j * S
    return r


def kernels(layers: nn.Module | Iterable[tuple[int, ...]], axis: int) -> list[tuple[int, int]]:
    """What the kernel of each layer covers along `axis`, and its stride."""
    given = of_modules(layers.modules(), axis) if isinstance(layers, nn.Module) else layers
    return [((dilation[0] if dilation else 1) * (F - 1) + 1, S) for F, S, *dilation in given]


def of_modules(modules: Iterable[Any], axis: int) -> Iterable[tuple[int, int, int]]:
    """Kernel, stride and dilation of the layers that have a kernel, before the first that sees everything."""
    for layer in itertools.takewhile(lambda layer: not isinstance(layer, (nn.Flatten, nn.Linear)), modules):
        if hasattr(layer, "kernel_size"):
            yield tuple(each(v, 2)[axis] for v in (layer.kernel_size, layer.stride, getattr(layer, "dilation", 1)))  # type: ignore[misc]


def pair(value: Sizes) -> tuple[int, int]:
    """Sizes on two axes."""
    height, width = each(value, 2)
    return height, width


# ------------------------------------------------------------------------------------------------ the layers


def maps(X: Tensor, W: Tensor, b: Tensor | None, S: Sizes, P: Sizes) -> tuple[int, ...]:
    """The shape of the output, where the channels of images and kernels agree."""
    if W.dim() != 4 or X.dim() < 3:
        raise ShapeError(
            f"X is c × n × m, with any batch before it, and W is o × c × i × j: X is {[*X.shape]}, W is {[*W.shape]}."
        )
    o, c, i, j = W.shape
    if b is not None and b.shape != (o,):
        raise ShapeError(f"W U + b needs a number in b for each of the o = {o} kernels, but b is {[*b.shape]}.")
    if X.shape[-3] != c:
        raise ShapeError(
            f"Each kernel needs one slice for each channel of the images: X is {[*X.shape]}, so c = {X.shape[-3]}, "
            f"but W is {[*W.shape]}, so c = {c}."
        )
    return *X.shape[:-3], o, *conv_shape(X.shape[-2:], (i, j), S, P)


def conv2d_kernel(X: Images, W: Tensor, b: Tensor | None = None, S: Sizes = 1, P: Sizes = 0) -> Maps:
    shape = maps(X, W, b, S, P)
    return functional.conv2d(X.reshape(-1, *X.shape[-3:]), W, b, pair(S), pair(P)).reshape(shape)


@fused(conv2d_kernel)
def conv2d(X: Images, W: Float[Tensor, "o g i j"], b: Float[Tensor, " o"] | None = None, S: Sizes = 1, P: Sizes = 0) -> Maps:
    r"""Each window of `X`, as a column of U, times the kernels, as rows of W.

    $$Y = W U + b$$

    >>> conv2d(torch.ones(1, 3, 3), torch.ones(1, 1, 2, 2))
    tensor([[[4., 4.],
             [4., 4.]]])
    """
    shape = maps(X, W, b, S, P)
    U = functional.unfold(one_batch(X), W.shape[-2:], padding=pair(P), stride=pair(S))  # b, c·i·j, places
    Y = W.flatten(1) @ U
    Y = Y.reshape(shape)
    if b is not None:
        Y = Y + b.reshape(-1, 1, 1)
    return Y


def one_batch(X: Images) -> Float[Tensor, "... c n m"]:
    """The images with one axis of batch at most, which is what PyTorch's unfold takes."""
    return X if X.dim() < 5 else X.flatten(0, -4)


def pooled(X: Tensor, F: Sizes, S: Sizes) -> tuple[int, ...]:
    """The shape after pooling, where there is an image to pool."""
    if X.dim() < 2:
        raise ShapeError(
            f"Windows of height and width need an image, n × m with any batch before it, but X is {[*X.shape]}."
        )
    return *X.shape[:-2], *conv_shape(X.shape[-2:], F, S)


def average_pool_kernel(X: Float[Tensor, "*b n m"], F: Sizes, S: Sizes | None = None) -> Float[Tensor, "*b y x"]:
    shape = pooled(X, F, F if S is None else S)
    return functional.avg_pool2d(X.reshape(-1, 1, *X.shape[-2:]), pair(F), pair(F if S is None else S)).reshape(shape)


@fused(average_pool_kernel)
def average_pool(X: Float[Tensor, "*b n m"], F: Sizes, S: Sizes | None = None) -> Float[Tensor, "*b y x"]:
    """The mean of each window: every entry counts the same.

    >>> average_pool(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2)
    tensor([[[2.5000]]])
    """
    S = F if S is None else S
    _ = pooled(X, F, S)
    U = windows(X, pair(F), pair(S))  # … y x i j
    Y = U.mean(dim=(-2, -1))
    return Y


def max_pool_kernel(X: Float[Tensor, "*b n m"], F: Sizes, S: Sizes | None = None) -> Float[Tensor, "*b y x"]:
    shape = pooled(X, F, F if S is None else S)
    return functional.max_pool2d(X.reshape(-1, 1, *X.shape[-2:]), pair(F), pair(F if S is None else S)).reshape(shape)


@fused(max_pool_kernel)
def max_pool(X: Float[Tensor, "*b n m"], F: Sizes, S: Sizes | None = None) -> Float[Tensor, "*b y x"]:
    """The largest entry of each window: the strongest response, wherever in the window it is.

    >>> max_pool(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2)
    tensor([[[4.]]])
    """
    S = F if S is None else S
    _ = pooled(X, F, S)
    U = windows(X, pair(F), pair(S))  # … y x i j
    Y = U.amax(dim=(-2, -1))
    return Y


# ------------------------------------------------------------------------------------------------ linear as convolution


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


def parameter_count(module: nn.Module) -> int:
    """All numbers of a module that are learned.

    >>> parameter_count(nn.Linear(144, 10))
    1450
    """
    return sum(prod(p.shape) for p in module.parameters())
