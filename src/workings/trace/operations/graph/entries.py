"""Nodes of autograd's graph that move, choose and join entries."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from workings.trace.formula.tree import Call, Formula, Index, Leaf, Number, Sequence, Slice, entry
from workings.trace.operations.graph.inputs import (
    Inputs,
    Make,
    Node,
    of_self,
    shape_of,
    unknown,
)
from workings.trace.operations.node import RuleError, Shape, f


def _shape(i: Inputs) -> Formula:
    return f("reshape", i(0), by=Call("reshape", tuple(map(Number, shape_of(i.node, 0))) or (Sequence(()),)))


def _permuted(i: Inputs, dims: list[int]) -> Formula:
    rank = len(dims)
    if rank >= 2 and dims == [*range(rank - 2), rank - 1, rank - 2]:
        return f("transpose", i(0))
    return f("reshape", i(0), by=Call("permute", tuple(map(Number, dims))))


def _handed_on(i: Inputs) -> Formula:
    """Where PyTorch calls the backward hooks of a module: what comes in goes out, unless a hook changes it."""
    count = len(i.node.next_functions)
    return i(0) if count == 1 else Sequence(tuple(i(number) for number in range(count)))


def _swapped(i: Inputs) -> Formula:
    dims = list(range(len(shape_of(i.node, 0))))
    a, b = i.saved("dim0"), i.saved("dim1")
    dims[a], dims[b] = dims[b], dims[a]
    return _permuted(i, dims)


def _slice(i: Inputs) -> Formula:
    size = i.saved("self_sym_sizes")
    dim, start, stop, step = (i.saved(name) for name in ("dim", "start", "end", "step"))
    dim %= len(size)
    whole = (start or 0) == 0 and (stop is None or stop >= size[dim]) and step == 1
    if whole:
        return i(0)
    stop = None if stop is None or stop >= size[dim] else Number(stop)
    return entry(i(0), Index((*[Slice()] * dim, Slice(Number(start or 0), stop, None if step == 1 else Number(step)))))


def _select(i: Inputs) -> Formula:
    return entry(i(0), Index((*[Slice()] * (i.saved("dim") % len(i.saved("self_sym_sizes"))), Number(i.saved("index")))))


def _index(i: Inputs) -> Formula:
    return entry(i(0), Index(tuple(_places(i))))


def _places(i: Inputs) -> Iterator[Formula | Slice]:
    for number, place in enumerate(i.saved("indices")):
        if isinstance(place, Tensor):
            i.values[f"$i{number}"] = place
            yield Leaf(f"$i{number}")
        else:
            yield Slice()


def _joined(op: str) -> Make:
    def make(i: Inputs) -> Formula:
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


def _put(i: Inputs) -> Formula:
    if i.saved("accumulate"):
        raise RuleError("there is no rule for index_put that adds")
    return f("put", i(0), i(1), at=Index(tuple(_places(i))))


def _added(op: str, source: str = "") -> Make:
    def make(i: Inputs) -> Formula:
        if i.saved("alpha") not in (None, 1):
            raise RuleError("there is no rule for index_add with alpha")
        return f(op, i(0), Number(i.saved("dim")), i.kept("index"), i(1, source))

    return make


def _diagonal_matrix(i: Inputs) -> Formula:
    if i.saved("offset") or len(shape_of(i.node, 0)) != 2:
        raise RuleError("there is no rule for diag_embed beside the diagonal or of several rows")
    return f("diag", i(0))


def _pad(i: Inputs) -> Formula:
    return f("pad", i(0), Sequence(tuple(map(Number, i.saved("pad")))))


def _extreme(op: str) -> Make:
    def make(i: Inputs) -> Formula:
        if i.saved("dim") is None:
            return of_self(op)(i)
        dim, where = i.saved("dim"), i.saved("indices")
        if i.saved("keepdim"):
            return _taken(i, dim, where)
        return f("reshape", _taken(i, dim, where.unsqueeze(dim)), by=Call("squeeze", (Number(dim),)))

    return make


def _ordered(i: Inputs) -> Formula:
    return _taken(i, i.saved("dim"), i.saved("indices"))


def _taken(i: Inputs, dim: int, where: Tensor) -> Formula:
    """The entries that were chosen along an axis."""
    i.values["$where"] = where
    return f("gather", i(0), Number(dim), Leaf("$where"))


def _masked(i: Inputs) -> Formula:
    value = i(1) if len(i.node.next_functions) > 1 and i.node.next_functions[1][0] is not None else Number(0)
    return f("masked_fill", i(0), i.kept("mask"), value)


NODES: dict[str, Make] = {
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
    "ConstantPadNd": _pad,
    "MaskedFill": _masked,
    "Where": lambda i: f("where", i.kept("condition"), i(0), i(1)),
    "Max": _extreme("max"),
    "Min": _extreme("min"),
    "Topk": _ordered,
    "Sort": _ordered,
    "Diagonal": lambda i: f("diagonal", i(0)),
    "DiagEmbed": _diagonal_matrix,
    "ViewAsReal": lambda i: f("view_as_real", i(0)),
    "ViewAsComplex": lambda i: f("view_as_complex", i(0)),
}
