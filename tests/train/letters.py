"""Language models small enough for a test: characters by a GRU or a Transformer, words by a bigram network."""

import json
from dataclasses import dataclass

import torch

from workings.models.bigram import NeuralBigram
from workings.models.character import CharacterModel
from workings.models.language_model import LanguageModel
from workings.train.recipe import Recipe
from workings.train.settings import Training, setting
from workings.train.task import Task
from workings.train.text.language import Language

TEXT = "to be or not to be that is the question " * 20


@dataclass(frozen=True)
class Settings(Training):
    kind: str = setting("gru", "the model", among=("gru", "transformer", "words"))
    steps: int = setting(20, "updates", least=1)


class Letters(Recipe):
    name = "letters"
    summary = "A line of Hamlet, learned by heart."
    example = "workings train letters"
    Settings = Settings

    def task(self, settings):
        tokens = [*sorted(set(TEXT.split())), "<unk>"] if settings.kind == "words" else sorted(set(TEXT))
        files = {"vocabulary.json": json.dumps(tokens)}
        model = self.model(settings, files)
        language = self.language(settings, files, model)
        row = torch.tensor(language.encode(language.cut(TEXT)))

        def loss(model, start):
            part = row[start : start + 33]
            return model.loss(part[:-1], part[1:]) if settings.kind == "words" else model.loss(part[None])

        return Task(model, lambda step: step % 40, loss, files=files)

    def model(self, settings, files):
        n = len(json.loads(files["vocabulary.json"]))
        if settings.kind == "words":
            return NeuralBigram(torch.randn(n, 4), hidden=8, train_vectors=True)
        if settings.kind == "gru":
            return CharacterModel(n, 8, 16, cell="gru")
        return LanguageModel(n, 16, 2, 1, context=32)

    def language(self, settings, files, model):
        vocabulary = json.loads(files["vocabulary.json"])
        if settings.kind == "words":
            return Language(model, "word", str.split, " ".join, vocabulary, unknown="<unk>")
        return Language(model, "character", list, "".join, vocabulary)
