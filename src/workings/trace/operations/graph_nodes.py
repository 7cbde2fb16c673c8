"""What a node of autograd's graph means: the operation that made it, as a formula of its inputs.

Where the source of a statement has no formula (a layer inside `nn.Sequential`, `map(f, xs)`, a library's function), PyTorch
still knows every operation that ran: its node holds the operation's name, its options and the values its derivative needs.
Read as a formula, it is differentiated by the same rules as the author's own statements.

    MulBackward0   #0 ⊙ #1       AddmmBackward0   #1 #2 + #0       TransposeBackward0   #0ᵀ

`#i` is the i-th input; `$name` is a constant that the node kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from workings.trace.formula.operation import OPERATIONS
from workings.trace.formula.tree import Apply, Call, Formula, Index, Leaf, Number, Sequence, Slice, entry, map_parts
from workings.trace.operations.node import RuleError, Shape, f

Node = Any
"""A node of autograd's graph; PyTorch has no public class for those it makes itself."""
_END = 1 << 62
_SIGNED = 1 << 63


@dataclass
class _Inputs:
    """The inputs of a node while its formula is built, with the values that it kept."""

    node: Node
    values: dict[str, Any] = field(default_factory=dict)

    def __call__(self, number: int, saved: str = "") -> Formula:
        """The input of this number, whose value the node may have kept under a name; a constant where it does not vary."""
        value = self.saved(saved) if saved else None
        if number < len(self.node.next_functions) and self.node.next_functions[number][0] is not None:
            if isinstance(value, Tensor):
                self.values[f"#{number}"] = value
            return Leaf(f"#{number}")
        if value is None:  # as the c of x + c: no derivative needs it
            self.values[f"${number}"] = unknown(shape_of(self.node, 0))
            return Leaf(f"${number}")
        return self.constant(value, saved)

    def saved(self, name: str) -> Any:
        value = getattr(self.node, f"_saved_{name}", None)
        return value.detach() if isinstance(value, Tensor) else _signed(value)

    def constant(self, value: Any, name: str) -> Formula:
        if isinstance(value, Tensor) and (value.dim() or value.dtype == torch.bool):
            self.values[f"${name}"] = value
            return Leaf(f"${name}")
        return Number(value.item() if isinstance(value, Tensor) else value)

    def kept(self, name: str) -> Formula:
        """A constant by its name."""
        return self.constant(self.saved(name), name)

    def result(self, name: str = "result") -> None:
        """The node kept its own result."""
        value = self.saved(name)
        if isinstance(value, Tensor):
            self.values["result"] = value


def unknown(shape: Shape) -> Tensor:
    """A value of which only the shape is known: a rule that needs more gives no number."""
    return torch.full(shape, torch.nan)


def shape_of(node: Node, number: int) -> Shape:
    """The shape of an output of a node."""
    if hasattr(node, "variable"):
        return tuple(node.variable.shape)
    return tuple(node._input_metadata[number].shape)


def _signed(value: Any) -> Any:
    """PyTorch tells negative axes as numbers without a sign."""
    match value:
        case int() if value >= _SIGNED:
            return value - (1 << 64)
        case tuple():
            return tuple(map(_signed, value))
    return value


@dataclass(frozen=True)
class NodeReading:
    """The formula of a node, and the values of its leaves as far as the node kept them; `result` among them is its own."""

    formula: Formula
    values: dict[str, Any]


def read_node(node: Node) -> NodeReading:
    """The operation of a node; a call where it is a function of the author's; RuleError where it is not in the table."""
    name, inputs = node_name(node), _Inputs(node)
    if isinstance(node, torch.autograd.function.BackwardCFunction):
        return NodeReading(Call(name, tuple(inputs(i) for i in range(len(node.next_functions)))), inputs.values)
    make = _NODES.get(name)
    if make is None:
        raise RuleError(f"there is no rule for PyTorch's {name}")
    try:
        return NodeReading(_in_simpler_ones(make(inputs)), inputs.values)
    except (AttributeError, RuntimeError, TypeError) as error:
        raise RuleError(f"PyTorch's {name} does not tell its arguments") from error


