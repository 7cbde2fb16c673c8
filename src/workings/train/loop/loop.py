"""The training loop: one for every model.

    for each step t:   batch = batches(t)
                       L = loss(model, batch)
                       g = ∂L/∂θ by back-propagation, clipped
                       θ ← rule(θ, g, rate(t))

Everything random in a step follows from the seed and the step's number, and the batch from the step's number; so a run that
was stopped and resumed computes what an uninterrupted one would have computed, bit for bit.
"""

from __future__ import annotations

from functools import partial
from math import isfinite
from typing import Any

from torch import Tensor, nn
from torch.utils._pytree import tree_map

from workings.train.loop import diagnose
from workings.train.loop.batches import count_examples
from workings.train.loop.checks import check_trainable
from workings.train.loop.diagnose import NotFinite
from workings.train.loop.evaluator import Evaluator, Figures, History, Report
from workings.train.loop.gradient import Gradient
from workings.train.loop.modes import in_precision, training_mode
from workings.train.loop.optimizers import build_optimizers, rate_share
from workings.train.loop.run_writer import RunWriter, State
from workings.train.loop.weights import Weights
from workings.train.process.compiling import compile_objective
from workings.train.process.distributed import Objective, World, distribute, gathered
from workings.train.process.progress import Progress
from workings.train.process.randomness import preserve_random_state, seed_all
from workings.train.process.signals import Interrupted, StopRequest
from workings.train.process.stopwatch import Stopwatch
from workings.train.settings import Training
from workings.train.task import Task

_POINTS = 200
"""Points of the training loss in `metrics.jsonl`."""
_SECONDS = 300.0
"""A checkpoint is written at least this often, whatever the settings say."""


