"""The recipe of a bigram model of words; its equations stand in `workings.train.tasks.bigram`."""

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

    from workings.models.bigram import NeuralBigram
    from workings.train.text.language import Language


@dataclass(frozen=True)
class BigramSettings(Training, steps=600, rate=2e-2, decay=0.4):
    text: str = setting("shakespeare", "a text file, a sentence a line, or: shakespeare, moby-dick, speeches")
    dev: str = setting("", "a text file to evaluate on; by default the last tenth of the text")
    vectors: str = setting("learned", "learned, glove, or a file of lines `word number number …` to begin with")
    fixed: bool = setting(False, "freeze the vectors, as the classic assignment does")
    vocabulary: int = setting(2000, "words, the most frequent ones", least=4)
    width: int = setting(100, "width of a learned vector", least=1)
    hidden: int = setting(200, "hidden units", least=1)
    smooth: bool = setting(True, "learn from counts smoothed as Kneser and Ney do, not from those of the text")
    batch: int = setting(500, "contexts per update, over all processes", least=1)


class Bigram(Recipe, Writes):
    name = "bigram"
    summary = "The next word from the vector of this one: learned vectors or GloVe, beside Kneser–Ney counts."
    example = "workings train bigram --text train.txt --dev dev.txt"
    Settings = BigramSettings

    def task(self, settings: Any) -> Task:
        from workings.models.smoothing import KneserNey
        from workings.train.tasks import bigram

        train, dev, content = bigram.sentences(settings.text, settings.dev)
        words = bigram.vocabulary(train, settings.vocabulary)
        vectors = bigram.initial_vectors(settings.vectors, words)
        files = {"words.json": words.json(), "width.txt": str(settings.width if vectors is None else vectors.shape[1])}
        tokens, judges = bigram.encode(train, words), bigram.encode(dev, words)
        model = self.model(settings, files)
        bigram.initialise(model, tokens, vectors)
        counts = KneserNey(tokens, len(words))
        smooth = (counts.D, counts.continuation.float()) if settings.smooth else ()
        pairs, judging = bigram.Pairs(tokens, len(words), *smooth), bigram.Pairs(judges, len(words))
        beside = {"kneser_ney_perplexity": counts.perplexity(judges), "unknown_share": (judges == 0).double().mean().item()}
        return Task(
            model,
            batches=bigram.Contexts(pairs, settings.batch, settings.seed),
            loss=bigram.loss,
            evaluate=lambda model: {**bigram.figures(model, judging), **beside},
            sample=lambda model: bigram.sample_text(self.language(settings, files, model)),
            files=files,
            hashes={name: sha256(whole) for name, whole in content.items()},
            unit="pairs",
            count=lambda batch: batch[1].sum().item(),
        )

    def model(self, settings: Any, files: Mapping[str, str]) -> NeuralBigram:
        import torch

        from workings.models.bigram import NeuralBigram
        from workings.train.tasks.bigram import SPREAD
        from workings.train.text.vocabulary import Words

        words, width = len(Words.read(files["words.json"])), int(files["width.txt"])
        E = SPREAD * torch.randn(words, width)
        return NeuralBigram(E, settings.hidden, train_vectors=not settings.fixed)

    def language(self, settings: Any, files: Mapping[str, str], model: nn.Module) -> Language:
        """How the model reads a text: word by word, line after line."""
        from workings.train.tasks.bigram import join, tokens_of
        from workings.train.text.language import Language
        from workings.train.text.vocabulary import UNKNOWN, Words

        return Language(model, "word", tokens_of, join, Words.read(files["words.json"]).words, UNKNOWN)
