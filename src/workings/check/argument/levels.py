"""How sure a finding is: how likely findings like it were real on judged documents.

    log p/(1 − p) = w₀ + w_kind + w_basis + Σ (w_support + w_group,support)

p is the probability that a finding is real; the group says whether it rests on numbers alone or on letters, because a reason
weighs more for one than for the other. `make calibrate` learns the weights from `bench/judged/` (findings in documents that
nobody here wrote, each judged by computing it anew) and writes them to `levels.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from functools import cache
from math import log
from pathlib import Path
from typing import Any

from workings.check.document.finding import LEVELS

NEEDED = {"error": 0.78, "likely": 0.5, "note": 0.04}
"""The probability from which on a finding has a level; docs/log.md has what that came to on sets left out."""
_NUMBERS = ("closed", "a unit behind it", "units", "below a brace")
_TABLE = Path(__file__).with_name("levels.toml")
OWN_RULES = ("course",)
"""What rests on rules that know their notation: the rule itself says how sure it is."""
_ANOTHER_ROLE = ("an equation alone", "letters, a power", "letters of another section")
"""What may as well be no claim: an equation to be solved, σ² with a value of its own, a name that means something else."""


@cache
def weights() -> dict[str, Any]:
    """The table: `intercept`, the weights by `kind`, `basis`, `support`, and of supports in `numbers` and `letters`."""
    return tomllib.loads(_TABLE.read_text(encoding="utf-8"))


def group(basis: str) -> str:
    """Whether a finding rests on numbers alone, or on letters."""
    return "numbers" if basis in _NUMBERS else "letters"


def log_odds(kind: str, basis: str, support: Collection[str] = ()) -> float:
    """log p/(1 − p) of the probability p that such a finding is real; a class that nobody judged is an average one."""
    table = weights()
    mine = table[group(basis)]
    known = sum(table["support"].get(name, 0.0) + mine.get(name, 0.0) for name in support)
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
    return next((level for level, p in NEEDED.items() if odds >= log(p / (1 - p))), LEVELS[-1])


def cautious_level(level: str, kind: str, basis: str, support: Collection[str] = ()) -> str:
    """The less sure of what a rule says of its finding and what findings of that class have earned."""
    return max(level, measured_level(kind, basis, support), key=LEVELS.index)
