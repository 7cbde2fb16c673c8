r"""One token more: what a Transformer computes for the last row of each text, in as few operations as it takes.

    q, k, v = norm(x) W_QKVᵀ + b
    K ← [K; k],  V ← [V; v]
    x ← x + softmax(q Kᵀ / √d) V W_Oᵀ + b_O
    x ← x + φ(norm(x) W₁ + b₁) W₂ + b₂

For a single token nearly all the time of an ordinary call goes into calling modules, checking and shaping. A step has the
same equations without that. Its weights share the memory of the model's, so that it sees what is changed in place, and it
reads and writes the ordinary cache, so that an ordinary call can go on where a step stopped, and the other way round.
Which models may step and when is said in `workings.models.decoding.stepper`.

One text is a vector, several are the rows of a matrix: a matrix times a vector is faster than times a matrix of one row.
Constants such as 1/√d go into the products, whose operations multiply by them for nothing.

Axes: b texts (none for one), e width, h heads, d width of a head, m tokens in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from workings.models.transformer import Alibi
from workings.nn.norms.per_token import LayerNorm, RMSNorm, rms_norm_kernel
from workings.nn.transformer.block import Block, NormedAttention
from workings.nn.transformer.cache import KeyValueCache
from workings.nn.transformer.feedforward import ACTIVATIONS, FeedForward
from workings.nn.transformer.multihead import MultiHeadAttention
from workings.nn.transformer.positions import RelativeBias, Rotary, frequencies, positions_of

Rows = Float[Tensor, "*b e"]
Layer = Callable[[Rows], Rows]
Step = Callable[[list[int]], Float[Tensor, "b v"]]
"""The scores after one more token of each text."""
Part = Callable[[Rows, Rows], Rows]
"""Of the tokens it reads and those it adds to."""
Heads = Float[Tensor, "3 b h 1 d"]
"""Queries, keys and values of one token."""


class Memory:
    """A layer's keys and values in one tensor, of which the cache's are views: both are written at once."""

    def __init__(self, cache: KeyValueCache, window: int = 0) -> None:
        self.cache, self.window = cache, window
        self.rows: Any = None

    def join(self) -> None:
        """Where the cache has new tensors: it grew, or beam search chose among its rows."""
        assert self.cache.rows is not None
        with torch.inference_mode(False), torch.no_grad():  # an ordinary call may write into them too
            self.KV = torch.stack(self.cache.rows)  # 2 b h room d
        self.rows = self.cache.rows = (self.KV[0], self.KV[1])

    def remembered(self, kv: Float[Tensor, "2 b h 1 d"]) -> tuple[Tensor, Tensor]:
        """Put k and v of a token behind those of the others; those within reach."""
        cache, n = self.cache, self.cache.length
        if self.rows is not cache.rows:
            self.join()
        if n == self.KV.shape[3]:
            with torch.inference_mode(False), torch.no_grad():
                cache.make_room(n + 1)
            self.join()
        self.KV.narrow(3, n, 1).copy_(kv)
        cache.length = n + 1
        first = max(0, n + 1 - self.window) if self.window else 0
        K, V = self.KV.narrow(3, first, n + 1 - first).unbind(0)
        return K, V


# products of a vector, or of rows


def weights(module: nn.Module, *names: str) -> list[Any]:
    """A module's weights as plain tensors in the same memory; None where it has none of that name."""
    found = (getattr(module, name) for name in names)
    return [None if p is None else p.detach() for p in found]


def rows_of(E: Tensor, tokens: list[int]) -> Rows:
    """The vector of each token."""
    return E[tokens[0]] if len(tokens) == 1 else F.embedding(torch.tensor(tokens, device=E.device), E)


def by_head(qkv: Rows, h: int) -> Heads:
    """Queries, keys and values of each head of each text."""
    if qkv.dim() == 1:
        return qkv.view(3, 1, h, 1, -1)
    return qkv.view(len(qkv), 3, h, 1, -1).transpose(0, 1)


def affine(x: Rows, W: Float[Tensor, "o e"], b: Float[Tensor, " o"] | None, α: float = 1.0) -> Float[Tensor, "*b o"]:
    """α (W x + b)"""
    if b is None:
        y = torch.mv(W, x) if x.dim() == 1 else x @ W.t()
        return y if α == 1 else y.mul_(α)
    return torch.addmv(b, W, x, beta=α, alpha=α) if x.dim() == 1 else torch.addmm(b, x, W.t(), beta=α, alpha=α)


def plus_affine(x: Rows, H: Float[Tensor, "*b i"], W: Float[Tensor, "e i"], b: Tensor | None, α: float = 1.0) -> Rows:
    """x + α W H + b"""
    y = torch.addmv(x, W, H, alpha=α) if x.dim() == 1 else torch.addmm(x, H, W.t(), alpha=α)
    return y if b is None else y.add_(b)


# a block of `workings.nn`


