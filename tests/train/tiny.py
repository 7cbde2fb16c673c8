"""A recipe small enough to be killed twenty times, and a command that knows it: `python tests/train/tiny.py train tiny`."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from workings.train.recipe import Recipe
from workings.train.recipes import RECIPES
from workings.train.settings import Training, setting
from workings.train.task import Task


@dataclass(frozen=True)
class Settings(Training):
    steps: int = setting(40, "parameter updates", least=1)
    batch: int = setting(6, "examples per update, over all processes", least=1)
    rate: float = setting(0.02, "peak learning rate", least=0)
    width: int = setting(4, "hidden units", least=1)
    activation: str = setting("tanh", "function of the hidden units", among=("tanh", "relu"))
    pause: float = setting(0.0, "seconds to wait in each step", least=0)
    drop: float = setting(0.2, "share of hidden units left out", least=0)
    text: str = setting("", "a file of your own")


class Net(nn.Module):
    """Two blocks with dropout, so that the random numbers of a step matter."""

    def __init__(self, width: int, activation: str, drop: float) -> None:
        super().__init__()
        act = {"tanh": nn.Tanh, "relu": nn.ReLU}[activation]
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(2, width), act(), nn.Dropout(drop)), nn.Linear(width, 1)])

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return x


def examples(seed: int, count: int) -> tuple[Tensor, Tensor]:
    """Points of a plane and whether their coordinates have one sign."""
    x = torch.randn(count, 2, generator=torch.Generator().manual_seed(seed))
    return x, x.prod(dim=1, keepdim=True).tanh()


def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    x, y = batch
    return (model(x) - y).square().mean()


class Tiny(Recipe):
    name = "tiny"
    summary = "A network of a few weights that learns the sign of a product."
    example = "workings train tiny --steps 100"
    Settings = Settings

    def task(self, settings: Settings) -> Task:
        def batches(step: int) -> tuple[Tensor, Tensor]:
            time.sleep(settings.pause)
            return examples(settings.seed * 1000 + step, settings.batch)

        held_out = examples(10**9, 50)
        return Task(
            self.model(settings, {}),
            batches,
            loss,
            evaluate=lambda model: {"loss": loss(model, held_out).item()},
            sample=lambda model: f"1 × 1 gives {model(torch.ones(1, 2)).item():.3f} <&>",
            files={"words.txt": "one\ntwo"},
            hashes={"made": "0" * 64},
        )

    def model(self, settings: Any, files: Mapping[str, str]) -> nn.Module:
        return Net(settings.width, settings.activation, settings.drop)


RECIPES["tiny"] = Tiny()

if __name__ == "__main__":
    from workings.cli import main

    main()