class Loop:
    """A training run between two steps."""

    def __init__(
        self,
        task: Task,
        settings: Training,
        world: World,
        writer: RunWriter,
        progress: Progress,
        report: Report | None = None,
    ) -> None:
        self.task, self.settings, self.world, self.writer, self.progress = task, settings, world, writer, progress
        self.evaluator = Evaluator(task, settings, world, writer, progress, report)
        self.model, self.shard = task.model, settings.shard and world.size > 1
        self.gradient = Gradient(task, settings, world, progress)
        check_trainable(self.model, task, self.gradient.splits, self.shard, progress)
        self.device = next(self.model.parameters()).device.type
        self.precision = partial(in_precision, settings.precision, self.device)
        self.state, self.watch = State(), Stopwatch()

    def run(self) -> History:
        """Train to the end, or to where somebody asks to stop."""
        try:
            stop = StopRequest(listen=self.writer.run is not None)
            with preserve_random_state(), training_mode(self.model), stop:
                self.prepare()
                self.run_steps(stop)
        finally:
            self.progress.end()
            self.writer.close()
        if self.weights.average is not None and not self.shard:
            self.model.load_state_dict(self.weights.evaluation_model().state_dict())
        return self.evaluator.history

    def prepare(self) -> None:
        """Spread the model over the processes, take up what was saved, compile."""
        objective, history = Objective(self.model, self.task.loss), self.evaluator.history
        self.weights = Weights(self.model, self.settings, self.shard)
        if self.shard:
            distribute(objective, shard=True)
        self.weights.begin()
        self.rules = build_optimizers(self.model, self.settings)
        self.parameters = [p for p in self.model.parameters() if p.requires_grad]
        self.model.zero_grad()  # what the model was used for before is not learnt from
        self.state, history.rows = self.writer.restore(self.model, self.weights.average, self.rules)
        history.best = self.state.best
        self.nonfinite = self.weights.nonfinite()
        self.rates = [(group, group["lr"]) for rule in self.rules for group in rule.param_groups]
        self.compile(objective)
        copied = self.world.size > 1 and not self.shard
        self.gradient.objective = distribute(objective, shard=False) if copied else objective

    def compile(self, objective: Objective) -> None:
        """Compile, or do as before the interruption: the decision must not change in the middle of a run."""
        state, how = self.state, self.settings.compile
        if how == "no" or self.state.step >= self.settings.steps:
            return
        if state.compiled is not None:
            how = "yes" if state.compiled else "no"
        seed_all(self.settings.seed, state.step)
        batch = self.gradient.cut(self.task.batches(state.step))[0][1]
        state.compiled = compile_objective(how, objective, batch, self.settings.steps - state.step, self.progress.note)

    def run_steps(self, request: StopRequest) -> None:
        """Step after step."""
        state, settings, watch = self.state, self.settings, self.watch
        watch.start(state.seconds)
        if self.writer.saved < 0 and not self.nonfinite:
            self.save({}, better=False)  # should it go wrong before the next, there is something to look at
        self.progress.begin(state.step, settings.steps, self.task.unit, max(0.0, settings.seconds - watch.before))
        over = self.evaluator.out_of_patience(state)
        while state.step < settings.steps and not over:
            with watch.training():
                loss, stop, late, timeout = self.update(request)
            state.step += 1
            state.losses += loss
            state.counted += 1
            self.progress.step(state.step, loss, watch.speed())
            self.after_step(bool(late))
            if stop or (request.stop and self.world.size == 1):
                if self.writer.saved != state.step:
                    self.save({}, better=False)
                raise Interrupted(f"Stopped after step {state.step:,} of {settings.steps:,} and saved.")
            if timeout:
                self.evaluator.history.ended = "stopped by the time limit"
            over = bool(timeout) or self.evaluator.out_of_patience(state)
        if state.counted:  # stopped between two evaluations
            self.evaluate()

    def update(self, request: StopRequest) -> list[float]:
        """One step: the loss on its batch, whether to stop, to save, to end; the same in all processes."""
        t, settings, watch = self.state.step, self.settings, self.watch
        batch = self.batch(t)
        now = rate_share(settings, t)
        for group, highest in self.rates:
            group["lr"] = highest * now
        loss = self.gradient.add(batch, t)
        late = self.world.first and watch.since_saved() > _SECONDS
        timeout = self.world.first and 0 < settings.seconds < watch.seconds()
        # One sum for everything that all must decide alike: a process that stopped alone would leave the others waiting.
        signals = self.world.total([loss, request.stop, late, timeout])
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
        if self.weights.average is not None:
            self.weights.average.update(t + 1)
        return signals

    def batch(self, t: int) -> Any:
        """The batch of a step; what is random afterwards differs between processes."""
        seed_all(self.settings.seed, t)
        batch = self.task.batches(t)
        if self.world.rank:  # otherwise all processes would drop the same units
            seed_all(self.settings.seed + self.world.rank, t)
        if self.device != "cpu":
            batch = tree_map(lambda leaf: leaf.to(self.device) if isinstance(leaf, Tensor) else leaf, batch)
        self.watch.amount = self.task.count(batch) if self.task.count else count_examples(batch)
        return batch

    def due(self, every: int, otherwise: int) -> bool:
        every = every or otherwise
        return bool(every) and (self.state.step % every == 0 or self.state.step == self.settings.steps)

    def after_step(self, late: bool) -> None:
        """After a step: figures, an evaluation, a sample, a checkpoint, when they are due."""
        settings, state = self.settings, self.state
        if self.due(settings.evaluate_every, max(1, settings.steps // 10)):
            self.evaluate()
            return
        if state.step % max(1, settings.steps // _POINTS) == 0:
            self.writer.row({"step": state.step, "train": state.mean(), "seconds": round(self.watch.seconds(), 3)})
        if self.due(settings.sample_every, 0):
            self.evaluator.sample(self.weights.evaluation_model(), state.step)
        if late or self.due(settings.save_every, 0):
            self.save({}, better=False)

    def evaluate(self) -> None:
        """Evaluate, report, and keep a checkpoint if it is the best or one is due."""
        settings, state, model = self.settings, self.state, self.weights.evaluation_model()
        found = self.evaluator.figures(model, state.step)
        mean, seconds = state.mean(), self.watch.seconds()
        row = {"step": state.step, "train": mean, "loss": mean, **found, "seconds": round(seconds, 3)}
        row |= {f"{self.task.unit}_per_second": round(self.watch.speed(), 1), "rate": self.rules[0].param_groups[0]["lr"]}
        better = self.evaluator.record(row, state)
        if not settings.sample_every or self.due(settings.sample_every, 0):
            self.evaluator.sample(model, state.step)
        if better or not settings.save_every or self.due(settings.save_every, 0):
            self.save(row, better)

    def save(self, figures: Figures, better: bool) -> None:
        """Keep a checkpoint, unless the weights have a NaN or an infinity."""
        state, weights = self.state, self.weights
        if weights.nonfinite():
            raise self.failure(f"The weights have a NaN or an infinity after step {state.step}.", self.batch(state.step - 1))
        state.seconds = self.watch.seconds()
        raw = weights.training_state()
        best = weights.evaluation_state() if weights.average is not None else raw
        self.writer.save(state, figures, better, best, raw, self.rules)
        self.watch.mark_saved()

    def failure(self, what: str, batch: Any) -> NotFinite:
        """The error that says where a NaN or an infinity came from, and what is kept."""
        t, rank, size = self.state.step, self.world.rank, self.world.size
        mine = self.gradient.cut(batch)[0][1] if size > 1 else batch
        why = ""
        if not self.shard:
            self.batch(t)  # for its random numbers: the same units are dropped as when it went wrong
            with self.precision():
                why = diagnose.cause(self.task.loss, self.model, mine, self.nonfinite)
        if size > 1:
            why += f" (Process {rank} of {size} says so of its own part.)"
        folder = self.writer.run.folder if self.writer.run is not None and self.world.first else None
        bad = folder / "bad-batch.safetensors" if folder is not None else None
        return diagnose.failure(what, mine, bad, why.strip(), self.writer.last_checkpoint(), diagnose.advice(self.nonfinite))
