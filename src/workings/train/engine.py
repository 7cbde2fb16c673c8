"""Training started: from a model and data of your own, or from a recipe's task."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from workings.train.batches import Repeated
from workings.train.distributed import join, require_matching
from workings.train.keeper import Keeper
from workings.train.loop import Figures, History, Loop
from workings.train.progress import Progress
from workings.train.recipe import Batches, Loss, Task
from workings.train.run import Run
from workings.train.settings import Training


def fit(
    model: nn.Module,
    data: Batches | Iterable[Any],
    loss: Loss | None = None,
    *,
    settings: Training | None = None,
    evaluate: Callable[[nn.Module], Figures] | None = None,
    best: str = "loss",
    highest: bool = False,
    sample: Callable[[nn.Module], str] | None = None,
    folder: str | Path | None = None,
    report: Callable[[Figures], None] | None = None,
    progress: Progress | None = None,
) -> History:
    """Train `model` on `data`; with a `folder`, keep checkpoints there and resume from them.

    `data` gives the batch of a step (a function of its number) or is an iterable of batches, gone through again and again.
    `loss(model, batch)` is a number to make small; without it, calling the model on the batch gives that number. The model
    ends with its last weights (their running average, where `settings.average` keeps one).

    >>> import torch
    >>> model = nn.Linear(1, 1, bias=False)
    >>> data = [(torch.ones(4, 1), torch.full((4, 1), 3.0))]
    >>> def loss(model, batch):
    ...     x, y = batch
    ...     return (model(x) - y).square().mean()
    >>> history = fit(model, data, loss, settings=Training(steps=200, rate=0.1))
    >>> round(model.weight.item(), 2)
    3.0
    """
    settings = settings or Training()
    batches = Repeated(data, settings.seed) if isinstance(data, Iterable) else data
    task = Task(model, batches, loss or own_loss, evaluate, best, highest, sample)
    return train(task, settings, Run(Path(folder)) if folder is not None else None, progress, report)


def own_loss(model: nn.Module, batch: Any) -> Tensor:
    """The loss that a model gives itself: its output, or the `loss` of its output."""
    out = model(**batch) if isinstance(batch, dict) else model(*batch) if isinstance(batch, (tuple, list)) else model(batch)
    found: Tensor = getattr(out, "loss", out)
    return found


def train(
    task: Task,
    settings: Training,
    run: Run | None = None,
    progress: Progress | None = None,
    report: Callable[[Figures], None] | None = None,
    name: str = "",
) -> History:
    """Carry out a task; `name` is the recipe's. A run that stands already goes on where it was."""
    world = join()
    require_matching(settings, world)
    progress = progress if progress is not None and world.first else Progress()
    if run is not None and world.agree(run.exists()):
        run.require(name, settings, task.hashes)
    elif run is not None and world.first:
        run.begin(name, settings, task)
    keeper = Keeper(run, world, progress, settings.tensorboard)
    return Loop(task, settings, world, keeper, progress, report).run()
