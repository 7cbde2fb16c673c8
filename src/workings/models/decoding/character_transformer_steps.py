"""One character more for a character Transformer: its equations on the last row of each text.

Axes: b texts, e width, c characters of the alphabet.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from workings.models.character_transformer import BOUND, CharacterBlock, CharacterTransformer, Recent, row_of, turns
from workings.models.decoding.transformer_steps import (
    Layer,
    Memory,
    Rows,
    Step,
    affine,
    by_head,
    plus_affine,
    rows_of,
    weights,
)
from workings.nn.transformer.cache import KeyValueCache


def character_step(model: CharacterTransformer, cache: Recent) -> Step | None:
    """The step of a character Transformer, if its blocks are those it makes."""
    if not all(type(block) is CharacterBlock for block in model.blocks):
        return None
    layers = [character_block_step(block, layer) for block, layer in zip(model.blocks, cache.layers, strict=True)]
    W, *E = weights(model, "W", "E_1", "E_2", "E_3")
    V, shape = model.characters, [W.shape[1]]

    def step(tokens: list[int]) -> Float[Tensor, "b c"]:
        x = torch.layer_norm(character_vectors(tokens, cache, E, V), shape)
        for layer in layers:
            x = layer(x)
        θ = affine(torch.layer_norm(x, shape), W, None).view(len(tokens), -1)
        return BOUND * torch.tanh(θ / BOUND)

    return step


def character_vectors(tokens: list[int], cache: Recent, E: list[Tensor], V: int) -> Rows:
    """The vectors of each character, of the pair and of the triple it ends; the cache moves on."""
    assert cache.before is not None
    old = cache.before.tolist()
    pairs = [a * V + c for (_, a), c in zip(old, tokens, strict=True)]
    triples = [b * V**2 + pair for (b, _), pair in zip(old, pairs, strict=True)]
    rows = [tokens, [row_of(n, V**2, E[1]) for n in pairs], [row_of(n, V**3, E[2]) for n in triples]]
    cache.before = cache.before.new_tensor([[a, c] for (_, a), c in zip(old, tokens, strict=True)])
    return rows_of(E[0], rows[0]) + rows_of(E[1], rows[1]) + rows_of(E[2], rows[2])


def character_block_step(block: Any, cache: KeyValueCache) -> Layer:
    """A block on one character of each text."""
    W, W_O, W_1, W_2 = weights(block, "W_QKV", "W_O", "W_1", "W_2")
    h, memory = block.heads, Memory(cache, block.window)
    shape = [W.shape[1]]
    d = shape[0] // h

    def layer(x: Rows) -> Rows:
        qkv = by_head(affine(torch.layer_norm(x, shape), W, None), h)
        turn = turns(cache.length + 1, d, x.dtype, x.device)[-1]
        qk = torch.view_as_complex(torch.layer_norm(qkv[:2], [d]).view(2, -1, h, 1, d // 2, 2))
        qkv[:2] = torch.view_as_real(qk * turn).flatten(-2)
        Z = F.scaled_dot_product_attention(qkv[0], *memory.remembered(qkv[1:]))
        x = plus_affine(x, Z.flatten() if x.dim() == 1 else Z.reshape(x.shape), W_O, None)
        H = affine(torch.layer_norm(x, shape), W_1, None).relu_().square_()
        return plus_affine(x, H, W_2, None)

    return layer
