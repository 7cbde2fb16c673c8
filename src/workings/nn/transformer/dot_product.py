r"""Scaled dot-product attention (Vaswani et al. 2017, §3.2.1).

    S = Q Kᵀ / √d     scores
    A = softmax(S)    weights, each row sums to 1
    Z = A V           output

Tokens are rows. In the column convention, `attention_columns`, tokens are columns: S = Kᵀ Q, A = softargmax_β of each
column, H = V A. `attention_query` takes one query, unscaled: α = softmax(K q), c = Vᵀ α.

Axes: b batch, n queries, m keys, d width of a key, t width of a value.
"""

from __future__ import annotations

from math import inf
from typing import Any

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from workings.equations import transformer as equations
from workings.equations.transformer import Mask, Scores, allowed
from workings.fused import fused, special_case_of
from workings.nn.fits import check_directed, check_shapes
from workings.nn.transformer.hard import argmax_weights
from workings.nn.transformer.mask_checks import check_bias, check_mask


def check_attention(
    Q: Tensor, K: Tensor, V: Any, mask: Any = None, causal: bool = False, scale: Any = None, *, bias: Any = None, **_: Any
) -> None:
    """Refuse shapes that do not fit, and a query without a key."""
    size = Q.shape
    if V is None or not (K.shape == size == V.shape and len(size) > 1 and 0 not in size):  # the usual case is one comparison
        check_shapes(attention if V is not None else attention_weights, Q, K, V, empty="n")
    if causal or mask is not None:
        check_mask(Q, K, mask, causal)
    if bias is not None:
        check_bias(bias, Q, K, mask, causal)


def attention_kernel(
    Q: Tensor, K: Tensor, V: Any, mask: Any = None, causal: bool = False, scale: Any = None, **options: Any
) -> Tensor:
    """What `attention` computes, in one fused operation."""
    if V is None:  # the kernel keeps the weights to itself
        return equations.attention(Q, K, V, mask, causal, scale, **options)
    if isinstance(scale, Tensor):  # the kernel takes a number, and no gradient by it
        Q, scale = scale * Q, 1.0
    if Q.dim() == K.dim() == V.dim() < 4:  # PyTorch's fast kernel takes four axes; an axis of 1 in front changes nothing
        Q, K, V = Q.unsqueeze(0), K.unsqueeze(0), V.unsqueeze(0)
        return attention_kernel(Q, K, V, mask, causal, scale, **options).squeeze(0)
    bias, dropout = options.get("bias"), options.get("dropout") or 0.0
    causal = causal and Q.shape[-2] != 1  # the last position sees every key
    if mask is None and bias is None and (not causal or Q.shape[-2] == K.shape[-2]):
        return F.scaled_dot_product_attention(Q, K, V, None, dropout, causal, scale=scale)
    M = allowed(Q, K, mask, causal) if causal or mask is not None else None
    if bias is not None:
        M = bias if M is None else bias.masked_fill(~M, -inf)
    assert M is not None
    M = M if M.dim() == 2 else M[(None,) * (Q.dim() - M.dim())]
    return F.scaled_dot_product_attention(Q, K, V, M, dropout, scale=scale)


attention = fused(attention_kernel, check_attention)(equations.attention)


@special_case_of(equations.attention)
def attention_weights(
    Q: Float[Tensor, "*#b n d"],
    K: Float[Tensor, "*#b m d"],
    mask: Mask | None = None,
    causal: bool = False,
    scale: Any = None,
    *,
    bias: Scores | None = None,
) -> dict[str, Any]:
    r"""The weights alone: row i says how much query i takes from each key.

    $$A = \operatorname{softmax}\left(\frac{Q K^\top}{\sqrt{d}}\right)$$
    """
    check_attention(Q, K, None, mask, causal, bias=bias)
    return {"Q": Q, "K": K, "V": None, "mask": mask, "causal": causal, "scale": scale, "bias": bias}


