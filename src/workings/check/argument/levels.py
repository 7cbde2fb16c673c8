"""How sure a finding is: the measured reliability of its kind on judged documents.

`levels.toml` holds, for each kind of finding and what it rests on, how many findings of that class were judged on documents
that nobody here wrote, and how many of them were real errors. `make calibrate` writes it from `bench/judged/`.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from workings.check.document.finding import LEVELS

NEEDED = {"error": 0.97, "likely": 0.85, "note": 0.5}
"""The share of real findings that a level asks for; below them it is `possible`."""
ENOUGH = 20
"""Judged findings from which on a class speaks for itself; a smaller one is joined with what else rests on the same."""
_UNKNOWN = {
    "closed": "error",
    "course": "error",
    "letters, a power": "possible",
    "an equation alone": "possible",
    "order": "note",
    "partly read": "note",
    "identity": "note",
    "row sums": "note",
    "stated identity": "note",
    "units": "note",
    "letters of another part": "note",
    "letters of another section": "possible",
}
"""The surest level of a basis with few judged findings, `likely` for all others. Rules of the course set their own."""
_TABLE = Path(__file__).with_name("levels.toml")


@cache
def judged() -> dict[str, dict[str, tuple[int, int]]]:
    """For each basis and kind: how many findings were judged, and how many were real."""
    table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    return {basis: {kind: (row["judged"], row["real"]) for kind, row in kinds.items()} for basis, kinds in table.items()}


def measured_level(kind: str, basis: str) -> str:
    """The surest level that findings of this class have earned.

    >>> measured_level("number", "a basis that nobody judged")
    'likely'
    """
    kinds = judged().get(basis, {})
    count, real = kinds.get(kind, (0, 0))
    if count < ENOUGH:
        count, real = (sum(column) for column in zip(*kinds.values(), strict=True)) if kinds else (0, 0)
    if count < ENOUGH:
        return _UNKNOWN.get(basis, "likely")
    share = (real + 0.5) / (count + 1)  # half a finding against it: what was judged is never all there is
    return next((level for level, needed in NEEDED.items() if share >= needed), "possible")


def cautious_level(level: str, kind: str, basis: str) -> str:
    """The less sure of what a rule says of its finding and what findings of that class have earned."""
    return max(level, measured_level(kind, basis), key=LEVELS.index)
