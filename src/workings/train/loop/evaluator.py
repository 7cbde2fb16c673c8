"""What a run is judged by: the figures of each evaluation, the best of them, and samples to read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import isfinite, nan

from torch import nn

from workings.errors import WorkingsError
from workings.train.loop.checks import as_figures, as_text
from workings.train.loop.modes import apply_in_eval
from workings.train.loop.run_writer import RunWriter, State
from workings.train.process.distributed import World
from workings.train.process.progress import Progress
from workings.train.settings import Training
from workings.train.task import Task

Figures = dict[str, float]
Report = Callable[[Figures], None]


@dataclass
class History:
    """What happened: the figures of each evaluation, the best of them (none where none is a number), and how it ended."""

    rows: list[Figures] = field(default_factory=list)
    ended: str = "finished"
    best: Figures = field(default_factory=dict)


@dataclass
class Evaluator:
    """Evaluates and samples, and writes down what it finds."""

    task: Task
    settings: Training
    world: World
    writer: RunWriter
    progress: Progress
    report: Report | None = None
    history: History = field(default_factory=History)

    def figures(self, model: nn.Module, step: int) -> Figures:
        """The figures of a model on data that it does not learn from, as the first process finds them."""
        if self.task.evaluate is None:
            return {}
        here = as_figures(apply_in_eval(model, self.task.evaluate, self.settings, step)) if self.world.first else {}
        found: Figures = self.world.broadcast(here)
        return found

    def record(self, row: Figures, state: State) -> bool:
        """Take down a row of figures; whether it is the best so far."""
        better = _improves(row, state.best, self.task)
        state.stale = 0 if better else state.stale + 1
        if better:
            self.history.best = state.best = row
        self.history.rows.append(row)
        self.writer.row(row)
        self.progress.row(row, better)
        if self.report is not None:
            self.report(row)
        return better

    def out_of_patience(self, state: State) -> bool:
        if not (self.settings.patience and state.stale >= self.settings.patience):
            return False
        self.history.ended = f"stopped after {state.stale} evaluations without improvement"
        return True

    def sample(self, model: nn.Module, step: int) -> None:
        """Something that the model made, to read."""
        if self.task.sample is not None and self.world.first:
            text = as_text(apply_in_eval(model, self.task.sample, self.settings, step))
            self.writer.row({"step": step, "sample": text})
            self.progress.sample(step, text)


def _improves(row: Figures, old: Figures, task: Task) -> bool:
    """Whether a row is better than the best so far: what is no number never is, and any number is better than that."""
    if task.best not in row:
        raise WorkingsError(f"The best checkpoint is chosen by {task.best!r}, but the figures are {', '.join(row)}.")
    now, before = row[task.best], old.get(task.best, nan)
    if not (isfinite(now) and isfinite(before)):
        return isfinite(now)
    return now > before if task.highest else now < before