def _in_simpler_ones(formula: Formula) -> Formula:
    """Operations that are no more than simpler ones, as these."""
    formula = map_parts(formula, _in_simpler_ones)
    row = OPERATIONS.get(formula.op) if isinstance(formula, Apply) else None
    if isinstance(formula, Apply) and row is not None and row.means is not None:
        return row.means(formula.args, formula.options) or formula
    return formula


def node_name(node: Node) -> str:
    """
    >>> node_name((torch.ones(2, requires_grad=True) * 2).grad_fn)
    'Mul'
    """
    return re.sub(r"Backward\d*$", "", node.name().rpartition("::")[2])


# ---- the table

_Make = Callable[[_Inputs], Formula]


def _with_result(op: str) -> _Make:
    def make(i: _Inputs) -> Formula:
        i.result()
        return f(op, i(0))

    return make


def _of_self(op: str, **options: str) -> _Make:
    """An operation on one input, with options under the names the node keeps them by."""

    def make(i: _Inputs) -> Formula:
        i.result()
        found = {name: _single(i.saved(saved)) for name, saved in options.items()}
        return f(op, i(0, "self"), **{name: value for name, value in found.items() if value is not None})

    return make


def _single(value: Any) -> Any:
    """(−1,) as −1; no axes as all of them."""
    if isinstance(value, tuple) and len(value) < 2:
        return value[0] if value else None
    return value


def _pair(op: str, a: str = "self", b: str = "other") -> _Make:
    return lambda i: f(op, i(0, a), i(1, b))


def _shape(i: _Inputs) -> Formula:
    return f("reshape", i(0), by=Call("reshape", tuple(map(Number, shape_of(i.node, 0))) or (Sequence(()),)))


def _permuted(i: _Inputs, dims: list[int]) -> Formula:
    rank = len(dims)
    if rank >= 2 and dims == [*range(rank - 2), rank - 1, rank - 2]:
        return f("transpose", i(0))
    return f("reshape", i(0), by=Call("permute", tuple(map(Number, dims))))


def _handed_on(i: _Inputs) -> Formula:
    """Where PyTorch calls the backward hooks of a module: what comes in goes out, unless a hook changes it."""
    count = len(i.node.next_functions)
    return i(0) if count == 1 else Sequence(tuple(i(number) for number in range(count)))


def _swapped(i: _Inputs) -> Formula:
    dims = list(range(len(shape_of(i.node, 0))))
    a, b = i.saved("dim0"), i.saved("dim1")
    dims[a], dims[b] = dims[b], dims[a]
    return _permuted(i, dims)


def _slice(i: _Inputs) -> Formula:
    size = i.saved("self_sym_sizes")
    dim, start, stop, step = (i.saved(name) for name in ("dim", "start", "end", "step"))
    dim %= len(size)
    whole = (start or 0) == 0 and (stop is None or stop >= size[dim]) and step == 1
    if whole:
        return i(0)
    stop = None if stop is None or stop >= size[dim] else Number(stop)
    return entry(i(0), Index((*[Slice()] * dim, Slice(Number(start or 0), stop, None if step == 1 else Number(step)))))


def _select(i: _Inputs) -> Formula:
    return entry(i(0), Index((*[Slice()] * (i.saved("dim") % len(i.saved("self_sym_sizes"))), Number(i.saved("index")))))


def _index(i: _Inputs) -> Formula:
    return entry(i(0), Index(tuple(_places(i))))


def _places(i: _Inputs) -> Iterator[Formula | Slice]:
    for number, place in enumerate(i.saved("indices")):
        if isinstance(place, Tensor):
            i.values[f"$i{number}"] = place
            yield Leaf(f"$i{number}")
        else:
            yield Slice()


