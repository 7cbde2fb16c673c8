"""Models as decoders: a recurrent one carries its state from token to token, a bigram reads the last token alone.

Axes: b beams, n tokens, v vocabulary.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from workings.models.decoding.search import Decoder


def decoder_of(model: Any) -> Decoder:
    """A Transformer is one; recurrent models and bigrams are made into one."""
    if isinstance(model, Decoder):
        return model
    return RecurrentDecoder(model) if hasattr(model, "cell") else _BigramDecoder(model)


class WithoutUnknown:
    """A decoder that never says «unknown»: the other tokens share its probability."""

    def __init__(self, decoder: Decoder, unknown: int) -> None:
        self.decoder, self.unknown, self.context = decoder, unknown, decoder.context

    def __call__(self, tokens: Int[Tensor, "b n"], cache: Any = None) -> Float[Tensor, "b n v"]:
        θ = self.decoder(tokens, cache).clone()
        θ[..., self.unknown] = -torch.inf
        return θ

    def new_cache(self) -> Any:
        return self.decoder.new_cache()


class State:
    """What a model carries from token to token: the state of its cell, none for a bigram."""

    def __init__(self) -> None:
        self.length = 0
        self.state: Any = None

    def select(self, rows: Int[Tensor, " b"]) -> None:
        """Keep the states of these beams."""
        if isinstance(self.state, tuple):
            self.state = tuple(part[:, rows] for part in self.state)
        elif self.state is not None:
            self.state = self.state[:, rows]


class StateDecoder:
    """What both have: the model, and a cache that is its state."""

    context: int | None = None

    def __init__(self, model: Any) -> None:
        self.model = model

    def new_cache(self) -> State:
        return State()


class RecurrentDecoder(StateDecoder):
    """A recurrent character model as a decoder: its state is the cache."""

    def __call__(self, tokens: Int[Tensor, "b n"], cache: State | None = None) -> Float[Tensor, "b n v"]:
        cache = cache or self.new_cache()
        θ, cache.state = self.model(tokens, cache.state)
        cache.length += tokens.shape[1]
        return torch.as_tensor(θ)


class _BigramDecoder(StateDecoder):
    """A bigram model as a decoder: only the last token counts."""

    def __call__(self, tokens: Int[Tensor, "b n"], cache: State | None = None) -> Float[Tensor, "b n v"]:
        if cache is not None:
            cache.length += tokens.shape[1]
        θ: Tensor = self.model(tokens[:, -1])
        return θ.unsqueeze(1)
