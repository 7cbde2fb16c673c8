"""The reader's choices: how a trace is printed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from workings.errors import WorkingsError, did_you_mean

Labels = tuple[tuple[int, tuple[str, ...]], ...]
"""Axes with the names of their entries."""
MOST_SAVED = 4096
"""Entries of a tensor that JSON keeps; of a larger one it keeps a summary."""
MOST_DIGITS = 50
DEEPEST = 4
"""How deep a function can be recorded."""
_SUBSTITUTIONS = ("long", "short", "none")


@dataclass(frozen=True)
class Options:
    """How to print.

    `digits` significant digits; `exact` shows exact values beside their decimals; `depth` how many levels of recorded steps
    are open (1: the statements of the function itself; None: all that was recorded); `substitution` is `long` (the values
    put into the formula), `short` (only small ones) or `none`; `only` and `hide` choose names; `width` is the terminal's;
    `colour` whether to use ANSI colours; `most` entries of a tensor that are shown one by one, beyond it a one-line summary;
    `labels` name the entries of axes in heatmaps: −1 the columns, −2 the rows of every matrix that has as many; `checks`
    whether to say that a rule of differentiation was checked and that the run matches the unmodified one (what does not
    match is always said); `complete` whether to print every recorded step: each turn of a loop, decorators, checks and
    settings too.
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
    checks: bool = True
    complete: bool = False

    def __post_init__(self) -> None:
        check_whole("digits", self.digits, 1, MOST_DIGITS)
        if self.depth is not None:
            check_whole("depth", self.depth, 1)
        if self.substitution not in _SUBSTITUTIONS:
            hint = did_you_mean(str(self.substitution), _SUBSTITUTIONS)
            raise WorkingsError(f"substitution is 'long', 'short' or 'none', not {self.substitution!r}.{hint}")

    def opens(self, level: int) -> bool:
        """Whether what is inside a step of this level (the function's own statements are 1) is shown."""
        return self.depth is None or level < self.depth

    def labels_for(self, axis: int, count: int) -> tuple[str, ...] | None:
        """The names of the entries of an axis (from the right: −1, −2) of so many entries."""
        return next((names for a, names in self.labels if a == axis and len(names) == count), None)


class Formatting(TypedDict, total=False):
    """The fields of `Options` as keywords, with what people write for them: `only="A"`, `labels={-1: names}`."""

    digits: int
    exact: bool
    depth: int | None
    substitution: Literal["long", "short", "none"]
    only: str | Iterable[str]
    hide: str | Iterable[str]
    width: int
    colour: bool
    most: int
    labels: Mapping[int, Iterable[Any]] | Iterable[Any]
    checks: bool
    complete: bool


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Refuse a choice that is no whole number within its bounds, and name the nearest that is.

    >>> check_whole("digits", 0, 1, 50)
    Traceback (most recent call last):
    workings.errors.WorkingsError: digits is a whole number from 1 to 50, not 0; the nearest is 1.
    """
    whole = isinstance(value, int) and not isinstance(value, bool)
    if whole and least <= value and (most is None or value <= most):
        return
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
    near = f"; the nearest is {least if value < least else most}" if whole else ""
    raise WorkingsError(f"{name} is a whole number {bounds}, not {value!r}{near}.")