def _joined(op: str) -> _Make:
    def make(i: _Inputs) -> Formula:
        parts = tuple(i(number) for number in range(len(i.node.next_functions)))
        if op == "cat" and (constants := [part.text for part in parts if isinstance(part, Leaf) and part.text in i.values]):
            if len(constants) > 1:
                raise RuleError("PyTorch does not tell how long each of several constants is that cat joins")
            i.values[constants[0]] = unknown(_rest_of(i.node, i.saved("dim")))
        return f(op, Sequence(parts), dim=i.saved("dim"))

    return make


def _rest_of(node: Node, dim: int) -> Shape:
    """The shape of the one part of a concatenation that does not vary: what the others leave."""
    shape = list(shape_of(node, 0))
    shape[dim] -= sum(shape_of(after, number)[dim] for after, number in node.next_functions if after is not None)
    return tuple(shape)


def _put(i: _Inputs) -> Formula:
    if i.saved("accumulate"):
        raise RuleError("there is no rule for index_put that adds")
    return f("put", i(0), i(1), at=Index(tuple(_places(i))))


def _added(op: str, source: str = "") -> _Make:
    def make(i: _Inputs) -> Formula:
        if i.saved("alpha") not in (None, 1):
            raise RuleError("there is no rule for index_add with alpha")
        return f(op, i(0), Number(i.saved("dim")), i.kept("index"), i(1, source))

    return make


def _diagonal_matrix(i: _Inputs) -> Formula:
    if i.saved("offset") or len(shape_of(i.node, 0)) != 2:
        raise RuleError("there is no rule for diag_embed beside the diagonal or of several rows")
    return f("diag", i(0))


def _inverse(i: _Inputs) -> Formula:
    i.result("inverse")
    return f("inverse", i(0))


def _linear(i: _Inputs) -> Formula:
    product = f("matmul", i(1, "mat1"), i(2, "mat2"))
    plain = i.saved("alpha") == 1 and i.saved("beta") == 1
    if plain:
        return f("add", product, i(0))
    return f("add", f("mul", Number(i.saved("alpha")), product), f("mul", Number(i.saved("beta")), i(0)))


def _scaled_sum(op: str) -> _Make:
    def make(i: _Inputs) -> Formula:
        alpha = i.saved("alpha")
        return f(op, i(0), i(1) if alpha == 1 else f("mul", Number(alpha), i(1)))

    return make


def _layer_norm(i: _Inputs) -> Formula:
    x, weight, bias = i(0, "input"), i(1, "weight"), i(2, "bias")
    none = [Number(None) if i.saved(name) is None else part for name, part in (("weight", weight), ("bias", bias))]
    shape = Sequence(tuple(map(Number, i.saved("normalized_shape"))))
    return f("layer_norm", x, shape, *none, eps=_epsilon(i.saved("input"), i.saved("result2"), len(shape.items)))


def _epsilon(x: Tensor, inverse: Tensor, axes: int) -> float:
    """The ε that a layer norm added to the variance, to the power of ten or its simplest multiple that fits."""
    variance = x.double().var(dim=tuple(range(-axes, 0)), correction=0, keepdim=True)
    found = float((inverse.double() ** -2 - variance).median())
    return min((m * 10.0**-e for e in range(1, 17) for m in (1, 2, 5)), key=lambda eps: abs(eps - found))


def _batch_norm(i: _Inputs) -> Formula:
    mean, variance = (i.kept(name) for name in ("running_mean", "running_var"))
    weight = Number(None) if i.saved("weight") is None else i(1, "weight")
    has_bias = len(i.node.next_functions) > 2 and i.node.next_functions[2][0] is not None
    given = {"training": Number(i.saved("training")), "eps": Number(i.saved("eps"))}
    return f("batch_norm", i(0, "input"), mean, variance, weight, i(2) if has_bias else Number(None), **given)


