"""Windows that slide over an image or a sequence: convolutions and pooling.

y = x ⋆ K + b    ∂L/∂x = the transposed convolution of ∂L/∂y with K     ∂L/∂K = x correlated with ∂L/∂y     ∂L/∂b = Σ ∂L/∂y
max pooling      ∂L/∂y goes to where the maximum of each window stood
mean pooling     ∂L/∂y is shared out over each window
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from workings import equations
from workings.precedence import MATMUL, PRODUCT
from workings.trace.definitions.definition import Definition, NotCovered, refuse
from workings.trace.formula import notation
from workings.trace.formula.operation import CALL, FORMULA, Args, Layer, Operation, called
from workings.trace.formula.simplify import linear
from workings.trace.formula.tree import Apply, Formula, Leaf, Number, Options
from workings.trace.operations.node import Gradients, Node, Rule, RuleError, f
from workings.trace.shapes import arithmetic, explain_layers

_USUAL = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}


def _convolution(node: Node) -> Gradients:
    x, K, b = node.args[0], node.args[1], node.argument("bias")
    rank = len(node.shape(K)) - 2
    if len(node.shape(x)) != rank + 2:
        raise RuleError(f"there is no rule for {node.formula.op} of an input without a batch")
    given = {name: node.plain(name, default) for name, default in _USUAL.items()}
    if isinstance(given["padding"], str):
        raise RuleError(f"there is no rule for {node.formula.op} with padding={given['padding']!r}")
    found: list[Formula | None] = [None] * len(node.args)
    if node.varies(x):
        found[0] = _back("transposed_convolution", node.G, K, node.shape(x), given)
    if node.varies(K):
        found[1] = _back("correlation", x, node.G, node.shape(K), given)
    if b is not None and node.varies(b):
        found[2] = linear("sum", node.G, dim=(0, *range(2, rank + 2)))
    return tuple(found)


def _transposed(node: Node) -> Gradients:
    """y = x ∗ᵀ K + b: each entry of x spread the kernel, so its gradient gathers: ∂L/∂x = ∂L/∂y ∗ K."""
    x, K, b = node.args[0], node.args[1], node.argument("bias")
    given = {name: node.plain(name, default) for name, default in _USUAL.items()}
    found: list[Formula | None] = [None] * len(node.args)
    if node.varies(x):
        found[0] = _back("convolution", node.G, K, node.shape(x), given)
    if node.varies(K):
        found[1] = _back("correlation", node.G, x, node.shape(K), given)
    if b is not None and node.varies(b):
        found[2] = linear("sum", node.G, dim=(0, *range(2, len(node.shape(K)))))
    return tuple(found)


def _transposed_value(x: Tensor, K: Tensor, b: Any = None, **options: Any) -> Tensor:
    found: Tensor = getattr(F, f"conv_transpose{K.dim() - 2}d")(x, K, b, **options)
    return found


def _convolution_value(a: Tensor, K: Tensor, *, shape: Any, **options: Any) -> Tensor:
    """What reaches an input of this shape: the padding of the output may leave a last window over."""
    found: Tensor = getattr(F, f"conv{K.dim() - 2}d")(a, K, **options)
    return found[tuple(slice(n) for n in shape)]


def _back(op: str, a: Formula, b: Formula, shape: tuple[int, ...], given: dict[str, Any]) -> Formula:
    odd = {name: value for name, value in given.items() if value != _USUAL[name]}
    return Apply(op, (a, b), (*odd.items(), ("shape", shape)))


def _pool(node: Node, options: dict[str, Any]) -> dict[str, Any]:
    """The options of a pooling that were given."""
    found = {name: node.plain(name) for name in options}
    return {name: value for name, value in found.items() if value is not None}


def _max_pool(rank: int) -> Rule:
    def rule(node: Node) -> Gradients:
        names = dict.fromkeys("kernel_size stride padding dilation ceil_mode".split())
        given = {**_pool(node, names), "rank": rank}
        return node.to_first(Apply("unpool", (node.G, node.args[0]), tuple(given.items())))

    return rule


def _mean_pool(rank: int) -> Rule:
    def rule(node: Node) -> Gradients:
        names = dict.fromkeys("kernel_size stride padding ceil_mode count_include_pad".split())
        given = {**_pool(node, names), "shape": node.shape(node.args[0]), "rank": rank}
        return node.to_first(linear("spread_windows", node.G, **given))

    return rule


# ---- values that only their gradients need


def _convolution_back(wanted: int) -> Callable[..., Tensor]:
    """The gradient of a convolution, of its input (0) or of its kernel (1): the first argument is ∂L/∂y, or x."""

    def compute(
        a: Tensor, b: Tensor, *, shape: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
    ) -> Tensor:
        g, x, K = (a, a.new_zeros(shape), b) if wanted == 0 else (b, a, a.new_zeros(shape))
        rank = K.dim() - 2
        each = [(n,) * rank if isinstance(n, int) else tuple(n) for n in (stride, padding, dilation)]
        mask = [wanted == 0, wanted == 1, False]
        zero = (0,) * rank
        out = torch.ops.aten.convolution_backward(g, x, K, None, *each, False, zero, groups, mask)
        found: Tensor = out[wanted]
        return found

    return compute


def _unpool(g: Tensor, x: Tensor, *, rank: int, **options: Any) -> Tensor:
    pool = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[rank - 1]
    where = pool(x, return_indices=True, **options)[1]
    flat = g.new_zeros((*x.shape[:-rank], math.prod(x.shape[-rank:])))
    return flat.scatter_add(-1, where.flatten(-rank), g.flatten(-rank)).reshape(x.shape)


def _spread_windows(g: Tensor, *, shape: tuple[int, ...], rank: int, **options: Any) -> Tensor:
    """The rule of an average is linear: pull g back through it."""
    pool = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[rank - 1]
    with torch.enable_grad():
        x = g.new_zeros(shape).requires_grad_()
        (found,) = torch.autograd.grad(pool(x, **options), x, g)
    return found


# ---- the first window, with its numbers

_MOST_CELLS = 9
"""Cells of a window that is written out."""


def _convolution_window(
    input: Tensor,
    weight: Tensor,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> tuple[Formula, dict[str, Any]] | None:
    """Σ (window ⊙ kernel) + b"""
    size, kernel = tuple(weight.shape[2:]), weight[0, 0]
    if kernel.numel() > _MOST_CELLS or weight.shape[1] > 1 or set(_numbers(dilation, len(size))) != {1}:
        return None
    sides = (0,) * len(size) if padding == "valid" else _numbers(padding, len(size)) if padding != "same" else None
    if sides is None:
        return None
    window = _first_window(F.pad(input, [n for side in reversed(sides) for n in (side, side)]), size)
    total = f("sum", f("mul", Leaf("window"), Leaf("kernel")))
    found = {"window": window, "kernel": kernel}
    return (total, found) if bias is None else (f("add", total, Leaf("bias")), found | {"bias": bias[0]})


def _pool_window(op: str, rank: int) -> Callable[..., tuple[Formula, dict[str, Any]] | None]:
    """max(window), or its mean"""

    def first(
        input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, *others: Any, **options: Any
    ) -> tuple[Formula, dict[str, Any]] | None:
        size = _numbers(kernel_size, rank)
        plain = not any(_numbers(padding, rank)) and options.get("dilation", 1) == 1 and not others
        if not plain or math.prod(size) > _MOST_CELLS:
            return None
        return f(op, Leaf("window")), {"window": _first_window(input, size)}

    return first


def _first_window(x: Tensor, size: tuple[int, ...]) -> Tensor:
    """The cells of the first image and channel that the first window covers."""
    while x.dim() > len(size):
        x = x[0]
    return x[tuple(slice(n) for n in size)]


# ---- how a convolution is written


def _spelled_convolution(args: Args, options: Options) -> Formula | None:
    args = tuple(a for a in args if a != Number(None))
    if not 2 <= len(args) <= 3 or options:
        return None
    out = f("convolve", args[0], args[1])
    return out if len(args) == 2 else f("add", out, args[2])


# ---- definitions


def _define_conv2d(
    input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Definition:
    stride, dilation = _numbers(stride, 2), _numbers(dilation, 2)
    sides = _padding_of(padding, tuple(weight.shape[2:]), dilation)
    return Definition(equations.conv2d, (input, weight, bias, stride, sides, dilation, groups))


def _define_conv1d(
    input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Definition:
    (stride,), (dilation,) = _numbers(stride, 1), _numbers(dilation, 1)
    (side,) = _padding_of(padding, tuple(weight.shape[2:]), (dilation,))
    return Definition(equations.conv1d, (input, weight, bias, stride, side, dilation, groups))


def _define_avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Definition:
    size, sides = _numbers(kernel_size, 2), _numbers(padding, 2)
    refuse(ceil_mode, "ceil_mode=True (windows that reach over the edge)")
    refuse(any(sides) and not count_include_pad, "count_include_pad=False with padding")
    return Definition(equations.avg_pool2d, (input, size, _numbers(stride or size, 2), sides, divisor_override))


def _define_max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Definition:
    size = _numbers(kernel_size, 2)
    refuse(ceil_mode, "ceil_mode=True (windows that reach over the edge)")
    refuse(return_indices, "return_indices=True")
    return Definition(
        equations.max_pool2d, (input, size, _numbers(stride or size, 2), _numbers(padding, 2), _numbers(dilation, 2))
    )


def _numbers(value: Any, count: int) -> tuple[int, ...]:
    """PyTorch's sizes: one number for all axes, or one for each.

    >>> _numbers(3, 2), _numbers([3], 2), _numbers((3, 5), 2)
    ((3, 3), (3, 3), (3, 5))
    """
    values = (value,) if isinstance(value, int) else tuple(value)
    return values * count if len(values) == 1 else values


def _padding_of(padding: Any, kernel: tuple[int, ...], dilation: tuple[int, ...]) -> tuple[int, ...]:
    """Padding in numbers: `same` adds what the kernel takes away, half on each side.

    >>> _padding_of("same", (5, 3), (1, 2))
    (2, 2)
    """
    if padding == "valid":
        return (0,) * len(kernel)
    if padding != "same":
        return _numbers(padding, len(kernel))
    lost = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    if any(n % 2 for n in lost):
        raise NotCovered("padding='same' with a kernel that needs more on one side than on the other")
    return tuple(n // 2 for n in lost)


def _zero_padded(define: Callable[..., Definition]) -> Callable[..., Definition]:
    def entry(m: Any, input: Tensor) -> Definition:
        refuse(m.padding_mode != "zeros", f"padding_mode={m.padding_mode!r}")
        return define(input, m.weight, m.bias, m.stride, m.padding, m.dilation, m.groups)

    return entry


# ---- rows

_CONVOLUTION: dict[str, Any] = {
    "misfit": explain_layers.convolution_layer,
    "size": arithmetic.window,
    "count": arithmetic.kernels,
    "arguments": "in_channels out_channels kernel_size",
    "defaults": {"stride": 1, "padding": 0, "dilation": 1, "groups": 1},
}
_POOL: dict[str, Any] = {
    "misfit": explain_layers.pool_layer,
    "size": arithmetic.window,
    "arguments": "kernel_size",
    "defaults": {"stride": None, "padding": 0},
}
_POOL_OPTIONS = "kernel_size stride padding"


def _convolution_row(
    name: str, read: Any, cls: type[nn.Module], define: Callable[..., Definition], **columns: Any
) -> Operation:
    return Operation(
        f"{name}(input weight bias? stride padding dilation groups): convolution",
        read=read,
        gradient=_convolution,
        window=_convolution_window,
        definitions={getattr(F, name): define},
        misfit=explain_layers.convolution,
        one_dtype=True,
        layers=Layer(
            classes=(cls,),
            parameters="weight bias",
            options="stride padding dilation groups",
            definition=_zero_padded(define),
            **_CONVOLUTION,
        ),
        **columns,
    )


def _pool_row(name: str, cls: type[nn.Module], extra: str, **columns: Any) -> Operation:
    """A row of pooling over one or two axes."""
    kind, rank = ("largest" if name.startswith("max") else "mean"), int(name[-2])
    definition = columns.pop("definition", None)
    return called(
        f"{name}(input {_POOL_OPTIONS} {extra}): the {kind} entry of each window",
        gradient=(_max_pool if kind == "largest" else _mean_pool)(rank),
        window=_pool_window("max" if kind == "largest" else "mean", rank),
        misfit=explain_layers.pool(name, rank),
        layers=Layer(classes=(cls,), parameters="", options=_POOL_OPTIONS, definition=definition, **_POOL),
        **columns,
    )


ROWS = (
    _convolution_row("conv1d", CALL, nn.Conv1d, _define_conv1d),
    _convolution_row("conv2d", FORMULA, nn.Conv2d, _define_conv2d, spelled=_spelled_convolution),
    called(
        "conv3d(input weight bias? stride padding dilation groups): convolution over three axes",
        gradient=_convolution,
        misfit=explain_layers.convolution,
        one_dtype=True,
        layers=Layer(
            classes=(nn.Conv3d,), parameters="weight bias", options="stride padding dilation groups", **_CONVOLUTION
        ),
    ),
    Operation("convolve: a ∗ b: how a convolution is written", notation=notation.infix("∗", PRODUCT, PRODUCT, MATMUL)),
    Operation(
        "conv_transpose(input weight bias? stride padding output_padding groups dilation): "
        "the transposed convolution: each entry spreads the kernel",
        calls="conv_transpose1d conv_transpose2d conv_transpose3d",
        compute=_transposed_value,
        gradient=_transposed,
        layers=Layer(
            classes=(nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d),
            parameters="weight bias",
            options="stride padding output_padding groups dilation",
            size=arithmetic.transposed_size,
            arguments=_CONVOLUTION["arguments"],
            defaults=_CONVOLUTION["defaults"],
        ),
    ),
    _pool_row("max_pool1d", nn.MaxPool1d, "dilation ceil_mode return_indices"),
    _pool_row(
        "max_pool2d",
        nn.MaxPool2d,
        "dilation ceil_mode return_indices",
        definitions=dict.fromkeys((F.max_pool2d, torch.max_pool2d), _define_max_pool2d),
        definition=lambda m, x: _define_max_pool2d(
            x, m.kernel_size, m.stride, m.padding, m.dilation, m.ceil_mode, m.return_indices
        ),
    ),
    _pool_row("avg_pool1d", nn.AvgPool1d, "ceil_mode count_include_pad"),
    _pool_row(
        "avg_pool2d",
        nn.AvgPool2d,
        "ceil_mode count_include_pad divisor_override",
        definitions={F.avg_pool2d: _define_avg_pool2d},
        definition=lambda m, x: _define_avg_pool2d(
            x, m.kernel_size, m.stride, m.padding, m.ceil_mode, m.count_include_pad, m.divisor_override
        ),
    ),
    *(
        called(
            f"{kind}_pool3d(input {_POOL_OPTIONS} ceil_mode count_include_pad dilation): pooling over three axes",
            gradient=(_max_pool if kind == "max" else _mean_pool)(3),
            misfit=explain_layers.pool(f"{kind}_pool3d", 3),
            layers=Layer(classes=(cls,), parameters="", options=_POOL_OPTIONS, **_POOL),
        )
        for kind, cls in (("max", nn.MaxPool3d), ("avg", nn.AvgPool3d))
    ),
    # what only their gradients are made of
    Operation(
        "convolution: that of a with the kernel b, as far as option shape; options of the transposed convolution",
        compute=_convolution_value,
        notation=notation.without_size(notation.infix("∗", PRODUCT, PRODUCT, MATMUL)),
        linear=True,
    ),
    Operation(
        "transposed_convolution: that of a with the kernel b; option shape and those of the convolution",
        compute=_convolution_back(0),
        notation=notation.without_size(notation.infix("∗ᵀ", PRODUCT, PRODUCT, MATMUL)),
        linear=True,
    ),
    Operation(
        "correlation: the correlation of a with b: for each place of a kernel of option shape, the sum of their products",
        compute=_convolution_back(1),
        notation=notation.without_size(notation.infix("⋆", PRODUCT, PRODUCT, MATMUL)),
        linear=True,
    ),
    Operation(
        "unpool: a added where the maximum of each window of b stood; options of the pooling",
        compute=_unpool,
        notation=notation.in_words("#1 at the maximum of each window of #2"),
    ),
    Operation(
        "spread_windows: a shared out equally over each window of a value of option shape; options of the pooling",
        compute=_spread_windows,
        notation=notation.in_words("#1 spread equally over each window"),
        linear=True,
    ),
)
