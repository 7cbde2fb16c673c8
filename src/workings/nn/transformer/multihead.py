r"""Multi-head attention (Vaswani et al. 2017, §3.2.2), self-attention and cross-attention.

    Q = X W_Qᵀ + b_Q,  K = Y W_Kᵀ + b_K,  V = Y W_Vᵀ + b_V      Y = X in self-attention, the memory in cross-attention
    Z_i = softmax(Q_i K_iᵀ / √d) V_i                             for each head i: its own d columns of Q, K and V
    O = [Z_1 … Z_h] W_Oᵀ + b_O = Σ_i Z_i W_Oᵢᵀ + b_O

Axes: b batch, h heads, g heads of keys and values, n queries, m keys, e width of the model, d width of a key in one head,
t width of a value in one head.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from workings.equations.transformer import Mask
from workings.errors import DomainError, ShapeError
from workings.fused import fused
from workings.nn.transformer.cache import KeyValueCache
from workings.nn.transformer.dot_product import attention, attention_weights
from workings.nn.transformer.positions import Rotary

Tokens = Float[Tensor, "*b n e"]
Heads = Float[Tensor, "*b h n d"]
Three = tuple[Tensor, Tensor, Tensor]
Bias = Float[Tensor, " w"] | None


def _one_product(X: Tensor, Y: Tensor, W: Tensor, b: Tensor | None, sizes: list[int]) -> tuple[Tensor, ...]:
    """What `projections` computes, with as few products as there are inputs."""
    if X is Y:
        return torch.split_with_sizes(F.linear(X, W, b), sizes, -1)
    q, rest = sizes[0], sizes[1] + sizes[2]
    W_Q, W_KV = W.split([q, rest])
    b_Q, b_KV = (None, None) if b is None else b.split([q, rest])
    return F.linear(X, W_Q, b_Q), *F.linear(Y, W_KV, b_KV).split(sizes[1:], -1)


@fused(_one_product)
def projections(
    X: Float[Tensor, "*b n e"], Y: Float[Tensor, "*b m e"], W: Float[Tensor, "w e"], b: Bias, sizes: list[int]
) -> tuple[Tensor, ...]:
    r"""Queries from X, keys and values from Y. The rows of W are those of W_Q, W_K and W_V, `sizes` many of each.

    $$Q = X W_Q^\top + b_Q, \qquad K = Y W_K^\top + b_K, \qquad V = Y W_V^\top + b_V$$
    """
    W_Q, W_K, W_V = W.split(sizes)
    if b is None:
        Q = X @ W_Q.mT
        K = Y @ W_K.mT
        V = Y @ W_V.mT
    else:
        b_Q, b_K, b_V = b.split(sizes)
        Q = X @ W_Q.mT + b_Q
        K = Y @ W_K.mT + b_K
        V = Y @ W_V.mT + b_V
    return Q, K, V


def split_heads(X: Float[Tensor, "*b n w"], heads: int) -> Heads:
    """Each head's own columns, as a matrix of its own."""
    return X.unflatten(-1, (heads, -1)).transpose(-3, -2)


def side_by_side(Z: Heads) -> Float[Tensor, "*b n w"]:
    """The heads' outputs in one row for each token: [Z_1 … Z_h]."""
    return Z.transpose(-3, -2).flatten(-2)


def for_every_head(mask: Tensor | None, X: Tensor) -> Tensor | None:
    """A mask of its own for each sequence, the same for all its heads; one for all sequences is that already."""
    if mask is not None and mask.dim() > X.dim():
        raise ShapeError(
            f"A mask is the same for every head: queries × keys, with the batch of X before them or nothing. "
            f"X is {[*X.shape]}, but the mask is {[*mask.shape]}."
        )
    return mask if mask is None or mask.dim() < 3 else mask.unsqueeze(-3)


def _check_tokens(width: int, X: Tensor, Y: Tensor | None) -> None:
    """Refuse tokens of another width than that of the weights."""
    for name, tokens in (("X", X), ("Y", Y)):
        if tokens is not None and (tokens.dim() < 2 or tokens.shape[-1] != width):
            raise ShapeError(
                f"The weights take tokens of width {width}, one row for each: {name} is {[*tokens.shape]}, "
                f"where […, tokens, {width}] was expected."
            )


def _check_heads(width: int, heads: int, kv_heads: int, dropout: float) -> None:
    """Refuse numbers of heads that do not fit, and a dropout that is no share."""
    if min(width, heads, kv_heads) < 1:
        raise ShapeError(
            f"Attention needs a width and heads of at least 1, not width {width}, {heads} heads and {kv_heads} key heads."
        )
    if heads % kv_heads:
        raise ShapeError(f"Each key head serves as many query heads: {heads} is not divisible by {kv_heads} key heads.")
    if not 0 <= dropout < 1:
        raise DomainError(f"Dropout leaves out a share of at least 0 and less than 1, not {dropout}.")


def check_divisible(width: int, heads: int) -> None:
    """Refuse heads that cannot share the width."""
    if heads < 1 or width % heads:
        raise ShapeError(f"The heads share the width among them: {width} is not divisible by {heads} heads.")


