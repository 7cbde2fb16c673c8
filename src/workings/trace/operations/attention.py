"""Attention in one call, in the letters of its equations.

A = softmax(Q Kᵀ/√d)      Z = A V
∂L/∂V = Aᵀ ∂L/∂Z          ∂L/∂A = ∂L/∂Z Vᵀ
∂L/∂S = A ⊙ (∂L/∂A − rowsum(A ⊙ ∂L/∂A))
∂L/∂Q = ∂L/∂S K/√d        ∂L/∂K = (∂L/∂S)ᵀ Q/√d
"""

from __future__ import annotations

from math import inf
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from workings import equations
from workings.trace.definitions.definition import Definition, refuse
from workings.trace.formula.operation import Args, Layer, Operation, captured
from workings.trace.formula.simplify import linear, minus, over, plus, times, transposed
from workings.trace.formula.tree import Apply, Formula, Leaf, Number, Options
from workings.trace.operations.node import Gradients, Node, RuleError, f
from workings.trace.shapes.arithmetic import Size, heads


def _attention(node: Node) -> Gradients:
    Q, K, V = node.args[:3]
    if node.plain("dropout_p", 0.0):
        raise RuleError("there is no rule for attention with dropout")
    mask = node.argument("attn_mask")
    if mask is not None and node.varies(mask):
        raise RuleError("there is no rule for the mask of attention")
    scale = node.plain("scale")
    below = Apply("sqrt", (Number(node.shape(Q)[-1]),)) if scale is None else None
    S = node.matrix_product(Q, transposed(K))
    S = over(S, below) if below is not None else times(Number(scale), S)
    A = node.let("A", Apply("softmax", (_masked_scores(node, S, mask),), (("dim", -1),)))
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


def _masked_scores(node: Node, S: Formula, mask: Formula | None) -> Formula:
    """Scores a query may not look at are −∞."""
    if node.plain("is_causal", False):
        q, k = node.shape(node.args[0])[-2], node.shape(node.args[1])[-2]
        return plus(S, Apply("causal_mask", (), (("shape", (q, k)),)))
    if mask is None:
        return S
    if node.value(mask).is_floating_point():
        return plus(S, mask)
    return Apply("masked_fill", (S, Apply("not", (mask,)), Number(float("-inf"))))


def _spelled_attention(args: Args, options: Options) -> Formula | None:
    args = tuple(a for a in args if a != Number(None))
    if len(args) < 3:
        return None
    Q, K, V, *mask = args
    S: Formula = f("div", f("matmul", Q, f("transpose", K)), f("sqrt", Leaf("d")))
    named = dict(options)
    shift: Formula | None = mask[0] if mask else Leaf(str(named["attn_mask"])) if named.get("attn_mask") else None
    shift = f("causal_mask") if named.get("is_causal") in (True, "True") else shift
    S = S if shift is None else f("add", S, shift)
    return f("matmul", f("softmax", S), V)


# ---- definitions


def _define_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Definition:
    refuse(dropout_p, f"dropout_p={dropout_p} (its mask is random)")
    args = (query, key, value, attn_mask, is_causal, scale, enable_gqa)
    return Definition(equations.scaled_dot_product_attention, args)


def _define_multi_head_attention(
    m: nn.MultiheadAttention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Definition:
    refuse(m.training and m.dropout, f"dropout={m.dropout} in training (its mask is random)")
    refuse(m.bias_k is not None, "add_bias_kv=True")
    refuse(m.add_zero_attn, "add_zero_attn=True")
    refuse(query.is_nested, "nested tensors")
    output = (m.out_proj.weight, m.out_proj.bias)
    mask = _merged_mask(attn_mask, key_padding_mask, m.num_heads if query.dim() == 3 else 0)
    weights = "none" if not need_weights else "mean" if average_attn_weights else "each"
    return Definition(
        equations.multi_head_attention,
        ((query, key, value), *_projections(m), output, m.num_heads, mask, weights, m.batch_first or query.dim() == 2),
    )


def _projections(m: nn.MultiheadAttention) -> list[tuple[Any, Any]]:
    """W and b for queries, keys and values, out of the one matrix they may share."""
    W = m.in_proj_weight.chunk(3) if m.in_proj_weight is not None else (m.q_proj_weight, m.k_proj_weight, m.v_proj_weight)
    b = m.in_proj_bias.chunk(3) if m.in_proj_bias is not None else (None, None, None)
    return list(zip(W, b, strict=True))


def _merged_mask(mask: Tensor | None, padding: Tensor | None, heads: int) -> Tensor | None:
    """One mask for both, on the axes b h q k: true where a query may look, or a number to add.

    PyTorch's own masks are true where it may *not* look. `heads` is 0 where there is no batch.
    """
    if mask is not None and mask.dim() == 3 and heads:
        mask = mask.unflatten(0, (-1, heads))
    if padding is not None:
        padding = padding[..., None, None, :]
    masks = [m for m in (mask, padding) if m is not None]
    if all(m.dtype == torch.bool for m in masks):
        return None if not masks else ~masks[0] if len(masks) == 1 else ~(masks[0] | masks[1])
    added = [torch.zeros(m.shape).masked_fill(m, -inf) if m.dtype == torch.bool else m for m in masks]
    return added[0] if len(added) == 1 else added[0] + added[1]


def _define_transformer_encoder_layer(
    m: nn.TransformerEncoderLayer,
    src: Tensor,
    src_mask: Tensor | None = None,
    src_key_padding_mask: Tensor | None = None,
    is_causal: bool = False,
) -> Definition:
    rates = [m.dropout.p, m.dropout1.p, m.dropout2.p, m.self_attn.dropout]
    refuse(m.training and any(rates), f"dropout={max(rates)} in training (its mask is random)")
    return Definition(equations.transformer_encoder_layer, (src, m, src_mask, src_key_padding_mask))


ROWS = (
    captured(
        "scaled_dot_product_attention(query key value attn_mask dropout_p is_causal scale): softmax(Q Kᵀ/√d) V",
        spelled=_spelled_attention,
        gradient=_attention,
        definitions={F.scaled_dot_product_attention: _define_attention},
    ),
    Operation(
        "multi_head_attention: attention of several heads, between projections",
        others="multi_head_attention_forward",
        layers=Layer(
            classes=(nn.MultiheadAttention,),
            definition=_define_multi_head_attention,
            size=lambda m, x, y: Size(f"{m.num_heads} heads of {m.embed_dim}/{m.num_heads} = {m.head_dim}"),
            count=heads,
            arguments="embed_dim num_heads",
        ),
    ),
    Operation(
        "transformer_encoder_layer: self-attention and a feed-forward network, each with a residual sum and a layer norm",
        others="_transformer_encoder_layer_fwd",
        layers=Layer(classes=(nn.TransformerEncoderLayer,), definition=_define_transformer_encoder_layer),
    ),
)
