"""What a node of autograd's graph means: the operation that made it, as a formula of its inputs.

Where the source of a statement has no formula (a layer inside `nn.Sequential`, `map(f, xs)`, a library's function), PyTorch
still knows every operation that ran: its node holds the operation's name, its options and the values its derivative needs.
Read as a formula, it is differentiated by the same rules as the author's own statements.

    MulBackward0   #0 ⊙ #1       AddmmBackward0   #1 #2 + #0       TransposeBackward0   #0ᵀ

`#i` is the i-th input; `$name` is a constant that the node kept (`graph_inputs.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from workings.trace.formula.operation import OPERATIONS
from workings.trace.formula.tree import Apply, Call, Formula, Number, map_parts
from workings.trace.operations.graph import entries, layers
from workings.trace.operations.graph.inputs import (
    Inputs,
    Make,
    Node,
    node_name,
    of_self,
    pair,
    with_result,
)
from workings.trace.operations.node import RuleError, f


@dataclass(frozen=True)
class NodeReading:
    """The formula of a node, and the values of its leaves as far as the node kept them; `result` among them is its own."""

    formula: Formula
    values: dict[str, Any]


def read_node(node: Node) -> NodeReading:
    """The operation of a node; a call where it is a function of the author's; RuleError where it is not in the table."""
    name, inputs = node_name(node), Inputs(node)
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


# ---- arithmetic, functions, reductions


def _inverse(i: Inputs) -> Formula:
    i.result("inverse")
    return f("inverse", i(0))


def _linear(i: Inputs) -> Formula:
    product = f("matmul", i(1, "mat1"), i(2, "mat2"))
    plain = i.saved("alpha") == 1 and i.saved("beta") == 1
    if plain:
        return f("add", product, i(0))
    return f("add", f("mul", Number(i.saved("alpha")), product), f("mul", Number(i.saved("beta")), i(0)))


def _scaled_sum(op: str) -> Make:
    def make(i: Inputs) -> Formula:
        alpha = i.saved("alpha")
        return f(op, i(0), i(1) if alpha == 1 else f("mul", Number(alpha), i(1)))

    return make


def _fourier(i: Inputs, forward: bool) -> Formula:
    """A Fourier transform, by how PyTorch divides its result: not at all, by √n or by n."""
    if i.saved("onesided"):
        raise RuleError("there is no rule for a Fourier transform of one side")
    norms = ("backward", "ortho", "forward") if forward else ("forward", "ortho", "backward")
    return f("fftn" if forward else "ifftn", i(0), dim=i.saved("dim"), norm=Number(norms[i.saved("normalization")]))


def _clamp(i: Inputs) -> Formula:
    given = {name: i.kept(name) for name in ("min", "max") if i.saved(name) is not None}
    return f("clamp", i(0, "self"), **given)


def _power(i: Inputs) -> Formula:
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
_NODES: dict[str, Make] = {
    **{name.title(): with_result(name) for name in _RESULTS},
    **{name.title(): of_self(name) for name in _SELVES.split()},
    "Expm1": with_result("expm1"),
    "LogSigmoid": of_self("logsigmoid"),
    "Gelu": of_self("gelu", approximate="approximate"),
    "Softplus": of_self("softplus", beta="beta", threshold="threshold"),
    "LeakyRelu": of_self("leaky_relu", negative_slope="negative_slope"),
    "Elu": of_self("elu", alpha="alpha"),
    "Hardtanh": lambda i: f("clamp", i(0, "self"), Number(i.saved("min_val")), Number(i.saved("max_val"))),
    "Glu": of_self("glu", dim="dim"),
    "Clamp": _clamp,
    "ClampMin": lambda i: f("clamp_min", i(0, "self"), i.kept("min")),
    "Neg": lambda i: f("neg", i(0)),
    "Add": _scaled_sum("add"),
    "Sub": _scaled_sum("sub"),
    "Rsub": lambda i: f("neg", i(0)),
    "Mul": pair("mul"),
    "Div": pair("div"),
    "Pow": _power,
    "Addcmul": lambda i: f("add", i(0), f("mul", i(1, "tensor1"), i(2, "tensor2"))),
    "Maximum": pair("maximum"),
    "Minimum": pair("minimum"),
    "Lerp": lambda i: f("lerp", i(0), i(1), i.kept("weight")),
    "PreluKernel": pair("prelu", "self", "weight"),
    "Mm": pair("matmul", "self", "mat2"),
    "Bmm": pair("matmul", "self", "mat2"),
    "Mv": pair("matmul", "self", "vec"),
    "Dot": pair("matmul", "self", "tensor"),
    "Addmm": _linear,
    "Baddbmm": lambda i: f("add", i(0), f("matmul", i(1, "batch1"), i(2, "batch2"))),
    "Cumsum": lambda i: f("cumsum", i(0), Number(i.saved("dim"))),
    "Sum": of_self("sum", **_ALONG),
    "Mean": of_self("mean", **_ALONG),
    "Var": of_self("var", correction="correction", **_ALONG),
    "Std": of_self("std", correction="correction", **_ALONG),
    "Prod": of_self("prod", **_ALONG),
    "LinalgVectorNorm": of_self("norm", p="ord", **_ALONG),
    "Amax": of_self("amax", **_ALONG),
    "Amin": of_self("amin", **_ALONG),
    "Logsumexp": of_self("logsumexp", **_ALONG),
    "Softmax": of_self("softmax", dim="dim"),
    "SafeSoftmax": of_self("softmax", dim="dim"),
    "LogSoftmax": of_self("log_softmax", dim="dim"),
    "Cumprod": lambda i: f("cumprod", i(0, "self"), Number(i.saved("dim"))),
    "LinalgDet": lambda i: f("det", i(0, "A")),
    "LinalgSlogdet": lambda i: f("slogdet", i(0, "A")),
    "LinalgInvEx": _inverse,
    "Trace": lambda i: f("trace", i(0)),
    "Conj": lambda i: f("conj", i(0)),
    "ResolveConj": lambda i: i(0),
    "Angle": of_self("angle"),
    "Complex": pair("complex", "real", "imag"),
    "Polar": lambda i: f("polar", i(0), i(1)),
    "FftC2C": lambda i: _fourier(i, i.saved("forward")),
    "FftR2C": lambda i: _fourier(i, True),
    **entries.NODES,
    **layers.NODES,
}
