"""The reader's choices: how a trace is printed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """How to print.

    `digits` significant digits; `exact` shows exact values beside their decimals; `depth` how many levels of steps
    are open (1: the
    statements of the function itself); `substitution` is `long` (the values put into the formula), `short` (only
    small ones) or `none`;
    `only` and `hide` choose names; `width` is the terminal's; `colour` whether to use ANSI colours; `most` entries
    of a tensor that are
    shown one by one, beyond it a one-line summary.
    """

    digits: int = 4
    exact: bool = True
    depth: int = 1
    substitution: str = "short"
    only: frozenset[str] = frozenset()
    hide: frozenset[str] = frozenset()
    width: int = 100
    colour: bool = False
    most: int = 64
