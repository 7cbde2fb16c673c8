"""The training loop: one for every model.

    for each step t:   batch = batches(t)
                       L = loss(model, batch)
                       g = ∂L/∂θ by back-propagation, clipped
                       θ ← rule(θ, g, rate(t))

Everything random in a step follows from the seed and the step's number, and the batch from the step's number; so a run that
was stopped and resumed computes what an uninterrupted one would have computed, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from math import isfinite
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn

from workings.errors import ShapeError, WorkingsError
from workings.train import diagnose
from workings.train.batches import examples, pieces, seed_all
from workings.train.compiling import compiled
from workings.train.distributed import Objective, World, gathered, spread
from workings.train.keeper import Keeper, State
from workings.train.memory import Average
from workings.train.optimizers import optimizer, share
from workings.train.progress import Progress
from workings.train.recipe import Task
from workings.train.settings import Training
from workings.train.signals import Asked, Interrupted

Figures = dict[str, float]

POINTS = 200
"""Points of the training loss in `metrics.jsonl`."""
SECONDS = 300.0
"""A checkpoint is written at least this often, whatever the settings say."""


class NotFinite(WorkingsError):
    """The loss or its gradient has a NaN or an infinity: the step, the batch and the place that made it."""


@dataclass
class History:
    """What happened: the figures of each evaluation, the best of them, and how it ended."""

    rows: list[Figures] = field(default_factory=list)
    ended: str = "finished"
    best: Figures = field(default_factory=dict)


class Loop:
    """A training run between two steps."""

    def __init__(
        self,
        task: Task,
        settings: Training,
        world: World,
        keeper: Keeper,
        progress: Progress,
        report: Callable[[Figures], None] | None = None,
    ) -> None:
        self.task, self.settings, self.world, self.keeper, self.progress = task, settings, world, keeper, progress
        self.report = report or (lambda figures: None)
        self.model, self.splits = task.model, settings.accumulate > 1 or world.size > 1
        require_sense(self.model, task, self.splits, progress)
        self.device = next(self.model.parameters()).device.type
        self.precision: Callable[[], AbstractContextManager[Any]] = nullcontext
        if settings.precision == "bfloat16":
            self.precision = partial(torch.autocast, self.device, dtype=torch.bfloat16)
        self.history, self.state = History(), State()
        self.amount, self.met = 0.0, False

    def run(self) -> History:
        """Train to the end, or to where somebody asks to stop."""
        modes = [(module, module.training) for module in self.model.modules()]
        self.model.train()
        try:
            with Asked(listen=self.keeper.run is not None) as asked:
                self.prepare()
                self.turns(asked)
        finally:
            self.progress.end()
            self.keeper.close()
            for module, mode in modes:
                module.training = mode
        if self.average is not None and not self.settings.shard:
            self.model.load_state_dict(self.shown().state_dict())
        return self.history

    def prepare(self) -> None:
        """Spread the model over the processes, take up what was saved, compile."""
        settings, world, objective = self.settings, self.world, Objective(self.model, self.task.loss)
        self.copy = deepcopy(self.model) if settings.average or settings.shard else None
        if settings.shard:
            spread(objective, shard=True)
        self.rules = optimizer(self.model, settings)
        self.parameters = [p for p in self.model.parameters() if p.requires_grad]
        self.average = Average(self.model, settings.average) if settings.average else None
        self.state, self.history.rows = self.keeper.restore(self.model, self.average, self.rules)
        self.history.best = self.state.best
        self.rates = [(group, group["lr"]) for rule in self.rules for group in rule.param_groups]
        self.compile(objective)
        self.objective = spread(objective, shard=False) if world.size > 1 and not settings.shard else objective

    def compile(self, objective: Objective) -> None:
        """Compile, or do as before the interruption: the decision must not change in the middle of a run."""
        state, how = self.state, self.settings.compile
        if how == "no" or self.state.step >= self.settings.steps:
            return
        if state.compiled is not None:
            how = "yes" if state.compiled else "no"
        seed_all(self.settings.seed, state.step)
        batch = self.cut(self.task.batches(state.step))[0][1]
        state.compiled = compiled(how, objective, batch, self.settings.steps - state.step, self.progress.note)

    def turns(self, asked: Asked) -> None:
        """Step after step."""
        state, settings = self.state, self.settings
        self.began = self.written = perf_counter()
        self.before = state.seconds
        self.progress.begin(state.step, settings.steps, self.task.unit, max(0.0, settings.seconds - self.before))
        over = self.out_of_patience()
        while state.step < settings.steps and not over:
            loss, stop, late, timeout = self.update(asked)
            state.step += 1
            state.losses += loss
            state.counted += 1
            self.progress.step(state.step, loss, self.amount)
            self.look(bool(late))
            if stop or (asked.stop and self.world.size == 1):
                self.interrupt()
            if timeout:
                self.history.ended = "stopped by the time limit"
            over = bool(timeout) or self.out_of_patience()
        if state.counted:  # stopped between two evaluations
            self.judge()

    def out_of_patience(self) -> bool:
        if not (self.settings.patience and self.state.stale >= self.settings.patience):
            return False
        self.history.ended = f"stopped after {self.state.stale} evaluations without improvement"
        return True

    def update(self, asked: Asked) -> list[float]:
        """One step: the loss on its batch, whether to stop, to save, to end; the same in all processes."""
        t, settings = self.state.step, self.settings
        batch = self.batch(t)
        now = share(settings, t)
        for group, highest in self.rates:
            group["lr"] = highest * now
        loss = self.backward(batch)
        now, first = perf_counter(), self.world.first
        late = first and now - self.written > SECONDS
        timeout = first and 0 < settings.seconds < self.before + now - self.began
        signals = self.world.total([loss, asked.stop, late, timeout])
        if not isfinite(signals[0]):
            raise self.failure(f"The loss is {signals[0]} at step {t}.", batch)
        if settings.clip:
            norm = float(gathered(nn.utils.clip_grad_norm_(self.parameters, settings.clip)))
            if not isfinite(norm):
                raise self.failure(
                    f"The norm of the gradient is {norm} at step {t}, though the loss is {signals[0]:g}.", batch
                )
        for rule in self.rules:
            rule.step()
            rule.zero_grad()
        if self.average is not None:
            self.average.update(t + 1)
        return signals

    def batch(self, t: int) -> Any:
        """The batch of a step; what is random afterwards differs between processes."""
        seed_all(self.settings.seed, t)
        batch = self.task.batches(t)
        if self.world.rank:
            seed_all(self.settings.seed + self.world.rank, t)
        if self.device != "cpu":
            from torch.utils._pytree import tree_map

            batch = tree_map(lambda leaf: leaf.to(self.device) if isinstance(leaf, Tensor) else leaf, batch)
        self.amount = self.task.count(batch) if self.task.count else examples(batch)
        return batch

    def backward(self, batch: Any) -> float:
        """Add the gradient of the batch's loss to the parameters'; the loss, or this process's share of it."""
        if not self.splits:
            L = self.loss(batch)
            L.backward()
            return L.item()
        total, cut = 0.0, self.cut(batch)
        for i, (share_of_batch, piece) in enumerate(cut):
            with self.alone(last=i == len(cut) - 1):
                L = self.loss(piece)
                (L * (share_of_batch * self.world.size)).backward()
            total += share_of_batch * L.item()
        return total

    def loss(self, batch: Any) -> Tensor:
        with self.precision():
            L: Tensor = self.objective(batch)
        if not self.met:
            self.met = require_number(L)
        return L

    def cut(self, batch: Any) -> list[tuple[float, Any]]:
        """What this process computes of a batch, with its share of the whole."""
        if not self.splits:
            return [(1.0, batch)]
        return pieces(batch, self.settings.accumulate, self.world.rank, self.world.size, self.task)

    def alone(self, last: bool) -> AbstractContextManager[Any]:
        """Copies exchange gradients with the last piece of a batch only."""
        quiet: Any = getattr(self.objective, "no_sync", nullcontext)
        return nullcontext() if last else quiet()

    def failure(self, what: str, batch: Any) -> NotFinite:
        """The error that says where a NaN or an infinity came from, and what is kept."""
        t, rank = self.state.step, self.world.rank
        mine = self.cut(batch)[0][1] if self.world.size > 1 else batch
        folder = self.keeper.run.folder if self.keeper.run is not None else None
        kept = diagnose.keep(mine, folder / "bad-batch.safetensors") if folder is not None and self.world.first else ""
        said = [what, f"Its batch: {diagnose.described(mine)}{kept}."]
        if not self.settings.shard:
            self.batch(t)  # for its random numbers
            with self.precision():
                said.append(diagnose.cause(self.task.loss, self.model, mine))
        if self.world.size > 1:
            said.append(f"(Process {rank} of {self.world.size} says so of its own part.)")
        last = f"The last checkpoint is of step {self.keeper.saved}. " if self.keeper.saved >= 0 else ""
        said.append(f"{last}Try a lower rate, a longer warmup or clip, or mend the data.")
        return NotFinite(" ".join(said))

    def due(self, every: int, otherwise: int) -> bool:
        every = every or otherwise
        return bool(every) and (self.state.step % every == 0 or self.state.step == self.settings.steps)

    def look(self, late: bool) -> None:
        """After a step: figures, an evaluation, a sample, a checkpoint, when they are due."""
        settings, state = self.settings, self.state
        if self.due(settings.evaluate_every, max(1, settings.steps // 10)):
            self.judge()
            return
        if state.step % max(1, settings.steps // POINTS) == 0:
            self.keeper.row({"step": state.step, "train": self.mean(), "seconds": round(self.seconds(), 3)})
        if self.due(settings.sample_every, 0):
            self.sample(self.shown())
        if late or self.due(settings.save_every, 0):
            self.save({}, better=False)

    def judge(self) -> None:
        """Evaluate, report, and keep a checkpoint if it is the best or one is due."""
        settings, state, model = self.settings, self.state, self.shown()
        found = self.world.agree(self.looking(model, self.task.evaluate) if self.task.evaluate and self.world.first else {})
        mean, seconds = self.mean(), self.seconds()
        speed = self.progress.amount / max(seconds - self.before, 1e-9)
        row = {"step": state.step, "train": mean, "loss": mean, **found, "seconds": round(seconds, 3)}
        row |= {f"{self.task.unit}_per_second": round(speed, 1), "rate": self.rules[0].param_groups[0]["lr"]}
        better = self.better(row)
        state.stale = 0 if better else state.stale + 1
        if better:
            self.history.best = state.best = row
        self.history.rows.append(row)
        self.keeper.row(row)
        self.progress.row(row, better)
        self.report(row)
        if not settings.sample_every or self.due(settings.sample_every, 0):
            self.sample(model)
        if better or not settings.save_every or self.due(settings.save_every, 0):
            self.save(row, better)

    def looking(self, model: nn.Module, evaluate: Callable[[nn.Module], dict[str, float]]) -> Figures:
        """The figures of a model that does not learn from them."""
        return {name: float(value) for name, value in self.still(model, evaluate).items()}

    def still(self, model: nn.Module, use: Callable[[nn.Module], Any]) -> Any:
        """Use a model without training it, with random numbers of this step."""
        seed_all(self.settings.seed, self.state.step)
        model.eval()
        try:
            with torch.no_grad(), self.precision():
                return use(model)
        finally:
            model.train()

    def sample(self, model: nn.Module) -> None:
        if self.task.sample is not None and self.world.first:
            text = self.still(model, self.task.sample)
            self.keeper.row({"step": self.state.step, "sample": text})
            self.progress.sample(self.state.step, text)

    def better(self, row: Figures) -> bool:
        best, old = self.task.best, self.state.best
        if best not in row:
            raise WorkingsError(f"The best checkpoint is chosen by {best!r}, but the figures are {', '.join(row)}.")
        if not old or not isfinite(row[best]):
            return not old
        return row[best] > old[best] if self.task.highest else row[best] < old[best]

    def mean(self) -> float:
        """The mean loss since the last row of figures, which this is the end of."""
        state = self.state
        mean = state.losses / max(1, state.counted)
        state.losses, state.counted = 0.0, 0
        return mean

    def seconds(self) -> float:
        """How long the run has taken, with what came before an interruption."""
        return self.before + perf_counter() - self.began

    def weights(self) -> dict[str, Tensor]:
        """The weights to judge and to use: their running average, where one is kept."""
        return self.average.averaged(self.model) if self.average is not None else self.model.state_dict(keep_vars=True)

    def shown(self) -> nn.Module:
        """The model with these weights, whole."""
        if self.copy is None:
            return self.model
        self.copy.load_state_dict({name: gathered(t.detach()) for name, t in self.weights().items()})
        return self.copy

    def save(self, figures: Figures, better: bool) -> None:
        """Keep a checkpoint, unless the weights are spoilt."""
        if not all(diagnose.finite(gathered(p.detach())) for p in self.parameters):
            raise self.failure(
                f"The weights have a NaN or an infinity after step {self.state.step}.", self.batch(self.state.step - 1)
            )
        self.state.seconds = self.seconds()
        raw = self.model.state_dict(keep_vars=True)
        self.keeper.save(self.state, figures, better, self.weights() if self.average is not None else raw, raw, self.rules)
        self.written = perf_counter()

    def interrupt(self) -> None:
        """Save what was reached and stop."""
        if self.keeper.saved != self.state.step:
            self.save({}, better=False)
        raise Interrupted(f"Stopped after step {self.state.step:,} of {self.settings.steps:,} and saved.")


def require_sense(model: nn.Module, task: Task, splits: bool, progress: Progress) -> None:
    """What would go wrong later, said now."""
    if not any(p.requires_grad for p in model.parameters()):
        raise WorkingsError("The model has no parameters to train: none of them requires a gradient.")
    if splits and task.whole:
        raise WorkingsError(
            "This loss compares the examples of a batch with each other, so a batch cannot be split: "
            "train in one process, with accumulate 1."
        )
    if splits and any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in model.modules()):
        progress.warn(
            "batch normalisation sees each part of a split batch alone: the gradient is not that of the whole batch."
        )


def require_number(L: Any) -> bool:
    """A loss is one number that depends on the parameters."""
    if not isinstance(L, Tensor):
        raise WorkingsError(f"A loss is a tensor of one number; got a {type(L).__name__}.")
    if L.numel() != 1:
        raise ShapeError(f"A loss is one number; got a tensor of shape {[*L.shape]}. Take its mean.")
    if not L.requires_grad:
        raise WorkingsError("The loss does not depend on the model's parameters: it has no gradient.")
    return True