def _group_norm(i: _Inputs) -> Formula:
    weight = Number(None) if i.saved("weight") is None else i(1, "weight")
    has_bias = len(i.node.next_functions) > 2 and i.node.next_functions[2][0] is not None
    bias = i(2) if has_bias else Number(None)
    return f("group_norm", i(0, "input"), Number(i.saved("group")), weight, bias, eps=Number(i.saved("eps")))


def _convolution(i: _Inputs) -> Formula:
    has_bias = len(i.node.next_functions) > 2 and i.node.next_functions[2][0] is not None
    rank = len(shape_of(i.node, 0)) - 2
    names = ["stride", "padding", "dilation", "groups"]
    name = f"conv{rank}d"
    if i.saved("transposed"):
        name, names = "conv_transpose", ["stride", "padding", "output_padding", "groups", "dilation"]
    return f(name, i(0, "input"), i(1, "weight"), i(2) if has_bias else Number(None), **{n: _one(i.saved(n)) for n in names})


def _one(value: Any) -> Any:
    """(2, 2) as 2."""
    return value[0] if isinstance(value, tuple) and len(set(value)) == 1 else value


def _pool(op: str, names: str) -> _Make:
    def make(i: _Inputs) -> Formula:
        found = {name: _one(i.saved(name)) for name in names.split()}
        given = {name: value for name, value in found.items() if value not in ((), None)}
        return f(op, i(0, "self"), **{name: Number(v) if isinstance(v, bool) else v for name, v in given.items()})

    return make


def _loss(op: str, names: str = "") -> _Make:
    def make(i: _Inputs) -> Formula:
        reduction = ("none", "mean", "sum")[i.saved("reduction")]
        given = {name: value for name in names.split() if (value := i.saved(name)) is not None}
        target = i(1, "target") if len(i.node.next_functions) > 1 else i.kept("target")
        tensors = {k: i.constant(v, k) for k, v in given.items() if isinstance(v, Tensor)}
        return f(op, i(0, "self"), target, **(given | tensors), reduction=Number(reduction))

    return make


def _attention(i: _Inputs) -> Formula:
    mask = Number(None) if i.saved("attn_mask") is None else i.kept("attn_mask")
    given = {"is_causal": Number(True)} if i.saved("is_causal") else {}
    if i.saved("scale") is not None:
        given["scale"] = Number(i.saved("scale"))
    return f("scaled_dot_product_attention", i(0, "query"), i(1, "key"), i(2, "value"), mask, **given)


def _pad(i: _Inputs) -> Formula:
    return f("pad", i(0), Sequence(tuple(map(Number, i.saved("pad")))))


def _extreme(op: str) -> _Make:
    def make(i: _Inputs) -> Formula:
        if i.saved("dim") is None:
            return _of_self(op)(i)
        dim, where = i.saved("dim"), i.saved("indices")
        if i.saved("keepdim"):
            return _taken(i, dim, where)
        return f("reshape", _taken(i, dim, where.unsqueeze(dim)), by=Call("squeeze", (Number(dim),)))

    return make


def _ordered(i: _Inputs) -> Formula:
    return _taken(i, i.saved("dim"), i.saved("indices"))


def _taken(i: _Inputs, dim: int, where: Tensor) -> Formula:
    """The entries that were chosen along an axis."""
    i.values["$where"] = where
    return f("gather", i(0), Number(dim), Leaf("$where"))


def _lstm(i: _Inputs) -> Formula:
    if i.saved("mode") != 2:
        raise RuleError("there is no rule for PyTorch's fused recurrent layer but an LSTM's")
    has_biases = i.saved("has_biases")
    shifts = [i(3, "weight2"), i(4, "weight3")] if has_biases else [Number(None), Number(None)]
    args = i(0, "input"), i(1, "weight0"), i(2, "weight1"), *shifts, i(5, "hx_"), i(6, "cx_")
    return f("lstm_layer", *args, **({"reverse": True} if i.saved("reverse") else {}))


