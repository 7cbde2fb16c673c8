"""Why a layer does not take its input: features, channels, kernels, indices."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from torch import Tensor, nn

from workings.trace.shapes.arithmetic import axes_of, each, places, product
from workings.trace.shapes.explain_tensors import Explanation, Shape, shape
from workings.trace.shapes.layer_text import layer_call, plain

_AXES = {1: "length", 2: "height, width", 3: "depth, height, width"}


def linear_layer(m: nn.Linear, input: Tensor, before: Shape = ()) -> Explanation | None:
    return _features(f"nn.{layer_call(m)}", f"nn.{layer_call(m, in_features=input.shape[-1])}", m.in_features, input, before)


def linear(input: Tensor, weight: Tensor, bias: Any = None, before: Shape = ()) -> Explanation | None:
    (o, i), n = weight.shape, input.shape[-1]
    return _features(f"linear with a weight of {shape(weight)}", f"a weight of [{o}, {n}]", i, input, before)


def _features(name: str, fixed: str, needed: int, x: Tensor, before: Shape) -> Explanation | None:
    """A linear layer's features, told apart from an input that was not flattened and from a batch axis that is missing."""
    got = x.shape[-1]
    if got == needed:
        return None
    origin = f" = {product(before)}" if len(before) > 1 and prod(before) == got else ""
    for start in [*range(1, x.dim() - 1), 0][: x.dim() - 1]:
        if prod(x.shape[start:]) == needed:
            problem = f"{name} needs {needed} features and received {got} in the last axis of {shape(x)}, but "
            problem += f"{product(x.shape[start:])} = {needed}"
            return Explanation(problem, f"flatten first: nn.Flatten({start})" if start else "is the batch axis missing?")
    return Explanation(f"{name} received {got} features{origin}", f"use {fixed}")


def convolution_layer(m: Any, input: Tensor, before: Shape = ()) -> Explanation | None:
    axes = axes_of(m)
    fixed = f"nn.{layer_call(m, in_channels=input.shape[-axes - 1])}" if m.groups == 1 and input.dim() > axes else ""
    padding = 0 if m.padding == "valid" else m.padding
    return _channels(f"nn.{layer_call(m)}", fixed, m.in_channels, input, axes) or (
        None if padding == "same" else _kernel(f"nn.{layer_call(m)}", input, m.kernel_size, m.stride, padding, m.dilation)
    )


def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    before: Shape = (),
) -> Explanation | None:
    name, axes = f"convolution with a weight of {shape(weight)}", weight.dim() - 2
    fixed = f"a weight of {[weight.shape[0], input.shape[-axes - 1] // groups, *weight.shape[2:]]}"
    return _channels(name, fixed, weight.shape[1] * groups, input, axes) or (
        None if padding == "same" else _kernel(name, input, tuple(weight.shape[2:]), stride, padding, dilation)
    )


def _channels(name: str, fixed: str, needed: int, x: Tensor, axes: int) -> Explanation | None:
    """The channel axis: missing, in the wrong place, or of another size."""
    need = f"{name} needs [batch, {needed}, {_AXES[axes]}]"
    if x.dim() not in (axes + 1, axes + 2):
        fix = "add the missing axes with {x}.unsqueeze" if x.dim() <= axes else "merge the extra axes with {x}.flatten"
        return Explanation(f"{need} and received {shape(x)}, {x.dim()} axes instead of {axes + 2}", fix)
    got = x.shape[-axes - 1]
    if got == needed:
        return None
    if x.shape[-1] == needed:
        order = ", ".join(map(str, [*range(x.dim() - axes - 1), x.dim() - 1, *range(x.dim() - axes - 1, x.dim() - 1)]))
        return Explanation(f"{need} and received {shape(x)}, with the channels last", f"use {{x}}.permute({order})")
    fix = f"use {fixed}" if fixed else ""
    return Explanation(f"{name} needs {needed} channels and received {got}, in {shape(x)}", fix)


def pool_layer(m: Any, input: Tensor, before: Shape = ()) -> Explanation | None:
    return _kernel(f"nn.{layer_call(m)}", input, m.kernel_size, m.stride, m.padding, getattr(m, "dilation", 1), axes_of(m))


def pool(name: str, axes: int) -> Callable[..., Explanation | None]:
    def rule(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, before: Shape = (), **options: Any
    ) -> Explanation | None:
        return _kernel(f"{name}({kernel_size})", input, kernel_size, stride or kernel_size, padding, 1, axes)

    return rule


def _kernel(name: str, x: Tensor, size: Any, stride: Any, padding: Any, dilation: Any, axes: int = 0) -> Explanation | None:
    """A kernel that is larger than what it slides over."""
    axes = axes or len(size)
    every = zip(x.shape[-axes:], *(each(value, axes) for value in (size, stride, padding, dilation)), strict=True)
    for n, k, s, p, d in every:
        if d * (k - 1) + 1 > n + 2 * p:
            fix = f"use a kernel of at most {n + 2 * p}, or padding of at least {-(-(d * (k - 1) + 1 - n) // 2)}"
            return Explanation(f"{name} does not fit in {shape(x)}: {places(n, k, s, p, d)}", fix)
    return None


def batch_norm_layer(m: Any, input: Tensor, before: Shape = ()) -> Explanation | None:
    got = input.shape[1]
    if got == m.num_features:
        return None
    return Explanation(
        f"nn.{layer_call(m)} needs {m.num_features} channels and received {got}, in {shape(input)}",
        f"use nn.{layer_call(m, num_features=got)}",
    )


def layer_norm_layer(m: nn.LayerNorm, input: Tensor, before: Shape = ()) -> Explanation | None:
    needed = tuple(m.normalized_shape)
    got = tuple(input.shape[-len(needed) :])
    if got == needed:
        return None
    problem = f"nn.{layer_call(m)} needs {[*needed]} in the last axes and received {[*got]}, in {shape(input)}"
    return Explanation(problem, f"use nn.{layer_call(m, normalized_shape=plain(got))}")


def embedding_layer(m: nn.Embedding, input: Tensor, before: Shape = ()) -> Explanation | None:
    if input.is_floating_point():
        return Explanation(f"nn.{layer_call(m)} needs whole numbers and received {input.dtype}", "use {x}.long()")
    if input.is_meta or not input.numel() or 0 <= int(input.min()) <= int(input.max()) < m.num_embeddings:
        return None
    worst = int(input.max()) if int(input.max()) >= m.num_embeddings else int(input.min())
    problem = f"nn.{layer_call(m)} has rows 0 … {m.num_embeddings - 1} and received the index {worst}"
    return Explanation(problem, f"use nn.{layer_call(m, num_embeddings=worst + 1)}" if worst > 0 else "")
