r"""Heads given one by one, as in a worked example; what they cost; and the weights of `torch.nn.MultiheadAttention`.

    Q_i = X W_Qi,  K_i = X W_Ki,  V_i = X W_Vi,  Z_i = attention(Q_i, K_i, V_i),  Z = [Z_1 … Z_h] W_O      rows
    H_i = V_i softargmax_β(K_iᵀ Q_i),  β = 1/√d,  O = W_O [H_1; …; H_h]                                    columns

Axes: b batch, n tokens, e width of the model, d width of a key, t width of a value, w heads times t.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt

import torch
from jaxtyping import Float
from torch import Tensor, nn

from workings.errors import ShapeError, WorkingsError
from workings.nn.fits import check_shapes
from workings.nn.transformer.dot_product import attention, attention_columns
from workings.nn.transformer.multihead import MultiHeadAttention, check_divisible

Matrices = Sequence[Float[Tensor, "e d"]]


def multi_head(
    X: Float[Tensor, "*b n e"],
    W_Q: Matrices,
    W_K: Matrices,
    W_V: Matrices,
    W_O: Float[Tensor, "w o"] | None = None,
    attend: Callable[..., Tensor] = attention,
    **options: object,
) -> Float[Tensor, "*b n o"]:
    r"""Self-attention with a matrix for each head; without `W_O` the heads' outputs stand side by side.

    $$Z = [Z_1 \dots Z_h]\, W_O, \qquad Z_i = \operatorname{attention}(X W_Q^i, X W_K^i, X W_V^i)$$

    `attend` may be `hard_attention`; `options` (mask, causal, …) are passed on to it.
    """
    check_shapes(multi_head, X)
    _check_heads((X, X, X), (W_Q, W_K, W_V), W_O)
    Z: list[Tensor] = []
    for W_q, W_k, W_v in zip(W_Q, W_K, W_V, strict=True):
        Q = X @ W_q
        K = X @ W_k
        V = X @ W_v
        Z_i = attend(Q, K, V, **options)
        Z = [*Z, Z_i]
    Y = torch.cat(Z, dim=-1)
    if W_O is not None:
        Y = Y @ W_O
    return Y


def multi_head_columns(
    Q: Float[Tensor, "*#b c n"],
    K: Float[Tensor, "*#b d m"],
    V: Float[Tensor, "*#b t m"],
    W_Q: Sequence[Float[Tensor, "k c"]],
    W_K: Sequence[Float[Tensor, "k d"]],
    W_V: Sequence[Float[Tensor, "v t"]],
    W_O: Float[Tensor, "o w"] | None = None,
) -> Float[Tensor, "*b o n"]:
    r"""Several heads in the column convention: the outputs are stacked, then projected.

    $$O = W_O \begin{bmatrix} H_1 \\ \vdots \\ H_h \end{bmatrix}, \qquad
    H_i = W_V^i V \operatorname{softargmax}_\beta\left((W_K^i K)^\top W_Q^i Q\right), \qquad \beta = \frac{1}{\sqrt{d_k}}$$
    """
    check_shapes(multi_head_columns, Q, K, V)
    _check_heads((Q, K, V), (W_Q, W_K, W_V), W_O, columns=True)
    H: list[Tensor] = []
    for W_q, W_k, W_v in zip(W_Q, W_K, W_V, strict=True):
        d = W_q.shape[0]
        H_i = attention_columns(W_q @ Q, W_k @ K, W_v @ V, beta=1 / sqrt(d))
        H = [*H, H_i]
    O = torch.cat(H, dim=-2)
    if W_O is not None:
        O = W_O @ O
    return O


def _check_heads(
    tokens: tuple[Tensor, ...], matrices: tuple[Sequence[Tensor], ...], W_O: Tensor | None, columns: bool = False
) -> None:
    """Refuse heads without their three matrices, and matrices that do not take what comes in."""
    W_Q, W_K, W_V = matrices
    if not len(W_Q) == len(W_K) == len(W_V) > 0:
        raise ShapeError(
            f"Each head needs its W_Q, W_K and W_V, but there are {len(W_Q)} of W_Q, {len(W_K)} of W_K "
            f"and {len(W_V)} of W_V."
        )
    side, out = ("column", 0) if columns else ("row", -1)
    for name, X, of_heads in zip(("W_Q", "W_K", "W_V"), tokens, matrices, strict=True):
        width = X.shape[-2 if columns else -1]
        for W in of_heads:
            if W.dim() != 2 or W.shape[-1 - out] != width:
                raise ShapeError(
                    f"{name} needs a {side} for each of the {width} entries of a token, but one is {[*W.shape]}."
                )
    total = sum(W.shape[out] for W in W_V)
    if W_O is not None and (W_O.dim() != 2 or W_O.shape[-1 - out] != total):
        raise ShapeError(f"W_O needs a {side} for each of the {total} entries of all heads, but it is {[*W_O.shape]}.")


def weight_count(width: int, heads: int, key_width: int | None = None, value_width: int | None = None) -> int:
    """Weights of the projections of Q, K, V and O, without biases: 4·width² for any number of heads of width/heads.

    >>> [weight_count(512, h) for h in (1, 8, 64)]
    [1048576, 1048576, 1048576]
    """
    if not (key_width and value_width):
        check_divisible(width, heads)
    d, t = key_width or width // heads, value_width or width // heads
    return width * heads * (2 * d + 2 * t)


def multiply_adds(n: int, width: int, heads: int, m: int | None = None) -> int:
    r"""Multiplications of one pass over n tokens (and m keys): projections, scores and averages; the softmax not counted.

    $$2 n e^2 + 2 m e^2 + 2 n m e$$

    >>> multiply_adds(50, 512, heads=8) == multiply_adds(50, 512, heads=1) == 4 * 50 * 512**2 + 2 * 50**2 * 512
    True
    """
    check_divisible(width, heads)
    m = n if m is None else m
    d = width // heads
    return 2 * n * width**2 + 2 * m * width**2 + heads * 2 * n * m * d


def from_torch(module: nn.MultiheadAttention) -> MultiHeadAttention:
    """The same layer with the same weights, from PyTorch's."""
    reasons = {
        "its keys or values have another width than its queries": not module._qkv_same_embed_dim,
        "it appends a learned key (bias_k)": module.bias_k is not None,
        "it appends a zero key (add_zero_attn)": module.add_zero_attn,
    }
    for reason, holds in reasons.items():
        if holds:
            raise WorkingsError(f"This MultiheadAttention cannot be taken over: {reason}.")
    bias = module.in_proj_bias is not None
    ours = MultiHeadAttention(module.embed_dim, module.num_heads, bias=bias, dropout=module.dropout)
    ours.to(module.in_proj_weight)
    with torch.no_grad():
        for mine, theirs in zip(_ours(ours), _theirs(module), strict=True):
            mine.copy_(theirs)
    return ours.train(module.training)