def hard_attention(
    Q: Float[Tensor, "*#b n d"],
    K: Float[Tensor, "*#b m d"],
    V: Float[Tensor, "*#b m t"],
    mask: Mask | None = None,
    causal: bool = False,
) -> Float[Tensor, "*#b n t"]:
    r"""Each query copies the value of its best key; the tied best ones share. Attention at zero temperature.

    $$Z = \operatorname{argmax}(Q K^\top) V$$

    >>> from workings import exact
    >>> print(hard_attention(exact([[1, 1]]), exact("3 0; 0 3; 1 1"), exact("1; 2; 7")).text())
    [3/2]
    """
    check_shapes(hard_attention, Q, K, V, empty="n")
    check_mask(Q, K, mask, causal)
    S = Q @ K.mT
    if causal or mask is not None:
        M = allowed(Q, K, mask, causal)
        S = S.masked_fill(~M, -inf)
    A = argmax_weights(S)
    Z = A @ V
    return Z


def attention_columns(
    Q: Float[Tensor, "*#b d n"],
    K: Float[Tensor, "*#b d m"],
    V: Float[Tensor, "*#b t m"],
    beta: Any = 1,
    mask: Bool[Tensor, "*c #m #n"] | None = None,
    causal: bool = False,
) -> Float[Tensor, "*#b t n"]:
    r"""Attention in the column convention: one column for each token, the softmax over each column.

    $$H = V \operatorname{softargmax}_\beta(K^\top Q)$$

    `beta` = 1/√d gives scaled attention. `mask[j, i]` is true where query `i` may look at key `j`.

    >>> from workings import exact
    >>> print(attention_columns(exact([[0, "log(3)"]]), exact([[0, 1]]), exact("1 0; 0 1")).text())
    ⎡1/2  1/4⎤
    ⎣1/2  3/4⎦
    """
    check_shapes(attention_columns, Q, K, V, empty="n")
    check_mask(Q.mT, K.mT, None if mask is None else mask.mT, causal)
    β = beta
    S = K.mT @ Q
    if causal or mask is not None:
        M = allowed(Q.mT, K.mT, None if mask is None else mask.mT, causal)
        S = S.masked_fill(~M.mT, -inf)
    A = (β * S).softmax(dim=-2)
    H = V @ A
    return H


def attention_query(
    q: Float[Tensor, "*#b d"], K: Float[Tensor, "*#b m d"], V: Float[Tensor, "*#b m t"]
) -> Float[Tensor, "*#b t"]:
    r"""One query over m keys and values, without the factor 1/√d; of a batch, one query for each.

    $$\alpha = \operatorname{softmax}(K q), \qquad c = V^\top \alpha$$

    >>> from workings import exact
    >>> print(attention_query(exact(["log(3)"]), exact("0; 1"), exact("4 0; 0 4")).text())
    [1  3]
    """
    check_shapes(attention_query, q, K, V)
    if max(q.dim(), K.dim() - 1, V.dim() - 1) > 1:
        α = (K @ q.unsqueeze(-1)).softmax(dim=-2)
        return (V.mT @ α).squeeze(-1)
    α = (K @ q).softmax(dim=-1)
    c = V.mT @ α
    return c


def cosine_scores(Q: Float[Tensor, "*#b n d"], K: Float[Tensor, "*#b m d"]) -> Float[Tensor, "*#b n m"]:
    r"""The cosines of the angles between queries and keys: dot products of vectors of length 1.

    $$S_{ij} = \frac{q_i \cdot k_j}{\lVert q_i \rVert \lVert k_j \rVert}$$

    >>> from workings import exact
    >>> print(cosine_scores(exact([[3, 4]]), exact("1 0; 0 7; 6 8")).text())
    [3/5  4/5  1]
    """
    check_shapes(cosine_scores, Q, K, empty="n")
    check_directed("Q", Q)
    check_directed("K", K)
    Q = Q / Q.norm(dim=-1, keepdim=True)
    K = K / K.norm(dim=-1, keepdim=True)
    S = Q @ K.mT
    return S
