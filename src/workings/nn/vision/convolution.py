r"""Sizes, parameters and receptive fields of convolution and pooling.

out = ⌊(N + 2P − F)/S⌋ + 1             places of a kernel of F on N entries, padding P, stride S
filters (k_h k_w channels + 1)         parameters of a convolution with biases
r ← r + (F − 1) j        j ← j S       receptive field r and jump j, layer by layer, from r = j = 1
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from math import floor, prod
from typing import Any

from torch import nn

from workings.equations.windows import Sizes
from workings.errors import ShapeError
from workings.trace.shapes.arithmetic import each


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
    _check_sizes(N, F=F, S=S, P=P, dilation=dilation)
    axes = zip(N, *(each(value, len(N)) for value in (F, S, P, dilation)), strict=True)
    return tuple(conv_size(*axis) for axis in axes)


def _check_sizes(N: Sequence[int], **sizes: Sizes) -> None:
    """Refuse sizes that are neither one for all axes nor one for each."""
    for name, value in sizes.items():
        if len(each(value, len(N))) != len(N):
            raise ShapeError(f"There is one {name} for all {len(N)} axes, or one for each, but {name} = {value}.")


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


def parameter_count(module: nn.Module) -> int:
    """All numbers of a module that are learned.

    >>> parameter_count(nn.Linear(144, 10))
    1450
    """
    return sum(prod(p.shape) for p in module.parameters())


def receptive_field(layers: nn.Module | Iterable[tuple[int, ...]], axis: int = -1) -> int:
    r"""How many entries of the input, along one axis, a unit after the last layer looks at.

    $$r \leftarrow r + (F - 1)\,j \qquad j \leftarrow j\,S$$

    `layers` are pairs of kernel and stride (a third number dilates the kernel), or a model whose layers run in the order
    they were made; there the layers up to the first Flatten or Linear count, because that one sees everything.

    >>> receptive_field([(5, 1), (4, 4), (4, 1), (2, 2)])  # 5, then 5 + 3 = 8, then 8 + 3·4 = 20, then 20 + 1·4 = 24
    24
    """
    r, j = 1, 1
    for F, S in _kernels(layers, axis):
        r = r + (F - 1) * j
        j = j * S
    return r


def _kernels(layers: nn.Module | Iterable[tuple[int, ...]], axis: int) -> list[tuple[int, int]]:
    """What the kernel of each layer covers along `axis`, and its stride."""
    given = _of_modules(layers.modules(), axis) if isinstance(layers, nn.Module) else layers
    return [((dilation[0] if dilation else 1) * (F - 1) + 1, S) for F, S, *dilation in given]


def _of_modules(modules: Iterable[Any], axis: int) -> Iterable[tuple[int, int, int]]:
    """Kernel, stride and dilation of the layers that have a kernel, before the first that sees everything."""
    for layer in itertools.takewhile(lambda layer: not isinstance(layer, (nn.Flatten, nn.Linear)), modules):
        if hasattr(layer, "kernel_size"):
            yield tuple(each(v, 2)[axis] for v in (layer.kernel_size, layer.stride, getattr(layer, "dilation", 1)))  # type: ignore[misc]
