"""The reader's choices: how a trace is printed."""

from __future__ import annotations

from dataclasses import dataclass

Labels = tuple[tuple[int, tuple[str, ...]], ...]
"""Axes with the names of their entries."""
MOST_SAVED = 4096
"""Entries of a tensor that JSON keeps; of a larger one it keeps a summary."""


@dataclass(frozen=True)
class Options:
    """How to print.

    `digits` significant digits; `exact` shows exact values beside their decimals; `depth` how many levels of recorded steps
    are open (1: the statements of the function itself; None: all that was recorded); `substitution` is `long` (the values
    put into the formula), `short` (only small ones) or `none`; `only` and `hide` choose names; `width` is the terminal's;
    `colour` whether to use ANSI colours; `most` entries of a tensor that are shown one by one, beyond it a one-line summary;
    `labels` name the entries of axes in heatmaps: −1 the columns, −2 the rows of every matrix that has as many.
    """

    digits: int = 4
    exact: bool = True
    depth: int | None = None
    substitution: str = "short"
    only: frozenset[str] = frozenset()
    hide: frozenset[str] = frozenset()
    width: int = 100
    colour: bool = False
    most: int = 64
    labels: Labels = ()

    def opens(self, level: int) -> bool:
        """Whether what is inside a step of this level (the function's own statements are 1) is shown."""
        return self.depth is None or level < self.depth

    def labels_for(self, axis: int, count: int) -> tuple[str, ...] | None:
        """The names of the entries of an axis (from the right: −1, −2) of so many entries."""
        return next((names for a, names in self.labels if a == axis and len(names) == count), None)
