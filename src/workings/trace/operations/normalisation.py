"""Layers that normalise.

    x̂ = (x − mean x)/s,  s = √(var x + ε),  y = x̂ ⊙ γ + β
    ∂L/∂x̂ = ∂L/∂y ⊙ γ
    ∂L/∂x = (∂L/∂x̂ − mean ∂L/∂x̂ − x̂ ⊙ mean(∂L/∂x̂ ⊙ x̂))/s

Means are over what is normalised together: the last axes for layer norm, all but the channels for batch norm. RMS norm
leaves out the means of x and of ∂L/∂x̂.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from workings import equations
from workings.trace.definitions.definition import Definition
from workings.trace.formula import notation
from workings.trace.formula.operation import EVERY, OPERATIONS, Args, Cells, Index, Layer, Operation, called, captured
from workings.trace.formula.simplify import linear, minus, over, plus, times
from workings.trace.formula.tree import Apply, Formula, Leaf, Number, Options, Sequence
from workings.trace.operations.elementwise import on_copies
from workings.trace.operations.node import Gradients, Node, RuleError, f
from workings.trace.shapes import explain_layers


def _mean(a: Formula, dim: Any) -> Formula:
    return linear("mean", a, dim=dim, keepdim=True)


def _root(square: Formula, eps: float) -> Formula:
    return Apply("sqrt", (plus(square, Number(eps)),))


def _gradients(node: Node, **gradients: Formula | None) -> Gradients:
    """The gradients in the order of the arguments."""
    by_place = {id(node.argument(name)): gradient for name, gradient in gradients.items() if node.argument(name) is not None}
    return tuple(by_place.get(id(arg)) for arg in node.args)


def _layer_norm(node: Node) -> Gradients:
    x, count = node.args[0], _normalised_axes(node)
    dim = -1 if count == 1 else tuple(range(-count, 0))
    variance = Apply("var", (x,), (("dim", dim), ("correction", 0), ("keepdim", True)))
    s = node.let("s", _root(variance, node.plain("eps", 1e-5)))
    hat = node.let("x̂", over(minus(x, _mean(x, dim)), s))
    G, to_scale, to_shift = _scale_gradients(node, hat)
    to_x = over(minus(minus(G, _mean(G, dim)), times(hat, _mean(times(G, hat), dim))), s)
    return _gradients(node, input=to_x if node.varies(x) else None, weight=to_scale, bias=to_shift)


def _rms_norm(node: Node) -> Gradients:
    x, count = node.args[0], _normalised_axes(node)
    dim = -1 if count == 1 else tuple(range(-count, 0))
    eps = node.plain("eps")
    if eps is None:
        eps = torch.finfo(node.value(x).dtype).eps
    r = node.let("r", _root(_mean(Apply("square", (x,)), dim), eps))
    hat = node.let("x̂", over(x, r))
    G, to_scale, _ = _scale_gradients(node, hat)
    to_x = over(minus(G, times(hat, _mean(times(G, hat), dim))), r)
    return _gradients(node, input=to_x if node.varies(x) else None, weight=to_scale)


def _batch_norm(node: Node) -> Gradients:
    """In training the batch's own mean and variance; otherwise the ones that were kept, which do not vary."""
    x, rank = node.args[0], len(node.shape(node.args[0]))
    eps, training = node.plain("eps", 1e-5), bool(node.plain("training", False))
    axes = tuple(axis for axis in range(rank) if axis != 1)
    over_batch = {"dim": 0} if rank == 2 else {"dim": axes, "keepdim": True}

    def mean(a: Formula) -> Formula:
        return linear("mean", a, **over_batch)

    if training:
        s = node.let("s", _root(Apply("var", (x,), (*over_batch.items(), ("correction", 0))), eps))
        hat = node.let("x̂", over(minus(x, mean(x)), s))
    else:
        kept = [node.argument(name) for name in ("running_mean", "running_var")]
        centre, variance = (_channels(part, rank) for part in kept if part is not None)
        s = node.let("s", _root(variance, eps))
        hat = node.let("x̂", over(minus(x, centre), s))
    G, to_scale, to_shift = _scale_gradients(node, hat) if rank == 2 else _channel_gradients(node, hat, axes)
    inner = minus(minus(G, mean(G)), times(hat, mean(times(G, hat)))) if training else G
    return _gradients(node, input=over(inner, s) if node.varies(x) else None, weight=to_scale, bias=to_shift)


