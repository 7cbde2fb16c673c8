"""The gradient of the loss on a batch: at once, in parts, or in this process's share of it."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import Any

from torch import Tensor, nn

from workings.train.loop.checks import check_gradients, check_loss
from workings.train.loop.modes import apply_in_eval, in_precision
from workings.train.loop.splitting import pieces, reduction_warning
from workings.train.process.distributed import World
from workings.train.process.progress import Progress
from workings.train.process.randomness import preserve_random_state
from workings.train.settings import Training
from workings.train.task import Task


class Gradient:
    """Goes back from the loss; `objective` is the loss as a module, compiled or spread over the processes."""

    objective: nn.Module

    def __init__(self, task: Task, settings: Training, world: World, progress: Progress) -> None:
        self.task, self.settings, self.world, self.progress = task, settings, world, progress
        self.splits = settings.accumulate > 1 or world.size > 1
        device = next((p.device.type for p in task.model.parameters()), "cpu")
        self.precision = partial(in_precision, settings.precision, device)
        self.is_checked = False
        """Whether a step has shown that the loss is one, and its gradient too."""

    def add(self, batch: Any, t: int) -> float:
        """Add the gradient of the batch's loss to the parameters'; the loss, or this process's share of it."""
        total, cut = 0.0, self.cut(batch)
        quiet: Any = getattr(self.objective, "no_sync", nullcontext)
        if not self.is_checked:
            self.check_reduction(cut[0][1], t)
        for i, (share, piece) in enumerate(cut):
            # Copies exchange gradients with the last piece of a batch only.
            with nullcontext() if i == len(cut) - 1 else quiet():
                L = self.loss(piece)
                (L * (share * self.world.size) if self.splits else L).backward()
            total += share * L.item()
        if not self.is_checked:
            check_gradients(self.task.model)
            self.is_checked = True
        return total

    def loss(self, piece: Any) -> Tensor:
        with self.precision():
            L: Tensor = self.objective(piece)
        if not self.is_checked:
            check_loss(L)
        return L

    def cut(self, batch: Any) -> list[tuple[float, Any]]:
        """What this process computes of a batch, with its share of the whole."""
        if not self.splits:
            return [(1.0, batch)]
        return pieces(batch, self.settings.accumulate, self.world.rank, self.world.size, self.task)

    def check_reduction(self, piece: Any, t: int) -> None:
        """Before the first step, try whether a loss that is split is what it is taken for; nothing is learnt from that."""
        if not self.splits or not self.world.first or (self.settings.shard and self.world.size > 1):
            return

        def loss(some: Any) -> float:
            return float(apply_in_eval(self.task.model, lambda model: self.task.loss(model, some), self.settings, t))

        try:
            with preserve_random_state():
                said = reduction_warning(self.task, piece, loss)
        except Exception:  # a loss may need a model that trains, or more examples: the step itself says what is wrong
            return
        if said:
            self.progress.warn(said)
