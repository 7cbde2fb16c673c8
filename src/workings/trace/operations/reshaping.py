"""Entries in another order or shape: reshapes, copies, rolls, diagonals. The gradient goes back the same way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from workings.trace.formula import notation
from workings.trace.formula.arguments import FormulaError, call_values
from workings.trace.formula.operation import Layer, Operation, called, captured
from workings.trace.formula.simplify import linear, times
from workings.trace.formula.tree import Apply, Call, Formula, Index, Number, Sequence, Slice
from workings.trace.operations.linear_maps import add_back
from workings.trace.operations.node import Gradients, Node, RuleError, Shape, f
from workings.trace.shapes import arithmetic, explain_tensors

"""Methods that change a shape, by what they do to the entries."""
SAME_ORDER = frozenset("view reshape flatten unflatten squeeze unsqueeze view_as reshape_as ravel".split())
UNCHANGED = frozenset("contiguous clone to float double half bfloat16 type type_as cpu".split())
PERMUTED = frozenset("permute transpose swapaxes swapdims movedim moveaxis t".split())
REPEATED = frozenset("expand expand_as broadcast_to".split())
_RESHAPES = SAME_ORDER | UNCHANGED | PERMUTED | REPEATED | {"detach"}
"""Methods that change the shape, the kind of numbers or nothing: each is «reshape» in a formula."""


def _again(node: Node) -> Gradients:
    """flip, tril and triu: the gradient goes the same way."""
    return node.to_first(Apply(node.formula.op, (node.G, *node.args[1:]), node.formula.options))


def _roll(node: Node) -> Gradients:
    shifts = node.plain("shifts")
    back: Formula = Number(-shifts) if isinstance(shifts, int) else Sequence(tuple(Number(-s) for s in shifts))
    options = tuple((k, v) for k, v in node.formula.options if k != "shifts")
    return node.to_first(Apply("roll", (node.G, back, *node.args[2:]), options))


def _repeat(node: Node) -> Gradients:
    return node.to_first(linear("sum_copies", node.G, shape=node.shape(node.args[0])))


def _pad(node: Node) -> Gradients:
    x, widths = node.args[0], node.plain("pad")
    if (mode := node.plain("mode", "constant")) != "constant":
        return add_back(node, "pad", pad=tuple(widths), mode=mode)
    if any(width < 0 for width in widths):  # what was cut off has no gradient
        return node.to_first(linear("pad", node.G, pad=tuple(-width for width in widths)))
    shape = node.shape(x)
    ends = list(zip(widths[::2], widths[1::2], strict=True))[::-1]
    lead = len(shape) - len(ends)
    places = [Slice(Number(a), Number(a + n)) for (a, _), n in zip(ends, shape[lead:], strict=True)]
    return node.to_first(linear("index", node.G, at=Index((*[Slice()] * lead, *places))))


def _trace(node: Node) -> Gradients:
    return (times(node.G, f("identity", size=node.shape(node.args[0])[0])),)


def _diagonal(node: Node) -> Gradients:
    """y = diag(a): the gradient stands on the diagonal."""
    (a, *more), n = node.args, node.shape()[0]
    if more or node.options or node.shape(a) != (n, n):
        raise RuleError("there is no rule for diagonal of anything but a square matrix")
    return (times(f("identity", size=n), linear("unsqueeze", node.G, dim=(1,))),)


def _diag(node: Node) -> Gradients:
    """Y = diag(a) of a vector: its gradient is the diagonal; of a matrix, its diagonal."""
    (a, *more) = node.args
    if not more and not node.options and len(node.shape(a)) == 1:
        return (linear("diagonal", node.G),)
    return _diagonal(node)


def _reshape(node: Node) -> Gradients:
    shape, by = node.shape(node.args[0]), node.options["by"]
    method = by.name
    if method == "detach":
        return (None,)
    if method in UNCHANGED:
        return (node.G,)
    if method in SAME_ORDER:
        return (linear("reshape", node.G, by=_call("reshape", *shape)),)
    if method in PERMUTED:
        back = _inverse(method, *call_values(by, node.context.operands), shape)
        return (linear("reshape", node.G, by=_call("permute", *back)),)
    if method in REPEATED:
        return (node.fit(lambda: node.G, node.args[0]),)
    raise RuleError(f"there is no rule for {method}")


def _call(method: str, *sizes: int) -> Call:
    return Call(method, tuple(map(Number, sizes)) or (Sequence(()),))


def _inverse(method: str, args: list[object], options: dict[str, object], shape: Shape) -> list[int]:
    """The permutation that undoes a method which permutes axes: read off the strides of an example."""
    strides = torch.empty([2] * len(shape)).stride()
    moved = getattr(torch.empty([2] * len(shape)), method)(*args, **options).stride()
    return [moved.index(stride) for stride in strides]


def _reshape_value(operands: Mapping[str, Any], a: Tensor, *, by: Call) -> Any:
    args, options = call_values(by, operands)
    if by.name not in _RESHAPES:
        raise FormulaError(f"'{by}' cannot be computed again: {by.name} is not in the table of reshapes.")
    return getattr(a, by.name)(*args, **options)


ROWS = (
    captured(
        "reshape(input |): a in another shape (view, reshape, flatten, squeeze, permute …); option by is that call",
        others=" ".join(sorted(_RESHAPES)) + " long int bool",
        also="view flatten unsqueeze squeeze permute unflatten expand contiguous clone detach to float double",
        notation=notation.reshape,
        gradient=_reshape,
        moves=True,
        misfits={"reshape": explain_tensors.reshape, "view": explain_tensors.view},
        layers=Layer(
            classes=(nn.Flatten,), size=arithmetic.flattened_size, arguments="", defaults={"start_dim": 1, "end_dim": -1}
        ),
        compute_in_scope=_reshape_value,
    ),
    Operation("rearranged: a change of shape in words, which option words has", notation=notation.rearranged, moves=True),
    called("tril(input diagonal): a with zeros above the diagonal", gradient=_again, linear=True),
    called("triu(input diagonal): a with zeros below the diagonal", gradient=_again, linear=True),
    called(
        "flip: a with its entries in reverse along some axes",
        compute=lambda a, *dims: torch.flip(a, dims if isinstance(dims[0], int) else dims[0]),
        gradient=_again,
        moves=True,
    ),
    called("roll(input shifts dims): a with its entries shifted round", gradient=_roll, moves=True),
    called("repeat: copies of a side by side", compute=lambda a, *sizes: a.repeat(*sizes), gradient=_repeat, moves=True),
    called("pad(input pad mode value): a with zeros around it", gradient=_pad),
    called(
        "diagonal: the diagonal of a", notation=notation.function("diag"), written_call=1, gradient=_diagonal, moves=True
    ),
    called(
        "diag: the matrix with the diagonal a, or the diagonal of a matrix",
        notation=notation.function("diag"),
        written_call=1,
        gradient=_diag,
        moves=True,
    ),
    called("trace: the sum of the diagonal", notation=notation.function("tr"), gradient=_trace, reduces=True, linear=True),
    Operation("repeat_interleave: each entry of a several times", others="repeat_interleave", moves=True),
    Operation("dropout: a, or in training a with random entries set to 0", others="dropout"),
)
