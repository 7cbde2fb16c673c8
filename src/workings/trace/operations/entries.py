"""Entries by their places: parts side by side, indices, sorted entries. The gradient goes back where each entry came from.

a, b = chunk(x)   ∂L/∂x = cat(∂L/∂a, ∂L/∂b)
y = cat(a, b)     ∂L/∂a = the part of ∂L/∂y        y = sort(x)     ∂L/∂x = ∂L/∂y put back where the entries stood
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from workings import equations
from workings.trace.definitions.definition import Definition, refuse
from workings.trace.formula import notation
from workings.trace.formula.arguments import index_value
from workings.trace.formula.operation import EVERY, Args, Cells, Index, Layer, Operation, called, captured
from workings.trace.formula.simplify import ZERO, linear
from workings.trace.formula.tree import Apply, Call, Formula, Leaf, Number, Options, Sequence, Slice, entry
from workings.trace.formula.tree import Index as At
from workings.trace.operations.node import Gradients, Node, Rule, RuleError, axes, f, unbroadcast
from workings.trace.shapes import explain_entries, explain_layers, explain_tensors
from workings.trace.shapes.arithmetic import Size

# ---- parts side by side


def _cat(node: Node) -> Gradients:
    items, dim = _items(node), axes(node.options.get("dim", 0), len(node.shape()))[0]
    start, parts = 0, []
    for item in items:
        stop = start + node.shape(item)[dim]
        parts.append(_at(node.G, dim, Slice(Number(start), Number(stop))))
        start = stop
    return node.to_first(Sequence(tuple(parts)))


def _stack(node: Node) -> Gradients:
    dim = axes(node.options.get("dim", 0), len(node.shape()))[0]
    return node.to_first(Sequence(tuple(_at(node.G, dim, Number(i)) for i in range(len(_items(node))))))


def _items(node: Node) -> tuple[Formula, ...]:
    if not isinstance(node.args[0], Sequence):
        raise RuleError(f"there is no rule for {node.formula.op} of a list that is not written out")
    return node.args[0].items


def _at(G: Formula, dim: int, place: Number | Slice) -> Formula:
    return linear("index", G, at=At((*[Slice()] * dim, place)))


def _join(op: str) -> Rule:
    """chunk and split are undone by cat, unbind by stack."""

    def rule(node: Node) -> Gradients:
        if not isinstance(node.G, Sequence):
            raise RuleError(f"there is no rule for {node.formula.op} whose parts have no names")
        dim = node.plain("dim", 0)
        return node.to_first(Apply(op, (node.G,), (("dim", dim),)))

    return rule


# ---- entries at places


def _index(node: Node) -> Gradients:
    a, at = node.args[0], node.options["at"]
    whole = node.value(a)
    if isinstance(whole, (tuple, list)):
        return (_some_of(node, whole, index_value(at, node.context.operands)),)
    return (linear("scatter", node.G, at=at, shape=node.shape(a)),)


def _some_of(node: Node, parts: tuple[Tensor, ...] | list[Tensor], place: int | slice) -> Sequence:
    """The gradient of one part or several; the others have none."""
    items: list[Formula] = [Apply("zeros", (), (("shape", tuple(part.shape)),)) for part in parts]
    if isinstance(place, slice):
        assert isinstance(node.G, Sequence), "several parts have several gradients"
        items[place] = node.G.items
    else:
        items[place] = node.G
    return Sequence(tuple(items))


def _put(node: Node) -> Gradients:
    """y#2 = y with v at [i]: what stood there has no influence any more."""
    y, v = node.args
    at = node.options["at"]
    place = entry(y, at)
    everything = node.shape(place) == node.shape(y) and at.parts in ((Number(...),), (Slice(),))
    rest = (
        Apply("zeros", (), (("shape", node.shape(y)),)) if everything else Apply("put", (node.G, ZERO), node.formula.options)
    )
    part = node.G if everything else linear("index", node.G, at=at)
    return (
        rest if node.varies(y) else None,
        unbroadcast(part, node.shape(place), node.shape(v)) if node.varies(v) else None,
    )