class MultiHeadAttention(nn.Module):
    r"""Attention in several heads, each with its own projections of the tokens.

    $$O = [Z_1 \dots Z_h]\, W_O^\top + b_O, \qquad
    Z_i = \operatorname{softmax}\left(\frac{Q_i K_i^\top}{\sqrt{d}}\right) V_i$$

    `key_width` and `value_width` are d and t of one head, by default width/heads: then the four projections have 4·width²
    weights for any number of heads. With fewer `kv_heads` than heads, each serves a group of them. `positions`, for
    self-attention, is a `Rotary`, or a function of n and m that gives the bias of the scores: a `RelativeBias`, or
    `partial(alibi, heads)`.

    >>> layer = MultiHeadAttention(8, heads=2)
    >>> layer(torch.zeros(1, 3, 8)).shape, sum(p.numel() for p in layer.parameters()) - 4 * 8  # without the biases
    (torch.Size([1, 3, 8]), 256)
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        key_width: int | None = None,
        value_width: int | None = None,
        kv_heads: int | None = None,
        bias: bool = True,
        positions: Callable[..., Tensor] | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.heads, self.kv_heads = heads, heads if kv_heads is None else kv_heads
        _check_heads(width, heads, self.kv_heads, dropout)
        if not (key_width and value_width):
            check_divisible(width, heads)
        d, t = key_width or width // heads, value_width or width // heads
        self.sizes = [heads * d, self.kv_heads * d, self.kv_heads * t]
        self.W_QKV = nn.Parameter(torch.empty(sum(self.sizes), width))
        self.W_O = nn.Parameter(torch.empty(width, heads * t))
        self.b_QKV = nn.Parameter(torch.zeros(sum(self.sizes))) if bias else None
        self.b_O = nn.Parameter(torch.zeros(width)) if bias else None
        self.positions, self.dropout = positions, dropout
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Glorot's uniform weights for each of W_Q, W_K, W_V and W_O; biases of 0."""
        for W in (*self.W_QKV.data.split(self.sizes), self.W_O.data):
            nn.init.xavier_uniform_(W)
        for b in (self.b_QKV, self.b_O):
            if b is not None:
                nn.init.zeros_(b)

    def forward(
        self,
        X: Tokens,
        Y: Float[Tensor, "*b m e"] | None = None,
        mask: Mask | None = None,
        causal: bool = False,
        cache: KeyValueCache | None = None,
    ) -> Tokens:
        """Self-attention of X, or attention from X to the memory Y. A `cache` holds the keys and values of earlier calls
        (of the memory: those of the first call)."""
        Q, K, V = self.queries_keys_values(X, Y, cache)
        B = self.bias(Q, K, Y)
        M = for_every_head(mask, X)
        if self.dropout and self.training:
            Z = attention(Q, K, V, M, causal, bias=B, dropout=self.dropout)
        else:
            Z = attention(Q, K, V, M, causal, bias=B)
        if self.b_O is None:
            O = side_by_side(Z) @ self.W_O.mT
        else:
            O = F.linear(side_by_side(Z), self.W_O, self.b_O)
        return O

    def queries_keys_values(self, X: Tokens, Y: Tensor | None, cache: KeyValueCache | None) -> Three:
        """Queries, keys and values of every head, turned by their positions, with those that the cache holds."""
        _check_tokens(self.W_QKV.shape[-1], X, Y)
        if Y is not None and cache is not None and len(cache):  # the memory is the same at every step
            q = self.sizes[0]
            Q = F.linear(X, self.W_QKV[:q], None if self.b_QKV is None else self.b_QKV[:q])
            Q = split_heads(Q, self.heads)
            K, V = cache.keys, cache.values
        else:
            Q, K, V = projections(X, X if Y is None else Y, self.W_QKV, self.b_QKV, self.sizes)
            Q = split_heads(Q, self.heads)  # b h n d
            K = split_heads(K, self.kv_heads)  # b g m d
            V = split_heads(V, self.kv_heads)  # b g m t
            if isinstance(self.positions, Rotary) and Y is None:
                start = 0 if cache is None else len(cache)
                Q = self.positions(Q, start)
                K = self.positions(K, start)
            if cache is not None:
                K, V = cache.append(K, V)
        if self.kv_heads < self.heads:
            K = K.repeat_interleave(self.heads // self.kv_heads, dim=-3)
            V = V.repeat_interleave(self.heads // self.kv_heads, dim=-3)
        return Q, K, V

    def bias(self, Q: Tensor, K: Tensor, Y: Tensor | None) -> Tensor | None:
        """What the positions add to the scores: nothing for a memory, whose positions are not those of X."""
        if self.positions is None or isinstance(self.positions, Rotary) or Y is not None:
            return None
        return self.positions(Q.shape[-2], K.shape[-2])

    def weights(
        self, X: Tokens, Y: Float[Tensor, "*b m e"] | None = None, mask: Mask | None = None, causal: bool = False
    ) -> Float[Tensor, "*b h n m"]:
        """The weights A of every head, to look at."""
        Q, K, _ = self.queries_keys_values(X, Y, None)
        A = attention_weights(Q, K, for_every_head(mask, X), causal, bias=self.bias(Q, K, Y))
        return A

    def contributions(
        self, X: Tokens, Y: Float[Tensor, "*b m e"] | None = None, mask: Mask | None = None, causal: bool = False
    ) -> Float[Tensor, "*b h n e"]:
        r"""What each head adds to the output; their sum and b_O make it up. Leaving one out ablates that head.

        $$O = \sum_i Z_i W_{O,i}^\top + b_O$$
        """
        Q, K, V = self.queries_keys_values(X, Y, None)
        Z = attention(Q, K, V, for_every_head(mask, X), causal, bias=self.bias(Q, K, Y))
        W = self.W_O.unflatten(-1, (self.heads, -1)).transpose(0, 1)  # h e t
        return Z @ W.mT

    def extra_repr(self) -> str:
        return f"{self.W_O.shape[0]}, heads={self.heads}" + (f", kv_heads={self.kv_heads}" * (self.kv_heads < self.heads))
