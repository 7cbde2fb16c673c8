"""A run opened for use: its recipe, its settings, its trained model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workings.errors import WorkingsError
from workings.train.run.run import Run

if TYPE_CHECKING:
    from torch import nn

    from workings.train.recipe import Recipe, Task


@dataclass
class Opened:
    """A run that has a whole checkpoint, with all that is needed to use its model."""

    run: Run
    recipe: Recipe
    settings: Any
    files: Mapping[str, str]
    model: nn.Module
    step: int
    """The step that the model's weights are of: the best one."""
    recorded: Mapping[str, float]
    """The figures that training wrote down then."""

    @property
    def name(self) -> str:
        """What the run is called in tables: its folder."""
        return str(self.run.folder)

    @cached_property
    def task(self) -> Task:
        """The data and the way the run was judged, read again."""
        import torch

        with torch.random.fork_rng():
            torch.manual_seed(self.settings.seed)
            return self.recipe.task(self.settings)

    def changed(self) -> list[str]:
        """Names of the data that is no longer what the run was trained with."""
        began = self.run.read()["data"]
        return sorted(key for key in {**began, **self.task.hashes} if began.get(key) != self.task.hashes.get(key))


def opened(folder: str | Path) -> Opened:
    """Open a run; what is missing is named."""
    path = Path(folder)
    if not path.exists():
        raise WorkingsError(f"{path} does not exist. Name the folder that train wrote.")
    if path.is_file():
        raise WorkingsError(f"{path} is a file. Name the folder that train wrote.")
    from workings.train.run.checkpoint import read_state

    run = Run(path)
    recipe, settings = run.recipe()
    try:
        best = run.best()
        state = read_state(best)
        return Opened(run, recipe, settings, run.files(), run.model(best), state["step"], state.get("figures") or {})
    except (KeyError, TypeError, ValueError) as error:
        told = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
        raise WorkingsError(f"{run.folder / 'files'} is damaged: {told}.") from None


def require(found: Opened, kinds: tuple[str, ...], what: str) -> None:
    """Refuse a run of another kind than an option is for."""
    if found.recipe.name not in kinds:
        raise WorkingsError(f"{what} is for runs of {listed(kinds)}; {found.name} is a run of {found.recipe.name}.")


def listed(words: tuple[str, ...]) -> str:
    """
    >>> listed(("a", "b", "c"))
    'a, b or c'
    """
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