def _channels(part: Formula, rank: int) -> Formula:
    """A number for each channel, so that it broadcasts over the images; of rows it does so as it is."""
    return part if rank == 2 else linear("unsqueeze", part, dim=tuple(axis for axis in range(rank) if axis != 1))


def _channel_gradients(node: Node, hat: Formula, axes: tuple[int, ...]) -> tuple[Formula, Formula | None, Formula | None]:
    """∂L/∂x̂, and the gradients of γ and β, which have one number for each channel."""
    scale, shift = node.argument("weight"), node.argument("bias")
    to_scale = linear("sum", times(node.G, hat), dim=axes) if scale is not None and node.varies(scale) else None
    to_shift = linear("sum", node.G, dim=axes) if shift is not None and node.varies(shift) else None
    G = node.G if scale is None else node.let_gradient("x̂", times(node.G, _channels(scale, len(axes) + 1)))
    return G, to_scale, to_shift


def _group_norm(node: Node) -> Gradients:
    """As layer norm, with means over each group of channels and all places."""
    x, groups, eps = node.args[0], node.plain("num_groups"), node.plain("eps", 1e-5)
    centred = minus(x, _group_mean(x, groups))
    s = node.let("s", _root(_group_mean(Apply("square", (centred,)), groups), eps))
    hat = node.let("x̂", over(centred, s))
    G, to_scale, to_shift = _channel_gradients(node, hat, (0, *range(2, len(node.shape(x)))))
    to_x = over(minus(minus(G, _group_mean(G, groups)), times(hat, _group_mean(times(G, hat), groups))), s)
    return _gradients(node, input=to_x if node.varies(x) else None, weight=to_scale, bias=to_shift)


def _group_mean(a: Formula, groups: int) -> Formula:
    return linear("group_mean", a, groups=groups)


def _group_mean_value(a: Tensor, *, groups: int) -> Tensor:
    """The mean over each group, in the place of each entry of it."""
    sides = a.reshape(a.shape[0], groups, -1)
    return sides.mean(-1, keepdim=True).expand_as(sides).reshape(a.shape)


def _normalised_axes(node: Node) -> int:
    """How many of the last axes are normalised together."""
    shape = node.plain("normalized_shape")
    return 1 if isinstance(shape, int) else len(shape)


def _scale_gradients(node: Node, hat: Formula) -> tuple[Formula, Formula | None, Formula | None]:
    """∂L/∂x̂, and the gradients of γ and β."""
    scale = node.argument("weight")
    shift = node.argument("bias") if "bias" in OPERATIONS.signature(node.formula.op) else None
    to_scale = None if scale is None else node.fit(lambda: node.scale(hat, node.formula), scale)
    to_shift = None if shift is None else node.fit(lambda: node.G, shift)
    G = node.G if scale is None else node.let_gradient("x̂", node.scale(scale, node.formula))
    return G, to_scale, to_shift


def _normalize(node: Node) -> Gradients:
    """y = x/‖x‖: what points along y is taken away, ∂L/∂x = (∂L/∂y − y ⊙ Σ(y ⊙ ∂L/∂y))/‖x‖."""
    x, dim = node.args[0], node.plain("dim", 1)
    if node.plain("p", 2) != 2:
        raise RuleError("there is no rule for normalize with another norm than the length")
    length = Apply("norm", (x,), (("dim", dim), ("keepdim", True)))
    if bool((node.value(length) <= node.plain("eps", 1e-12)).any()):
        raise RuleError("there is no rule for normalize of a vector shorter than eps")
    inner = linear("sum", times(node.Y, node.bare(node.G, node.formula)), dim=dim, keepdim=True)
    return node.to_first(over(minus(node.G, times(node.Y, inner)), length))


def _cosine_similarity(node: Node) -> Gradients:
    """c = a·b/(‖a‖ ‖b‖): ∂L/∂a = ∂L/∂c ⊙ (b̂ − c â)/‖a‖ with â = a/‖a‖, b̂ = b/‖b‖."""
    a, b = node.args[:2]
    if node.shape(a) != node.shape(b):
        raise RuleError("there is no rule for cosine_similarity of two shapes")
    dim = node.plain("dim", 1)
    c, G = (_column(part, dim, len(node.shape(a))) for part in (node.Y, node.G))
    lengths = [Apply("norm", (part,), (("dim", dim), ("keepdim", True))) for part in (a, b)]
    hats = [node.let(letter, over(part, length)) for letter, part, length in zip(("â", "b̂"), (a, b), lengths, strict=True)]
    to_a, to_b = (
        over(times(G, minus(hats[1 - i], times(c, hats[i]))), lengths[i]) if node.varies(part) else None
        for i, part in enumerate((a, b))
    )
    return to_a, to_b, *(None for _ in node.args[2:])


