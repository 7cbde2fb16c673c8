"""Numbers as decimals: significant digits, no idle zeros, the points of a column under each other."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

_LONGEST = 40
"""Digits of an integer that are written out."""
_NUMBER = re.compile(r"^(−?)([\d.]+)(?:e(−?\d+))?$")


def decimal(x: Any, digits: int = 4) -> str:
    """A number with at most this many significant digits; whole parts are never cut below a million.

    >>> [decimal(x) for x in (0.66976, 2.0, -0.5, 123456.7, 1.5e-7, float("inf"))]
    ['0.6698', '2', '−0.5', '123457', '1.5e−7', '∞']
    """
    if isinstance(x, bool):
        return str(x)
    if isinstance(x, complex):
        return _complex(x, digits)
    if isinstance(x, numbers.Integral):
        return _integer(int(x))
    if isinstance(x, Fraction):
        return f"{_integer(x.numerator)}/{_integer(x.denominator)}" if x.denominator != 1 else _integer(x.numerator)
    return _float(float(x), digits)


def _integer(n: int) -> str:
    if n.bit_length() > _LONGEST * 3:
        power = round((n.bit_length() - 1) * math.log10(2))
        return f"{'−' if n < 0 else ''}about 10^{power}"
    return str(n).replace("-", "−")


def _float(x: float, digits: int) -> str:
    if math.isnan(x):
        return "NaN"
    if math.isinf(x):
        return "∞" if x > 0 else "−∞"
    size = abs(x)
    if size and not 1e-5 <= size < 10 ** max(digits, 6):
        mantissa, _, power = f"{x:.{digits - 1}e}".partition("e")
        return f"{_trimmed(mantissa)}e{int(power)}".replace("-", "−")
    places = digits - 1 - math.floor(math.log10(size)) if size else 0
    return _trimmed(f"{x:.{max(0, places)}f}").replace("-", "−")


def _trimmed(digits: str) -> str:
    """Without zeros at the end of the decimals, and without −0."""
    digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return "0" if digits == "-0" else digits


def _complex(z: complex, digits: int) -> str:
    imaginary = _float(abs(z.imag), digits)
    return f"{_float(z.real, digits)} {'−' if z.imag < 0 else '+'} {imaginary}i"


def latex_decimal(text: str) -> str:
    r"""The text of a number in LaTeX.

    >>> print(latex_decimal("−1.5e−7"), latex_decimal("−∞"), latex_decimal("1e5"))
    -1.5 \cdot 10^{-7} -\infty 10^{5}
    """
    found = _NUMBER.match(text)
    if found and found[3]:
        front = "" if found[2] == "1" else rf"{found[2]} \cdot "
        return f"{found[1]}{front}10^{{{found[3]}}}".replace("−", "-")
    text = re.sub(r"NaN|True|False|about", lambda m: rf"\mathrm{{{m[0]}}}", text)
    return re.sub(r"10\^(\d+)", r"\\ 10^{\1}", text).replace("−", "-").replace("∞", r"\infty ").strip()


def align_points(cells: Any) -> Any:
    """Nested lists of numbers with the decimal points of each column under each other.

    >>> align_points([["0.5", "1"], ["12", "0.25"]])
    [[' 0.5', '1   '], ['12  ', '0.25']]
    """
    if isinstance(cells, str) or not cells or isinstance(cells[0], str):
        return cells
    if cells[0] and not isinstance(cells[0][0], str):
        return [align_points(part) for part in cells]
    columns = [_column(list(column)) for column in zip(*cells, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def _column(cells: list[str]) -> list[str]:
    if not any("." in cell for cell in cells) or not all(_NUMBER.match(cell) for cell in cells):
        return cells
    wholes = [re.split(r"[.e]", cell)[0] for cell in cells]
    tails = [cell[len(whole) :] for cell, whole in zip(cells, wholes, strict=True)]
    left, right = max(map(len, wholes)), max(map(len, tails))
    return [whole.rjust(left) + tail.ljust(right) for whole, tail in zip(wholes, tails, strict=True)]


def map_cells(cells: Any, f: Callable[[Any], Any]) -> Any:
    """f of everything in nested lists."""
    return [map_cells(cell, f) for cell in cells] if isinstance(cells, list) else f(cells)
