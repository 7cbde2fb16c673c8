"""A run opened for use, and what it can be used for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workings.errors import WorkingsError
from workings.models.vectors import WordVectors
from workings.train.capabilities import HasVectors, Writes
from workings.train.recipe import OpenRun
from workings.train.recipes import RECIPES, recipe_of
from workings.train.run.checkpoint import load_weights, read_state
from workings.train.run.run import Run
from workings.train.text.language import Language


def open_run(folder: str | Path) -> OpenRun:
    """Open a run that a recipe trained: its model has the best weights and is ready to use. What is missing is named."""
    path = Path(folder)
    if not path.exists():
        raise WorkingsError(f"{path} does not exist. Name a folder written by `workings train`.")
    if path.is_file():
        raise WorkingsError(f"{path} is a file. Name a folder written by `workings train`.")
    run = Run(path)
    recipe, settings = recipe_of(run)
    try:
        best, files = run.best(), run.files()
        state, model = read_state(best), recipe.model(settings, files)
        load_weights(model, best)
        return OpenRun(run, recipe, settings, files, model.eval(), state["step"], state.get("figures") or {})
    except (KeyError, TypeError, ValueError) as error:
        told = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
        raise WorkingsError(f"{run.folder / 'files'} is damaged: {told}.") from None


def check_can(run: OpenRun, capabilities: Any, what: str) -> None:
    """Refuse a run of a recipe without the capability that an option is for, or without any of several."""
    if not isinstance(run.recipe, capabilities):
        able = [name for name, recipe in RECIPES.items() if isinstance(recipe, capabilities)]
        names = " or ".join(filter(None, [", ".join(able[:-1]), able[-1]]))
        raise WorkingsError(f"{what} is for runs of {names}; {run.name} is a run of {run.recipe.name}.")


def language_of(run: OpenRun, what: str) -> Language:
    """The language model of a run, with the way text is cut into its tokens."""
    if not isinstance(run.recipe, Writes):
        raise WorkingsError(f"{what} needs a language model; {run.name} is a run of {run.recipe.name}.")
    return run.recipe.language(run.settings, run.files, run.model)


def vectors_of(run: OpenRun) -> WordVectors:
    """The vectors that a run has learned: the recipe's own, or those of its language model's tokens."""
    if isinstance(run.recipe, HasVectors):
        return run.recipe.vectors(run)
    found = language_of(run, "--vectors").vectors() if isinstance(run.recipe, Writes) else None
    if found is None:
        raise WorkingsError(f"{run.name} is a run of {run.recipe.name}, which has no vectors of words.")
    return found