def _gather(node: Node) -> Gradients:
    x, index = node.args[0], node.argument("index")
    assert index is not None
    back = Apply("scatter_add", (node.G, index), (("dim", node.plain("dim")), ("shape", node.shape(x))))
    return node.to_first(back)


def _index_select(node: Node) -> Gradients:
    x, index = node.args[0], node.argument("index")
    assert index is not None
    dim = axes(node.plain("dim"), len(node.shape(x)))[0]
    if not dim and len(node.shape(x)) == 2:
        return node.to_first(Apply("scatter_rows", (node.G, index), (("rows", node.shape(x)[0]),)))
    if not isinstance(index, Leaf):
        raise RuleError("there is no rule for index_select at places that have no name")
    return node.to_first(linear("scatter", node.G, at=At((*[Slice()] * dim, index)), shape=node.shape(x)))


def _add_at(node: Node) -> Gradients:
    """y = x with the entries of v added at the places: ∂L/∂v is ∂L/∂y at these."""
    x, dim, index, v = node.args[:4]
    if node.shape(index) != node.shape(v):
        raise RuleError("there is no rule for scatter_add of more entries than indices")
    return node.fit(lambda: node.G, x), None, None, Apply("gather", (node.G, dim, index)) if node.varies(v) else None


def _add_slices(node: Node) -> Gradients:
    x, dim, index, v = node.args[:4]
    part = Apply("index_select", (node.G, dim, index))
    return node.fit(lambda: node.G, x), None, None, part if node.varies(v) else None


def _embedding(node: Node) -> Gradients:
    x, W = node.args[:2]
    odd = [n for n in ("padding_idx", "max_norm", "scale_grad_by_freq", "sparse") if node.plain(n, False) is not False]
    if odd:
        raise RuleError(f"there is no rule for embedding with {', '.join(odd)}")
    back = Apply("scatter_rows", (node.G, x), (("rows", node.shape(W)[0]),))
    return None, back, *(None for _ in node.args[2:])


# ---- order and copies


def _sort(node: Node) -> Gradients:
    x = node.args[0]
    dim, down = node.plain("dim", -1), bool(node.plain("descending", False))
    order = Apply("order", (x,), (("dim", dim), *((("descending", True),) if down else ())))
    return node.to_first(_unsort(node, order, dim))


def _topk(node: Node) -> Gradients:
    dim, largest = node.plain("dim", -1), bool(node.plain("largest", True))
    order = Apply("order", (node.args[0],), (("dim", dim), ("descending", largest), ("k", node.plain("k"))))
    return node.to_first(_unsort(node, order, dim))


def _unsort(node: Node, order: Formula, dim: int) -> Formula:
    where = node.let("ρ", order)
    return Apply("unsort", (node.G, where), (("dim", dim), ("shape", node.shape(node.args[0]))))


# ---- values


def _put_value(operands: Mapping[str, Any], a: Tensor, b: Any, *, at: At) -> Tensor:
    found = a.clone()
    found[index_value(at, operands)] = b
    return found


def _index_value(operands: Mapping[str, Any], a: Any, *, at: At) -> Any:
    return a[index_value(at, operands)]


def _first_of(name: str) -> Callable[..., Tensor]:
    """A function that returns values and where they stood: the values."""
    return lambda a, *args, **options: getattr(torch, name)(a, *args, **options)[0]


# ---- by simpler operations


def _as_gather(args: Args, options: Options) -> Formula:
    """take_along_dim(x, index, dim) is gather(x, dim, index); without dim it is of x in one row"""
    given = dict(options) | dict(zip(("indices", "dim"), args[1:], strict=False))
    if "dim" not in given or not isinstance(index := given.get("indices"), Formula):
        return Call("take_along_dim", args, options)
    dim = given["dim"]
    return Apply("gather", (args[0], dim if isinstance(dim, Formula) else Number(dim), index))


def _everywhere(args: Args, options: Options) -> Formula:
    return f("put", args[0], args[1] if len(args) > 1 else Number(0), at=At((Number(...),)))


# ---- an embedding


def _define_embedding(
    input: Tensor, weight: Tensor, padding_idx: Any = None, max_norm: Any = None, *others: Any, **options: Any
) -> Definition:
    refuse(max_norm is not None, f"max_norm={max_norm} (the rows of the table are rescaled in place)")
    return Definition(equations.embedding, (input, weight))


