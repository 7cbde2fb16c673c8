"""How sure a finding is: how likely findings like it were real on judged documents.

`levels.toml` holds the log-odds that a finding is real, as a sum of what its kind, its basis and each of its supports add to
them, and the sums from which on it is called an error, likely or a note. `make calibrate` learns both from `bench/judged/`:
findings in documents that nobody here wrote, each judged by computing it anew.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

from workings.check.document.finding import LEVELS

_TABLE = Path(__file__).with_name("levels.toml")
OWN_RULES = ("course",)
"""What rests on rules that know their notation: the rule itself says how sure it is."""
_ANOTHER_ROLE = ("an equation alone", "letters, a power", "letters of another section")
"""What may as well be no claim: an equation to be solved, σ² with a value of its own, a name that means something else."""


@cache
def weights() -> dict[str, Any]:
    """The table: `intercept`, `levels`, and the weights by `kind`, `basis` and `support`."""
    return tomllib.loads(_TABLE.read_text(encoding="utf-8"))


def log_odds(kind: str, basis: str, support: Collection[str] = ()) -> float:
    """log p/(1 − p) of the probability p that such a finding is real; a class that nobody judged is an average one."""
    table = weights()
    known = sum(table["support"].get(name, 0.0) for name in support)
    return float(table["intercept"] + table["kind"].get(kind, 0.0) + table["basis"].get(basis, 0.0) + known)


def measured_level(kind: str, basis: str, support: Collection[str] = ()) -> str:
    """The surest level that such findings have earned.

    >>> measured_level("number", "closed", ["arithmetic", "slip", "computed"])
    'error'
    >>> measured_level("number", "an equation alone")
    'possible'
    """
    if basis in OWN_RULES:
        return LEVELS[0]
    if basis in _ANOTHER_ROLE:
        return LEVELS[-1]
    odds = log_odds(kind, basis, support)
    return next((level for level, least in weights()["levels"].items() if odds >= least), LEVELS[-1])


def cautious_level(level: str, kind: str, basis: str, support: Collection[str] = ()) -> str:
    """The less sure of what a rule says of its finding and what findings of that class have earned."""
    return max(level, measured_level(kind, basis, support), key=LEVELS.index)
