r"""Shakespeare, or a text of your own: a model of the next character.

    θ_t = model(c_1 … c_t)                            scores of character t + 1: a Transformer, an RNN, an LSTM or a GRU
    L = −1/n Σ_t log softmax(θ_t)_{c_{t+1}}           in nats a character; L / log 2 is in bits

The last tenth of the text is for validation. An example is `window` characters from anywhere in the rest.

Axes: b examples, n characters of an example.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn

from workings.errors import WorkingsError
from workings.models.character import CharacterModel
from workings.models.character_transformer import CharacterTransformer
from workings.models.decoding.search import sample
from workings.train.data.texts import text
from workings.train.recipe import Recipe, Task
from workings.train.settings import Training, setting
from workings.train.text.language import Language
from workings.train.text.vocabulary import Alphabet, sha256

MODELS = ("transformer", "rnn", "lstm", "gru")


@dataclass(frozen=True)
class ShakespeareSettings(Training):
    model: str = setting("transformer", "what reads the characters", among=MODELS)
    text: str = setting("shakespeare", "a text file in UTF-8, or: shakespeare, moby-dick, speeches")
    width: int = setting(64, "width of a character's vector", least=1)
    depth: int = setting(2, "blocks, or recurrent layers", least=1)
    heads: int = setting(2, "transformer: heads of the attention", least=1)
    hidden: int = setting(256, "hidden units: of the feed-forward network, or of a recurrent layer", least=1)
    window: int = setting(64, "characters of an example, and how far the attention reaches", least=2)
    rows: int = setting(16384, "transformer: vectors that the triples of characters share", least=1)
    judges: int = setting(102400, "characters of the last tenth to be judged by, from its start", least=2)
    steps: int = setting(2900, "updates of the parameters", least=1)
    batch: int = setting(32, "examples of one update, over all processes", least=1)
    rate: float = setting(1e-2, "learning rate at its highest", least=0)
    beta2: float = setting(0.95, "memory of the squared gradient", least=0, below=1)
    decay: float = setting(0.3, "weight decay", least=0)
    warmup: int = setting(50, "updates until the learning rate is at its highest", least=0)
    clip: float = setting(1.0, "largest norm of the gradient; 0 does not clip", least=0)


class Shakespeare(Recipe):
    name = "shakespeare"
    summary = "The next character of a text: a small Transformer, RNN, LSTM or GRU on Shakespeare, or on a text of your own."
    example = "workings train shakespeare --steps 500"
    Settings = ShakespeareSettings

    def task(self, settings: Any) -> Task:
        whole = text(settings.text)
        alphabet = Alphabet.of(whole)
        files = {"alphabet.json": alphabet.json()}
        train, held_out = split(alphabet.encode(whole), settings.window)
        return Task(
            self.model(settings, files),
            batches=lambda step: examples(train, settings.batch, settings.window),
            loss=loss,
            evaluate=lambda model: judged(model, held_out[: settings.judges], settings.window),
            sample=lambda model: written(self.language(settings, files, model), start(whole)),
            files=files,
            hashes={settings.text: sha256(whole)},
            unit="characters",
            count=lambda batch: batch.shape[0] * settings.window,
        )

    def model(self, settings: Any, files: Mapping[str, str]) -> nn.Module:
        characters = len(Alphabet.read(files["alphabet.json"]))
        width, depth, hidden = settings.width, settings.depth, settings.hidden
        if settings.model != "transformer":
            return CharacterModel(characters, width, hidden, depth, settings.model)
        size = {"hidden": hidden, "window": settings.window, "rows": settings.rows}
        return CharacterTransformer(characters, width, settings.heads, depth, **size)

    def language(self, settings: Any, files: Mapping[str, str], model: nn.Module) -> Language:
        """How the model reads a text: character by character, without those it never saw."""
        return Language(model, "character", list, "".join, Alphabet.read(files["alphabet.json"]).characters)


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


def judged(model: Any, tokens: Int[Tensor, " m"], window: int, rows: int = 256) -> dict[str, float]:
    """Windows one after the other; each begins without knowing what stood before it, as in training."""
    n = (len(tokens) - 1) // window
    table = tokens.unfold(0, window + 1, window)[:n]
    L = sum(model.loss(part).item() * len(part) for part in table.split(rows)) / n
    return {"loss": L, "perplexity": exp(L), "bits_per_character": L / log(2)}


def start(whole: str) -> str:
    """What a sample goes on from: a new line, where the text has lines."""
    return "\n" if "\n" in whole else whole[0]


def written(language: Language, prompt: str, count: int = 200) -> str:
    """The prompt goes on for some characters, drawn at random."""
    from workings.train.evaluation.writing import decoder_of

    tokens = sample(decoder_of(language.model), language.encode([*prompt]), count, T=0.8)
    return language.decode([*tokens]).strip("\n")
