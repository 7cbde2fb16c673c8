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
from workings.trace.formula.arguments import argument_value
from workings.trace.formula.evaluate import evaluate
from workings.trace.formula.operation import OPERATIONS, Args, Layer, Operation, captured
from workings.trace.formula.simplify import linear, minus, over, plus, times, transposed
from workings.trace.formula.tree import Apply, Code, Formula, Leaf, Number, Options
from workings.trace.operations.node import Gradients, Node, RuleError, f
from workings.trace.shapes.arithmetic import Size, heads


def _attention(node: Node) -> Gradients:
    if node.plain("dropout_p", 0.0):
        raise RuleError("there is no rule for attention with dropout")
    return _through_attention(node, None)


def _attention_with_mask(node: Node) -> Gradients:
    """The weights that were forgotten have no gradient, the others are enlarged as they were."""
    return _through_attention(node, node.args[3])


def _through_attention(node: Node, kept: Formula | None) -> Gradients:
    Q, K, V = node.args[:3]
    mask = node.argument("attn_mask")
    if mask is not None and node.varies(mask):
        raise RuleError("there is no rule for the mask of attention")
    scale = node.plain("scale")
    below = Apply("sqrt", (Number(node.shape(Q)[-1]),)) if scale is None else None
    S = node.matrix_product(Q, transposed(K))
    S = over(S, below) if below is not None else times(Number(scale), S)
    A = node.let("A", Apply("softmax", (_masked_scores(node, S, mask),), (("dim", -1),)))
    shape = (*node.shape()[:-2], node.shape(Q)[-2], node.shape(K)[-2])
    through = node.matrix_product(node.G, transposed(V))
    to_A = node.let_gradient("A", through if kept is None else times(through, kept))
    to_S = node.let_gradient("S", times(A, minus(to_A, linear("rowsum", times(A, to_A)))))
    by = (lambda a: over(a, below)) if below is not None else (lambda a: times(Number(scale), a))
    batch, weights = shape[:-2], A if kept is None else times(A, kept)
    return (
        node.fit(lambda: by(node.matrix_product(to_S, K)), Q, (*batch, *node.shape(Q)[-2:])),
        node.fit(lambda: by(node.matrix_product(transposed(to_S), Q)), K, (*batch, *node.shape(K)[-2:])),
        node.fit(lambda: node.matrix_product(transposed(weights), node.G), V, (*batch, *node.shape(V)[-2:])),
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
    if len(args) < 3:
        return None
    given = dict(zip(("attn_mask", "dropout_p", "is_causal", "scale"), args[3:], strict=False)) | dict(options)
    return f("matmul", _spelled_weights(args[0], args[1], given), args[2])


def _spelled_with_mask(args: Args, options: Options) -> Formula | None:
    if len(args) < 4:
        return None
    Q, K, V, kept, *mask = args
    given = {"attn_mask": mask[0] if mask else None, **dict(options)}
    return f("matmul", f("mul", _spelled_weights(Q, K, given), kept), V)


def _spelled_weights(Q: Formula, K: Formula, given: dict[str, Any]) -> Formula:
    given = {key: value.value if isinstance(value, Number) else value for key, value in given.items()}
    scale, mask, S = given.get("scale"), given.get("attn_mask"), f("matmul", Q, f("transpose", K))
    if scale is None:
        S = f("div", S, f("sqrt", Leaf("d")))
    else:
        S = f("mul", scale if isinstance(scale, Formula) else Number(scale), S)
    if str(given.get("is_causal")) == "True":
        S = f("add", S, f("causal_mask"))
    elif mask is not None:
        S = f("add", S, mask if isinstance(mask, Formula) else Leaf(str(mask)))
    return f("softmax", S)


def _with_mask(Q: Tensor, K: Tensor, V: Tensor, kept: Tensor, attn_mask: Tensor | None = None, **options: Any) -> Tensor:
    return (_weights(Q, K, attn_mask=attn_mask, **options) * kept) @ V


def _weights(Q: Tensor, K: Tensor, **options: Any) -> Tensor:
    """A of Z = A V: attention to the rows of the identity."""
    I = torch.eye(K.shape[-2], dtype=K.dtype).expand(*K.shape[:-1], -1)
    return F.scaled_dot_product_attention(Q, K, I, **options)


def _value(part: Any, values: dict[str, Any]) -> Any:
    return (
        argument_value(part, values)
        if isinstance(part, Code)
        else evaluate(part, values)
        if isinstance(part, Formula)
        else part
    )


def with_dropout_mask(
    formula: Apply, name: str, values: dict[str, Any], random_state: Tensor
) -> tuple[Formula, Tensor] | None:
    """The formula of an attention that forgot some of its weights, and which: 0 at those, 1/(1 − p) at the others.

    The same random numbers are drawn again, for values that show the weights themselves. None where nothing was forgotten.
    """
    row = OPERATIONS["scaled_dot_product_attention"]
    given = dict(zip(row.parameters, formula.args, strict=False)) | dict(formula.options)
    known = {key: _value(part, values) for key, part in given.items()}
    rate = known.pop("dropout_p", 0.0)
    if not rate:
        return None
    Q, K, _ = (known.pop(key) for key in row.parameters[:3])
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.set_rng_state(random_state)
        seen = _weights(Q, K, dropout_p=rate, **known)
    kept = torch.where(seen == 0, 0.0, 1 / (1 - rate)).to(seen.dtype)
    mask = given.pop("attn_mask", Number(None))
    masks = (mask,) if isinstance(mask, Formula) and mask != Number(None) else ()
    options = tuple((key, value) for key, value in given.items() if key in ("is_causal", "scale"))
    return Apply("attention_with_dropout", (*formula.args[:3], Leaf(name), *masks), options), kept


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
        "scaled_dot_product_attention(query key value attn_mask? dropout_p is_causal scale): softmax(Q Kᵀ/√d) V",
        spelled=_spelled_attention,
        gradient=_attention,
        definitions={F.scaled_dot_product_attention: _define_attention},
    ),
    Operation(
        "attention_with_dropout(query key value kept attn_mask? is_causal scale): (softmax(Q Kᵀ/√d) ⊙ m) V; m is 0 at the "
        "weights that were forgotten, 1/(1 − p) at the others",
        compute=_with_mask,
        spelled=_spelled_with_mask,
        gradient=_attention_with_mask,
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
