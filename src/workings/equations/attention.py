r"""Attention (Vaswani et al. 2017, §3).

    S = Q Kᵀ / √d                    scores
    A = softmax(S)                   weights, each row sums to 1
    O = A V                          output

    Q = X W_qᵀ + b_q,  K = …,  V = …      several heads: projections, split into heads of width d
    Y = O W_oᵀ + b_o                      the heads side by side, projected

Axes: b batch, h heads, q queries, k keys, d width of a key, v width of a value, e width of the model.
"""

from __future__ import annotations

from math import inf, sqrt

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

Tokens = Float[Tensor, "..."]
Weights = Float[Tensor, "..."]
Mask = Bool[Tensor, "..."] | Float[Tensor, "..."]
Head = tuple[Float[Tensor, "e w"], Float[Tensor, " e"] | None]
"""A projection: its weight and bias."""


def scaled_dot_product_attention(
    Q: Float[Tensor, "*b q d"],
    K: Float[Tensor, "*c k d"],
    V: Float[Tensor, "*c k v"],
    mask: Mask | None = None,
    causal: bool = False,
    scale: float | None = None,
    grouped: bool = False,
) -> Float[Tensor, "*b q v"]:
    r"""Average the rows of `V`, each weighted by how well its key matches the query.

    $$O = \operatorname{softmax}\left(\frac{Q K^\top}{\sqrt{d}}\right) V$$

    `mask[i, j]` is true where query `i` may look at key `j`, or a number to add to the score. With `causal`, query `i`
    looks at keys 0 … i. With `grouped`, each head of `K` and `V` serves a group of heads of `Q`.
    """
    if grouped:
        K, V = shared_heads(K, Q), shared_heads(V, Q)
    d = Q.shape[-1]
    S = Q @ K.mT / sqrt(d) if scale is None else Q @ K.mT * scale
    if causal:
        mask = torch.ones(S.shape[-2:], dtype=torch.bool).tril()
    if mask is not None:
        S = masked(S, mask)
    A = S.softmax(dim=-1) if mask is None else masked_softmax(S)
    O = A @ V
    return O


def masked(S: Float[Tensor, "*b q k"], mask: Mask) -> Float[Tensor, "*b q k"]:
    """The scores with −∞ where a Boolean mask is false, or with a mask of numbers added."""
    return S.masked_fill(~mask, -inf) if mask.dtype == torch.bool else S + mask


def masked_softmax(S: Float[Tensor, "*b q k"]) -> Float[Tensor, "*b q k"]:
    """Softmax, where a query that may look at nothing weighs nothing (and has the gradient 0, not 0 · NaN)."""
    empty = S.isneginf().all(dim=-1, keepdim=True)
    A = S.masked_fill(empty, 0).softmax(dim=-1)
    return A.masked_fill(empty, 0)


def shared_heads(K: Float[Tensor, "*b g k d"], Q: Float[Tensor, "*b h q d"]) -> Float[Tensor, "*b h k d"]:
    """Each head of `K` repeated for its group of heads of `Q`."""
    return K.repeat_interleave(Q.shape[-3] // K.shape[-3], dim=-3)


def multi_head_attention(
    X: tuple[Float[Tensor, "*b q e"], Float[Tensor, "*b k c"], Float[Tensor, "*b k c"]],
    query: Head,
    key: Head,
    value: Head,
    output: Head,
    heads: int,
    mask: Mask | None = None,
    weights: str = "none",
    batch_first: bool = True,
) -> tuple[Float[Tensor, "*b q e"], Weights | None]:
    r"""Attention in several heads of width d = e / h, each with its own projections.

    $$Y = \operatorname{concat}(O_1, \dots, O_h) W_o^\top + b_o$$

    `query`, `key`, `value`, `output` are projections (W, b). `weights` asks for A too: `none`, their `mean` over the heads,
    or `each`. `batch_first` is false where time is the first axis and the batch the second.
    """
    X_q, X_k, X_v = X if batch_first else (x.transpose(0, 1) for x in X)
    (W_q, b_q), (W_k, b_k), (W_v, b_v), (W_o, b_o) = query, key, value, output
    Q = F.linear(X_q, W_q, b_q)
    K = F.linear(X_k, W_k, b_k)
    V = F.linear(X_v, W_v, b_v)
    Q = Q.unflatten(-1, (heads, -1)).transpose(-3, -2)  # b h q d
    K = K.unflatten(-1, (heads, -1)).transpose(-3, -2)  # b h k d
    V = V.unflatten(-1, (heads, -1)).transpose(-3, -2)  # b h k d
    d = Q.shape[-1]
    S = Q @ K.mT / sqrt(d)
    if mask is not None:
        S = masked(S, mask)
    A = S.softmax(dim=-1)
    O = A @ V
    O = O.transpose(-3, -2).flatten(-2)  # b q e
    Y = F.linear(O, W_o, b_o)
    if not batch_first:
        Y = Y.transpose(0, 1)
    if weights == "none":
        return Y, None
    return Y, A.mean(dim=-3) if weights == "mean" else A


def transformer_encoder_layer(
    X: Tokens, layer: nn.TransformerEncoderLayer, mask: Mask | None = None, padding: Mask | None = None
) -> Tokens:
    r"""Attention, then two linear layers on each token; each added to what came in and normalised.

    $$X_1 = \operatorname{norm}_1(X + \operatorname{attention}(X))$$
    $$Y = \operatorname{norm}_2(X_1 + \operatorname{ff}(X_1))$$

    With `norm_first` each part is normalised before instead: X₁ = X + attention(norm₁(X)), Y = X₁ + ff(norm₂(X₁)).
    """
    if layer.norm_first:
        N = layer.norm1(X)
        A, _ = layer.self_attn(N, N, N, padding, need_weights=False, attn_mask=mask)
        X = X + A
        N = layer.norm2(X)
        H = layer.activation(layer.linear1(N))
        Y = X + layer.linear2(H)
        return Y
    A, _ = layer.self_attn(X, X, X, padding, need_weights=False, attn_mask=mask)
    X = layer.norm1(X + A)
    H = layer.activation(layer.linear1(X))
    Y = layer.norm2(X + layer.linear2(H))
    return Y
