"""One token more for a language model: its equations on the last row of each text.

Axes: b texts, v vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

from jaxtyping import Float
from torch import Tensor, nn

from workings.models.decoding.transformer_steps import Rows, Step, affine, block_step, is_usual, norm_step, rows_of, weights
from workings.models.language_model import LanguageModel
from workings.models.transformer import Cache, Embedding, sinusoids
from workings.nn.norms.per_token import LayerNorm, RMSNorm
from workings.nn.transformer.positions import Learned


def language_step(model: LanguageModel, cache: Cache) -> Step | None:
    """The step of a language model whose parts are those that `LanguageModel` makes; None where one is of another kind."""
    embedding = model.embedding
    usual = type(embedding) is Embedding and embedding.S is None
    ends = type(model.norm) in (LayerNorm, RMSNorm, nn.Identity) and type(embedding.P) in (type(None), Learned)
    if not usual or not ends or not all(is_usual(block) for block in model.blocks):
        return None
    layers = [block_step(block, layer) for block, layer in zip(model.blocks, cache.layers, strict=True)]
    norm, place = norm_step(model.norm), embedding_step(embedding)
    (W,) = weights(model, "W") if model.W is not None else weights(embedding, "E")

    def step(tokens: list[int]) -> Float[Tensor, "b v"]:
        x = place(tokens, cache.length)
        for layer in layers:
            x = layer(x)
        return affine(norm(x), W, None).view(len(tokens), -1)

    return step


def embedding_step(embedding: Embedding) -> Callable[[list[int], int], Rows]:
    """What `embedding` makes of tokens that all stand at one position."""
    (E,) = weights(embedding, "E")
    P = None if embedding.P is None else embedding.P.table.detach()
    width = E.shape[1]

    def place(tokens: list[int], at: int) -> Rows:
        x = rows_of(E, tokens)
        if P is not None:
            x = x + P[at]
        if embedding.positions == "sinusoidal":
            x = sqrt(width) * x + sinusoids(x.view(-1, width)[:1], at)[0]
        return x

    return place