def _fourier(i: _Inputs, forward: bool) -> Formula:
    """A Fourier transform, by how PyTorch divides its result: not at all, by √n or by n."""
    if i.saved("onesided"):
        raise RuleError("there is no rule for a Fourier transform of one side")
    norms = ("backward", "ortho", "forward") if forward else ("forward", "ortho", "backward")
    return f("fftn" if forward else "ifftn", i(0), dim=i.saved("dim"), norm=Number(norms[i.saved("normalization")]))


def _resized(mode: str) -> _Make:
    def make(i: _Inputs) -> Formula:
        given: dict[str, Any] = {"size": tuple(i.saved("output_size")), "mode": Number(mode)}
        if i.saved("align_corners") is not None:
            given["align_corners"] = Number(i.saved("align_corners"))
        return f("interpolate", i(0), **given)

    return make


def _mirrored(mode: str) -> _Make:
    return lambda i: f("pad", i(0, "self"), Sequence(tuple(map(Number, i.saved("padding")))), mode=Number(mode))


def _adaptive(i: _Inputs) -> Formula:
    rank = 3 if node_name(i.node).endswith("3D") else 2
    return f("adaptive_avg_pool", i(0, "self"), output_size=tuple(shape_of(i.node, 0)[-rank:]))


def _masked(i: _Inputs) -> Formula:
    value = i(1) if len(i.node.next_functions) > 1 and i.node.next_functions[1][0] is not None else Number(0)
    return f("masked_fill", i(0), i.kept("mask"), value)


def _clamp(i: _Inputs) -> Formula:
    given = {name: i.kept(name) for name in ("min", "max") if i.saved(name) is not None}
    return f("clamp", i(0, "self"), **given)


def _power(i: _Inputs) -> Formula:
    i.result()
    if len(i.node.next_functions) == 2:
        return f("pow", i(0, "self"), i(1, "exponent"))
    if not isinstance(i.saved("exponent"), Tensor):
        exponent = i.saved("exponent")
        return f("square", i(0, "self")) if exponent == 2 else f("pow", i(0, "self"), Number(exponent))
    return f("pow", i.kept("self"), i(0, "exponent"))


