"""Training started: from a model and data of your own, or from a recipe's task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from workings.train.loop.batches import RepeatedBatches
from workings.train.loop.checks import check_arguments
from workings.train.loop.evaluator import Figures, History, Report
from workings.train.loop.loop import Loop
from workings.train.loop.run_writer import RunWriter
from workings.train.process.distributed import check_settings, join
from workings.train.process.progress import Progress
from workings.train.run.lock import locked
from workings.train.run.run import Run
from workings.train.settings import Training
from workings.train.task import Batches, Loss, Task


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
    reduction: str = "mean",
    count: Callable[[Any], float] | None = None,
    part: Callable[[Any, int, int], Any] | None = None,
    folder: str | Path | None = None,
    report: Report | None = None,
    progress: Progress | None = None,
) -> History:
    """Train `model` on `data`; with a `folder`, keep checkpoints there and resume from them.

    `data` gives the batch of a step (a function of its number) or is an iterable of batches, gone through again and again.
    `loss(model, batch)` is a number to make small; without it, calling the model on the batch gives that number. The model
    ends with its last weights (their running average, where `settings.average` keeps one). Modules that you put in `eval()`
    stay so while the rest trains; a model that is in `eval()` as a whole is trained as a whole.

    Where a batch is split (`settings.accumulate`, several processes), the loss is a mean over the examples, or over as many
    terms as `count(batch)` says (tokens that are not padding, say), or their sum by `reduction="sum"`; `part(batch, start,
    stop)` cuts it where that is not cutting the first axis of its tensors and its lists.

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
    check_arguments(model, data, settings, reduction)
    settings = settings or Training()
    batches = RepeatedBatches(data, settings.seed) if isinstance(data, Iterable) else data
    task = Task(model, batches, loss or _own_loss, evaluate, best, highest, sample)
    task.reduction, task.count, task.part = reduction, count, part
    return train(task, settings, Run(Path(folder)) if folder is not None else None, progress, report)


def _own_loss(model: nn.Module, batch: Any) -> Tensor:
    """The loss that a model gives itself: its output, or the `loss` of its output."""
    out = model(**batch) if isinstance(batch, dict) else model(*batch) if isinstance(batch, (tuple, list)) else model(batch)
    found: Tensor = out.get("loss", out) if isinstance(out, Mapping) else getattr(out, "loss", out)
    return found


def train(
    task: Task,
    settings: Training,
    run: Run | None = None,
    progress: Progress | None = None,
    report: Report | None = None,
    name: str = "",
) -> History:
    """Carry out a task; `name` is the recipe's. A run that stands already goes on where it was."""
    world = join()
    check_settings(settings, world, goes_on=run is not None and world.broadcast(run.exists()))
    progress = progress if progress is not None and world.first else Progress()
    with locked(run.folder, world) if run is not None else nullcontext():
        if run is not None and world.broadcast(run.exists()):
            run.check_continues(name, settings, task.hashes)
        elif run is not None and world.first:
            run.begin(name, settings, task)
        if settings.shard and world.size == 1:
            progress.note("one process: the parameters are in one piece")
        writer = RunWriter(run, world, progress, settings.tensorboard)
        return Loop(task, settings, world, writer, progress, report).run()
