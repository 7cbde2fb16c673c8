"""Why shapes do not fit: what the operation needs, what came, and the fix to try.

The explanation is worked out from the operands themselves, never from the text of PyTorch's message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from torch import Tensor, nn

from workings.trace.sizes import axes_of, each, places, product
from workings.trace.spelling import plain, spelled

Shape = tuple[int, ...]
AXES = {1: "length", 2: "height, width", 3: "depth, height, width"}


@dataclass(frozen=True)
class Explanation:
    """What is wrong, and what to try."""

    problem: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{self.problem}; {self.fix}" if self.fix else self.problem


def explain(
    error: BaseException,
    call: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any] | None = None,
    before: Sequence[int] | None = None,
) -> Explanation | None:
    """Explain a failing call of a module or PyTorch function by its operands; None when their shapes are not at fault.

    `before` is what the input was before it was flattened, if it was.

    >>> import torch
    >>> x = torch.zeros(1, 144)
    >>> print(explain(RuntimeError(), nn.Linear(120, 10), (x,), before=(16, 3, 3)))
    nn.Linear(120, 10) received 144 features = 16·3·3; use nn.Linear(144, 10)
    """
    if not isinstance(error, (RuntimeError, ValueError, IndexError, TypeError)):
        return None
    rule = MODULES.get(type(call)) if isinstance(call, nn.Module) else FUNCTIONS.get(getattr(call, "__name__", ""))
    if rule is None:
        return None
    given = (call, *args) if isinstance(call, nn.Module) else tuple(args)
    try:
        return rule(*given, before=tuple(before or ()), **(kwargs or {}))
    except (TypeError, IndexError, AttributeError):
        return None  # the call itself is malformed: PyTorch's own message says how


def shape(x: Any) -> str:
    """
    >>> shape(nn.Linear(3, 2).weight)
    '[2, 3]'
    """
    return str([*x.shape])


# ---- layers
def linear_layer(m: nn.Linear, input: Tensor, before: Shape = ()) -> Explanation | None:
    return features(f"nn.{spelled(m)}", f"nn.{spelled(m, in_features=input.shape[-1])}", m.in_features, input, before)


def linear(input: Tensor, weight: Tensor, bias: Any = None, before: Shape = ()) -> Explanation | None:
    (o, i), n = weight.shape, input.shape[-1]
    return features(f"linear with a weight of {shape(weight)}", f"a weight of [{o}, {n}]", i, input, before)


def features(name: str, fixed: str, needed: int, x: Tensor, before: Shape) -> Explanation | None:
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
    fixed = f"nn.{spelled(m, in_channels=input.shape[-axes - 1])}" if m.groups == 1 and input.dim() > axes else ""
    padding = 0 if m.padding == "valid" else m.padding
    return channels(f"nn.{spelled(m)}", fixed, m.in_channels, input, axes) or (
        None if padding == "same" else kernel(f"nn.{spelled(m)}", input, m.kernel_size, m.stride, padding, m.dilation)
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
    return channels(name, fixed, weight.shape[1] * groups, input, axes) or (
        None if padding == "same" else kernel(name, input, tuple(weight.shape[2:]), stride, padding, dilation)
    )


def channels(name: str, fixed: str, needed: int, x: Tensor, axes: int) -> Explanation | None:
    """The channel axis: missing, in the wrong place, or of another size."""
    need = f"{name} needs [batch, {needed}, {AXES[axes]}]"
    if x.dim() not in (axes + 1, axes + 2):
        fix = "add the missing axes with x.unsqueeze" if x.dim() <= axes else "merge the extra axes with x.flatten"
        return Explanation(f"{need} and received {shape(x)}, {x.dim()} axes instead of {axes + 2}", fix)
    got = x.shape[-axes - 1]
    if got == needed:
        return None
    if x.shape[-1] == needed:
        order = ", ".join(map(str, [*range(x.dim() - axes - 1), x.dim() - 1, *range(x.dim() - axes - 1, x.dim() - 1)]))
        return Explanation(f"{need} and received {shape(x)}, with the channels last", f"use x.permute({order})")
    fix = f"use {fixed}" if fixed else ""
    return Explanation(f"{name} needs {needed} channels and received {got}, in {shape(x)}", fix)


def pool_layer(m: Any, input: Tensor, before: Shape = ()) -> Explanation | None:
    return kernel(f"nn.{spelled(m)}", input, m.kernel_size, m.stride, m.padding, getattr(m, "dilation", 1), axes_of(m))


def pool(name: str, axes: int) -> Callable[..., Explanation | None]:
    def rule(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, before: Shape = (), **options: Any
    ) -> Explanation | None:
        return kernel(f"{name}({kernel_size})", input, kernel_size, stride or kernel_size, padding, 1, axes)

    return rule


def kernel(name: str, x: Tensor, size: Any, stride: Any, padding: Any, dilation: Any, axes: int = 0) -> Explanation | None:
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
        f"nn.{spelled(m)} needs {m.num_features} channels and received {got}, in {shape(input)}",
        f"use nn.{spelled(m, num_features=got)}",
    )


def layer_norm_layer(m: nn.LayerNorm, input: Tensor, before: Shape = ()) -> Explanation | None:
    needed = tuple(m.normalized_shape)
    got = tuple(input.shape[-len(needed) :])
    if got == needed:
        return None
    problem = f"nn.{spelled(m)} needs {[*needed]} in the last axes and received {[*got]}, in {shape(input)}"
    return Explanation(problem, f"use nn.{spelled(m, normalized_shape=plain(got))}")


def embedding_layer(m: nn.Embedding, input: Tensor, before: Shape = ()) -> Explanation | None:
    if input.is_floating_point():
        return Explanation(f"nn.{spelled(m)} needs whole numbers and received {input.dtype}", "use x.long()")
    if input.is_meta or not input.numel() or 0 <= int(input.min()) <= int(input.max()) < m.num_embeddings:
        return None
    worst = int(input.max()) if int(input.max()) >= m.num_embeddings else int(input.min())
    problem = f"nn.{spelled(m)} has rows 0 … {m.num_embeddings - 1} and received the index {worst}"
    return Explanation(problem, f"use nn.{spelled(m, num_embeddings=worst + 1)}" if worst > 0 else "")


# ---- products
def matmul(input: Tensor, other: Tensor, before: Shape = ()) -> Explanation | None:
    a, b = input, other
    if a.dim() == 0 or b.dim() == 0:
        return Explanation(f"a @ b needs matrices or vectors: {shape(a)} @ {shape(b)} has a number in it", "use a * b")
    inner = b.shape[-2] if b.dim() > 1 else b.shape[0]
    if a.shape[-1] != inner:
        problem = f"{shape(a)} @ {shape(b)} needs {a.shape[-1]} = {inner}: the columns of the left, the rows of the right"
        return Explanation(problem, turned(a, b))
    return broadcast_of(a.shape[:-2], b.shape[:-2], f"{shape(a)} @ {shape(b)}: the batch axes")


def turned(a: Tensor, b: Tensor) -> str:
    """Which transposition makes a product fit."""
    if b.dim() > 1 and a.shape[-1] == b.shape[-1]:
        return "use a @ b.mT"
    if min(a.dim(), b.dim()) > 1 and a.shape[-2] == b.shape[-2]:
        return "use a.mT @ b"
    if min(a.dim(), b.dim()) > 1 and a.shape[-2] == b.shape[-1]:
        return "use b @ a"
    return ""


def product_of(axes: int, name: str) -> Callable[..., Explanation | None]:
    def rule(input: Tensor, mat2: Tensor, before: Shape = ()) -> Explanation | None:
        if input.dim() != axes or mat2.dim() != axes:
            problem = f"{name} needs two tensors of {axes} axes and received {shape(input)} and {shape(mat2)}"
            return Explanation(problem, "use a @ b, which takes any number of axes")
        return matmul(input, mat2)

    return rule


# ---- joining
def cat(tensors: Sequence[Tensor], dim: int = 0, before: Shape = ()) -> Explanation | None:
    shapes = [tuple(x.shape) for x in tensors]
    fitting = [d for d in range(len(shapes[0])) if joinable(shapes, d)]
    if dim % max(len(shapes[0]), 1) in fitting:
        return None
    other = next(s for s in shapes if s != shapes[0])
    problem = f"cat along dim={dim} needs equal sizes in every other axis, but {[*shapes[0]]} and {[*other]} differ"
    return Explanation(problem, f"use dim={fitting[0]}" if fitting else "")


def joinable(shapes: Sequence[Shape], dim: int) -> bool:
    """Whether shapes agree in every axis but `dim`."""
    return len({(len(s), s[:dim], s[dim + 1 :]) for s in shapes}) == 1


def stack(tensors: Sequence[Tensor], dim: int = 0, before: Shape = ()) -> Explanation | None:
    shapes = [tuple(x.shape) for x in tensors]
    other = next((s for s in shapes if s != shapes[0]), None)
    if other is None:
        return None
    fitting = [d for d in range(len(shapes[0])) if joinable(shapes, d)]
    fix = f"use torch.cat(…, dim={fitting[0]}) to join them along that axis" if fitting else ""
    return Explanation(f"stack needs equal shapes, but {[*shapes[0]]} and {[*other]} differ", fix)


# ---- elementwise
def elementwise(input: Any, other: Any, before: Shape = (), **options: Any) -> Explanation | None:
    if not (isinstance(input, Tensor) and isinstance(other, Tensor)):
        return None
    return broadcast_of(input.shape, other.shape, f"{shape(input)} and {shape(other)}")


def broadcast_of(a: Sequence[int], b: Sequence[int], what: str) -> Explanation | None:
    """Two shapes side by side from the right: each pair of sizes is equal, or one of them is 1."""
    for back, (m, n) in enumerate(zip(reversed(a), reversed(b), strict=False), start=1):
        if m != n and 1 not in (m, n):
            problem = f"{what} do not fit: axis −{back} has sizes {m} and {n}, which must be equal or 1"
            return Explanation(problem, spread(tuple(a), tuple(b)))
    return None


def spread(a: Shape, b: Shape) -> str:
    """An axis or a transposition that makes two shapes fit."""
    for name, short, long in (("a", a, b), ("b", b, a)):
        if len(short) < len(long):
            for axis in range(len(short), -1, -1):
                if fits((*short[:axis], 1, *short[axis:]), long):
                    return f"use {name}.unsqueeze({axis - len(short) - 1 if axis == len(short) else axis})"
    if len(b) > 1 and fits(a, (*b[:-2], b[-1], b[-2])):
        return "use b.mT"
    return ""


def fits(a: Shape, b: Shape) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(reversed(a), reversed(b), strict=False))


# ---- reshaping
def reshape(input: Tensor, *sizes: Any, before: Shape = (), **options: Any) -> Explanation | None:
    wanted = [*(sizes[0] if sizes and isinstance(sizes[0], (tuple, list)) else sizes or options.get("shape", ()))]
    known = prod(n for n in wanted if n != -1)
    if not wanted or (known and input.numel() % known == 0 and (-1 in wanted or known == input.numel())):
        return None
    problem = f"{shape(input)} holds {product(input.shape)} = {input.numel()} numbers, which do not fill {wanted}"
    return Explanation(problem, f"use x.flatten(1), which gives [{input.shape[0]}, {prod(input.shape[1:])}]")


MODULES: dict[type[nn.Module], Callable[..., Explanation | None]] = {
    nn.Linear: linear_layer,
    nn.Embedding: embedding_layer,
    nn.LayerNorm: layer_norm_layer,
    **dict.fromkeys([nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d], batch_norm_layer),
    **dict.fromkeys([nn.Conv1d, nn.Conv2d, nn.Conv3d], convolution_layer),
    **dict.fromkeys([nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d, nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d], pool_layer),
}
FUNCTIONS: dict[str, Callable[..., Explanation | None]] = {
    "linear": linear,
    **dict.fromkeys("conv1d conv2d conv3d".split(), convolution),
    **{f"{kind}_pool{axes}d": pool(f"{kind}_pool{axes}d", axes) for kind in ("max", "avg") for axes in (1, 2, 3)},
    **dict.fromkeys("matmul __matmul__".split(), matmul),
    "__rmatmul__": lambda a, b, before=(): matmul(b, a),
    "mm": product_of(2, "mm"),
    "bmm": product_of(3, "bmm"),
    **dict.fromkeys("cat concat concatenate".split(), cat),
    "stack": stack,
    **dict.fromkeys("add sub mul div true_divide pow maximum minimum eq ne lt le gt ge mse_loss".split(), elementwise),
    **dict.fromkeys("__add__ __sub__ __mul__ __truediv__ __pow__ __eq__ __lt__ __gt__ __le__ __ge__".split(), elementwise),
    **dict.fromkeys("__radd__ __rsub__ __rmul__ __rtruediv__ add_ sub_ mul_ div_ __iadd__".split(), elementwise),
    **dict.fromkeys("view reshape".split(), reshape),
}
"""Functions by their names: `torch.add`, `Tensor.add` and `Tensor.__add__` are one operation with several objects."""
