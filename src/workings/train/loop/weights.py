"""The weights of a run: those that learn, and those to judge and to use, their running average where one is kept."""

from __future__ import annotations

from copy import deepcopy

from torch import Tensor, nn

from workings.train.loop.diagnose import is_finite
from workings.train.loop.memory import Average
from workings.train.process.distributed import gathered
from workings.train.settings import Training


class Weights:
    """A model that learns; made before it is spread over processes, `average` after."""

    def __init__(self, model: nn.Module, settings: Training, shard: bool) -> None:
        self.model, self.memory = model, settings.average
        self.copy = deepcopy(model) if settings.average or shard else None  # while they are whole
        self.average: Average | None = None

    def begin(self) -> None:
        """The parameters are where they stay."""
        self.average = Average(self.model, self.memory) if self.memory else None

    def training_state(self) -> dict[str, Tensor]:
        """What training goes on from."""
        return self.model.state_dict(keep_vars=True)

    def evaluation_state(self) -> dict[str, Tensor]:
        """What is judged and kept."""
        return self.average.averaged_state(self.model) if self.average is not None else self.training_state()

    def evaluation_model(self) -> nn.Module:
        """The model with these, whole."""
        if self.copy is None:
            return self.model
        self.copy.load_state_dict({name: gathered(t.detach()) for name, t in self.evaluation_state().items()})
        return self.copy

    def nonfinite(self) -> list[str]:
        """The names of the parameters that have a NaN or an infinity."""
        return [name for name, p in self.model.named_parameters() if p.requires_grad and not is_finite(gathered(p.detach()))]