def to_torch(layer: MultiHeadAttention) -> nn.MultiheadAttention:
    """The same layer with the same weights, as PyTorch's (batch first)."""
    e, d = layer.W_O.shape[0], layer.sizes[0] // layer.heads
    if layer.sizes != [e, e, e] or layer.positions is not None:
        raise WorkingsError(
            f"torch.nn.MultiheadAttention has {layer.heads} heads of width {e} / {layer.heads} and no positions: "
            f"this layer has {layer.kv_heads} key heads of width {d}"
            + (f" and {type(layer.positions).__name__}." if layer.positions is not None else ".")
        )
    bias = layer.b_O is not None
    theirs = nn.MultiheadAttention(e, layer.heads, dropout=layer.dropout, bias=bias, batch_first=True).to(layer.W_O)
    with torch.no_grad():
        for copy, mine in zip(_theirs(theirs), _ours(layer), strict=True):
            copy.copy_(mine)
    return theirs.train(layer.training)


def _ours(layer: MultiHeadAttention) -> list[Tensor]:
    return [p for p in (layer.W_QKV, layer.W_O, layer.b_QKV, layer.b_O) if p is not None]


def _theirs(module: nn.MultiheadAttention) -> list[Tensor]:
    found = (module.in_proj_weight, module.out_proj.weight, module.in_proj_bias, module.out_proj.bias)
    return [p for p in found if p is not None]