def _column(part: Formula, dim: int, rank: int) -> Formula:
    return part if rank == 1 else linear("unsqueeze", part, dim=(dim,))


# ---- values, and how they are written


def _layer_norm_value(x: Tensor, *rest: Any, normalized_shape: Any = None, eps: float = 1e-5, **given: Any) -> Tensor:
    tensors = [value for value in rest if isinstance(value, Tensor)]
    eps = next((value for value in rest if isinstance(value, float)), eps)
    shape = next((value for value in rest if isinstance(value, (int, tuple, list))), normalized_shape)
    shape = tensors[0].shape if shape is None and tensors else shape if shape is not None else x.shape[-1]
    options = dict(zip(("weight", "bias"), tensors, strict=False)) | given
    return F.layer_norm(x, (shape,) if isinstance(shape, int) else tuple(shape), eps=eps, **options)


def _spelled_layer_norm(args: Args, options: Options) -> Formula | None:
    """Arguments as torch has them (x, shape, γ, β, ε), or x, γ, β."""
    x, *rest = args
    named = dict(options)
    is_shape = rest and (isinstance(rest[0], Sequence | Number) or "shape" in getattr(rest[0], "text", ""))
    given: dict[str, Formula] = {k: Leaf(str(named[k])) for k in ("weight", "bias") if named.get(k)}
    given |= zip(("weight", "bias"), rest[1:3] if is_shape else rest[:2], strict=False)
    spread = f("sqrt", f("add", f("square", Leaf("sigma")), Leaf("epsilon")))
    out = f("div", f("sub", x, Leaf("mu")), spread)
    for op, scale in (("mul", given.get("weight")), ("add", given.get("bias"))):
        out = out if scale in (None, Number(None)) else f(op, out, scale)
    return out


# ---- definitions


def _define_layer_norm(
    input: Tensor, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, cudnn_enable: bool = True
) -> Definition:
    return _over(equations.layer_norm, input, normalized_shape, weight, bias, eps=eps)


