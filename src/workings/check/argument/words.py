"""Values and claims in words: how a finding tells what is written and what is true."""

from __future__ import annotations

import re
from fractions import Fraction

from flint import arb, fmpq

from workings.check.document.document import Formula
from workings.check.value.value import Table, Value

_LONGEST = 160


def source(formula: Formula, start: int, end: int) -> str:
    """A part of a formula as it is written, on one line and not too long."""
    text = _MATRIX.sub(_flat, formula.text[start:end])
    text = " ".join(text.replace("&", " ").split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 30]} … {text[-25:]}"


_MATRIX = re.compile(r"\\begin\s*\{(?:[bpvBV]?matrix|smallmatrix)\*?\}((?:(?!\\begin|\\end).)*)\\end\s*\{\w+\*?\}", re.S)
_MOST_SHOWN = 24


def _flat(matrix: re.Match[str]) -> str:
    """A matrix on one line: [1 0; 0 1]; a large one by its first rows.

    >>> _MATRIX.sub(_flat, r"\\begin{bmatrix}1 & 0\\\\0 & 1\\end{bmatrix}x")
    '[1 0; 0 1]x'
    """
    rows = [" ".join(row.replace("&", " ").split()) for row in matrix.group(1).split("\\\\") if row.strip()]
    size = sum(len(row.split()) for row in rows)
    if size > _MOST_SHOWN and len(rows) > 3:
        rows = [*rows[:2], "…", rows[-1]]
    return f"[{'; '.join(rows)}]"


def decimal(x: arb, unit: arb | None = None) -> str:
    """A number with the digits that its printed place asks for, and one more where that is not all of it.

    >>> decimal(arb(2) / 3, arb("0.01")), decimal(arb("0.15"), arb("0.01"))
    ('0.667', '0.15')
    >>> decimal(arb(7))
    '7'
    >>> decimal(arb(2) ** 2144)
    '2.5604e+645'
    """
    if not x.is_finite():
        return "−∞" if x < 0 else "∞" if x > 0 else "nothing"
    whole = x.unique_fmpz()
    if whole is not None and abs(whole) < 10**30 and x.is_integer():
        return sign(str(whole))
    if abs(x) > 1e300:  # beyond what a float holds
        return sign(x.mid().str(5, radius=False))
    if unit is None or unit.is_zero():
        ratio = Fraction(float(x)).limit_denominator(10_000)
        if ratio.denominator < 10_000 and arb(fmpq(ratio.numerator, ratio.denominator)).overlaps(x):
            short = 10_000 % ratio.denominator == 0
            return sign(f"{float(x):.10g}" if short else f"{ratio} ≈ {float(x):.6g}")
    places = 6
    if unit is not None and unit > 0:
        places = max(1, 1 - round(float(unit.log() / arb(10).log())))
    value = float(x)
    if abs(value) >= 1e15 or (value and abs(value) < 10.0 ** -(places - 1)):
        return sign(f"{value:.5g}")
    text = f"{value:.{min(places, 15)}f}"
    if unit is None or not unit > 0:
        return sign(text.rstrip("0").rstrip("."))
    return sign(text.removesuffix("0").removesuffix(".") if arb(text).overlaps(x) else text)


def sign(text: str) -> str:
    """With a true minus sign."""
    return text.replace("-", "−")


def value_text(value: Value, unit: arb | None = None) -> str:
    """A value on one line: a number, a list, or a small table row by row."""
    if not isinstance(value, Table):
        return decimal(value, unit)
    if len(value.entries) > 36:
        n, m = value.shape
        return f"a table of {n} × {m}"
    rows = "; ".join(" ".join(decimal(x, unit) for x in row) for row in value.rows)
    return f"[{rows}]"


def where(value: Value, entry: int) -> str:
    """The place of an entry in words: row 2, column 1."""
    if not isinstance(value, Table):
        return ""
    m = value.shape[1]
    if value.is_vector:
        return f"entry {entry + 1}"
    return f"row {entry // m + 1}, column {entry % m + 1}"
