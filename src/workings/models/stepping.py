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
import torch.nn.functional as F
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


def stepper(decoder: Any, cache: Any) -> Step | None:
    """A step for a text whose tokens so far are in the cache; None where the model is of another kind."""
    if type(decoder) is CharacterTransformer and isinstance(cache, Recent) and alone(cache):
        return lambda token: character_step(decoder, token, cache)
    if type(decoder) is LanguageModel and isinstance(cache, Cache) and alone(cache) and plain(decoder):
        return lambda token: language_step(decoder, token, cache)
    return None


def alone(cache: Cache) -> bool:
    """Whether the cache holds one text, of ordinary numbers."""
    return all(
        layer.rows is not None and type(layer.rows[0]) is Tensor and len(layer.rows[0]) == 1 for layer in cache.layers
    )


def plain(model: LanguageModel) -> bool:
    """Pre-norm blocks with layer norm and biases, a key for every query, positions added to the embeddings if at all."""
    return (
        model.embedding.positions in ("none", "learned")
        and not (model.training and isinstance(model.drop, nn.Dropout) and model.drop.p)
        and all(usual(block) for block in model.blocks)
    )


def usual(block: Any) -> bool:
    a = block.attention
    one_width = a.heads == a.kv_heads and len(set(a.sizes)) == 1
    bare = type(a) is MultiHeadAttention and a.positions is None and a.b_QKV is not None
    return bool(bare and one_width and block.norm == "pre" and type(block.norm_1) is LayerNorm and not block.ffn.gated)


def language_step(model: LanguageModel, token: int, cache: Cache) -> Float[Tensor, " v"]:
    x, n = model.embedding.E[token], cache.length
    if model.embedding.P is not None:
        x = x + model.embedding.P.table[n]
    for block, layer in zip(model.blocks, cache.layers, strict=True):
        x = block_step(block, x, layer)  # type: ignore[arg-type]
    x = normed(model.norm, x)  # type: ignore[arg-type]
    return (model.embedding.E if model.W is None else model.W) @ x


def block_step(block: Block, x: Vector, cache: KeyValueCache) -> Vector:
    a, f = block.attention, block.ffn
    q, k, v = torch.addmv(a.b_QKV, a.W_QKV, normed(block.norm_1, x)).view(3, a.heads, -1)  # type: ignore[arg-type]
    z = looked_up(q, *remembered(cache, k, v))
    x = torch.addmv(x, a.W_O, z).add_(a.b_O)  # type: ignore[arg-type]
    H = ACTIVATIONS[f.activation](torch.addmv(f.b_1, f.W_1.mT, normed(block.norm_3, x)))  # type: ignore[arg-type]
    return torch.addmv(x, f.W_2.mT, H).add_(f.b_2)


def normed(norm: LayerNorm, x: Vector) -> Vector:
    return F.layer_norm(x, x.shape, norm.gamma, norm.beta, norm.eps)


def character_step(model: CharacterTransformer, token: int, cache: Recent) -> Float[Tensor, " v"]:
    assert cache.before is not None
    V, before = model.characters, cache.before
    b, a = before[0].tolist()
    cache.before = torch.tensor([[a, token]])
    pair, triple = a * V + token, (b * V + a) * V + token
    x = model.E_1[token] + model.E_2[row_of(pair, V**2, model.E_2)] + model.E_3[row_of(triple, V**3, model.E_3)]
    x = F.layer_norm(x, x.shape)
    for block, layer in zip(model.blocks, cache.layers, strict=True):
        x = character_block_step(block, x, layer)  # type: ignore[arg-type]
    θ = model.W @ F.layer_norm(x, x.shape)
    return θ.div_(BOUND).tanh_().mul_(BOUND)


def character_block_step(block: CharacterBlock, x: Vector, cache: KeyValueCache) -> Vector:
    qkv = torch.mv(block.W_QKV, F.layer_norm(x, x.shape)).view(3, block.heads, -1)
    d, n = qkv.shape[-1], cache.length
    turn = turns(n + 1, d, x.dtype, x.device)[n]
    qk = torch.view_as_complex(F.layer_norm(qkv[:2], (d,)).view(2, block.heads, -1, 2)) * turn
    q, k = torch.view_as_real(qk).view(2, block.heads, d)
    K, V = remembered(cache, k, qkv[2])
    z = looked_up(q, K[:, -block.window :], V[:, -block.window :])
    x = torch.addmv(x, block.W_O, z)
    H = torch.mv(block.W_1, F.layer_norm(x, x.shape)).relu_().square_()
    return torch.addmv(x, block.W_2, H)


def remembered(cache: KeyValueCache, k: Float[Tensor, "h d"], v: Float[Tensor, "h d"]) -> tuple[Tensor, Tensor]:
    """All keys and values, with this token's behind the others."""
    assert cache.rows is not None
    K, V = cache.rows
    n = cache.length
    if n == K.shape[-2]:
        K, V = cache.append(k[None, :, None], v[None, :, None])  # makes room
        return K[0], V[0]
    K, V = K[0], V[0]
    K[:, n] = k
    V[:, n] = v
    cache.length = n + 1
    return K[:, : n + 1], V[:, : n + 1]


def looked_up(q: Float[Tensor, "h d"], K: Float[Tensor, "h n d"], V: Float[Tensor, "h n d"]) -> Vector:
    """softmax(K q / √d)ᵀ V, the heads side by side."""
    S = torch.bmm(K, q.unsqueeze(2)).div_(sqrt(q.shape[1]))
    A = S.softmax(dim=1)
    return torch.bmm(A.mT, V).view(-1)
