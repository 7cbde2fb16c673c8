"""Values on a page, by size: an exact matrix with its decimals, a matrix of decimals, one line with a heatmap.

`term` writes a value inside a formula, or says that it is too large for that; `value_markup` writes it where there is room.
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from workings.errors import WorkingsError
from workings.exact import ExactTensor
from workings.show.formula import mathml
from workings.show.formula.mathml import number, relation
from workings.show.formula.repeated import NamedTerm
from workings.show.options import Options
from workings.show.value.heatmap import Heatmap, heatmap
from workings.show.value.value import squeezed
from workings.show.write.brief import short_repr
from workings.show.write.cells import forms
from workings.show.write.decimals import decimal, map_cells
from workings.show.write.markup import element, escaped
from workings.show.write.saved import saved_of
from workings.show.write.sparkline import Summary, summary
from workings.trace.formula.script import Piece

_MOST_ITEMS = 8
"""Items of a tuple or list that are shown one by one."""


@dataclass(frozen=True)
class ValueOptions:
    """How a value may be shown where it stands: cells of its heatmap, whether the heatmap is unfolded, a term
    that has a name here, and which pictures the page has already."""

    options: Options
    cells: int = 4096
    unfolded: bool = True
    named: NamedTerm | None = None
    drawn: set[str] = field(default_factory=set)
    seen: dict[int, tuple[str, Heatmap, Tensor]] = field(default_factory=dict)
    """By the id of a tensor (which is kept, so that no other gets its id), its line and its picture: a value that is handed
    on is looked at once."""


# ------------------------------------------------------------------------------------------- in a formula


def term(x: Any, options: Options, most: int | None = None, named: NamedTerm | None = None) -> Piece | None:
    """A number or a tensor of at most `most` entries as a term of a formula; None for anything else."""
    most = options.most if most is None else most
    if isinstance(x, Tensor):
        return _forms(x, options, named)[0][1] if 0 < x.numel() <= most and _printable(x) else None
    if isinstance(x, (bool, str)) or x is None:
        return Piece(mathml.words(repr(x))) if len(repr(x)) <= 24 else None
    if isinstance(x, numbers.Number):
        return number(decimal(x, options.digits))
    return None


def _printable(x: Tensor) -> bool:
    return x.layout == torch.strided and not x.is_meta and not x.is_quantized


def _forms(x: Tensor, options: Options, named: NamedTerm | None = None) -> list[tuple[str, Piece]]:
    """The ways a tensor is written, each after its sign: the exact values, their decimals where they say more."""
    x = squeezed(x)
    *_, last = written = forms(x, replace(options, exact=True))
    decimals = last.sign, _decimals(last.text, x.dim())
    if not isinstance(x, ExactTensor):
        return [decimals]
    exact = x.nested(lambda v: mathml.value(v, named))
    found = [("=", exact if x.dim() == 0 else Piece(_matrix(map_cells(exact, lambda cell: cell.string), x.dim())))]
    return found if len(written) == 1 else [*found, decimals] if options.exact else [decimals]


def _matrix(cells: Any, dim: int, write: Callable[[Any], str] = mathml.matrix) -> str:
    """A row, a matrix; with more axes a column of matrices."""
    if dim <= 2:
        return write([cells] if dim == 1 else cells)
    return mathml.matrix([[_matrix(part, dim - 1, write)] for part in cells])


def _decimals(cells: Any, dim: int) -> Piece:
    """A number, or a matrix whose decimal points stand under each other."""
    return _entry(cells) if isinstance(cells, str) else Piece(_matrix(cells, dim, _aligned))


def _entry(text: str) -> Piece:
    return Piece(f"<mi>{text}</mi>") if text in ("T", "F") else number(text)


def _aligned(cells: list[list[str]]) -> str:
    """Right-aligned columns; digits that an entry lacks after the point take their room unseen."""
    columns = [_with_room(list(column)) for column in zip(*cells, strict=True)]
    return mathml.matrix([list(row) for row in zip(*columns, strict=True)], "decimals")


def _with_room(column: list[str]) -> list[str]:
    tails = [cell.partition(".")[2] if _PLAIN.match(cell) else None for cell in column]
    most = max((tail for tail in tails if tail is not None), key=len, default="")
    return [_cell(cell, None if tail is None else most[len(tail) :], tail) for cell, tail in zip(column, tails, strict=True)]


def _cell(text: str, missing: str | None, tail: str | None) -> str:
    """A cell in one element where it can be: matrices are most of a page."""
    if missing is None:
        return _entry(text).string
    digits = f"<mn>{text}</mn>"
    return digits + f"<mphantom><mn>{'' if tail else '.'}{missing}</mn></mphantom>" if missing else digits


_PLAIN = re.compile(r"^−?\d+(\.\d+)?$")


# --------------------------------------------------------------------------------------- where there is room


def value_markup(x: Any, place: ValueOptions, name: str = "", alone: bool = False) -> str:
    """The value after its =, as pieces of a line that may wrap: «= exact», «≈ decimals», or a summary with a heatmap.

    A value that stands `alone` begins without a sign.
    """
    written = term(x, place.options)
    if written is not None:
        found = _forms(x, place.options, place.named) if isinstance(x, Tensor) else [("=", written)]
        signs = ["" if alone and not i else relation(sign) for i, (sign, _) in enumerate(found)]
        pieces = [mathml.math(sign, form.string) for sign, (_, form) in zip(signs, found, strict=True)]
        return "".join(pieces) + (_large(x, place, name) if _is_labelled(x, place.options) else "")
    if isinstance(x, Tensor):
        return _large(x, place, name)
    if isinstance(x, (tuple, list, dict)) and 0 < len(x) <= _MOST_ITEMS and any(isinstance(v, Tensor) for v in _items(x)):
        return _several(x, place, name)
    return element("span", f"= {element('code', escaped(short_repr(x)))}", class_="piece")


def _large(x: Tensor, place: ValueOptions, name: str) -> str:
    """One line, and a picture to unfold."""
    if (saved := saved_of(x)) is not None:
        line = _line(saved.summary, place.options.digits) if saved.summary else "exact values with letters"
        return element("span", f"= {line} (only its summary was saved)", class_="piece")
    try:
        line, picture, _ = place.seen.get(id(x)) or _seen(x, place)
    except (WorkingsError, RuntimeError, NotImplementedError, TypeError, IndexError):
        said = "formulas in " + ", ".join(sorted(x.free_symbols)) if isinstance(x, ExactTensor) else "values not shown"
        return element("span", f"= {facts(x)}, {escaped(said)}", class_="piece")
    picture = replace(picture, title=name)
    unfolded = " open" if place.unfolded else ""
    drawn = picture.again() if picture.id in place.drawn else picture.markup()
    place.drawn.add(picture.id)
    return f'<details class="picture"{unfolded}><summary>{line}</summary>{drawn}</details>'


def _seen(x: Tensor, place: ValueOptions) -> tuple[str, Heatmap, Tensor]:
    plain = x.float64() if isinstance(x, ExactTensor) else x.detach()
    line = _line(summary(plain), place.options.digits)
    picture = heatmap(plain, title="", most=place.cells, **_labels(plain, place.options))
    place.seen[id(x)] = line, picture, x
    return place.seen[id(x)]


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
    """How many tensors of this value are drawn as heatmaps."""
    if isinstance(x, (tuple, list, dict)) and len(x) <= _MOST_ITEMS:
        return sum(pictures(item, options) for item in _items(x) if isinstance(item, Tensor))
    return int(isinstance(x, Tensor) and x.numel() > options.most)
