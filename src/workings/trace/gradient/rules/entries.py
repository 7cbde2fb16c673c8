"""Rules of differentiation for moving entries about: the gradient goes back where each entry came from.

a, b = chunk(x)   ∂L/∂x = cat(∂L/∂a, ∂L/∂b)        y = cumsum(x)   ∂L/∂x = the sums of ∂L/∂y from each entry to the last
y = cat(a, b)     ∂L/∂a = the part of ∂L/∂y        y = sort(x)     ∂L/∂x = ∂L/∂y put back where the entries stood
"""

from __future__ import annotations

import torch
from torch import Tensor

from workings.trace.formula.arguments import call_values, index_value
from workings.trace.formula.simplify import ZERO, linear, over, times
from workings.trace.formula.tree import Apply, Call, Formula, Index, Number, Sequence, Slice, entry
from workings.trace.gradient.rules.node import Node, Rule, RuleError, Shape, axes, unbroadcast

SAME_ORDER = frozenset("view reshape flatten unflatten squeeze unsqueeze view_as reshape_as ravel".split())
UNCHANGED = frozenset("contiguous clone to float double half bfloat16 type type_as cpu".split())
PERMUTED = frozenset("permute transpose swapaxes swapdims movedim moveaxis t".split())
REPEATED = frozenset("expand expand_as broadcast_to".split())


# ---- parts side by side


def _cat(node: Node) -> tuple[Formula | None, ...]:
    items, dim = _items(node), axes(node.options.get("dim", 0), len(node.shape()))[0]
    start, parts = 0, []
    for item in items:
        stop = start + node.shape(item)[dim]
        parts.append(_at(node.G, dim, Slice(Number(start), Number(stop))))
        start = stop
    return (Sequence(tuple(parts)), *(None for _ in node.args[1:]))


def _stack(node: Node) -> tuple[Formula | None, ...]:
    dim = axes(node.options.get("dim", 0), len(node.shape()))[0]
    return (
        Sequence(tuple(_at(node.G, dim, Number(i)) for i in range(len(_items(node))))),
        *(None for _ in node.args[1:]),
    )


def _items(node: Node) -> tuple[Formula, ...]:
    if not isinstance(node.args[0], Sequence):
        raise RuleError(f"there is no rule for {node.formula.op} of a list that is not written out")
    return node.args[0].items


def _at(G: Formula, dim: int, place: Number | Slice) -> Formula:
    return linear("index", G, at=Index((*[Slice()] * dim, place)))


def _joined(op: str) -> Rule:
    """chunk and split are undone by cat, unbind by stack."""

    def rule(node: Node) -> tuple[Formula | None, ...]:
        if not isinstance(node.G, Sequence):
            raise RuleError(f"there is no rule for {node.formula.op} whose parts have no names")
        dim = node.plain("dim", 0)
        return (Apply(op, (node.G,), (("dim", dim),)), *(None for _ in node.args[1:]))

    return rule


# ---- entries at places


def _index(node: Node) -> tuple[Formula | None, ...]:
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


def _put(node: Node) -> tuple[Formula | None, ...]:
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


def _gather(node: Node) -> tuple[Formula | None, ...]:
    x, index = node.args[0], node.given("index")
    assert index is not None
    back = Apply("scatter_add", (node.G, index), (("dim", node.plain("dim")), ("shape", node.shape(x))))
    return back, *(None for _ in node.args[1:])


def _index_select(node: Node) -> tuple[Formula | None, ...]:
    x, index = node.args[0], node.given("index")
    assert index is not None
    dim = axes(node.plain("dim"), len(node.shape(x)))[0]
    if dim:
        raise RuleError("there is no rule for index_select along another axis than the first")
    back = Apply("scatter_rows", (node.G, index), (("rows", node.shape(x)[0]),))
    return back, *(None for _ in node.args[1:])


def _embedding(node: Node) -> tuple[Formula | None, ...]:
    x, W = node.args[:2]
    odd = [n for n in ("padding_idx", "max_norm", "scale_grad_by_freq", "sparse") if node.plain(n, False) is not False]
    if odd:
        raise RuleError(f"there is no rule for embedding with {', '.join(odd)}")
    back = Apply("scatter_rows", (node.G, x), (("rows", node.shape(W)[0]),))
    return None, back, *(None for _ in node.args[2:])


# ---- order and copies


