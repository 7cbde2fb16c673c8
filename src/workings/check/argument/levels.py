"""How sure a finding is: the measured reliability of its class on judged documents.

`levels.toml` holds, for each kind of finding, what it rests on and what supports it, how many findings of that class were
judged on documents that nobody here wrote, and how many of them were real errors. `make calibrate` writes it from
`bench/judged/`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from functools import cache
from math import sqrt
from pathlib import Path

from workings.check.argument.support import support_text, supports_in
from workings.check.document.finding import LEVELS

NEEDED = {"error": 0.97, "likely": 0.85, "note": 0.5}
"""The share of real findings that a level asks for; below them it is `possible`."""
ENOUGH = 20
"""Judged findings from which on a class speaks for itself; of a smaller one the expected level holds."""
_EXPECTED: tuple[tuple[str, str, str], ...] = (
    ("course", "", "error"),
    ("letters, a power", "", "possible"),
    ("an equation alone", "", "possible"),
    ("letters of another section", "", "possible"),
    ("order", "", "note"),
    ("shape", "", "note"),
    ("a limit", "", "note"),
    ("derivative", "", "note"),
    ("equation", "", "likely"),
    ("partly read", "", "note"),
    ("row sums", "", "note"),
    ("stated identity", "", "note"),
    ("letters of another part", "", "note"),
    ("near miss", "", "note"),
    ("units", "arithmetic, slip, document", "likely"),
    ("units", "", "note"),
    ("closed", "arithmetic", "error"),
    ("a unit behind it", "arithmetic", "likely"),
    ("a unit behind it", "usual", "likely"),
    ("closed", "slip, notation", "error"),
    ("closed", "entries, notation", "error"),
    ("closed", "chain, notation", "error"),
    ("matrix", "entries", "likely"),
    ("matrix", "usual, slip", "likely"),
    ("matrix", "", "note"),
    ("closed", "usual", "likely"),
    ("closed", "notation", "likely"),
    ("closed", "slip", "likely"),
    ("closed", "entries", "likely"),
    ("letters", "usual, slip", "likely"),
    ("algebra", "slip", "likely"),
    ("identity", "slip", "likely"),
    ("", "slip, chain, notation", "error"),
    ("", "slip, notation", "likely"),
    ("", "slip, chain", "likely"),
    ("", "entries", "likely"),
    ("", "", "note"),
)
"""The surest level of a class with few judged findings: basis or kind (any if empty), least support, level."""
_TABLE = Path(__file__).with_name("levels.toml")


@cache
def judged() -> dict[tuple[str, str, str], tuple[int, int]]:
    """For each basis, kind and support: how many findings were judged, and how many were real."""
    table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    return {
        (basis, kind, support): (row["judged"], row["real"])
        for basis, kinds in table.items()
        for kind, supports in kinds.items()
        for support, row in supports.items()
    }


def interval(real: int, count: int) -> tuple[float, float]:
    """Between which shares of real findings the share of a class lies, by what was judged of it (Wilson, 95 %).

    >>> tuple(round(end, 2) for end in interval(25, 26))
    (0.81, 0.99)
    """
    z, share = 1.96, real / count
    middle, width = share + z * z / (2 * count), z * sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return (middle - width) / (1 + z * z / count), (middle + width) / (1 + z * z / count)


def _expected_level(kind: str, basis: str, support: Collection[str]) -> str:
    """The surest level of a class that too few findings were judged of."""
    return next(
        level
        for rests_on, needed, level in _EXPECTED
        if rests_on in ("", basis, kind) and supports_in(needed) <= set(support)
    )


def measured_level(kind: str, basis: str, support: Collection[str] = ()) -> str:
    """The level that is expected of findings of this class, unless judged findings contradict it or prove a surer one.

    >>> measured_level("number", "closed", ["arithmetic", "slip"])
    'error'
    >>> measured_level("number", "a basis that nobody judged")
    'note'
    """
    expected = _expected_level(kind, basis, support)
    count, real = judged().get((basis, kind, support_text(support)), (0, 0))
    if count < ENOUGH:
        return expected
    low, high = interval(real, count)
    possible = next((level for level, needed in NEEDED.items() if high >= needed), "possible")
    proved = next((level for level, needed in NEEDED.items() if low >= needed), "possible")
    return min(max(expected, possible, key=LEVELS.index), proved, key=LEVELS.index)


def cautious_level(level: str, kind: str, basis: str, support: Collection[str] = ()) -> str:
    """The less sure of what a rule says of its finding and what findings of that class have earned."""
    return max(level, measured_level(kind, basis, support), key=LEVELS.index)