def is_usual(block: Any) -> bool:
    """Whether `block_step` has the equations of this block: no part of another kind, no other sizes."""
    if type(block) is not Block or block.cross:
        return False
    a, norms = block.attention, (LayerNorm, RMSNorm)
    return (
        type(a) in (MultiHeadAttention, NormedAttention)
        and type(a.positions) in (type(None), Rotary, Alibi, RelativeBias)
        and a.heads == a.kv_heads
        and len(set(a.sizes)) == 1
        and type(block.ffn) is FeedForward
        and type(block.norm_1) in norms
        and type(block.norm_3) in norms
    )


def block_step(block: Any, cache: KeyValueCache) -> Layer:
    """A block on one token of each text."""
    norm_1, norm_3, ffn = norm_step(block.norm_1), norm_step(block.norm_3), feed_forward_step(block.ffn)
    attention = attention_step(block.attention, Memory(cache))

    def pre(x: Rows) -> Rows:
        x = attention(norm_1(x), x)
        return ffn(norm_3(x), x)

    def post(x: Rows) -> Rows:
        x = norm_1(attention(x, x))
        return norm_3(ffn(x, x))

    return pre if block.norm == "pre" else post


def attention_step(layer: Any, memory: Memory) -> Part:
    """x and what a token found in itself and those before it."""
    W, b, W_O, b_O = weights(layer, "W_QKV", "b_QKV", "W_O", "b_O")
    projected, where, cache = projection(W, b, layer.heads), layer.positions, memory.cache
    turned = turning(where) if type(where) is Rotary else None
    biased = type(where) in (Alibi, RelativeBias)
    g = layer.g.detach() if type(layer) is NormedAttention else None

    def attention(n: Rows, x: Rows) -> Rows:
        qkv, Q, kv = projected(n)
        if turned is not None:
            Q, k = turned(qkv[:2], cache.length).unbind(0)
            kv = torch.stack((k, qkv[2]))
        K, V = memory.remembered(kv)
        if g is not None:  # the cache has keys as they came: they get their length when they are read
            Q, K = g * rms_norm_kernel(Q), rms_norm_kernel(K)
        B = where(1, cache.length).unsqueeze(0) if biased else None
        Z = F.scaled_dot_product_attention(Q, K, V, B)
        return plus_affine(x, Z.flatten() if x.dim() == 1 else Z.reshape(x.shape), W_O, b_O)

    return attention


def projection(W: Tensor, b: Tensor | None, h: int) -> Callable[[Rows], tuple[Heads, Tensor, Tensor]]:
    """q, k and v of a token, q alone, and k with v; those of one text are always written to the same place."""
    place = W.new_empty(len(W))
    qkv = by_head(place, h)
    there = (qkv, qkv[0], qkv[1:])

    def projected(n: Rows) -> tuple[Heads, Tensor, Tensor]:
        if n.dim() > 1:
            qkv = by_head(affine(n, W, b), h)
            return qkv, qkv[0], qkv[1:]
        torch.mv(W, n, out=place) if b is None else torch.addmv(b, W, n, out=place)
        return there

    return projected


def turning(rotary: Rotary) -> Callable[[Tensor, int], Tensor]:
    """`rope` at one position: the sines and cosines of positions to come are computed once."""
    table: Any = torch.empty(0, 2)

    def turned(x: Float[Tensor, "*c 1 d"], at: int) -> Float[Tensor, "*c 1 d"]:
        nonlocal table
        if at >= len(table):
            pos = positions_of(x, max(64, 2 * (at + 1)))
            θ = pos.unsqueeze(-1) * frequencies(pos, x.shape[-1], rotary.base)
            table = torch.stack((θ.cos(), θ.sin()), dim=1)
        cos, sin = table[at]
        if rotary.halves:
            a, b = x.chunk(2, dim=-1)
            return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)

    return turned


def feed_forward_step(layer: Any) -> Part:
    """x and what the feed-forward network adds to it."""
    if layer.gated:
        W_1, W_3, W_2 = (W.t() for W in weights(layer, "W_1", "W_3", "W_2"))
        return lambda n, x: plus_affine(x, F.silu(affine(n, W_1, None)) * affine(n, W_3, None), W_2, None)
    W_1, W_2 = (W.t() for W in weights(layer, "W_1", "W_2"))
    b_1, b_2 = weights(layer, "b_1", "b_2")
    c, φ = GELU if layer.activation == "gelu" else (1.0, ACTIVATIONS[layer.activation])
    return lambda n, x: plus_affine(x, φ(affine(n, W_1, b_1, c)), W_2, b_2, c)


def gelu(u: Rows) -> Rows:
    """√2 gelu(√2 u) = u + u erf(u): GELU between two products that are both multiplied by √½."""
    return torch.addcmul(u, u, torch.erf(u))


GELU: tuple[float, Layer] = (sqrt(1 / 2), gelu)


def norm_step(norm: nn.Module) -> Layer:
    """A norm with the weights of a module; none where there is none."""
    if not isinstance(norm, LayerNorm | RMSNorm):
        return lambda x: x
    γ, eps, layer_norm = norm.gamma.detach(), norm.eps, torch.layer_norm
    shape = [len(γ)]
    if isinstance(norm, RMSNorm):
        return lambda x: F.rms_norm(x, shape, γ, eps)
    β = None if norm.beta is None else norm.beta.detach()
    return lambda x: layer_norm(x, shape, γ, β, eps)
