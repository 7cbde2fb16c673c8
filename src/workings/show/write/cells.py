"""The entries of a tensor as text, in nested lists of its shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from workings.errors import WorkingsError
from workings.exact.numbers.rounding import decimals
from workings.exact.numbers.simplest import simplest
from workings.exact.numbers.value import Value, letters
from workings.exact.tensor.arena import ARENA
from workings.exact.tensor.exact_tensor import ExactTensor
from workings.exact.typeset.latex import latex
from workings.exact.typeset.text import text
from workings.show.options import Options
from workings.show.write.decimals import alike, decimal, latex_decimal, map_cells, places_of


@dataclass(frozen=True)
class Form:
    """One way a value is written: the sign before it (= or ≈), its entries as text and as LaTeX."""

    sign: str
    text: Any
    latex: Any


def forms(x: torch.Tensor, options: Options) -> list[Form]:
    """The entries: exact and then as decimals where those say more; decimals alone for floats."""
    if not isinstance(x, ExactTensor):
        cells = _entries(x, options.digits)
        return [Form("=", cells, map_cells(cells, latex_decimal))]
    with ARENA.working():
        exact = Form("=", x.nested(lambda v: text(simplest(v))), x.nested(lambda v: latex(simplest(v))))
        approximate = _approximate(x, options.digits)
    if approximate is None:
        return [exact]
    return [exact, approximate] if options.exact else [Form("=", approximate.text, approximate.latex)]


def _entries(x: torch.Tensor, digits: int) -> Any:
    """The entries of an ordinary tensor."""
    if x.dtype == torch.bool:
        return map_cells(x.tolist(), lambda b: "T" if b else "F")
    if not x.is_floating_point():
        return map_cells(x.tolist(), lambda v: decimal(v, digits))
    places = places_of(x.flatten().tolist(), digits)
    return map_cells(x.tolist(), lambda v: alike(v, places, digits))


def _approximate(x: ExactTensor, digits: int) -> Form | None:
    """The decimals of exact values; None for whole numbers, for letters, and where no digits could be certified."""
    values = x.elements()
    if all(map(_is_whole, values)) or any(letters(v) for v in values):
        return None
    try:
        sizes = {v: _size(v, digits) for v in values}
        places = places_of(list(sizes.values()), digits) if x.dim() else None
        cells = x.nested(lambda v: _decimals(v, sizes[v], places, digits))
    except WorkingsError:
        return None
    sign = "=" if all(_is_short(v, digits) for v in values) else "≈"
    return Form(sign, cells, map_cells(cells, latex_decimal))


def _size(v: Value, digits: int) -> float:
    """The value to so many digits and four more: which places it needs."""
    return float(decimals(v, digits + 4).replace("−", "-").replace("∞", "inf"))


def _decimals(v: Value, size: float, places: int | None, digits: int) -> str:
    """The certified digits of a value, with the places that all entries have."""
    plain = alike(size, places, digits)
    if places is None or v.special or not size or "e" in plain:
        found = decimals(v, digits).replace("-", "−")
        return {"nan": "NaN"}.get(found, found)
    whole, _, _ = plain.lstrip("−").partition(".")
    leading = len(whole) if whole != "0" else -_leading_zeros(plain)
    found = decimals(v, max(1, places + leading)).replace("-", "−")
    front, _, back = found.partition(".")
    return f"{front}.{back.ljust(places, '0')}" if places > 0 else front


def _leading_zeros(plain: str) -> int:
    """Zeros between the point and the first digit of 0.0012."""
    back = plain.partition(".")[2]
    return len(back) - len(back.lstrip("0"))


def _is_whole(v: Value) -> bool:
    return v.special or (v.kind == "q" and isinstance(v.rational, int))


def _is_short(v: Value, digits: int) -> bool:
    """Whether so many digits are all of it: 1/4 is 0.25."""
    return v.special or (v.kind == "q" and decimals(v, digits) == decimals(v, digits + 4))