_ALONG = {"dim": "dim", "keepdim": "keepdim"}
_RESULTS = "exp sqrt rsqrt tanh sigmoid relu reciprocal".split()
_SELVES = "log log2 log10 log1p sin cos tan sinh cosh atan abs erf silu hardswish hardsigmoid mish"
_NODES: dict[str, _Make] = {
    **{name.title(): _with_result(name) for name in _RESULTS},
    **{name.title(): _of_self(name) for name in _SELVES.split()},
    "Expm1": _with_result("expm1"),
    "LogSigmoid": _of_self("logsigmoid"),
    "Gelu": _of_self("gelu", approximate="approximate"),
    "Softplus": _of_self("softplus", beta="beta", threshold="threshold"),
    "LeakyRelu": _of_self("leaky_relu", negative_slope="negative_slope"),
    "Elu": _of_self("elu", alpha="alpha"),
    "Hardtanh": lambda i: f("clamp", i(0, "self"), Number(i.saved("min_val")), Number(i.saved("max_val"))),
    "Glu": _of_self("glu", dim="dim"),
    "Clamp": _clamp,
    "ClampMin": lambda i: f("clamp_min", i(0, "self"), i.kept("min")),
    "Neg": lambda i: f("neg", i(0)),
    "Add": _scaled_sum("add"),
    "Sub": _scaled_sum("sub"),
    "Rsub": lambda i: f("neg", i(0)),
    "Mul": _pair("mul"),
    "Div": _pair("div"),
    "Pow": _power,
    "Addcmul": lambda i: f("add", i(0), f("mul", i(1, "tensor1"), i(2, "tensor2"))),
    "Maximum": _pair("maximum"),
    "Minimum": _pair("minimum"),
    "Lerp": lambda i: f("lerp", i(0), i(1), i.kept("weight")),
    "PreluKernel": _pair("prelu", "self", "weight"),
    "Mm": _pair("matmul", "self", "mat2"),
    "Bmm": _pair("matmul", "self", "mat2"),
    "Mv": _pair("matmul", "self", "vec"),
    "Dot": _pair("matmul", "self", "tensor"),
    "Addmm": _linear,
    "Baddbmm": lambda i: f("add", i(0), f("matmul", i(1, "batch1"), i(2, "batch2"))),
    **dict.fromkeys("View UnsafeView ReshapeAlias Unsqueeze Squeeze Alias ViewAs".split(), _shape),
    **dict.fromkeys("Clone ToCopy Contiguous Detach Identity Copy".split(), lambda i: i(0)),
    "BackwardHookFunction": _handed_on,
    "T": lambda i: f("transpose", i(0)),
    "Transpose": _swapped,
    "Permute": lambda i: _permuted(i, [dim % len(i.saved("dims")) for dim in i.saved("dims")]),
    "Expand": lambda i: f("reshape", i(0), by=Call("expand", tuple(map(Number, shape_of(i.node, 0))))),
    "Repeat": lambda i: f("repeat", i(0), *map(Number, i.saved("repeats"))),
    "Slice": _slice,
    "Select": _select,
    "Index": _index,
    "IndexSelect": lambda i: f("index_select", i(0), Number(i.saved("dim")), i.kept("index")),
    "Gather": lambda i: f("gather", i(0, "self"), Number(i.saved("dim")), i.kept("index")),
    "IndexPut": _put,
    "ScatterAdd": _added("add_at"),
    "IndexAdd": _added("add_slices", "source"),
    "Embedding": lambda i: f("embedding", i.kept("indices"), i(0)),
    "Cat": _joined("cat"),
    "Stack": _joined("stack"),
    "Split": lambda i: f("split", i(0), Number(i.saved("split_size")), dim=Number(i.saved("dim"))),
    "UnsafeSplit": lambda i: f("split", i(0), Number(i.saved("split_size")), dim=Number(i.saved("dim"))),
    "SplitWithSizes": lambda i: f(
        "split", i(0), Sequence(tuple(map(Number, i.saved("split_sizes")))), dim=Number(i.saved("dim"))
    ),
    "Unbind": lambda i: f("unbind", i(0), dim=Number(i.saved("dim"))),
    "Flip": lambda i: f("flip", i(0), Sequence(tuple(map(Number, i.saved("dims"))))),
    "Roll": lambda i: f("roll", i(0), *(Sequence(tuple(map(Number, i.saved(n)))) for n in ("shifts", "dims") if i.saved(n))),
    "Tril": lambda i: f("tril", i(0), Number(i.saved("diagonal"))),
    "Triu": lambda i: f("triu", i(0), Number(i.saved("diagonal"))),
    "Cumsum": lambda i: f("cumsum", i(0), Number(i.saved("dim"))),
    "ConstantPadNd": _pad,
    "MaskedFill": _masked,
    "Where": lambda i: f("where", i.kept("condition"), i(0), i(1)),
    "Sum": _of_self("sum", **_ALONG),
    "Mean": _of_self("mean", **_ALONG),
    "Var": _of_self("var", correction="correction", **_ALONG),
    "Std": _of_self("std", correction="correction", **_ALONG),
    "Prod": _of_self("prod", **_ALONG),
    "LinalgVectorNorm": _of_self("norm", p="ord", **_ALONG),
    "Amax": _of_self("amax", **_ALONG),
    "Amin": _of_self("amin", **_ALONG),
    "Max": _extreme("max"),
    "Min": _extreme("min"),
    "Topk": _ordered,
    "Sort": _ordered,
    "Logsumexp": _of_self("logsumexp", **_ALONG),
    "Softmax": _of_self("softmax", dim="dim"),
    "SafeSoftmax": _of_self("softmax", dim="dim"),
    "LogSoftmax": _of_self("log_softmax", dim="dim"),
    "MkldnnRnnLayer": _lstm,
    **{f"UpsampleNearest{rank}D": _resized("nearest") for rank in (1, 2, 3)},
    "UpsampleLinear1D": _resized("linear"),
    "UpsampleBilinear2D": _resized("bilinear"),
    "UpsampleBicubic2D": _resized("bicubic"),
    "UpsampleTrilinear3D": _resized("trilinear"),
    **{f"ReflectionPad{rank}D": _mirrored("reflect") for rank in (1, 2, 3)},
    **{f"ReplicationPad{rank}D": _mirrored("replicate") for rank in (1, 2, 3)},
    "AdaptiveAvgPool2D": _adaptive,
    "AdaptiveAvgPool3D": _adaptive,
    "PixelShuffle": lambda i: f("pixel_shuffle", i(0), Number(i.saved("upscale_factor"))),
    "PixelUnshuffle": lambda i: f("pixel_unshuffle", i(0), Number(i.saved("downscale_factor"))),
    "Unfold": lambda i: f("windows", i(0), *(Number(i.saved(n)) for n in ("dimension", "size", "step"))),
    "Im2Col": lambda i: f("im2col", i(0), **{n: i.saved(n) for n in ("kernel_size", "dilation", "padding", "stride")}),
    "Cumprod": lambda i: f("cumprod", i(0, "self"), Number(i.saved("dim"))),
    "Diagonal": lambda i: f("diagonal", i(0)),
    "DiagEmbed": _diagonal_matrix,
    "LinalgDet": lambda i: f("det", i(0, "A")),
    "LinalgSlogdet": lambda i: f("slogdet", i(0, "A")),
    "LinalgInvEx": _inverse,
    "Trace": lambda i: f("trace", i(0)),
    "Conj": lambda i: f("conj", i(0)),
    "ResolveConj": lambda i: i(0),
    "Angle": _of_self("angle"),
    "ViewAsReal": lambda i: f("view_as_real", i(0)),
    "ViewAsComplex": lambda i: f("view_as_complex", i(0)),
    "Complex": _pair("complex", "real", "imag"),
    "Polar": lambda i: f("polar", i(0), i(1)),
    "FftC2C": lambda i: _fourier(i, i.saved("forward")),
    "FftR2C": lambda i: _fourier(i, True),
    "WeightNormInterface": lambda i: f("weight_norm", i(0, "v"), i(1, "g"), Number(i.saved("dim"))),
    "NativeLayerNorm": _layer_norm,
    "NativeBatchNorm": _batch_norm,
    "NativeGroupNorm": _group_norm,
    "Convolution": _convolution,
    "MaxPool2DWithIndices": _pool("max_pool2d", "kernel_size stride padding dilation ceil_mode"),
    "MaxPool3DWithIndices": _pool("max_pool3d", "kernel_size stride padding dilation ceil_mode"),
    "AvgPool3D": _pool("avg_pool3d", "kernel_size stride padding ceil_mode count_include_pad"),
    "AvgPool2D": _pool("avg_pool2d", "kernel_size stride padding ceil_mode count_include_pad"),
    "ScaledDotProductFlashAttentionForCpu": _attention,
    "NllLoss": _loss("nll_loss", "weight ignore_index"),
    "NllLoss2D": _loss("nll_loss", "weight ignore_index"),
    "MseLoss": _loss("mse_loss"),
    "SmoothL1Loss": _loss("smooth_l1_loss", "beta"),
    "HuberLoss": _loss("huber_loss", "delta"),
    "BinaryCrossEntropyWithLogits": _loss("binary_cross_entropy_with_logits", "weight pos_weight"),
    "BinaryCrossEntropy": _loss("binary_cross_entropy", "weight"),
}
