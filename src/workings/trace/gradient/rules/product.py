"""Rules of differentiation for matrix products.

Z = A V        ∂L/∂A = ∂L/∂Z Vᵀ     ∂L/∂V = Aᵀ ∂L/∂Z
y = x Wᵀ + b   ∂L/∂x = ∂L/∂y W      ∂L/∂W = (∂L/∂y)ᵀ x     ∂L/∂b = Σ ∂L/∂y
y = A b        ∂L/∂A = ∂L/∂y bᵀ     ∂L/∂b = Aᵀ ∂L/∂y       b, y vectors
"""

from __future__ import annotations

from workings.trace.formula.simplify import linear, over, split, times, transposed
from workings.trace.formula.tree import Apply, Formula, Number
from workings.trace.gradient.rules.node import Node, Rule, RuleError, unbroadcast


def _column(G: Formula) -> Formula:
    return linear("unsqueeze", G, dim=(-1,))


def _outer(a: Formula, b: Formula) -> Formula:
    """a bᵀ"""
    (p, x), (q, y) = split(a), split(b)
    assert x is not None and y is not None, "a vector is no number"
    return times(over(Number(p.numerator * q.numerator), Number(p.denominator * q.denominator)), Apply("outer", (x, y)))


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
    to_a = None
    if node.varies(a):
        to_a = _outer(node.G, b) if len(shape) == 2 else times(_column(node.G), b)
    if not node.varies(b):
        return to_a, None
    if len(shape) == 2:
        return to_a, node.matrix_product(transposed(a), node.G)
    return to_a, unbroadcast(times(_column(node.G), a), shape, node.shape(b))


def _vector_times(node: Node, a: Formula, b: Formula) -> tuple[Formula | None, ...]:
    if len(node.shape(b)) > 2:
        raise RuleError("there is no rule for the product of a vector and a stack of matrices")
    to_a = node.matrix_product(node.G, transposed(b)) if node.varies(a) else None
    return to_a, _outer(a, node.G) if node.varies(b) else None


def _transpose(node: Node) -> tuple[Formula | None, ...]:
    top, bottom = node.divisor(node.G)
    return (over(transposed(top), bottom),)


def _linear(node: Node) -> tuple[Formula | None, ...]:
    x, W, *b = node.args
    to_x = node.matrix_product(node.G, W) if node.varies(x) else None
    to_b = [node.fit(lambda: node.G, bias) for bias in b]
    if len(node.shape(x)) == 1:
        return to_x, _outer(node.G, x) if node.varies(W) else None, *to_b
    shape = (*node.shape()[:-2], *node.shape(W))
    return to_x, node.fit(lambda: node.matrix_product(transposed(node.G), x), W, shape), *to_b


def _outer_product(node: Node) -> tuple[Formula | None, ...]:
    """y = a bᵀ"""
    a, b = node.args
    if len(node.shape(a)) != 1 or len(node.shape(b)) != 1:
        raise RuleError("there is no rule for the outer product of stacks of vectors")
    return node.matrix_product(node.G, b), node.matrix_product(transposed(node.G), a)


def _einsum(node: Node) -> tuple[Formula | None, ...]:
    """The letters of the result change places with those of the operand."""
    text = str(node.options["text"])
    inputs, arrow, output = text.partition("->")
    letters = inputs.split(",")
    if not arrow or "." in text or any(len(set(part)) != len(part) for part in letters) or len(letters) != len(node.args):
        raise RuleError(f"there is no rule for einsum with '{text}'")
    found: list[Formula | None] = []
    for i, own in enumerate(letters):
        others = [part for j, part in enumerate(letters) if j != i]
        if not node.varies(node.args[i]):
            found.append(None)
            continue
        if set(own) - set(output).union(*others):
            raise RuleError(f"there is no rule for einsum with '{text}': a letter is summed within one operand")
        equation = ",".join([output, *others]) + "->" + own
        rest = [arg for j, arg in enumerate(node.args) if j != i]
        found.append(Apply("einsum", (node.G, *rest), (("text", equation),)))
    return tuple(found)


RULES: dict[str, Rule] = {
    "matmul": _matmul,
    "transpose": _transpose,
    "linear": _linear,
    "outer": _outer_product,
    "einsum": _einsum,
}
