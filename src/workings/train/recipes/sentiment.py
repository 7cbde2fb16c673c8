"""The recipe of a deep averaging network; its equations stand in `workings.train.tasks.sentiment`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from workings.checksum import sha256
from workings.errors import WorkingsError
from workings.train.capabilities import Classifies, ExplainsWords, HasVectors, Predictions, Shows
from workings.train.forward_pass import ForwardPass, likeliest, numbered_tokens
from workings.train.recipe import OpenRun, Recipe
from workings.train.settings import Training, setting
from workings.train.task import Task

if TYPE_CHECKING:
    from torch import Tensor

    from workings.models.averaging import DeepAveraging
    from workings.models.vectors import WordVectors
    from workings.train.text.explain import Explainer


@dataclass(frozen=True)
class SentimentSettings(Training, steps=470, rate=6e-3, decay=1.0):
    data: str = setting("imdb", "imdb, rotten, or a CSV file with the columns text and label")
    ngrams: int = setting(1, "1: words, 2: pairs of neighbouring words too", least=1, below=3)
    vectors: str = setting("learned", "learned, glove, or a file of lines `word number number …` to begin with")
    fixed: bool = setting(False, "freeze the vectors")
    least: int = setting(2, "times that a word must occur to have a vector; a pair once more", least=1)
    width: int = setting(16, "width of a learned vector", least=1)
    hidden: int = setting(32, "hidden units", least=1)
    word_dropout: float = setting(0.5, "fraction of the words dropped in training", least=0, below=1)
    test: int = setting(5000, "texts to evaluate on; of a file at most a fifth of each class, at least one", least=1)
    batch: int = setting(256, "texts per update, over all processes", least=1)


class Sentiment(Recipe, Classifies, ExplainsWords, HasVectors, Shows):
    name = "sentiment"
    summary = "Texts to classes by the mean of their words: film reviews, or a CSV of your own."
    example = "workings train sentiment --ngrams 2"
    Settings = SentimentSettings
    input_hint = 'Give a text: --input "a fine film".'

    def task(self, settings: Any) -> Task:
        from workings.train.data.reviews import reviews
        from workings.train.tasks.sentiment import NGrams, Texts, cut, figures, initial_vectors, loss, part, sample_text
        from workings.train.tasks.shuffled import Shuffled

        data = reviews(settings.data, settings.test, settings.seed)
        pieces = [cut(text) for text, _ in data.train]
        grams = NGrams.of(pieces, settings.ngrams, settings.least)
        vectors = initial_vectors(settings.vectors, grams)
        width = settings.width if vectors is None else vectors.shape[1]
        files = {**grams.files(), "classes.json": json.dumps(data.classes), "width.txt": str(width)}
        model = self.model(settings, files)
        if vectors is not None:
            model.E.data[: len(vectors)] = vectors
        train = Texts([grams.encode(words) for words in pieces], [y for _, y in data.train])
        test = Texts([grams.encode(cut(text)) for text, _ in data.test], [y for _, y in data.test])
        seen = Shuffled(len(train.y), settings.batch, settings.seed)
        return Task(
            model,
            batches=lambda step: train[seen(step)],
            loss=loss,
            evaluate=lambda model: figures(model, test),
            best="accuracy",
            highest=True,
            sample=lambda model: sample_text(model, data, test),
            files=files,
            hashes={settings.data: sha256(json.dumps([data.classes, data.train, data.test]))},
            unit="texts",
            part=part,
        )

    def model(self, settings: Any, files: Mapping[str, str]) -> DeepAveraging:
        import torch

        from workings.models.averaging import DeepAveraging
        from workings.train.tasks.sentiment import NGrams

        rows, classes = len(NGrams.read(files)), json.loads(files["classes.json"])
        E = 0.01 * torch.randn(rows, int(files["width.txt"]))
        dropout, trained = settings.word_dropout, not settings.fixed
        return DeepAveraging(E, [settings.hidden], len(classes), dropout, padding=0, train_vectors=trained)

    def predictions(self, run: OpenRun) -> Predictions:
        from workings.train.data.reviews import reviews
        from workings.train.tasks.sentiment import NGrams, Texts, cut, scores

        grams, settings = NGrams.read(run.files), run.settings
        test = reviews(settings.data, settings.test, settings.seed).test
        texts = Texts([grams.encode(cut(text)) for text, _ in test], [y for _, y in test])
        p = scores(run.model, texts).softmax(dim=1)
        return Predictions(json.loads(run.files["classes.json"]), texts.y, p, texts=[text for text, _ in test])

    def explainer(self, run: OpenRun) -> Explainer:
        from workings.train.tasks.sentiment import NGrams, cut
        from workings.train.text.explain import Explainer

        grams = NGrams.read(run.files)
        return Explainer(run.model, json.loads(run.files["classes.json"]), cut, grams.encode, grams.name)

    def vectors(self, run: OpenRun) -> WordVectors:
        from workings.models.vectors import WordVectors

        words, model = json.loads(run.files["words.json"])[1:], run.model  # the first is the place of unknown ones
        return WordVectors(words, model.E.detach()[1 : 1 + len(words)])  # type: ignore[operator]

    def forward_pass(self, run: OpenRun, given: str) -> ForwardPass:
        import torch

        explainer = self.explainer(run)
        tokens = explainer.tokens(given)
        if not tokens:
            raise WorkingsError(f"The model knows no word of {given!r}.")
        pieces, classes = tuple(map(explainer.name, tokens)), tuple(explainer.classes)
        call = partial(_class_of, run.model, torch.tensor([tokens]))
        describe = partial(likeliest, names=classes, before="Taken for: ")
        return ForwardPass(call, (pieces, classes), describe, numbered_tokens(pieces))


def _class_of(model: Any, x: Tensor) -> Tensor:
    """The probability of each class."""
    θ = model(x)
    p = θ[0].softmax(dim=-1)
    return p
