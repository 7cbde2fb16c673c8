"""What a person sees while a model trains: one live line on a terminal, plain lines elsewhere.

step 1,200/5,000  loss 1.732  12.3k tokens/s  1:32 left
"""

from __future__ import annotations

import shutil
import sys
import warnings
from time import perf_counter
from typing import Any, TextIO

from workings.control import plain

REFRESH = 0.1
"""Seconds between two looks of the live line."""
_HIDDEN = frozenset(("step", "seconds", "rate", "train"))


class Progress:
    """Says nothing, except what went wrong: the base of those that do."""

    def begin(self, step: int, steps: int, unit: str, limit: float = 0.0) -> None:
        """The loop starts at `step`; `limit` seconds are left, or any number of them."""

    def step(self, step: int, loss: float, speed: float) -> None:
        """A step is done; so far training went through `speed` examples or tokens a second."""

    def row(self, row: dict[str, Any], better: bool) -> None:
        """The figures of an evaluation."""

    def sample(self, step: int, text: str) -> None:
        """Something the model made."""

    def note(self, text: str) -> None:
        """Something to know."""

    def warn(self, text: str) -> None:
        """Something to worry about."""
        warnings.warn(text, stacklevel=2)

    def end(self) -> None:
        """The loop is over."""


class ProgressLines(Progress):
    """Lines for a person; on a terminal the last one is alive."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.live = self.stream.isatty()
        self.unit, self.steps, self.limit = "examples", 0, 0.0
        self.first, self.began = 0, perf_counter()
        self.shown = 0.0

    def begin(self, step: int, steps: int, unit: str, limit: float = 0.0) -> None:
        self.first, self.steps, self.unit, self.limit = step, steps, unit, limit
        self.began = perf_counter()

    def step(self, step: int, loss: float, speed: float) -> None:
        now = perf_counter()
        if self.live and now - self.shown > REFRESH:
            self.shown = now
            width = shutil.get_terminal_size().columns
            self.stream.write(f"\r\x1b[K{self.line(step, loss, speed, now)[: width - 1]}")
            self.stream.flush()

    def line(self, step: int, loss: float, speed: float, now: float) -> str:
        took = max(now - self.began, 1e-9)
        left = took * (self.steps - step) / max(1, step - self.first)
        if self.limit:
            left = min(left, max(0.0, self.limit - took))
        return f"step {step:,}/{self.steps:,}  loss {figure(loss)}  {_short(speed)} {self.unit}/s  {clock(left)} left"

    def row(self, row: dict[str, Any], better: bool) -> None:
        shown = [name for name in row if name not in _HIDDEN and not name.endswith("per_second")]
        figures = "  ".join(f"{name} {figure(row[name])}" for name in shown)
        speed = f"  {_short(row[f'{self.unit}_per_second'])} {self.unit}/s" if f"{self.unit}_per_second" in row else ""
        train = f"  train {figure(row['train'])}" if row.get("train") != row.get("loss") else ""
        self.say(
            f"step {row['step']:,}/{self.steps:,}  {figures}{train}{speed}  {clock(row['seconds'])}{'  *' if better else ''}"
        )

    def sample(self, step: int, text: str) -> None:
        self.say("\n".join(f"  | {line}" for line in text.strip("\n").splitlines()))

    def note(self, text: str) -> None:
        self.say(text)

    def warn(self, text: str) -> None:
        self.say(f"Warning: {text}")

    def say(self, text: str) -> None:
        self.stream.write(("\r\x1b[K" if self.live else "") + plain(text) + "\n")  # a text cannot move the cursor
        self.stream.flush()

    def end(self) -> None:
        if self.live:
            self.stream.write("\r\x1b[K")
            self.stream.flush()


def figure(value: float) -> str:
    """A figure to read: four significant digits.

    >>> [figure(x) for x in (1.23456, 0.9876543, 123.456, 5, 0.00001234)]
    ['1.235', '0.9877', '123.5', '5', '1.234e-05']
    """
    return f"{value:.4g}"


def _short(value: float) -> str:
    """A large number in few characters.

    >>> [_short(x) for x in (3.14159, 950, 12345, 2.5e6)]
    ['3.1', '950', '12.3k', '2.5M']
    """
    if value < 10:
        return f"{value:.1f}"
    if value < 1000:
        return f"{value:.0f}"
    return f"{value / 1e3:.1f}k" if value < 1e6 else f"{value / 1e6:.1f}M"


def clock(seconds: float) -> str:
    """Time as on a clock.

    >>> [clock(s) for s in (7.4, 92, 3725)]
    ['0:07', '1:32', '1:02:05']
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
