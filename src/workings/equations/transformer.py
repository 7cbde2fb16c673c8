r"""Attention (Vaswani et al. 2017, §3).

    S = Q Kᵀ / √d                    scores
    A = softmax(S)                   weights, each row sums to 1
    Z = A V                          output

    Q = X W_qᵀ + b_q,  K = …,  V = …      several heads: projections, split into heads of width d
    Y = Z W_oᵀ + b_o                      the heads side by side, projected

Axes: b batch, h heads, n queries, m keys, d width of a key, t width of a value, e width of the model.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from workings.fused import special_case_of

Tokens = Float[Tensor, "..."]
Weights = Float[Tensor, "..."]
Mask = Bool[Tensor, "*c #n #m"]
Scores = Float[Tensor, "*c #n #m"]
TorchMask = Bool[Tensor, "..."] | Float[Tensor, "..."]
Head = tuple[Float[Tensor, "e w"], Float[Tensor, " e"] | None]
"""A projection: its weight and bias."""


def attention(
    Q: Float[Tensor, "*#b n d"],
    K: Float[Tensor, "*#b m d"],
    V: Float[Tensor, "*#b m t"] | None,
    mask: Mask | None = None,
    causal: bool = False,
    scale: Any = None,
    *,
    bias: Scores | None = None,
    dropout: float | None = None,
) -> Float[Tensor, "*#b n t"]:
    r"""Average the rows of `V`, each weighted by how well its key matches the query.

    $$Z = \operatorname{softmax}\left(\frac{Q K^\top}{\sqrt{d}}\right) V$$

    `mask[i, j]` is true where query `i` may look at key `j`. With `causal`, the queries are the last n positions and none
    looks ahead. `scale` stands in for 1/√d. `bias` is added to the scores. Without `V`, the result is A.
    `dropout` forgets each weight with that probability and enlarges the others by 1/(1 − dropout).

    >>> from workings import exact
    >>> print(attention(exact("0 0; 0 sqrt(2)*log(3)"), exact("1 0; 1 1"), exact("1 0; 0 1")).text())
    ⎡1/2  1/2⎤
    ⎣1/4  3/4⎦
    """
    d = Q.shape[-1]
    if scale is None:
        S = Q @ K.mT / sqrt(d)
    else:
        S = scale * (Q @ K.mT)
    if bias is not None:
        S = S + bias
    if causal or mask is not None:
        M = allowed(Q, K, mask, causal)
        S = S.masked_fill(~M, -inf)
    if mask is None or M.any(dim=-1).all():
        A = S.softmax(dim=-1)
    else:
        A = masked_softmax(S)
    if dropout is not None:
        A = F.dropout(A, dropout)
    if V is None:
        return A
    Z = A @ V
    return Z


def allowed(Q: Tensor, K: Tensor, mask: Mask | None, causal: bool) -> Mask:
    """Where queries may look: the mask and the causal mask together."""
    n, m = Q.shape[-2], K.shape[-2]
    if mask is None:
        M = causal_mask(n, m, Q.device)
    elif causal:
        M = causal_mask(n, m, Q.device) & mask
    else:
        M = mask
    return M


def causal_mask(n: int, m: int | None = None, device: Any = None) -> Bool[Tensor, "n m"]:
    r"""Query i sees the keys up to its own position; the n queries are the last n of m positions.

    $$M_{ij} = [\, j \le i + m - n \,]$$

    With m > n, the first m − n keys are older than every query: a cache holds them.

    >>> causal_mask(2, 4).int()
    tensor([[1, 1, 1, 0],
            [1, 1, 1, 1]], dtype=torch.int32)
    """
    m = n if m is None else m
    return torch.ones(n, m, dtype=torch.bool, device=device).tril(m - n)


def masked_softmax(S: Float[Tensor, "*b n m"]) -> Float[Tensor, "*b n m"]:
    """Softmax, where a query that may look at nothing weighs nothing (and has the gradient 0, not 0 · NaN)."""
    empty = S.isneginf().all(dim=-1, keepdim=True)
    A = S.masked_fill(empty, 0).softmax(dim=-1)
    return A.masked_fill(empty, 0)


@special_case_of(attention)
def scaled_dot_product_attention(
    Q: Float[Tensor, "*b n d"],
    K: Float[Tensor, "*c m d"],
    V: Float[Tensor, "*c m t"],
    mask: TorchMask | None = None,
    causal: bool = False,
    scale: float | None = None,
    grouped: bool = False,
) -> dict[str, Any]:
    """PyTorch's attention: `mask` may be numbers to add to the scores, a query without a key gives 0, `causal` counts the
    positions of queries and keys from 0. With `grouped`, each head of `K` and `V` serves a group of heads of `Q`."""
    given: dict[str, Any] = {"Q": Q, "K": K, "V": V, "scale": scale}
    if grouped:
        given |= {name: x.repeat_interleave(Q.shape[-3] // x.shape[-3], dim=-3) for name, x in (("K", K), ("V", V))}
    if causal:
        given["mask"] = torch.ones(Q.shape[-2], K.shape[-2], dtype=torch.bool, device=Q.device).tril()
    elif mask is not None and mask.dtype == torch.bool:
        given["mask"] = mask
    elif mask is not None:
        given["bias"] = mask
        if (barred := mask.isneginf()).all(dim=-1).any():
            given["mask"] = ~barred
    return given


def multi_head_attention(
    X: tuple[Float[Tensor, "*b n e"], Float[Tensor, "*b m c"], Float[Tensor, "*b m c"]],
    query: Head,
    key: Head,
    value: Head,
    output: Head,
    heads: int,
    mask: TorchMask | None = None,
    weights: str = "none",
    batch_first: bool = True,
) -> tuple[Float[Tensor, "*b n e"], Weights | None]:
    r"""Attention in several heads of width d = e / h, each with its own projections.

    $$Y = \operatorname{concat}(Z_1, \dots, Z_h) W_o^\top + b_o$$

    `query`, `key`, `value`, `output` are projections (W, b). `weights` asks for A too: `none`, their `mean` over the heads,
    or `each`. `batch_first` is false where time is the first axis and the batch the second.
    """
    X_q, X_k, X_v = X if batch_first else (x.transpose(0, 1) for x in X)
    (W_q, b_q), (W_k, b_k), (W_v, b_v), (W_o, b_o) = query, key, value, output
    Q = F.linear(X_q, W_q, b_q)
    K = F.linear(X_k, W_k, b_k)
    V = F.linear(X_v, W_v, b_v)
    Q = Q.unflatten(-1, (heads, -1)).transpose(-3, -2)  # b h n d
    K = K.unflatten(-1, (heads, -1)).transpose(-3, -2)  # b h m d
    V = V.unflatten(-1, (heads, -1)).transpose(-3, -2)  # b h m d
    d = Q.shape[-1]
    S = Q @ K.mT / sqrt(d)
    if mask is not None:
        S = S.masked_fill(~mask, -inf) if mask.dtype == torch.bool else S + mask
    A = S.softmax(dim=-1)
    Z = A @ V
    Z = Z.transpose(-3, -2).flatten(-2)  # b n e
    Y = F.linear(Z, W_o, b_o)
    if not batch_first:
        Y = Y.transpose(0, 1)
    if weights == "none":
        return Y, None
    return Y, A.mean(dim=-3) if weights == "mean" else A


def transformer_encoder_layer(
    X: Tokens, layer: nn.TransformerEncoderLayer, mask: TorchMask | None = None, padding: TorchMask | None = None
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
