"""Rules of differentiation for matrix products and for moving entries about.

Z = A V        ∂L/∂A = ∂L/∂Z Vᵀ     ∂L/∂V = Aᵀ ∂L/∂Z
y = x Wᵀ + b   ∂L/∂x = ∂L/∂y W      ∂L/∂W = (∂L/∂y)ᵀ x     ∂L/∂b = Σ ∂L/∂y
"""

from __future__ import annotations

import torch

from workings.trace.forms import linear, over, times, transposed
from workings.trace.formula import Apply, Formula, Sequence
from workings.trace.places import method_name, read_call
from workings.trace.pullback import Node, Rule, RuleError, Shape, axes, unbroadcast

SAME_ORDER = frozenset("view reshape flatten unflatten squeeze unsqueeze view_as reshape_as ravel".split())
UNCHANGED = frozenset("contiguous clone to float double".split())
PERMUTED = frozenset("permute transpose swapaxes swapdims movedim moveaxis t".split())
REPEATED = frozenset("expand expand_as broadcast_to".split())


def _column(G: Formula) -> Formula:
    return linear("unsqueeze", G, dim=(-1,))


def _matmul(node: Node) -> tuple[Formula | None, ...]:
    a, b = node.args
    p, q = len(node.shape(a)), len(node.shape(b))
    if p == 1 and q == 1:
        return node.scaled(b, b) if node.varies(a) else None, node.scaled(a, a) if node.varies(b) else None
    if q == 1:
        return _times_vector(node, a, b)
    if p == 1:
        return _vector_times(node, a, b)
    batch = node.shape()[:-2]
    return (
        node.fit(lambda: node.matrix_product(node.G, transposed(b)), a, (*batch, *node.shape(a)[-2:])),
        node.fit(lambda: node.matrix_product(transposed(a), node.G), b, (*batch, *node.shape(b)[-2:])),
    )


def _times_vector(node: Node, a: Formula, b: Formula) -> tuple[Formula | None, ...]:
    shape = node.shape(a)
    to_a = times(_column(node.G), b) if node.varies(a) else None
    if not node.varies(b):
        return to_a, None
    if len(shape) == 2:
        return to_a, node.matrix_product(transposed(a), node.G)
    return to_a, unbroadcast(times(_column(node.G), a), shape, node.shape(b))


def _vector_times(node: Node, a: Formula, b: Formula) -> tuple[Formula | None, ...]:
    if len(node.shape(b)) > 2:
        raise RuleError("there is no rule for the product of a vector and a stack of matrices")
    to_a = node.matrix_product(node.G, transposed(b)) if node.varies(a) else None
    return to_a, times(_column(a), node.G) if node.varies(b) else None


def _transpose(node: Node) -> tuple[Formula | None, ...]:
    top, bottom = node.divisor(node.G)
    return (over(transposed(top), bottom),)


def _linear(node: Node) -> tuple[Formula | None, ...]:
    x, W, *b = node.args
    to_x = node.matrix_product(node.G, W) if node.varies(x) else None
    to_b = [node.fit(lambda: node.G, bias) for bias in b]
    if len(node.shape(x)) == 1:
        return to_x, times(_column(node.G), x) if node.varies(W) else None, *to_b
    shape = (*node.shape()[:-2], *node.shape(W))
    return to_x, node.fit(lambda: node.matrix_product(transposed(node.G), x), W, shape), *to_b


def _embedding(node: Node) -> tuple[Formula | None, ...]:
    x, W = node.args
    if any(value is not None and value is not False for value in node.options.values()):
        raise RuleError("there is no rule for embedding with options")
    return None, linear_rows(node.G, x, node.shape(W)[0])


def linear_rows(G: Formula, x: Formula, rows: int) -> Formula:
    """The rows of G added into rows of zeros, at the indices x."""
    return Apply("scatter_rows", (G, x), (("rows", rows),))


def _cat(node: Node) -> tuple[Formula | None, ...]:
    items, dim = _items(node), axes(node.options.get("dim", 0), len(node.shape()))[0]
    start, parts = 0, []
    for item in items:
        stop = start + node.shape(item)[dim]
        parts.append(_at(node.G, dim, f"{start}:{stop}"))
        start = stop
    return (Sequence(tuple(parts)),)


def _stack(node: Node) -> tuple[Formula | None, ...]:
    dim = axes(node.options.get("dim", 0), len(node.shape()))[0]
    return (Sequence(tuple(_at(node.G, dim, str(i)) for i in range(len(_items(node))))),)


def _items(node: Node) -> tuple[Formula, ...]:
    if not isinstance(node.args[0], Sequence):
        raise RuleError(f"there is no rule for {node.formula.op} of a list that is not written out")
    return node.args[0].items


def _at(G: Formula, dim: int, place: str) -> Formula:
    return linear("index", G, text=", ".join([":"] * dim + [place]))


def _index(node: Node) -> tuple[Formula | None, ...]:
    return (linear("scatter", node.G, text=node.options["text"], shape=node.shape(node.args[0])),)


def _reshape(node: Node) -> tuple[Formula | None, ...]:
    shape, text = node.shape(node.args[0]), node.options["text"]
    method = method_name(text)
    if method == "detach":
        return (None,)
    if method in UNCHANGED:
        return (node.G,)
    if method in SAME_ORDER:
        return (linear("reshape", node.G, text=f"reshape({', '.join(map(str, shape)) or '()'})"),)
    if method in PERMUTED:
        back = _inverse(*read_call(text, node.context.operands), shape)
        return (linear("reshape", node.G, text=f"permute({', '.join(map(str, back))})"),)
    if method in REPEATED:
        return (node.fit(lambda: node.G, node.args[0]),)
    raise RuleError(f"there is no rule for {method}")


def _inverse(method: str, args: list[object], options: dict[str, object], shape: Shape) -> list[int]:
    """The permutation that undoes a method which permutes axes: read off the strides of an example."""
    strides = torch.empty([2] * len(shape)).stride()
    moved = getattr(torch.empty([2] * len(shape)), method)(*args, **options).stride()
    return [moved.index(stride) for stride in strides]


RULES: dict[str, Rule] = {
    "matmul": _matmul,
    "transpose": _transpose,
    "linear": _linear,
    "embedding": _embedding,
    "cat": _cat,
    "stack": _stack,
    "index": _index,
    "reshape": _reshape,
}
