"""Numbers as decimals: significant digits, no idle zeros; the entries of one tensor alike, their points under each other."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Sequence
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
    if size and not 1e-5 <= size < _largest(digits):
        mantissa, _, power = f"{x:.{digits - 1}e}".partition("e")
        return f"{_trimmed(mantissa)}e{int(power)}".replace("-", "−")
    places = digits - 1 - _exponent(size) if size else 0
    return _trimmed(f"{x:.{max(0, places)}f}").replace("-", "−")


def _trimmed(digits: str) -> str:
    """Without zeros at the end of the decimals, and without −0."""
    digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return "0" if digits == "-0" else digits


def _complex(z: complex, digits: int) -> str:
    imaginary = _float(abs(z.imag), digits)
    return f"{_float(z.real, digits)} {'−' if z.imag < 0 else '+'} {imaginary}i"


_KEPT = 2
"""Significant digits, at least, of the smallest entry of a tensor."""
_FARTHEST = 3
"""Entries that need so many places more than the largest one are written as powers of ten."""


def places_of(values: Sequence[float], digits: int) -> int | None:
    """The places after the point that the entries of one tensor are written with; None where all are whole.

    The largest entry has at least `digits` significant digits and the smallest two, unless fewer are all there is.

    >>> places_of([0.5, 0.25], 4), places_of([2 / 3, 4 / 3, 0.0], 4), places_of([100 / 3, 0.0012], 4), places_of([3.0], 4)
    (2, 4, 4, None)
    """
    sizes = [abs(x) for x in values if x and math.isfinite(x) and abs(x) < _largest(digits)]
    if not sizes or all(size == int(size) for size in sizes):
        return None
    top = _exponent(max(sizes))
    lowest = digits - (top if top >= 0 else top + 1)  # four digits of 0.6698 and of 1.3395 stand at the same places
    sizes = [size for size in sizes if _KEPT - 1 - _exponent(size) <= lowest + _FARTHEST]
    needed = max(len(_float(size, digits).partition(".")[2]) for size in sizes)
    if all(_float(size, digits) == _float(size, digits + 4) for size in sizes):
        return needed  # so many digits are all of it
    return min(needed, max(lowest, *(_KEPT - 1 - _exponent(size) for size in sizes)))


def alike(x: float, places: int | None, digits: int) -> str:
    """An entry of a tensor whose entries have so many places; 0 and what is too small or too large for them as it is.

    >>> [alike(x, 3, 4) for x in (0.5, 2 / 3, 0.0, 1e-9, float("-inf"))]
    ['0.500', '0.667', '0', '1e−9', '−∞']
    """
    if places is None or not x or not math.isfinite(x) or abs(x) >= _largest(digits) or -_exponent(abs(x)) > places:
        return _float(x, digits)
    return f"{x:.{max(0, places)}f}".replace("-", "−")


def _exponent(size: float) -> int:
    return math.floor(math.log10(size))


def _largest(digits: int) -> float:
    """Numbers from here on are written as powers of ten."""
    return 10.0 ** max(digits, 6)


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
