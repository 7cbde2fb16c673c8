"""Heatmaps of tensors as inline SVG: what a matrix of thousands of numbers looks like.

Colour is one hue, drawn the more opaque the larger the number, so it stands on light and dark pages alike: blue for
positive, orange for negative numbers (a pair that colour-blind readers tell apart). With both signs the scale is symmetric
about 0; with one it runs from the smallest to the largest. Each cell names its value; what is not finite is crossed out in
red.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from workings.errors import ShapeError
from workings.exact import ExactTensor
from workings.show.write.decimals import decimal
from workings.show.write.markup import element, escaped

_MOST_CELLS = 4096
MOST_SLICES = 8
_SIDE = 64
"""A matrix of more than `_MOST_CELLS` cells is pooled to at most `_SIDE` × `_SIDE`."""
_LEVELS = 16
BLUE, ORANGE, RED = "#2f7fd6", "#dd6b20", "#d01f2e"
_DIGITS = {torch.float64: 17, torch.float32: 9, torch.float16: 5, torch.bfloat16: 4}
"""Significant digits that tell every number of a dtype from its neighbours."""
_FONT = 10


def svg(
    tensor: Tensor,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    title: str = "",
    most: int = _MOST_CELLS,
) -> str:
    """The matrix, or the first matrices of a tensor with more axes, as SVG; `rows` and `columns` name the last two axes.

    >>> picture = svg(torch.eye(2), rows=["the", "cat"], title="A")
    >>> "<title>the, column 0: 1</title>" in picture
    True
    """
    panels = _panels(tensor, most)
    height, width = (tensor.shape[-2] if tensor.dim() > 1 else 1), (tensor.shape[-1] if tensor.dim() else 1)
    _fits(rows, height, "rows")
    _fits(columns, width, "columns")
    scale = _Scale.of(panels.values)
    drawn = [_panel(panels, i, scale, rows, columns) for i in range(len(panels.values))]
    caption = _caption(tensor, panels, scale)
    return _panel_grid(drawn, scale, caption, f"Heatmap{' of ' + title if title else ''}: {caption}", title)


# ------------------------------------------------------------------------------------------------- numbers


@dataclass(frozen=True)
class _Panels:
    """The matrices that are drawn, their indices, and how many entries of the tensor each cell stands for."""

    values: Tensor
    indices: list[tuple[int, ...]]
    block: tuple[float, float]
    digits: int
    left_out: int

    @property
    def is_pooled(self) -> bool:
        return self.block != (1, 1)


def _panels(tensor: Tensor, most: int) -> _Panels:
    x = _plain(tensor)
    x = x.reshape(1, -1) if x.dim() < 2 else x
    lead, (m, n) = x.shape[:-2], x.shape[-2:]
    count = math.prod(lead)
    shown = x.reshape(-1, m, n)[:MOST_SLICES] if x.numel() else x.new_zeros(0, m, n)
    indices = [_index(i, lead) for i in range(len(shown))]
    digits = _DIGITS.get(tensor.dtype, 17)
    if m * n <= most:
        return _Panels(shown, indices, (1, 1), digits, count - len(shown))
    side = min(_SIDE, math.isqrt(most))
    size = (min(m, max(side, most // n)), min(n, max(side, most // m)))
    size = (min(size[0], max(1, most // size[1])), size[1]) if m > 1 else (1, min(n, most, _SIDE * 4))
    pooled = torch.nn.functional.adaptive_avg_pool2d(shown.unsqueeze(1), size).squeeze(1)
    return _Panels(pooled, indices, (m / size[0], n / size[1]), 4, count - len(shown))


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

    @staticmethod
    def of(values: Tensor) -> _Scale:
        finite = values[torch.isfinite(values)]
        bad = values.numel() - finite.numel()
        if not finite.numel():
            return _Scale(0.0, 0.0, bad)
        return _Scale(float(finite.min()), float(finite.max()), bad)

    @property
    def diverging(self) -> bool:
        return self.low < 0 < self.high

    def levels(self, values: Tensor) -> Tensor:
        """−LEVELS … LEVELS: negative is orange; 0 is the page itself; NaN and infinities are level 99."""
        if self.diverging:
            top = max(-self.low, self.high)
            found = values / top * _LEVELS
        else:
            span = self.high - self.low
            sign = -1 if self.high <= 0 and self.low < 0 else 1
            part = (values - self.low) / span if span > 0 else torch.full_like(values, 0.5 if self.high else 0.0)
            found = part * _LEVELS if sign > 0 else -(1 - part) * _LEVELS
        return torch.where(torch.isfinite(values), found.round().nan_to_num(), torch.tensor(99.0, dtype=values.dtype))


def _digits(value: float, digits: int) -> str:
    """With 17 digits the shortest decimals that are this double and no other."""
    if not math.isfinite(value):
        return decimal(value)
    return (repr(value).removesuffix(".0") if digits >= 17 else f"{value:.{digits}g}").replace("-", "−")


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
    left, left_room = _row_labels(m, h, names[0], panels.block[0])
    above, above_room = _column_labels(n, w, names[1], panels.block[1])
    heading = f"[{', '.join(map(str, panels.indices[i]))}]" if panels.indices[i] else ""
    top = above_room + (_FONT + 4 if heading else 0)
    cells = _cells(matrix, scale.levels(matrix), panels, names)
    body = (
        (f'<text x="{left_room:g}" y="{_FONT}">{heading}</text>' if heading else "")
        + f'<g transform="translate(0 {top:g})">{left}</g><g transform="translate({left_room:g} {top:g})">{above}</g>'
        + f'<g transform="translate({left_room:g} {top:g}) scale({w:g} {h:g})" shape-rendering="crispEdges">{cells}</g>'
        + f'<rect x="{left_room:g}" y="{top:g}" width="{n * w:g}" height="{m * h:g}" class="frame"/>'
    )
    return _DrawnMatrix(body, left_room + n * w + 2, top + m * h + 2)


def _cells(matrix: Tensor, levels: Tensor, panels: _Panels, names: tuple[Sequence[str] | None, Sequence[str] | None]) -> str:
    """One square for each number, those of one colour together."""
    said_rows, said_columns = (
        _entry_labels(names[0], "row", len(matrix), panels),
        _entry_labels(names[1], "column", matrix.shape[1], panels),
    )
    groups: dict[float, list[str]] = {}
    for y, (numbers, colours) in enumerate(zip(matrix.tolist(), levels.tolist(), strict=True)):
        for x, (value, colour) in enumerate(zip(numbers, colours, strict=True)):
            said = f"{said_rows[y]}, {said_columns[x]}: {_digits(value, panels.digits)}"
            groups.setdefault(colour, []).append(f'<path d="M{x} {y}h1v1h-1z"><title>{said}</title></path>')
            if colour == 99.0:
                groups.setdefault(100.0, []).append(f"M{x} {y}l1 1M{x + 1} {y}l-1 1")
    return "".join(_group(colour, paths) for colour, paths in sorted(groups.items()))


def _entry_labels(names: Sequence[str] | None, axis: str, count: int, panels: _Panels) -> list[str]:
    if names is not None:
        return [escaped(name) for name in names]
    block = panels.block[0 if axis == "row" else 1]
    return [
        f"{axis} {i if block == 1 else f'{i * block:.0f}–{max(i * block, (i + 1) * block - 1):.0f}'}" for i in range(count)
    ]


def _group(colour: float, paths: list[str]) -> str:
    if colour == 100.0:
        return f'<path class="bad" d="{"".join(paths)}" stroke="{RED}" stroke-width=".12"/>'
    if colour == 99.0:
        return f'<g fill="{RED}" fill-opacity=".25">{"".join(paths)}</g>'
    hue, opacity = (BLUE if colour >= 0 else ORANGE), max(0.04, abs(colour) / _LEVELS)
    return f'<g fill="{hue}" fill-opacity="{opacity:.3g}">{"".join(paths)}</g>'


def _short(name: str) -> str:
    return name if len(name) <= 12 else name[:11] + "…"


def _ticks(count: int, size: float, names: Sequence[str] | None, block: float) -> list[tuple[int, str, str]]:
    """Which cells of an axis are named, and how: all where there is room, else a few."""
    step = 1
    while step * size < _FONT + 1 or count / step > (_SIDE if names else 8):
        step *= 2
    shown = range(0, count, step)
    return [(i, _short(names[i]) if names else f"{i * block:.0f}", names[i] if names else "") for i in shown]


def _row_labels(count: int, size: float, names: Sequence[str] | None, block: float) -> tuple[str, float]:
    ticks = _ticks(count, size, names, block)
    room = max(len(label) for _, label, _ in ticks) * _FONT * 0.62 + 6
    parts = [
        f'<text x="{room - 4:.1f}" y="{(i + 0.5) * size + 3.5:.1f}" text-anchor="end">{_label(label, full)}</text>'
        for i, label, full in ticks
    ]
    return "".join(parts), room


def _column_labels(count: int, size: float, names: Sequence[str] | None, block: float) -> tuple[str, float]:
    ticks = _ticks(count, size, names, block)
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


def _panel_grid(drawn: list[_DrawnMatrix], scale: _Scale, caption: str, said: str, title: str) -> str:
    """The panels side by side, up to four in a row, above the legend."""
    gap, x, y, line, body, right = 14.0, 0.0, 0.0, 0.0, "", 300.0
    for i, panel in enumerate(drawn):
        if i and (i % 4 == 0 or x + panel.width > 720):
            x, y, line = 0.0, y + line + gap, 0.0
        body += f'<g transform="translate({x:g} {y:g})">{panel.markup}</g>'
        x, line = x + panel.width + gap, max(line, panel.height)
        right = max(right, x - gap)
    width, height = max(right, len(caption) * _FONT * 0.52), y + line + 2 * _FONT + 22
    words = f'<text y="{2 * _FONT + 8}">{escaped(caption)}</text>'
    legend = f'<g transform="translate(0 {y + line + 8:g})">{_legend(scale)}{words}</g>'
    style = f"font:{_FONT}px system-ui,sans-serif;max-width:100%;height:auto"
    head = (
        f'<svg role="img" aria-label="{escaped(said)}" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" style="{style}" fill="currentColor" class="heatmap">'
    )
    frame = "<style>.heatmap .frame{fill:none;stroke:currentColor;stroke-opacity:.35}.heatmap .bad{fill:none}</style>"
    return f"{head}{frame}{element('title', escaped(title)) if title else ''}{body}{legend}</svg>"


def _legend(scale: _Scale) -> str:
    """The colours from smallest to largest, with the numbers at the ends."""
    low, high = (_digits(value, 4) for value in (scale.low, scale.high))
    start = len(low) * _FONT * 0.62 + 4
    steps = torch.linspace(scale.low, scale.high, 24, dtype=torch.float64)
    boxes = "".join(
        f'<rect x="{start + 5 * i:.1f}" width="5" height="{_FONT}" fill="{BLUE if level >= 0 else ORANGE}" '
        f'fill-opacity="{max(0.04, abs(level) / _LEVELS):.3g}"/>'
        for i, level in enumerate(scale.levels(steps).tolist())
    )
    return (
        f'<text y="9">{low}</text><g shape-rendering="crispEdges">{boxes}</g><text x="{start + 124:.1f}" y="9">{high}</text>'
    )


def _caption(tensor: Tensor, panels: _Panels, scale: _Scale) -> str:
    shape = "×".join(map(str, tensor.shape)) or "one number"
    said = [shape + (", absolute values" if tensor.is_complex() else "")]
    if not panels.values.numel():
        return f"{shape}, empty"
    if panels.is_pooled:
        said.append(f"each cell is the mean of {' × '.join(decimal(b, 3) for b in panels.block)} entries")
    if panels.left_out:
        said.append(f"the first {len(panels.values)} of {len(panels.values) + panels.left_out} matrices")
    if scale.bad:
        said.append(f"{scale.bad:,} cells not finite, crossed out")
    return "; ".join(said)


def _fits(names: Sequence[str] | None, count: int, axis: str) -> None:
    if names is not None and len(names) != count:
        raise ShapeError(f"A heatmap with {count} {axis} needs {count} names, but got {len(names)}.")
