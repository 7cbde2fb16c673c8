"""A recipe: what can be set, how a model is made and trained; and a run of one, opened for use.

What a recipe can do beyond training stands in `workings.train.capabilities`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from workings.train.settings import Training

if TYPE_CHECKING:
    from torch import nn

    from workings.train.run.run import Run
    from workings.train.task import Task


class Recipe(ABC):
    """One of the course's models. Its file is imported for the help, so it imports PyTorch inside its methods only."""

    name: ClassVar[str]
    summary: ClassVar[str]
    example: ClassVar[str]
    """The smallest useful command."""
    Settings: ClassVar[type[Training]]

    @abstractmethod
    def task(self, settings: Any) -> Task:
        """Read the data and make the model."""

    @abstractmethod
    def model(self, settings: Any, files: Mapping[str, str]) -> nn.Module:
        """The model of a finished run, before its weights are loaded."""


@dataclass
class OpenRun:
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

    def changed_data(self) -> list[str]:
        """Names of the data that is no longer what the run was trained with."""
        began = self.run.read()["data"]
        return sorted(key for key in {**began, **self.task.hashes} if began.get(key) != self.task.hashes.get(key))
