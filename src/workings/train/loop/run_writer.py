"""What a run keeps on disk while it trains: its figures, its checkpoints; and taking it up again."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from workings.errors import WorkingsError
from workings.train.loop.memory import Average, Rules, load_optimizer_state, optimizer_state
from workings.train.process.distributed import World, gathered, sharded_like
from workings.train.process.progress import Progress
from workings.train.run import checkpoint, metrics
from workings.train.run.run import Run


@dataclass
class State:
    """Where a run stands, beside its weights and what its optimizer remembers."""

    step: int = 0
    stale: int = 0
    """Evaluations since the best one."""
    seconds: float = 0.0
    losses: float = 0.0
    """The sum of the losses since the last row of figures, and how many."""
    counted: int = 0
    compiled: bool | None = None
    best: dict[str, float] = field(default_factory=dict)

    def mean(self) -> float:
        """The mean loss since the last row of figures, which this is the end of."""
        mean = self.losses / max(1, self.counted)
        self.losses, self.counted = 0.0, 0
        return mean


class RunWriter:
    """Writes a run down, in the first process only; without a run, nothing."""

    def __init__(self, run: Run | None, world: World, progress: Progress, tensorboard: bool = False) -> None:
        self.run, self.world, self.progress = run, world, progress
        self.saved = -1
        self.board = _TensorBoard(run) if tensorboard and world.first else None

    def row(self, row: dict[str, Any]) -> None:
        """Add a row of figures."""
        if self.run is not None and self.world.first:
            metrics.append(self.run.metrics, row)
        if self.board is not None:
            self.board.row(row)

    def save(self, state: State, figures: dict[str, float], better: bool, weights: Any, raw: Any, rules: Rules) -> None:
        """A checkpoint of `weights`; of `raw`, the weights that training goes on from, where these are not the same."""
        if self.run is None:
            return
        whole = {name: gathered(t) for name, t in weights.items()}
        memory = optimizer_state(rules)
        if raw is not weights:
            memory |= {f"weights.{name}": gathered(t) for name, t in raw.items()}
        if self.world.first:
            folder = self.run.checkpoints
            kept = {"figures": figures, "best": better, "state": asdict(state)}
            checkpoint.save(folder, state.step, whole, memory, kept)
            checkpoint.prune(folder, state.step)
        self.saved = state.step

    def restore(self, model: nn.Module, average: Average | None, rules: Rules) -> tuple[State, list[dict[str, Any]]]:
        """The state of the newest whole checkpoint and the figures up to it; weights and memory are put in place."""
        found = self.newest()
        if found is None or self.run is None:
            if self.run is not None and self.world.first:
                metrics.rewind(self.run.metrics, -1)
            return State(), []
        memory, weights = checkpoint.read_memory(found), checkpoint.read_weights(found)
        if average is not None:
            average.read(model, weights)
            weights = {key.removeprefix("weights."): t for key, t in memory.items() if key.startswith("weights.")}
        _load_into(model, weights, found)
        load_optimizer_state(rules, memory)
        state = State(**checkpoint.read_state(found)["state"])
        self.saved = state.step
        rows = metrics.rewind(self.run.metrics, state.step) if self.world.first else []
        if self.board is not None:
            self.board.rewind(state.step)
        return state, [row for row in rows if "loss" in row]

    def newest(self) -> Path | None:
        """The newest whole checkpoint, as the first process finds it; damaged ones are named.

        Where all are damaged, nobody but their owner may give them up: the run is refused, and nothing in it is touched.
        """
        if self.run is None:
            return None
        path, problems = self.run.last() if self.world.first else (None, [])
        found, problems = self.world.broadcast([str(path or ""), problems])
        if problems and not found:
            raise WorkingsError(
                f"{self.run.folder} cannot continue: none of its checkpoints is intact: {', '.join(problems)}. Nothing was "
                "changed. Put copies of the files back, or train again in another folder by --out; to start over in this "
                f"one, delete {self.run.checkpoints} first."
            )
        for problem in problems if self.world.first else ():
            self.progress.warn(f"{problem}; continuing from {found}.")
        return Path(found) if found else None

    def last_checkpoint(self) -> str:
        """What a run that goes wrong leaves behind."""
        if self.run is None:
            return ""
        if self.saved < 0:
            return "No checkpoint has been saved."
        start = ", the weights it started from" if self.saved == 0 else ""
        return f"The last checkpoint is of step {self.saved}{start}."

    def close(self) -> None:
        if self.board is not None:
            self.board.close()


@torch.no_grad()
def _load_into(model: nn.Module, weights: dict[str, Tensor], found: Path) -> None:
    """Weights into a model, whole or sharded."""
    state = model.state_dict(keep_vars=True)
    if not any(hasattr(t, "full_tensor") for t in state.values()):
        checkpoint.load_state(model, weights, found)
        return
    for name, t in state.items():
        t.copy_(sharded_like(t, weights[name]))


class _TensorBoard:
    """The figures for TensorBoard."""

    def __init__(self, run: Run | None) -> None:
        if run is None:
            raise WorkingsError("tensorboard needs a folder to log to: fit(…, folder=…).")
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise WorkingsError("TensorBoard is not installed: pip install tensorboard, or leave out tensorboard.") from None
        self.make, self.folder = SummaryWriter, run.folder / "tensorboard"
        self.writer = SummaryWriter(self.folder)

    def rewind(self, step: int) -> None:
        """Hide what was logged after a step."""
        self.writer.close()
        self.writer = self.make(self.folder, purge_step=step + 1)

    def row(self, row: dict[str, Any]) -> None:
        for name, value in row.items():
            if name == "sample":
                self.writer.add_text(name, value, row["step"])
            elif name != "step":
                self.writer.add_scalar(name, value, row["step"])

    def close(self) -> None:
        self.writer.close()
