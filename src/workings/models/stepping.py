r"""One token more, for one text: what a model computes for the last row, in as few operations as it takes.

    x ← x + W_O attention(q, [K; k], [V; v]) + b_O
    x ← x + W₂ φ(W₁ norm(x) + b₁) + b₂

For a single token nearly all the time of an ordinary call goes into shaping and checking. Here a token is one vector, its
products are matrix times vector, and keys and values go straight into the cache's room; the numbers are the same. A model
that this file does not know takes the ordinary call, which tests hold equal to this one.

Axes: e width, h heads, n tokens in the cache, d width of a head, v vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from workings.models.character_transformer import BOUND, CharacterBlock, CharacterTransformer, Recent, row_of, turns
from workings.models.language_model import LanguageModel
from workings.models.transformer import Cache
from workings.nn.block import Block
from workings.nn.cache import KeyValueCache
from workings.nn.feedforward import ACTIVATIONS
from workings.nn.multihead import MultiHeadAttention
from workings.nn.norms import LayerNorm

Vector = Float[Tensor, " e"]
Step = Callable[[int], Float[Tensor, " v"]]
"""The scores after one more token."""
Layer = Callable[[Vector], Vector]


def stepper(decoder: Any, cache: Any) -> Step | None:
    """A step for a text whose tokens so far are in the cache; None where the model is of another kind.

    The weights are those of now.
    """
    if not isinstance(cache, Cache) or not alone(cache):
        return None
    with torch.no_grad():
        if type(decoder) is CharacterTransformer and isinstance(cache, Recent):
            return character_step(decoder, cache)
        if type(decoder) is LanguageModel and plain(decoder):
            return language_step(decoder, cache)
    return None


def alone(cache: Cache) -> bool:
    """Whether the cache holds one text, of ordinary numbers."""
    return all(
        layer.rows is not None and type(layer.rows[0]) is Tensor and len(layer.rows[0]) == 1 for layer in cache.layers
    )


def plain(model: LanguageModel) -> bool:
    """Pre-norm blocks with layer norm and biases, a key for every query, positions added to the embeddings if at all."""
    dropped = model.training and any(isinstance(m, nn.Dropout) and m.p for m in model.modules())
    return not dropped and model.embedding.positions in ("none", "learned") and all(usual(block) for block in model.blocks)


def usual(block: Any) -> bool:
    a = block.attention
    one_width = a.heads == a.kv_heads and len(set(a.sizes)) == 1
    bare = type(a) is MultiHeadAttention and a.positions is None and a.b_QKV is not None
    return bool(bare and one_width and block.norm == "pre" and type(block.norm_1) is LayerNorm and not block.ffn.gated)


def language_step(model: LanguageModel, cache: Cache) -> Step:
    """The step of a language model."""
    E, P = model.embedding.E, None if model.embedding.P is None else model.embedding.P.table
    W = E if model.W is None else model.W
    norm = normed(model.norm)
    layers = [block_step(block, Memory(layer)) for block, layer in zip(model.blocks, cache.layers, strict=True)]

    def step(token: int) -> Tensor:
        x = E[token] if P is None else E[token] + P[cache.length]
        for layer in layers:
            x = layer(x)
        return torch.mv(W, norm(x))

    return step


def block_step(block: Any, memory: Memory) -> Layer:
    """A pre-norm block on one vector. 1/√d goes into the weights of the queries."""
    a, f, h = block.attention, block.ffn, block.attention.heads
    W, b = scaled(a.W_QKV, a.sizes[0], h), scaled(a.b_QKV, a.sizes[0], h)
    W_O, b_O, W_1, b_1, W_2, b_2 = a.W_O, a.b_O, f.W_1.mT, f.b_1, f.W_2.mT, f.b_2
    norm_1, norm_3, φ = normed(block.norm_1), normed(block.norm_3), QUICK.get(f.activation, ACTIVATIONS[f.activation])

    def layer(x: Vector) -> Vector:
        qkv = torch.addmv(b, W, norm_1(x)).view(3, h, -1)
        x = torch.addmv(x, W_O, memory.attended(qkv)).add_(b_O)
        H = φ(torch.addmv(b_1, W_1, norm_3(x)))
        return torch.addmv(x, W_2, H).add_(b_2)

    return layer


def scaled(W: Tensor, rows: int, heads: int) -> Tensor:
    """The weights with those of the queries, the first `rows`, divided by √d."""
    W = W.clone()
    W[:rows] /= sqrt(rows // heads)
    return W


def normed(norm: Any) -> Layer:
    """Layer norm with the weights of a module."""
    γ, β, eps, layer_norm = norm.gamma, norm.beta, norm.eps, torch.layer_norm
    shape = [len(γ)]
    return lambda x: layer_norm(x, shape, γ, β, eps)


def gelu(x: Vector) -> Vector:
    """x (1 + erf(x/√2)) / 2; for one vector quicker than PyTorch's own."""
    x = x * 0.5
    return torch.addcmul(x, x, torch.erf(x * sqrt(2)))