def _define_rms_norm(input: Tensor, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Definition:
    ε = torch.finfo(input.dtype).eps if eps is None else eps
    return _over(equations.rms_norm, input, normalized_shape, weight, eps=ε)


def _over(norm: Any, input: Tensor, shape: Any, *scales: Any, eps: float) -> Definition:
    """The norm of a token; over several axes, their entries side by side are one."""

    @functools.wraps(norm)
    def side_by_side(x: Tensor, *scales: Any) -> Tensor:
        flat = norm(x.flatten(-len(shape)), *[None if s is None else s.flatten() for s in scales], eps)
        return flat.unflatten(-1, tuple(shape))

    return Definition(norm, (input, *scales, eps)) if len(shape) == 1 else Definition(side_by_side, (input, *scales))


def _define_group_norm(
    input: Tensor, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Definition:
    return Definition(equations.group_norm, (input, num_groups, weight, bias, eps))


def _define_batch_norm(
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
    return Definition(equations.batch_norm_of_channels, (input, running, weight, bias, eps))


def _define_batch_norm_layer(m: Any, input: Tensor) -> Definition:
    training = m.training or m.running_mean is None
    return _define_batch_norm(input, m.running_mean, m.running_var, m.weight, m.bias, training, eps=m.eps)


# ---- which cells a cell needs


def _normalized_reach(formula: Apply, index: Index, operands: Mapping[str, Any]) -> Cells | None:
    """A layer norm: the axes it goes over, and the same cell of its scale and shift."""
    axes = _axes(formula, operands)
    if axes is None or axes > len(index):
        return None
    first: Index = (*index[: len(index) - axes], *[EVERY] * axes)
    return [first, *[index] * (len(formula.args) - 1)]


def _axes(formula: Apply, operands: Mapping[str, Any]) -> int | None:
    """How many of the last axes a layer norm goes over."""
    for part in formula.args[1:]:
        match part:
            case Sequence(items=items):
                return len(items)
            case Number(value=int()):
                return 1
            case Leaf(text=text) if isinstance(operands.get(text), Tensor):
                return int(operands[text].dim())
            case Leaf(text=text) if isinstance(operands.get(text), (tuple, list)):
                return len(operands[text])
    return None


_BATCH_NORM: dict[str, Any] = {
    "definition": _define_batch_norm_layer,
    "misfit": explain_layers.batch_norm_layer,
    "arguments": "num_features",
}


def _weight_norm(node: Node) -> Gradients:
    """W = g v/‖v‖: ∂L/∂g is the part of ∂L/∂W along v/‖v‖, ∂L/∂v what is left beside it."""
    v, g, dim = node.args[0], node.args[1], node.plain("dim", 0)
    others = tuple(axis for axis in range(len(node.shape(v))) if dim < 0 or axis != dim)
    n = node.let("n", f("norm", v, dim=others, keepdim=True))
    along = over(linear("sum", times(node.G, v), dim=others, keepdim=True), n)
    to_v = times(over(g, n), minus(node.G, times(v, over(along, n))))
    return to_v if node.varies(v) else None, along if node.varies(g) else None, *(None for _ in node.args[2:])


ROWS = (
    captured(
        "layer_norm(input normalized_shape weight? bias? eps): (a − μ)/√(σ² + ε) ⊙ γ + β",
        compute=_layer_norm_value,
        spelled=_spelled_layer_norm,
        gradient=_layer_norm,
        reach=_normalized_reach,
        definitions=dict.fromkeys((F.layer_norm, torch.layer_norm), _define_layer_norm),
        layers=Layer(
            classes=(nn.LayerNorm,),
            parameters="normalized_shape weight bias",
            options="eps",
            misfit=explain_layers.layer_norm_layer,
            arguments="normalized_shape",
        ),
    ),
    called(
        "rms_norm(input normalized_shape weight eps): a/√(mean a² + ε) ⊙ γ",
        gradient=_rms_norm,
        reach=_normalized_reach,
        definitions=dict.fromkeys((F.rms_norm, torch.rms_norm), _define_rms_norm),
        layers=Layer(
            classes=(nn.RMSNorm,), parameters="normalized_shape weight", options="eps", arguments="normalized_shape"
        ),
    ),
    called(
        "group_norm(input num_groups weight bias eps): (a − μ)/√(σ² + ε) ⊙ γ + β, with μ and σ of each group of channels",
        gradient=_group_norm,
        definitions={F.group_norm: _define_group_norm},
        layers=Layer(
            classes=(nn.GroupNorm,),
            definition=lambda m, x: _define_group_norm(x, m.num_groups, m.weight, m.bias, m.eps),
            arguments="num_groups num_channels",
        ),
    ),
    Operation(
        "group_mean: the mean of a over each group of channels, in the place of each of its entries; option groups",
        compute=_group_mean_value,
        notation=notation.in_words("mean of #1 over each group"),
        linear=True,
    ),
    Operation(
        "instance_norm: (a − μ)/√(σ² + ε), with μ and σ of each channel of each example",
        others="instance_norm",
        layers=Layer(classes=(nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d), arguments="num_features"),
    ),
    called(
        "batch_norm(input running_mean running_var weight bias training momentum eps): "
        "(a − μ)/√(σ² + ε) ⊙ γ + β, with μ and σ of the batch or those that were kept",
        compute=on_copies(F.batch_norm),
        gradient=_batch_norm,
        definitions={F.batch_norm: _define_batch_norm},
        layers=(
            Layer(
                classes=(nn.BatchNorm1d,),
                parameters="running_mean running_var weight bias",
                options="training eps",
                **_BATCH_NORM,
            ),
            Layer(
                classes=(nn.BatchNorm2d, nn.BatchNorm3d),
                parameters="running_mean running_var weight bias",
                options="training eps",
                **_BATCH_NORM,
            ),
        ),
    ),
    called(
        "weight_norm(v g dim): g v/‖v‖: a weight by its length and its direction",
        calls="_weight_norm",
        compute=lambda v, g, dim=0: torch._weight_norm(v, g, dim),
        spelled=lambda args, options: f("div", f("mul", args[1], args[0]), f("norm", args[0])) if len(args) > 1 else None,
        gradient=_weight_norm,
    ),
    called("normalize(input p dim eps): a/‖a‖", gradient=_normalize),
    called("cosine_similarity(x1 x2 dim eps): a·b/(‖a‖ ‖b‖)", gradient=_cosine_similarity),
)
