"""Heatmaps of tensors: what a matrix of thousands of numbers looks like.

A picture is SVG around one small PNG for each matrix, a pixel for each cell; the numbers themselves stand beside it in
base64, and the page's script says the one under the pointer. Colour is one hue, drawn the more opaque the larger the number,
so it stands on light and dark pages alike: blue for positive, orange for negative numbers (a pair that colour-blind readers
tell apart). With both signs the scale is symmetric about 0; with one it runs from the smallest to the largest. −∞, by which
a mask hides what may not be seen, is left empty; NaN and ∞ are red and crossed out.
"""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from workings.checksum import sha256
from workings.errors import ShapeError
from workings.exact import ExactTensor
from workings.show.value.png import Colour, data_address, png
from workings.show.write.decimals import decimal
from workings.show.write.markup import escaped

_MOST_CELLS = 4096
_MOST_SLICES = 8
_SIDE = 64
"""A matrix of more than `_MOST_CELLS` cells is pooled to at most `_SIDE` × `_SIDE`."""
_LEAST_CELLS = 64
"""A picture of few cells shows fewer matrices rather than coarser ones; a small matrix takes as many bytes as this many."""
_LEVELS = 16
_BAD, _HIDDEN = 99.0, -99.0
_MOST_CROSSES = 256
_BLUE, _ORANGE, _RED = (0x2F, 0x7F, 0xD6), (0xDD, 0x6B, 0x20), (0xD0, 0x1F, 0x2E)
_FONT = 10


def _opacity(level: int) -> int:
    return max(10, round(255 * level / _LEVELS))


_PALETTE: list[Colour] = [
    *((*_BLUE, _opacity(level)) for level in range(_LEVELS + 1)),
    (0, 0, 0, 0),
    (*_RED, 64),
    *((*_ORANGE, _opacity(level)) for level in range(1, _LEVELS + 1)),
]
"""Positive levels, what is hidden, what is not finite, negative levels."""


@dataclass(frozen=True)
class Heatmap:
    """A picture: what it is of, what it says in words, its size, its inside, and what its cells are called."""

    title: str
    caption: str
    legend: str
    width: float
    height: float
    inside: str
    cells: str

    @property
    def label(self) -> str:
        return f"Heatmap{' of ' + self.title if self.title else ''}: {self.caption}"

    @property
    def id(self) -> str:
        """By its content: the same picture has one id wherever it stands."""
        return f"picture-{sha256(self.inside + self.cells)[:12]}"

    def markup(self) -> str:
        return self._svg(f' id="{self.id}"{self.cells}', self.inside)

    def again(self) -> str:
        """The picture once more on the same page."""
        return self._svg("", f'<use href="#{self.id}"/>')

    def _svg(self, attributes: str, inside: str) -> str:
        size = f'viewBox="0 0 {self.width:.0f} {self.height:.0f}" width="{self.width:.0f}" height="{self.height:.0f}"'
        drawn = f'<svg class="heatmap" role="img" aria-label="{escaped(self.label)}" {size}{attributes}>{inside}</svg>'
        return f'{drawn}<p class="legend">{self.legend}<span>{escaped(self.caption)}</span></p>'


def heatmap(
    tensor: Tensor,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    title: str = "",
    most: int = _MOST_SLICES * _MOST_CELLS,
) -> Heatmap:
    """The matrix, or the first matrices of a tensor with more axes, as SVG; `rows` and `columns` name the last two axes.

    `most` is how many cells are drawn, of all matrices together.

    >>> picture = heatmap(torch.eye(2), rows=["the", "cat"], title="A")
    >>> picture.label, ">cat</text>" in picture.markup()
    ('Heatmap of A: 2×2', True)
    """
    panels = _panels(tensor, most)
    height, width = (tensor.shape[-2] if tensor.dim() > 1 else 1), (tensor.shape[-1] if tensor.dim() else 1)
    _fits(rows, height, "rows")
    _fits(columns, width, "columns")
    scale = _Scale.of(panels.values)
    drawn = [_panel(panels, i, scale, rows, columns) for i in range(len(panels.values))]
    caption = _caption(tensor, panels, scale)
    inside, across, down = _panel_grid(drawn)
    return Heatmap(
        title, caption, _legend(scale) if drawn else "", across, down, inside, _names_of_cells(panels, rows, columns)
    )


def _names_of_cells(panels: _Panels, rows: Sequence[str] | None, columns: Sequence[str] | None) -> str:
    """What the script needs to say which cell is under the pointer: the entries it stands for, or their names."""
    if panels.is_pooled:
        return f' data-block="{panels.block[0]:g} {panels.block[1]:g}"'
    named = (("rows", rows), ("columns", columns))
    return "".join(f' data-{axis}="{escaped(json.dumps(list(names)))}"' for axis, names in named if names)


# ------------------------------------------------------------------------------------------------- numbers


@dataclass(frozen=True)
class _Panels:
    """The matrices that are drawn, their indices, and how many entries of the tensor each cell stands for."""

    values: Tensor
    indices: list[tuple[int, ...]]
    block: tuple[float, float]
    left_out: int

    @property
    def is_pooled(self) -> bool:
        return self.block != (1, 1)


