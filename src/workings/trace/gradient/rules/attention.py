"""The rule of differentiation for attention in one call, in the letters of its equations.

A = softmax(Q Kᵀ/√d)      Z = A V
∂L/∂V = Aᵀ ∂L/∂Z          ∂L/∂A = ∂L/∂Z Vᵀ
∂L/∂S = A ⊙ (∂L/∂A − rowsum(A ⊙ ∂L/∂A))
∂L/∂Q = ∂L/∂S K/√d        ∂L/∂K = (∂L/∂S)ᵀ Q/√d
"""

from __future__ import annotations

from workings.trace.formula.simplify import linear, minus, over, plus, times, transposed
from workings.trace.formula.tree import Apply, Formula, Number
from workings.trace.gradient.rules.node import Node, Rule, RuleError


def _attention(node: Node) -> tuple[Formula | None, ...]:
    Q, K, V = node.args[:3]
    if node.plain("dropout_p", 0.0):
        raise RuleError("there is no rule for attention with dropout")
    mask = node.given("attn_mask")
    if mask is not None and node.varies(mask):
        raise RuleError("there is no rule for the mask of attention")
    scale = node.plain("scale")
    below = Apply("sqrt", (Number(node.shape(Q)[-1]),)) if scale is None else None
    S = node.matrix_product(Q, transposed(K))
    S = over(S, below) if below is not None else times(Number(scale), S)
    A = node.let("A", Apply("softmax", (_masked(node, S, mask),), (("dim", -1),)))
    shape = (*node.shape()[:-2], node.shape(Q)[-2], node.shape(K)[-2])
    to_A = node.let_gradient("A", node.matrix_product(node.G, transposed(V)))
    to_S = node.let_gradient("S", times(A, minus(to_A, linear("rowsum", times(A, to_A)))))
    by = (lambda a: over(a, below)) if below is not None else (lambda a: times(Number(scale), a))
    batch = shape[:-2]
    return (
        node.fit(lambda: by(node.matrix_product(to_S, K)), Q, (*batch, *node.shape(Q)[-2:])),
        node.fit(lambda: by(node.matrix_product(transposed(to_S), Q)), K, (*batch, *node.shape(K)[-2:])),
        node.fit(lambda: node.matrix_product(transposed(A), node.G), V, (*batch, *node.shape(V)[-2:])),
        *(None for _ in node.args[3:]),
    )


def _masked(node: Node, S: Formula, mask: Formula | None) -> Formula:
    """Scores a query may not look at are −∞."""
    if node.plain("is_causal", False):
        q, k = node.shape(node.args[0])[-2], node.shape(node.args[1])[-2]
        return plus(S, Apply("causal_mask", (), (("shape", (q, k)),)))
    if mask is None:
        return S
    if node.value(mask).is_floating_point():
        return plus(S, mask)
    return Apply("masked_fill", (S, Apply("not", (mask,)), Number(float("-inf"))))


RULES: dict[str, Rule] = {"scaled_dot_product_attention": _attention}
