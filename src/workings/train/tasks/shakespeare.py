r"""Shakespeare, or a text of your own: a model of the next character.

    θ_t = model(c_1 … c_t)                            scores of character t + 1: a Transformer, an RNN, an LSTM or a GRU
    L = −1/n Σ_t log softmax(θ_t)_{c_{t+1}}           in nats a character; L / log 2 is in bits

The last tenth of the text is for validation. An example is `window` characters from anywhere in the rest.

Axes: b examples, n characters of an example.
"""

from __future__ import annotations

from math import exp, log
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from workings.errors import WorkingsError
from workings.models.decoding.search import sample
from workings.train.text.decoders import decoder_of
from workings.train.text.language import Language


def split(tokens: Int[Tensor, " m"], window: int) -> tuple[Tensor, Tensor]:
    """The text to learn from, and its last tenth; both long enough for an example."""
    cut = 9 * len(tokens) // 10
    if len(tokens) - cut < window + 1:
        raise WorkingsError(
            f"The text has {len(tokens):,} characters. Its last tenth is for validation and must hold an example of "
            f"{window} and the character after it: give at least {10 * (window + 1):,} characters, or a smaller --window."
        )
    return tokens[:cut], tokens[cut:]


def examples(tokens: Int[Tensor, " m"], batch: int, window: int) -> Int[Tensor, "b n"]:
    """Characters from random places, each example with the one that follows it."""
    at = torch.randint(len(tokens) - window, (batch, 1))
    return tokens[at + torch.arange(window + 1)]


def loss(model: Any, batch: Int[Tensor, "b n"]) -> Tensor:
    L: Tensor = model.loss(batch)
    return L


def figures(model: Any, tokens: Int[Tensor, " m"], window: int, rows: int = 256) -> dict[str, float]:
    """Windows one after the other; each begins without knowing what stood before it, as in training."""
    n = (len(tokens) - 1) // window
    table = tokens.unfold(0, window + 1, window)[:n]
    L = sum(model.loss(part).item() * len(part) for part in table.split(rows)) / n
    return {"loss": L, "perplexity": exp(L), "bits_per_character": L / log(2)}


def start(whole: str) -> str:
    """What a sample goes on from: a new line, where the text has lines."""
    return "\n" if "\n" in whole else whole[0]


def sample_text(language: Language, prompt: str, count: int = 200) -> str:
    """The prompt goes on for some characters, drawn at random."""
    tokens = sample(decoder_of(language.model), language.encode([*prompt]), count, T=0.8)
    return language.decode([*tokens]).strip("\n")