QUICK = {"gelu": gelu}


def character_step(model: CharacterTransformer, cache: Recent) -> Step:
    """The step of a character Transformer."""
    assert cache.before is not None
    V, E_1, E_2, E_3, W = model.characters, model.E_1, model.E_2, model.E_3, model.W
    layers = [character_block_step(block, Memory(layer)) for block, layer in zip(model.blocks, cache.layers, strict=True)]
    shape = [E_1.shape[1]]
    norm = torch.layer_norm

    def step(token: int) -> Tensor:
        b, a = cache.before[0].tolist()  # type: ignore[index]
        cache.before = torch.tensor([[a, token]])
        pair, triple = row_of(a * V + token, V**2, E_2), row_of((b * V + a) * V + token, V**3, E_3)
        x = norm(E_1[token] + E_2[pair] + E_3[triple], shape)
        for layer in layers:
            x = layer(x)
        θ = torch.mv(W, norm(x, shape))
        return θ.div_(BOUND).tanh_().mul_(BOUND)

    return step


def character_block_step(block: Any, memory: Memory) -> Layer:
    """A block of a character Transformer on one vector. Queries are divided by √d as they are turned."""
    h, W, W_O, W_1, W_2 = block.heads, block.W_QKV, block.W_O, block.W_1, block.W_2
    e, d = W_O.shape[0], W_O.shape[0] // h
    scale = torch.tensor([1 / sqrt(d), 1.0]).to(W_O).view(2, 1, 1)
    norm, memory.window = torch.layer_norm, block.window

    def layer(x: Vector) -> Vector:
        qkv = torch.mv(W, norm(x, [e])).view(3, h, d)
        n = memory.cache.length
        turn = scale * turns(n + 1, d, x.dtype, x.device)[n]
        qk = torch.view_as_complex(norm(qkv[:2], [d]).view(2, h, -1, 2))
        qkv[:2] = torch.view_as_real(qk * turn).view(2, h, d)
        x = torch.addmv(x, W_O, memory.attended(qkv))
        H = torch.mv(W_1, norm(x, [e])).relu_().square_()
        return torch.addmv(x, W_2, H)

    return layer


class Memory:
    """A layer's keys and values in one tensor, of which the cache's are views, so that they are written at once."""

    def __init__(self, cache: KeyValueCache) -> None:
        self.cache, self.window = cache, 0
        self.join()

    def join(self) -> None:
        assert self.cache.rows is not None
        self.KV = torch.cat(self.cache.rows)  # 2 h n d
        self.cache.rows = (self.KV[:1], self.KV[1:])

    def attended(self, qkv: Float[Tensor, "3 h d"]) -> Vector:
        """softmax(q Kᵀ) V over this token and those before it, the heads side by side; q is scaled already."""
        n = self.cache.length + 1
        if n > self.KV.shape[2]:
            _, k, v = qkv[:, None, :, None]
            self.cache.append(k, v)  # makes room
            self.join()
        else:
            self.KV[:, :, n - 1] = qkv[1:]
            self.cache.length = n
        K, V = self.KV[:, :, max(0, n - self.window) if self.window else 0 : n]
        S = torch.bmm(qkv[0].unsqueeze(1), K.mT)  # h 1 n
        return torch.bmm(S.softmax(dim=-1), V).view(-1)
