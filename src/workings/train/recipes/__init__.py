"""The recipes, one per file: what can be set, how the task is put together, what the trained model can do.

Their help needs no PyTorch: a recipe imports it, and `workings.train.tasks`, inside its methods. A new recipe is a file here
and a line in `RECIPES`.
"""

from __future__ import annotations

from workings.errors import WorkingsError, did_you_mean
from workings.train.recipe import Recipe
from workings.train.recipes.autoencoder import AutoEncoder
from workings.train.recipes.bigram import Bigram
from workings.train.recipes.clip import Clip, Siglip
from workings.train.recipes.digits import Digits
from workings.train.recipes.sentiment import Sentiment
from workings.train.recipes.seq2seq import Seq2Seq
from workings.train.recipes.shakespeare import Shakespeare
from workings.train.recipes.sort import Sort
from workings.train.recipes.vae import Vae
from workings.train.run.run import Run
from workings.train.settings import Training

KINDS = (Shakespeare, Bigram, Sentiment, Digits, AutoEncoder, Vae, Clip, Siglip, Sort, Seq2Seq)
RECIPES: dict[str, Recipe] = {kind.name: kind() for kind in KINDS}


def recipe(name: str) -> Recipe:
    """The recipe of this name; an unknown one suggests the nearest."""
    if name not in RECIPES:
        hint = did_you_mean(name, RECIPES, f"There are: {', '.join(RECIPES)}.")
        raise WorkingsError(f"No recipe is called {name!r}.{hint}")
    return RECIPES[name]


def recipe_of(run: Run) -> tuple[Recipe, Training]:
    """The recipe that a run followed, and its settings."""
    data = run.read()
    if not data["recipe"]:
        raise WorkingsError(
            f"{run.folder} was trained by fit(), not by a recipe: make its model yourself and load "
            f"{run.best() / 'weights.safetensors'}."
        )
    found = recipe(data["recipe"])
    return found, found.Settings.read(data["settings"])