def _sort(node: Node) -> tuple[Formula | None, ...]:
    x = node.args[0]
    dim, down = node.plain("dim", -1), bool(node.plain("descending", False))
    order = Apply("order", (x,), (("dim", dim), *((("descending", True),) if down else ())))
    return (_unsorted(node, order, dim), *(None for _ in node.args[1:]))


def _topk(node: Node) -> tuple[Formula | None, ...]:
    dim, largest = node.plain("dim", -1), bool(node.plain("largest", True))
    order = Apply("order", (node.args[0],), (("dim", dim), ("descending", largest), ("k", node.plain("k"))))
    return (_unsorted(node, order, dim), *(None for _ in node.args[1:]))


def _unsorted(node: Node, order: Formula, dim: int) -> Formula:
    where = node.let("π", order)
    return Apply("unsort", (node.G, where), (("dim", dim), ("shape", node.shape(node.args[0]))))


def _cumsum(node: Node) -> tuple[Formula | None, ...]:
    return linear("reversed_cumsum", node.G, dim=node.plain("dim")), *(None for _ in node.args[1:])


def _cumprod(node: Node) -> tuple[Formula | None, ...]:
    x = node.args[0]
    if bool((node.value(x) == 0).any()):
        raise RuleError("there is no rule for cumprod where a factor is 0")
    back = over(linear("reversed_cumsum", node.scaled(node.Y, node.formula), dim=node.plain("dim")), x)
    return back, *(None for _ in node.args[1:])


def _again(node: Node) -> tuple[Formula | None, ...]:
    """flip, tril and triu: the gradient goes the same way."""
    return (Apply(node.formula.op, (node.G, *node.args[1:]), node.formula.options), *(None for _ in node.args[1:]))


def _roll(node: Node) -> tuple[Formula | None, ...]:
    shifts = node.plain("shifts")
    back: Formula = Number(-shifts) if isinstance(shifts, int) else Sequence(tuple(Number(-s) for s in shifts))
    options = tuple((k, v) for k, v in node.formula.options if k != "shifts")
    return (Apply("roll", (node.G, back, *node.args[2:]), options), *(None for _ in node.args[1:]))


def _repeat(node: Node) -> tuple[Formula | None, ...]:
    return linear("sum_copies", node.G, shape=node.shape(node.args[0])), *(None for _ in node.args[1:])


def _pad(node: Node) -> tuple[Formula | None, ...]:
    x, widths = node.args[0], node.plain("pad")
    if node.plain("mode", "constant") != "constant" or any(width < 0 for width in widths):
        raise RuleError("there is no rule for pad that repeats entries or takes some away")
    shape = node.shape(x)
    ends = list(zip(widths[::2], widths[1::2], strict=True))[::-1]
    lead = len(shape) - len(ends)
    places = [Slice(Number(a), Number(a + n)) for (a, _), n in zip(ends, shape[lead:], strict=True)]
    return (linear("index", node.G, at=Index((*[Slice()] * lead, *places))), *(None for _ in node.args[1:]))


def _trace(node: Node) -> tuple[Formula | None, ...]:
    return (times(node.G, Apply("identity", (), (("size", node.shape(node.args[0])[0]),))),)


def _diagonal(node: Node) -> tuple[Formula | None, ...]:
    """y = diag(a): the gradient stands on the diagonal."""
    (a, *more), n = node.args, node.shape()[0]
    if more or node.options or node.shape(a) != (n, n):
        raise RuleError("there is no rule for diagonal of anything but a square matrix")
    return (times(Apply("identity", (), (("size", n),)), linear("unsqueeze", node.G, dim=(1,))),)


def _reshape(node: Node) -> tuple[Formula | None, ...]:
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


RULES: dict[str, Rule] = {
    "cat": _cat,
    "stack": _stack,
    "chunk": _joined("cat"),
    "split": _joined("cat"),
    "unbind": _joined("stack"),
    "index": _index,
    "put": _put,
    "gather": _gather,
    "index_select": _index_select,
    "embedding": _embedding,
    "sort": _sort,
    "topk": _topk,
    "cumsum": _cumsum,
    "cumprod": _cumprod,
    **dict.fromkeys(("flip", "tril", "triu"), _again),
    "roll": _roll,
    "repeat": _repeat,
    "pad": _pad,
    "trace": _trace,
    "diagonal": _diagonal,
    "reshape": _reshape,
}
