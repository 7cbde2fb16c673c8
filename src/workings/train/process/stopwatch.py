"""How long a run takes: in all, and in training alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


class Stopwatch:
    """Started when the loop is; what came before an interruption counts too."""

    def __init__(self) -> None:
        self.amount = 0.0
        """Examples or tokens of the step at hand."""
        self.done = self.spent = self.before = 0.0
        self.began = self.written = perf_counter()

    def start(self, before: float) -> None:
        self.began = self.written = perf_counter()
        self.before = before

    @contextmanager
    def training(self) -> Iterator[None]:
        """A step: its time and what it went through are counted."""
        now = perf_counter()
        yield
        self.spent += perf_counter() - now
        self.done += self.amount

    def seconds(self) -> float:
        """How long the run has taken, with what came before an interruption."""
        return self.before + perf_counter() - self.began

    def speed(self) -> float:
        """Examples or tokens a second of training: evaluations, samples and checkpoints are not counted."""
        return self.done / max(self.spent, 1e-9)

    def mark_saved(self) -> None:
        self.written = perf_counter()

    def since_saved(self) -> float:
        return perf_counter() - self.written
