"""Which textbook definition stands for which PyTorch function, and for which of its options.

An entry has the signature of the PyTorch function, refuses the options that the definition leaves out, and returns the
definition with its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from workings import equations as textbook
from workings.trace.definitions.definition import Definition, NotCovered, refuse

Entry = Callable[..., Definition]
FUNCTIONS: dict[Any, Entry] = {}


def defines(*functions: Any) -> Callable[[Entry], Entry]:
    """Enter the decorated function in the table under every spelling of the fused one."""

    def register(entry: Entry) -> Entry:
        FUNCTIONS.update(dict.fromkeys(functions, entry))
        return entry

    return register


@defines(F.linear)
def linear(input: Tensor, weight: Tensor, bias: Any = None) -> Definition:
    refuse(weight.dim() != 2, f"a weight of {weight.dim()} axes")
    return Definition(textbook.linear, (input, weight, bias))


@defines(F.embedding)
def embedding(
    input: Tensor, weight: Tensor, padding_idx: Any = None, max_norm: Any = None, *others: Any, **options: Any
) -> Definition:
    refuse(max_norm is not None, f"max_norm={max_norm} (the rows of the table are rescaled in place)")
    return Definition(textbook.embedding, (input, weight))


@defines(torch.softmax, Tensor.softmax)
def softmax(input: Tensor, dim: int, dtype: Any = None) -> Definition:
    return Definition(textbook.softmax, (input, dim, dtype))


@defines(torch.log_softmax, Tensor.log_softmax)
def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Definition:
    return Definition(textbook.log_softmax, (input, dim, dtype))


@defines(F.softmax)
def functional_softmax(input: Tensor, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Definition:
    refuse(dim is None, "dim=None (PyTorch guesses the axis)")
    return softmax(input, dim, dtype)


@defines(F.log_softmax)
def functional_log_softmax(input: Tensor, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Definition:
    refuse(dim is None, "dim=None (PyTorch guesses the axis)")
    return log_softmax(input, dim, dtype)


@defines(F.scaled_dot_product_attention)
def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Definition:
    refuse(dropout_p, f"dropout_p={dropout_p} (its mask is random)")
    args = (query, key, value, attn_mask, is_causal, scale, enable_gqa)
    return Definition(textbook.scaled_dot_product_attention, args)


@defines(F.layer_norm, torch.layer_norm)
def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, cudnn_enable: bool = True
) -> Definition:
    return Definition(textbook.layer_norm, (input, tuple(normalized_shape), weight, bias, eps))


@defines(F.rms_norm, torch.rms_norm)
def rms_norm(input: Tensor, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Definition:
    ε = torch.finfo(input.dtype).eps if eps is None else eps
    return Definition(textbook.rms_norm, (input, tuple(normalized_shape), weight, ε))


@defines(F.group_norm)
def group_norm(input: Tensor, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Definition:
    return Definition(textbook.group_norm, (input, num_groups, weight, bias, eps))


@defines(F.batch_norm)
def batch_norm(
    input: Tensor,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Definition:
    running = None if training else (running_mean, running_var)
    return Definition(textbook.batch_norm, (input, running, weight, bias, eps))


@defines(F.cross_entropy)
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Definition:
    refuse(size_average is not None or reduce is not None, "size_average and reduce (write reduction instead)")
    return Definition(textbook.cross_entropy, (input, target, weight, ignore_index, reduction, label_smoothing))


@defines(F.binary_cross_entropy_with_logits)
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Definition:
    refuse(size_average is not None or reduce is not None, "size_average and reduce (write reduction instead)")
    return Definition(textbook.binary_cross_entropy_with_logits, (input, target, weight, reduction, pos_weight))


@defines(F.conv2d)
def conv2d(
    input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Definition:
    stride, dilation = numbers(stride, 2), numbers(dilation, 2)
    sides = padding_of(padding, tuple(weight.shape[2:]), dilation)
    return Definition(textbook.conv2d, (input, weight, bias, stride, sides, dilation, groups))


@defines(F.conv1d)
def conv1d(
    input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Definition:
    (stride,), (dilation,) = numbers(stride, 1), numbers(dilation, 1)
    (side,) = padding_of(padding, tuple(weight.shape[2:]), (dilation,))
    return Definition(textbook.conv1d, (input, weight, bias, stride, side, dilation, groups))


@defines(F.avg_pool2d)
def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Definition:
    size, sides = numbers(kernel_size, 2), numbers(padding, 2)
    refuse(ceil_mode, "ceil_mode=True (windows that stand out over the edge)")
    refuse(any(sides) and not count_include_pad, "count_include_pad=False with padding")
    return Definition(textbook.avg_pool2d, (input, size, numbers(stride or size, 2), sides, divisor_override))


@defines(F.max_pool2d, torch.max_pool2d)
def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Definition:
    size = numbers(kernel_size, 2)
    refuse(ceil_mode, "ceil_mode=True (windows that stand out over the edge)")
    refuse(return_indices, "return_indices=True")
    return Definition(
        textbook.max_pool2d, (input, size, numbers(stride or size, 2), numbers(padding, 2), numbers(dilation, 2))
    )


def numbers(value: Any, count: int) -> tuple[int, ...]:
    """PyTorch's sizes: one number for all axes, or one for each.

    >>> numbers(3, 2), numbers([3], 2), numbers((3, 5), 2)
    ((3, 3), (3, 3), (3, 5))
    """
    values = (value,) if isinstance(value, int) else tuple(value)
    return values * count if len(values) == 1 else values


def padding_of(padding: Any, kernel: tuple[int, ...], dilation: tuple[int, ...]) -> tuple[int, ...]:
    """Padding in numbers: `same` adds what the kernel takes away, half on each side.

    >>> padding_of("same", (5, 3), (1, 2))
    (2, 2)
    """
    if padding == "valid":
        return (0,) * len(kernel)
    if padding != "same":
        return numbers(padding, len(kernel))
    lost = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    if any(n % 2 for n in lost):
        raise NotCovered("padding='same' with a kernel that needs more on one side than on the other")
    return tuple(n // 2 for n in lost)