# ---- which cells a cell needs


def _embedding_reach(formula: Apply, index: Index, operands: Mapping[str, Any]) -> Cells | None:
    own: Cells = [index[:-1], (EVERY, index[-1])]
    return own if index and len(formula.args) == 2 else None


def _index_reach(formula: Apply, index: Index, operands: Mapping[str, Any]) -> Cells | None:
    """x[0, :]: numbers and whole axes, as they are written."""
    rest, found = list(index), list[Any]()
    for part in dict(formula.options)["at"].parts:
        if isinstance(part, Number) and type(part.value) is int:
            found.append(part.value)
        elif part == Slice() and rest:
            found.append(rest.pop(0))
        else:
            return None
    return [(*found, *rest)]


ROWS = (
    captured(
        "cat(tensors | dim): concatenation of the items of a Sequence along option dim",
        also="concat concatenate",
        gradient=_cat,
        moves=True,
        misfit=explain_tensors.cat,
    ),
    captured(
        "stack(tensors | dim): stack of the items of a Sequence along option dim",
        gradient=_stack,
        moves=True,
        misfit=explain_tensors.stack,
    ),
    called("chunk(input chunks dim): a in so many parts along option dim", gradient=_join("cat"), moves=True, gives="parts"),
    called(
        "split(input split_size_or_sections dim): a in parts of such sizes along option dim",
        gradient=_join("cat"),
        moves=True,
        gives="parts",
    ),
    called("unbind(input dim): the slices of a along option dim", gradient=_join("stack"), moves=True, gives="parts"),
    Operation(
        "index: a[option text]",
        operator="getitem",
        gradient=_index,
        moves=True,
        reach=_index_reach,
        misfit=explain_entries.index_entries,
        compute_in_scope=_index_value,
    ),
    Operation("entry: a[b]: how rows of a table are written", notation=notation.entry),
    Operation(
        "put: a with b in place of its entries at [option text]",
        operator="setitem",
        notation=notation.put,
        gradient=_put,
        linear=True,
        compute_in_scope=_put_value,
    ),
    called("copy: b in place of all entries of a", means=_everywhere),
    called("fill: a number in place of all entries of a", means=_everywhere),
    called("zero: 0 in place of all entries of a", means=lambda a, o: _everywhere(a[:1], o)),
    called(
        "gather(input dim index): the entries of a at the indices b along option dim",
        gradient=_gather,
        moves=True,
        misfit=explain_entries.gather,
    ),
    Operation(
        "add_at(input dim index src): a with the entries of d added at the indices c along option dim",
        calls="scatter_add",
        compute=torch.scatter_add,
        gradient=_add_at,
        linear=True,
    ),
    Operation(
        "add_slices(input dim index source): a with the slices of d added at the indices c along option dim",
        calls="index_add",
        compute=torch.index_add,
        gradient=_add_slices,
        linear=True,
    ),
    called("take_along_dim: the entries of a at the indices b", means=_as_gather),
    called(
        "index_select(input dim index): the slices of a at the indices b along option dim",
        gradient=_index_select,
        moves=True,
        misfit=explain_entries.gather,
    ),
    captured(
        "embedding(input weight | padding_idx max_norm norm_type scale_grad_by_freq sparse): rows of W at the indices x",
        spelled=lambda a, o: None if len(a) != 2 else f("entry", a[1], a[0]),
        gradient=_embedding,
        reach=_embedding_reach,
        definitions={F.embedding: _define_embedding},
        layers=Layer(
            classes=(nn.Embedding,),
            parameters="weight",
            options="padding_idx max_norm scale_grad_by_freq sparse",
            misfit=explain_layers.embedding_layer,
            size=lambda m, x, y: Size(f"each index → {m.embedding_dim} numbers"),
            arguments="num_embeddings embedding_dim",
        ),
    ),
    called(
        "sort(input dim descending stable): the entries of a in order along option dim",
        gives="pair",
        compute=_first_of("sort"),
        gradient=_sort,
    ),
    called(
        "topk(input k dim largest sorted): the k largest entries of a along option dim",
        gives="pair",
        compute=_first_of("topk"),
        gradient=_topk,
    ),
)
