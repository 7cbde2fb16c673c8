"""Values on a page, by size: an exact matrix with its decimals, a matrix of decimals, one line with a heatmap.

`term` writes a value inside a formula, or says that it is too large for that; `value_markup` writes it where there is room.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from workings.errors import WorkingsError
from workings.exact import ExactTensor
from workings.exact.numbers.rounding import decimals
from workings.show.formula import mathml
from workings.show.formula.mathml import number, relation
from workings.show.options import Options
from workings.show.value.heatmap import MOST_SLICES, svg
from workings.show.value.value import squeezed
from workings.show.write.brief import short_repr
from workings.show.write.decimals import decimal, map_cells
from workings.show.write.markup import element, escaped
from workings.show.write.saved import saved_of
from workings.show.write.sparkline import Summary, summary
from workings.trace.formula.script import Piece

_MOST_ITEMS = 8
"""Items of a tuple or list that are shown one by one."""


@dataclass(frozen=True)
class ValueOptions:
    """How a value may be shown where it stands: cells of its heatmap, and whether the heatmap is unfolded."""

    options: Options
    cells: int = 4096
    unfolded: bool = True


# ------------------------------------------------------------------------------------------- in a formula


def term(x: Any, options: Options, most: int | None = None) -> Piece | None:
    """A number or a tensor of at most `most` entries as a term of a formula; None for anything else."""
    most = options.most if most is None else most
    if isinstance(x, Tensor):
        fits = 0 < x.numel() <= most and _printable(x)
        return _tensor(x, _cell_of(x, options)) if fits else None
    if isinstance(x, (bool, str)) or x is None:
        return Piece(mathml.words(repr(x))) if len(repr(x)) <= 24 else None
    if isinstance(x, numbers.Number):
        return number(decimal(x, options.digits))
    return None


def _printable(x: Tensor) -> bool:
    return x.layout == torch.strided and not x.is_meta and not x.is_quantized


def _cell_of(x: Tensor, options: Options) -> Callable[[Any], Piece]:
    if isinstance(x, ExactTensor):
        return mathml.value if options.exact else lambda v: _decimal_value(v, options.digits)
    return lambda v: number(decimal(v, options.digits))


def _decimal_value(v: Any, digits: int) -> Piece:
    try:
        return mathml.value(v) if v.free else number(decimals(v, digits))
    except WorkingsError:
        return mathml.value(v)


def _tensor(x: Tensor, cell: Callable[[Any], Piece]) -> Piece:
    """A number, a row, a matrix; with more axes a column of matrices."""
    x = squeezed(x)
    nested = x.nested(cell) if isinstance(x, ExactTensor) else map_cells(x.detach().tolist(), cell)
    return nested if x.dim() == 0 else Piece(_matrix(nested, x.dim()))


def _matrix(nested: Any, dim: int) -> str:
    if dim == 1:
        return mathml.matrix([[cell.string for cell in nested]])
    if dim == 2:
        return mathml.matrix([[cell.string for cell in cells] for cells in nested])
    return mathml.matrix([[_matrix(part, dim - 1)] for part in nested])


# --------------------------------------------------------------------------------------- where there is room


def value_markup(x: Any, place: ValueOptions, name: str = "") -> str:
    """The value after its =, as pieces of a line that may wrap: «= exact», «≈ decimals», or a summary with a heatmap."""
    written = term(x, place.options)
    if written is not None:
        pieces = [_piece(sign, markup) for sign, markup in _forms(x, written, place.options)]
        return "".join(pieces) + (_large(x, place, name) if _is_labelled(x, place.options) else "")
    if isinstance(x, Tensor):
        return _large(x, place, name)
    if isinstance(x, (tuple, list, dict)) and 0 < len(x) <= _MOST_ITEMS and any(isinstance(v, Tensor) for v in _items(x)):
        return _several(x, place, name)
    return element("span", f"= {element('code', escaped(short_repr(x)))}", class_="piece")


def _piece(sign: str, markup: str) -> str:
    return element("span", mathml.math(relation(sign), markup), class_="piece")


def _forms(x: Any, written: Piece, options: Options) -> Iterator[tuple[str, str]]:
    """The exact values after =, their decimals after ≈ where they say more; rounded numbers after ≈ only."""
    if not isinstance(x, ExactTensor):
        yield "=", written.string
    elif not options.exact:
        yield ("=" if _whole(x) or x.free_symbols else "≈"), written.string
    else:
        yield "=", written.string
        if not _whole(x) and not x.free_symbols:
            yield ("=" if _short(x, options.digits) else "≈"), _tensor(x, lambda v: _decimal_value(v, options.digits)).string


def _whole(x: ExactTensor) -> bool:
    return all(type(v.rational) is int or v.special for v in x.elements())


def _short(x: ExactTensor, digits: int) -> bool:
    """Whether so many digits are all of it: 1/4 is 0.25."""
    return all(v.kind == "q" and decimals(v, digits) == decimals(v, digits + 4) for v in x.elements())


def _large(x: Tensor, place: ValueOptions, name: str) -> str:
    """One line, and a picture to unfold."""
    if (saved := saved_of(x)) is not None:
        line = _line(saved.summary, place.options.digits) if saved.summary else "exact values with letters"
        return element("span", f"= {line} (only its summary was saved)", class_="piece")
    try:
        plain = x.float64() if isinstance(x, ExactTensor) else x.detach()
        line = _line(summary(plain), place.options.digits)
        picture = svg(plain, title=name, most=place.cells, **_labels(plain, place.options))
    except (WorkingsError, RuntimeError, NotImplementedError, TypeError, IndexError):
        said = "formulas in " + ", ".join(sorted(x.free_symbols)) if isinstance(x, ExactTensor) else "values not shown"
        return element("span", f"= {facts(x)}, {escaped(said)}", class_="piece")
    unfolded = " open" if place.unfolded else ""
    return f'<details class="picture"{unfolded}><summary>{line}</summary>{picture}</details>'


def _labels(x: Tensor, options: Options) -> dict[str, tuple[str, ...] | None]:
    """The names of the rows and columns of a matrix that has as many as the reader named."""
    rows = options.labels_for(-2, x.shape[-2]) if x.dim() > 1 else None
    return {"rows": rows, "columns": options.labels_for(-1, x.shape[-1]) if x.dim() else None}


def _is_labelled(x: Any, options: Options) -> bool:
    """Whether a small matrix is drawn too, since its rows and columns have names."""
    return isinstance(x, Tensor) and x.dim() > 1 and None not in _labels(x, options).values()


def _line(s: Summary, digits: int) -> str:
    """−3.241 … 3.87  ▁▂▄█▄▂▁  mean 0.0123  std 0.998  2 NaN"""
    count = math.prod(s.shape)
    if s.true is not None:
        return f"{s.true:,} of {count:,} true"
    if not count:
        return "empty"
    bad = [f"{n:,} {word}" for n, word in ((s.nan, "NaN"), (s.inf, "∞")) if n]
    numbers = [f"{decimal(s.low, digits)} … {decimal(s.high, digits)}"]
    numbers += [f'<span class="spark" aria-hidden="true">{s.spark}</span>'] if s.spark else []
    numbers += [f"mean {decimal(s.mean, digits)}", f"std {decimal(s.deviation, digits)}"]
    return " ".join(f'<span class="stat">{part}</span>' for part in numbers) + "".join(
        f' <b class="nan">{b}</b>' for b in bad
    )


def _items(x: Any) -> list[Any]:
    return list(x.values()) if isinstance(x, dict) else list(x)


def _several(x: Any, place: ValueOptions, name: str = "") -> str:
    """The parts of a value, by the names they are unpacked into where there are as many."""
    targets = name.split(", ")
    keys = list(x) if isinstance(x, dict) else getattr(x, "_fields", range(len(x)))
    unpacked = len(targets) == len(x) > 1
    said = (
        [mathml.math(mathml.name(n)) for n in targets]
        if unpacked
        else [element("code", escaped(f"[{key!r}]")) for key in keys]
    )
    rows = [element("li", f"{key} {value_markup(v, place)} {facts(v)}") for key, v in zip(said, _items(x), strict=True)]
    return element("ul", "".join(rows), class_="several")


def facts(x: Any) -> str:
    """The shape and the dtype of a tensor: 2×2 exact, 64×64 float32."""
    if not isinstance(x, Tensor):
        return ""
    shape = "×".join(map(str, x.shape)) or "scalar"
    saved = saved_of(x)
    exact = isinstance(x, ExactTensor) or (saved is not None and saved.exact)
    dtype = "exact" if exact else str(x.dtype).removeprefix("torch.")
    return f'<span class="shape">{shape}</span> <span class="dtype">{dtype}</span>'


def pictures(x: Any, options: Options) -> int:
    """How many matrices of this value are drawn as heatmaps."""
    if isinstance(x, (tuple, list, dict)) and len(x) <= _MOST_ITEMS:
        return sum(pictures(item, options) for item in _items(x) if isinstance(item, Tensor))
    large = isinstance(x, Tensor) and x.numel() > options.most
    return min(MOST_SLICES, math.prod(x.shape[:-2])) if large else 0
