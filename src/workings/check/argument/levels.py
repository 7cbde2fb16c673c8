"""How sure a finding is: the measured reliability of its class on judged documents.

`levels.toml` holds, for each kind of finding, what it rests on and what supports it, how many findings of that class were
judged on documents that nobody here wrote, and how many of them were real errors. `make calibrate` writes it from
`bench/judged/`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

from workings.check.argument.support import support_text, supports_in
from workings.check.document.finding import LEVELS

NEEDED = {"error": 0.97, "likely": 0.85, "note": 0.5}
"""The share of real findings that a level asks for; below them it is `possible`."""
ENOUGH = 20
"""Judged findings from which on a class speaks for itself; a smaller one is joined with its neighbours."""
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


def _classes(kind: str, basis: str, support: str) -> Iterator[tuple[int, int]]:
    """The judged findings of a class, then of ever larger ones around it: any kind, then any basis."""
    for match in (
        lambda b, k, s: (b, k, s) == (basis, kind, support),
        lambda b, k, s: (b, s) == (basis, support),
    ):
        rows = [row for key, row in judged().items() if match(*key)]
        yield sum(count for count, _ in rows), sum(real for _, real in rows)


def _expected_level(kind: str, basis: str, support: Collection[str]) -> str:
    """The surest level of a class that too few findings were judged of."""
    return next(
        level
        for rests_on, needed, level in _EXPECTED
        if rests_on in ("", basis, kind) and supports_in(needed) <= set(support)
    )


def measured_level(kind: str, basis: str, support: Collection[str] = ()) -> str:
    """The surest level that findings of this class have earned.

    >>> measured_level("number", "closed", ["arithmetic", "slip"])
    'error'
    >>> measured_level("number", "a basis that nobody judged")
    'note'
    """
    for count, real in _classes(kind, basis, support_text(support)):
        if count >= ENOUGH:
            share = (real + 0.5) / (count + 1)  # half a finding against it: what was judged is never all there is
            return next((level for level, needed in NEEDED.items() if share >= needed), "possible")
    return _expected_level(kind, basis, support)


def cautious_level(level: str, kind: str, basis: str, support: Collection[str] = ()) -> str:
    """The less sure of what a rule says of its finding and what findings of that class have earned."""
    return max(level, measured_level(kind, basis, support), key=LEVELS.index)
