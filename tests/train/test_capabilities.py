"""A recipe of one's own: a file and a line in the table, and every verb knows what it can do."""

from dataclasses import dataclass
from functools import partial

import pytest
import torch
from torch import nn
from typer.testing import CliRunner

from workings.cli import app
from workings.errors import WorkingsError
from workings.models.vectors import WordVectors
from workings.train.capabilities import (
    Answers,
    Classifies,
    Draws,
    ExplainsWords,
    Finds,
    HasVectors,
    Predictions,
    Shows,
    Writes,
)
from workings.train.evaluation.open import open_run
from workings.train.forward_pass import ForwardPass, likeliest
from workings.train.recipe import Recipe
from workings.train.recipes import KINDS, RECIPES
from workings.train.settings import Training, setting
from workings.train.task import Task

CLASSES = ["even", "odd"]


@dataclass(frozen=True)
class ParitySettings(Training):
    width: int = setting(2, "width of a digit's vector", least=1)
    steps: int = setting(30, "updates of the parameters", least=1)
    rate: float = setting(0.1, "learning rate at its highest", least=0)


class Parity(Recipe):
    """Has the methods of four capabilities and inherits none: a recipe can do what it has the methods for."""

    name = "parity"
    summary = "Whether a number is even, from its last digit."
    example = "workings train parity"
    Settings = ParitySettings
    prompt, has_beams = "12", False
    input_hint = "Give a number: --input 12."

    def task(self, settings):
        x = torch.arange(10)
        return Task(
            self.model(settings, {}),
            batches=lambda step: x,
            loss=lambda model, x: nn.functional.cross_entropy(model(x), x % 2),
            evaluate=lambda model: {"loss": nn.functional.cross_entropy(model(x), x % 2).item()},
        )

    def model(self, settings, files):
        return nn.Sequential(nn.Embedding(10, settings.width), nn.Linear(settings.width, 2))

    def answers(self, run, prompt, beams):
        return [CLASSES[run.model(torch.tensor(int(prompt[-1]))).argmax()]]

    def predictions(self, run):
        numbers = torch.arange(20)
        return Predictions(CLASSES, numbers // 10, run.model(numbers % 10).softmax(dim=1), texts=[*map(str, range(20))])

    def vectors(self, run):
        return WordVectors([*"0123456789"], run.model[0].weight.detach())

    def forward_pass(self, run, given):
        call = partial(scores, run.model, torch.tensor(int(given[-1])))
        return ForwardPass(call, (tuple(CLASSES),), partial(likeliest, names=CLASSES, before="It is "), "a number")


def scores(model, x):
    p = model(x).softmax(dim=0)
    return p


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(RECIPES, "parity", Parity())
        said("train", "parity", "--out", folder)
        yield folder


def said(*words):
    done = CliRunner().invoke(app, [*map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def refused(*words):
    with pytest.raises(WorkingsError) as error:
        CliRunner().invoke(app, [*map(str, words)], catch_exceptions=False)
    return str(error.value)


def test_every_verb_finds_what_it_asks_for(run):
    assert "\n  parity       Whether a number is even, from its last digit.\n" in said("train", "--help")
    assert "--width N" in said("train", "parity", "--help")
    assert [said("generate", run, "--prompt", n) for n in (7, 12)] == ["odd\n", "even\n"]
    # Of the numbers 0 … 19 the first ten are called even, the rest odd: five of each ten are misclassified for that.
    assert "even          5     5   50.0%\nodd           5     5   50.0%\n" in said("eval", run)
    errors = said("eval", run, "--errors", 3)
    assert errors.startswith(f"{run}: 10 of 20 texts are misclassified (50.0%); 3 of them") and "“1" in errors
    E = open_run(run).model[0].weight.detach()
    near = torch.cosine_similarity(E, E[3:4]).argsort(descending=True)[1]
    assert said("neighbors", 3, "--vectors", run, "--count", 1).split()[1] == str(int(near))
    assert said("show", run, "--input", 7).splitlines()[-1].startswith("It is odd ")


def test_mistakes_without_an_explanation_fill_a_page(run, tmp_path):
    said("eval", run, "--errors", 2, "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count("<section class=mistake>") == 2 and page.count("<p class=text>") == 2 and "<mark" not in page


def test_what_it_cannot_do_is_refused_with_the_recipes_that_can(run):
    assert refused("generate", run) == "A run of parity answers: give a --prompt, such as --prompt 12."
    assert refused("generate", run, "--interpolate") == f"--interpolate is for runs of vae; {run} is a run of parity."
    assert refused("generate", run, "--prompt", 1, "--beam", 2) == (
        "--beam does nothing here: a run of parity gives one answer. Leave it out."
    )
    assert refused("eval", run, "--text", "a.txt") == f"--text needs a language model; {run} is a run of parity."
    assert refused("eval", run, "--errors", 1, "--edit", "x") == f"--edit changes a text; {run} is a run of parity."
    assert refused("show", run) == "A run is shown on one --input; there are 0. Give a number: --input 12."


def test_the_list_of_able_recipes_has_it_too(run, tmp_path):
    said("train", "sort", "--steps", 1, "--test", 5, "--out", tmp_path / "sort")
    assert refused("eval", tmp_path / "sort", "--errors", 1) == (
        f"--errors is for runs of sentiment, digits or parity; {tmp_path / 'sort'} is a run of sort."
    )


@pytest.mark.parametrize(
    ("capability", "able"),
    [
        (Writes, "shakespeare bigram"),
        (Answers, "sort seq2seq"),
        (Draws, "vae"),
        (Finds, "clip siglip"),
        (Classifies, "sentiment digits"),
        (ExplainsWords, "sentiment"),
        (HasVectors, "sentiment clip siglip"),
        (Shows, "sentiment digits autoencoder vae clip siglip sort seq2seq"),
    ],
)
def test_what_the_recipes_of_the_course_can_do(capability, able):
    assert [kind.name for kind in KINDS if isinstance(kind(), capability)] == able.split()
