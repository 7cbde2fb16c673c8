"""The recipe of a model of characters; its equations stand in `workings.train.tasks.shakespeare`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workings.checksum import sha256
from workings.train.capabilities import Writes
from workings.train.recipe import Recipe
from workings.train.settings import Training, setting
from workings.train.task import Task

if TYPE_CHECKING:
    from torch import nn

    from workings.train.text.language import Language


_MODELS = ("transformer", "rnn", "lstm", "gru")


@dataclass(frozen=True)
class ShakespeareSettings(Training, steps=2900, rate=1e-2, beta2=0.95, decay=0.3, warmup=50, clip=1.0):
    model: str = setting("transformer", "what reads the characters", among=_MODELS)
    text: str = setting("shakespeare", "a text file in UTF-8, or: shakespeare, moby-dick, speeches")
    width: int = setting(64, "width of a character's vector", least=1)
    depth: int = setting(2, "blocks, or recurrent layers", least=1)
    heads: int = setting(2, "transformer: attention heads", least=1)
    hidden: int = setting(256, "hidden units: of the feed-forward network, or of a recurrent layer", least=1)
    window: int = setting(64, "characters of an example, and how far the attention reaches", least=2)
    rows: int = setting(16384, "transformer: vectors that the triples of characters share", least=1)
    judges: int = setting(102400, "characters of the last tenth to evaluate on, from its start", least=2)


class Shakespeare(Recipe, Writes):
    name = "shakespeare"
    summary = "The next character of a text: a small Transformer, RNN, LSTM or GRU on Shakespeare, or on a text of your own."
    example = "workings train shakespeare --steps 500"
    Settings = ShakespeareSettings

    def task(self, settings: Any) -> Task:
        from workings.train.data.texts import text
        from workings.train.tasks.shakespeare import examples, figures, loss, sample_text, split, start
        from workings.train.text.vocabulary import Alphabet

        whole = text(settings.text)
        alphabet = Alphabet.of(whole)
        files = {"alphabet.json": alphabet.json()}
        train, held_out = split(alphabet.encode(whole), settings.window)
        return Task(
            self.model(settings, files),
            batches=lambda step: examples(train, settings.batch, settings.window),
            loss=loss,
            evaluate=lambda model: figures(model, held_out[: settings.judges], settings.window),
            sample=lambda model: sample_text(self.language(settings, files, model), start(whole)),
            files=files,
            hashes={settings.text: sha256(whole)},
            unit="characters",
            count=lambda batch: batch.shape[0] * settings.window,
        )

    def model(self, settings: Any, files: Mapping[str, str]) -> nn.Module:
        from workings.models.character import CharacterModel
        from workings.models.character_transformer import CharacterTransformer
        from workings.train.text.vocabulary import Alphabet

        characters = len(Alphabet.read(files["alphabet.json"]))
        width, depth, hidden = settings.width, settings.depth, settings.hidden
        if settings.model != "transformer":
            return CharacterModel(characters, width, hidden, depth, settings.model)
        size = {"hidden": hidden, "window": settings.window, "rows": settings.rows}
        return CharacterTransformer(characters, width, settings.heads, depth, **size)

    def language(self, settings: Any, files: Mapping[str, str], model: nn.Module) -> Language:
        """How the model reads a text: character by character, without those it never saw."""
        from workings.train.text.language import Language
        from workings.train.text.vocabulary import Alphabet

        return Language(model, "character", list, "".join, Alphabet.read(files["alphabet.json"]).characters)