def _panels(tensor: Tensor, most: int) -> _Panels:
    x = _plain(tensor)
    x = x.reshape(1, -1) if x.dim() < 2 else x
    lead, (m, n) = x.shape[:-2], x.shape[-2:]
    count = math.prod(lead)
    slices = min(_MOST_SLICES, count, max(1, most // _LEAST_CELLS))
    shown = x.reshape(-1, m, n)[:slices] if x.numel() else x.new_zeros(0, m, n)
    indices = [_index(i, lead) for i in range(len(shown))]
    most = min(_MOST_CELLS, most // max(1, slices))
    if m * n <= most:
        return _Panels(shown, indices, (1, 1), count - len(shown))
    side = min(_SIDE, math.isqrt(most))
    size = (min(m, max(side, most // n)), min(n, max(side, most // m)))
    size = (min(size[0], max(1, most // size[1])), size[1]) if m > 1 else (1, min(n, most, _SIDE * 4))
    pooled = torch.nn.functional.adaptive_avg_pool2d(shown.unsqueeze(1), size).squeeze(1)
    return _Panels(pooled, indices, (m / size[0], n / size[1]), count - len(shown))


def _plain(tensor: Tensor) -> Tensor:
    """The numbers as doubles; complex numbers by their absolute value."""
    if isinstance(tensor, ExactTensor):
        return tensor.float64()
    x = tensor.detach().cpu()
    x = x.to_dense() if x.layout != torch.strided else x
    return (x.abs() if x.is_complex() else x).to(torch.float64)


def _index(i: int, lead: Sequence[int]) -> tuple[int, ...]:
    out: list[int] = []
    for n in reversed(lead):
        out.insert(0, i % n)
        i //= n
    return tuple(out)


@dataclass(frozen=True)
class _Scale:
    """Which colour a number has: `levels` of opacity from `low` to `high`, in two hues where there are both signs."""

    low: float
    high: float
    bad: int
    hidden: int

    @staticmethod
    def of(values: Tensor) -> _Scale:
        finite = values[torch.isfinite(values)]
        hidden = int(torch.isneginf(values).sum())
        bad = values.numel() - finite.numel() - hidden
        if not finite.numel():
            return _Scale(0.0, 0.0, bad, hidden)
        return _Scale(float(finite.min()), float(finite.max()), bad, hidden)

    @property
    def diverging(self) -> bool:
        return self.low < 0 < self.high

    def levels(self, values: Tensor) -> Tensor:
        """−LEVELS … LEVELS: negative is orange; 0 is the page itself."""
        if self.diverging:
            top = max(-self.low, self.high)
            found = values / top * _LEVELS
        else:
            span = self.high - self.low
            sign = -1 if self.high <= 0 and self.low < 0 else 1
            part = (values - self.low) / span if span > 0 else torch.full_like(values, 0.5 if self.high else 0.0)
            found = part * _LEVELS if sign > 0 else -(1 - part) * _LEVELS
        odd = torch.where(torch.isneginf(values), _HIDDEN, _BAD).to(values.dtype)
        return torch.where(torch.isfinite(values), found.round().nan_to_num(), odd)


def _number_of(level: float) -> int:
    """Where the palette has a level."""
    if level in (_HIDDEN, _BAD):
        return _LEVELS + (1 if level == _HIDDEN else 2)
    return int(level) if level >= 0 else _LEVELS + 2 - int(level)


# ------------------------------------------------------------------------------------------------- drawing


@dataclass(frozen=True)
class _DrawnMatrix:
    """One matrix, drawn: its markup, and its size in pixels."""

    markup: str
    width: float
    height: float


def _panel(
    panels: _Panels, i: int, scale: _Scale, rows: Sequence[str] | None, columns: Sequence[str] | None
) -> _DrawnMatrix:
    matrix = panels.values[i]
    m, n = matrix.shape
    room = 300 if len(panels.values) == 1 else 150
    cell = min(28.0, room / n, room / m)
    w, h = (min(28.0, max(cell, 12.0 if count < 12 else room / count if count > 64 else 1.0, 0.5)) for count in (n, m))
    names = (None, None) if panels.is_pooled else (rows, columns)
    left, left_room = _row_labels(m, h, names[0])
    above, above_room = _column_labels(n, w, names[1])
    heading = f"[{', '.join(map(str, panels.indices[i]))}]" if panels.indices[i] else ""
    top = above_room + (_FONT + 4 if heading else 0)
    cells = _cells(matrix, scale.levels(matrix))
    body = (
        (f'<text x="{left_room:g}" y="{_FONT}">{heading}</text>' if heading else "")
        + (f'<g transform="translate(0 {top:g})">{left}</g>' if left else "")
        + (f'<g transform="translate({left_room:g} {top:g})">{above}</g>' if above else "")
        + f'<g transform="translate({left_room:g} {top:g}) scale({w:g} {h:g})">{cells}</g>'
        + f'<rect x="{left_room:g}" y="{top:g}" width="{n * w:g}" height="{m * h:g}" class="frame"/>'
    )
    return _DrawnMatrix(body, left_room + n * w + 2, top + m * h + 2)


def _cells(matrix: Tensor, levels: Tensor) -> str:
    """One pixel for each number, and the numbers in base64; crosses over what is not finite."""
    (m, n), numbers = matrix.shape, [[_number_of(level) for level in row] for row in levels.tolist()]
    values = b64encode(matrix.to(torch.float32).numpy().astype("<f4").tobytes()).decode()
    bad = (levels == _BAD).nonzero()[:_MOST_CROSSES].tolist()
    crosses = "".join(f"M{x} {y}l1 1M{x + 1} {y}l-1 1" for y, x in bad)
    return f'<image width="{n}" height="{m}" href="{data_address(png(numbers, _PALETTE))}" data-values="{values}"/>' + (
        f'<path class="crosses" d="{crosses}"/>' if crosses else ""
    )


def _short(name: str) -> str:
    return name if len(name) <= 12 else name[:11] + "…"


def _ticks(count: int, size: float, names: Sequence[str]) -> list[tuple[int, str, str]]:
    """Which cells of an axis are named, and how: all where there is room, else a few."""
    step = 1
    while step * size < _FONT + 1 or count / step > _SIDE:
        step *= 2
    return [(i, _short(names[i]), names[i]) for i in range(0, count, step)]


def _row_labels(count: int, size: float, names: Sequence[str] | None) -> tuple[str, float]:
    if not names:
        return "", 1.0
    ticks = _ticks(count, size, names)
    room = max(len(label) for _, label, _ in ticks) * _FONT * 0.62 + 6
    parts = [
        f'<text x="{room - 4:.1f}" y="{(i + 0.5) * size + 3.5:.1f}" text-anchor="end">{_label(label, full)}</text>'
        for i, label, full in ticks
    ]
    return "".join(parts), room


def _column_labels(count: int, size: float, names: Sequence[str] | None) -> tuple[str, float]:
    if not names:
        return "", 1.0
    ticks = _ticks(count, size, names)
    longest = max(len(label) for _, label, _ in ticks) * _FONT * 0.62
    between = (ticks[1][0] - ticks[0][0]) * size if len(ticks) > 1 else count * size
    upright = longest + 4 > between
    room = longest + 6 if upright else _FONT + 4.0
    turn = ' transform="translate({x:.1f} -4) rotate(-90)"' if upright else ' x="{x:.1f}" y="-4" text-anchor="middle"'
    down = f'<g transform="translate({3.5 if upright else 0} 0)">'
    parts = [f"<text{turn.format(x=(i + 0.5) * size)}>{_label(label, full)}</text>" for i, label, full in ticks]
    return f"{down}{''.join(parts)}</g>", room


def _label(label: str, full: str) -> str:
    return escaped(label) + (f"<title>{escaped(full)}</title>" if full and full != label else "")


def _panel_grid(drawn: list[_DrawnMatrix]) -> tuple[str, float, float]:
    """The panels side by side, up to four in a row; with the size of it all."""
    gap, x, y, line, body, right = 14.0, 0.0, 0.0, 0.0, "", 1.0
    for i, panel in enumerate(drawn):
        if i and (i % 4 == 0 or x + panel.width > 720):
            x, y, line = 0.0, y + line + gap, 0.0
        moved = f' transform="translate({x:g} {y:g})"' if x or y else ""
        body += f"<g{moved}>{panel.markup}</g>"
        x, line = x + panel.width + gap, max(line, panel.height)
        right = max(right, x - gap)
    return body, right, y + line


def _legend(scale: _Scale) -> str:
    """The colours from smallest to largest, with the numbers at the ends."""
    top = max(-scale.low, scale.high)
    low, high = (-top, top) if scale.diverging else (scale.low, scale.high)
    kind = "both" if scale.diverging else "down" if high <= 0 and low < 0 else "up"
    return f'{decimal(low, 4)} <i class="{kind}"></i> {decimal(high, 4)}'


def _caption(tensor: Tensor, panels: _Panels, scale: _Scale) -> str:
    shape = "×".join(map(str, tensor.shape)) or "one number"
    said = [shape + (", absolute values" if tensor.is_complex() else "")]
    if not panels.values.numel():
        return f"{shape}, empty"
    if panels.is_pooled:
        said.append(f"each cell is the mean of {' × '.join(decimal(b, 3) for b in panels.block)} entries")
    if panels.left_out:
        said.append(f"the first {len(panels.values)} of {len(panels.values) + panels.left_out} matrices")
    if scale.hidden:
        said.append(f"{scale.hidden:,} cells are −∞, left empty")
    if scale.bad:
        said.append(f"{scale.bad:,} cells not finite, crossed out")
    return "; ".join(said)


def _fits(names: Sequence[str] | None, count: int, axis: str) -> None:
    if names is not None and len(names) != count:
        raise ShapeError(f"A heatmap with {count} {axis} needs {count} names, but got {len(names)}.")
