"""Draw a picture, in the one style, as SVG or PNG, on a light or a dark ground."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from math import isfinite
from textwrap import wrap
from typing import Any

from workings.studies.pictures.kinds import (
    Bars,
    Boxes,
    Curves,
    Heatmap,
    Histogram,
    Images,
    Picture,
    Scatter,
    Surface,
)
from workings.studies.pictures.style import HEIGHT, LIGHT, MARKERS, WIDTH, Theme, line_style, settings

_MOST_MARKERS = 24
_MOST_NUMBERS = 100
"""Cells of a heatmap up to which each shows its number."""
_LEGEND_ROW = 0.21
"""Inches that a row of words below the axes takes."""
_FEW_DECADES = 300.0
"""A logarithmic axis that spans less has its numbers written out."""
_LETTERS = 52
"""Of a line of the title."""


def svg(picture: Picture, theme: Theme = LIGHT) -> str:
    """The picture as the text of an SVG file."""
    text = _drawn(picture, theme, "svg").decode()
    return re.sub(r"<metadata>.*?</metadata>\s*", "", text[text.index("<svg") :], flags=re.DOTALL)


def png(picture: Picture, theme: Theme = LIGHT, dots: int = 160) -> bytes:
    """The picture as the bytes of a PNG file."""
    return _drawn(picture, theme, "png", dots)


def _drawn(picture: Picture, theme: Theme, form: str, dots: int = 96) -> bytes:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with rc_context(settings(theme)):  # type: ignore[arg-type]
        figure = Figure(figsize=_size(picture), layout="constrained")
        _DRAWERS[type(picture)](figure, picture, theme)
        canvas = FigureCanvasSVG(figure) if form == "svg" else FigureCanvasAgg(figure)
        figure.set_canvas(canvas)
        written = io.BytesIO()
        figure.savefig(written, format=form, dpi=dots, metadata={"Date": None} if form == "svg" else None)
    return written.getvalue()


def _size(picture: Picture) -> tuple[float, float]:
    """Inches: pictures with rows of their own are as high as those need."""
    match picture:
        case Heatmap(values=values):
            across = max(1, max(map(len, values), default=1))
            cell = min(0.62, (WIDTH - 1.6) / across)
            return WIDTH, min(7.0, max(1.9, 1.2 + cell * len(values)))
        case Images(rows=rows):
            across = max(1, max(map(len, rows), default=1))
            return WIDTH, min(9.0, 0.6 + len(rows) * ((WIDTH - 0.6) / across + 0.22))
        case Surface() | Scatter(equal=True):
            return WIDTH, 4.2
        case Boxes(stages=stages):
            return WIDTH, 0.6 + 0.62 * len(stages)
    return WIDTH, HEIGHT


def _axes(figure: Any, picture: Any) -> Any:
    """Axes with the picture's title and labels."""
    _title(figure, picture)
    axes = figure.add_subplot()
    if getattr(picture, "xlabel", ""):
        axes.set_xlabel(picture.xlabel)
    if getattr(picture, "ylabel", ""):
        axes.set_ylabel(picture.ylabel)
    return axes


def _title(figure: Any, picture: Any) -> None:
    """The title, in as many lines as it needs, from the left edge of the picture."""
    figure.suptitle("\n".join(wrap(picture.title, _LETTERS)), x=0.012, ha="left", fontsize=11, fontweight="bold")


def _legend(axes: Any, names: Sequence[str], *, below: bool = False) -> None:
    """Words for several lines, where they cover least; below the axes where there are many, or no free place."""
    shown = [name for name in names if name]
    if below or len(shown) > 2:
        columns = min(1 if max(map(len, shown), default=0) > 28 else 2, len(shown))
        axes.figure.legend(loc="outside lower center", ncols=columns)
        axes.figure.set_figheight(axes.figure.get_figheight() + _LEGEND_ROW * (-(-len(shown) // columns)))
    elif shown:
        axes.legend(loc="best")


def _curves(figure: Any, picture: Curves, theme: Theme) -> None:
    axes = _axes(figure, picture)
    axes.set(xscale=picture.xscale, yscale=picture.yscale)
    if picture.claimed:
        axes.axhspan(*picture.claimed, color=theme.claimed, alpha=0.13, linewidth=0, label="claimed")
    few = len(picture.x) <= _MOST_MARKERS
    for i, line in enumerate(picture.lines):
        style = line_style(theme, i)
        if line.dashed:
            style |= {"linestyle": (0, (4, 2)), "marker": ""}
        if line.points:
            style |= {"linestyle": ""}
        elif not few:
            style |= {"marker": ""}
        axes.plot(picture.x, line.y, label=line.name, **style)
        if line.low is not None and line.high is not None:
            axes.fill_between(picture.x, line.low, line.high, color=style["color"], alpha=0.18, linewidth=0)
    for at, word in picture.marks:
        axes.axvline(at, color=theme.faint, linewidth=0.9, linestyle=(0, (2, 2)))
        axes.annotate(
            word, (at, 1), xycoords=("data", "axes fraction"), xytext=(3, -9), textcoords="offset points", fontsize=9
        )
    _plain_ticks(axes, picture)
    _legend(axes, [line.name for line in picture.lines])


def _plain_ticks(axes: Any, picture: Curves) -> None:
    """On a logarithmic axis with few places, those places; 1,000 rather than 10³; 0.2, not 2 × 10⁻¹."""
    from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

    if picture.yscale == "log":
        low, high = axes.get_ylim()
        if high / low < _FEW_DECADES:
            axes.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
            axes.yaxis.set_minor_formatter(lambda y, _: f"{y:g}" if f"{y:e}"[0] in "25" else "")
        else:
            axes.yaxis.set_minor_formatter(NullFormatter())
    if picture.xscale == "log" and len(picture.x) <= 12:
        places = list(picture.x)[:: -(-len(picture.x) // 7)]
        axes.xaxis.set_major_locator(FixedLocator(places))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.6g}")


def _bars(figure: Any, picture: Bars, theme: Theme) -> None:
    axes = _axes(figure, picture)
    axes.set_yscale(picture.yscale)
    axes.grid(visible=False, axis="x")
    each = 0.8 / max(1, len(picture.bars))
    for i, (name, heights) in enumerate(picture.bars.items()):
        places = [k + (i - (len(picture.bars) - 1) / 2) * each for k in range(len(heights))]
        axes.bar(
            places,
            heights,
            each * 0.92,
            label=name,
            yerr=picture.errors.get(name),
            color=theme.series[i % len(theme.series)],
            hatch=("", "///", "...", "xx", "\\\\\\", "++")[i % 6],
            edgecolor=theme.paper,
            ecolor=theme.ink,
            capsize=3,
            linewidth=0.6,
        )
    longest = max(map(len, picture.labels), default=0)
    tilted = longest * len(picture.labels) > 50
    axes.set_xticks(
        range(len(picture.labels)), picture.labels, rotation=30 if tilted else 0, ha="right" if tilted else "center"
    )
    if len(picture.bars) > 1:
        _legend(axes, [*picture.bars], below=True)


def _histogram(figure: Any, picture: Histogram, theme: Theme) -> None:
    axes = _axes(figure, picture)
    axes.set_yscale(picture.yscale)
    values = [x for sample in picture.samples.values() for x in sample if isfinite(x)]
    low, high = min(values, default=0.0), max(values, default=1.0)
    edges = [low + (high - low or 1) * k / picture.bins for k in range(picture.bins + 1)]
    for i, (name, sample) in enumerate(picture.samples.items()):
        style = line_style(theme, i)
        common = {"bins": edges, "density": True, "color": style["color"]}
        axes.hist(sample, histtype="stepfilled", alpha=0.18, **common)
        axes.hist(sample, histtype="step", linestyle=style["linestyle"], linewidth=1.5, label=name, **common)
    if picture.density is not None:
        axes.plot(picture.at, picture.density.y, color=theme.ink, linestyle=(0, (4, 2)), label=picture.density.name)
    axes.set_ylabel("density")
    _legend(axes, [*picture.samples, picture.density.name if picture.density else ""])


def _scatter(figure: Any, picture: Scatter, theme: Theme) -> None:
    axes = _axes(figure, picture)
    for i, (name, (x, y)) in enumerate(picture.points.items()):
        colour, many = theme.series[i % len(theme.series)], len(x) > 200
        axes.scatter(
            x,
            y,
            s=9 if many else 28,
            color=colour,
            alpha=0.55 if many else 0.9,
            marker=MARKERS[i % 6],
            label=name,
            linewidths=0,
        )
    for word, *place in zip(picture.labels, *next(iter(picture.points.values())), strict=False):
        axes.annotate(word, place, xytext=(4, 4), textcoords="offset points", fontsize=9)
    if picture.equal:
        axes.set_aspect("equal", adjustable="datalim")
    if len(picture.points) > 1:
        _legend(axes, [*picture.points])


def _heatmap(figure: Any, picture: Heatmap, theme: Theme) -> None:
    import numpy as np
    from matplotlib.colors import LinearSegmentedColormap

    axes = _axes(figure, picture)
    axes.grid(visible=False)
    values = np.array(picture.values, dtype=float)
    finite = values[np.isfinite(values)]
    largest = float(np.abs(finite).max()) if finite.size else 1.0
    low = -largest if picture.diverging else min(0.0, float(finite.min()) if finite.size else 0.0)
    high = largest if picture.diverging else (float(finite.max()) if finite.size else 1.0)
    stops = [theme.downward, *theme.upward] if picture.diverging else [*theme.upward]
    colours = LinearSegmentedColormap.from_list("workings", stops).with_extremes(bad=(0, 0, 0, 0))
    shown = axes.imshow(values, cmap=colours, vmin=low, vmax=high or 1.0, aspect="equal")
    rows, columns = values.shape
    if picture.columns:
        tilted = max(map(len, picture.columns)) * len(picture.columns) > 44
        axes.set_xticks(range(columns), picture.columns, rotation=45 if tilted else 0, ha="right" if tilted else "center")
    if picture.rows:
        axes.set_yticks(range(rows), picture.rows)
    if values.size <= _MOST_NUMBERS:
        for i, j in np.ndindex(rows, columns):
            if np.isfinite(values[i, j]):
                strong = abs(values[i, j]) > 0.55 * largest
                ink = theme.paper if strong else theme.ink
                number = f"{values[i, j]:.{picture.digits}f}".replace("-", "−")
                axes.text(j, i, number, ha="center", va="center", fontsize=8.5, color=ink)
    else:
        figure.colorbar(shown, ax=axes, shrink=0.85)


def _surface(figure: Any, picture: Surface, theme: Theme) -> None:
    import numpy as np

    axes = _axes(figure, picture)
    axes.grid(visible=False)
    values = np.array(picture.values, dtype=float)
    if picture.log:
        positive = values[values > 0]
        levels = np.geomspace(max(positive.min(), positive.max() * 1e-6), positive.max(), 14)
    else:
        levels = np.linspace(values.min(), values.max(), 14)
    axes.contour(picture.x, picture.y, values, levels=levels, colors=theme.faint, linewidths=0.7, alpha=0.8)
    for i, (name, (x, y)) in enumerate(picture.paths.items()):
        axes.plot(x, y, label=name, **{**line_style(theme, i), "markersize": 3.2, "linewidth": 1.4})
    axes.set(xlim=(min(picture.x), max(picture.x)), ylim=(min(picture.y), max(picture.y)))
    _legend(axes, [*picture.paths])


def _images(figure: Any, picture: Images, theme: Theme) -> None:
    _title(figure, picture)
    across = max(map(len, picture.rows))
    for i, row in enumerate(picture.rows):
        for j, image in enumerate(row):
            axes = figure.add_subplot(len(picture.rows), across, i * across + j + 1)
            axes.imshow(image, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
            axes.set_xticks([])
            axes.set_yticks([])
            axes.spines[:].set_visible(False)
            if picture.captions:
                axes.set_xlabel(picture.captions[i][j], fontsize=8.5, labelpad=2)
            if picture.labels and j == 0:
                axes.set_ylabel(picture.labels[i], fontsize=9, rotation=90 if len(picture.labels[i]) > 4 else 0, ha="right")


def _boxes(figure: Any, picture: Boxes, theme: Theme) -> None:
    axes = _axes(figure, picture)
    axes.set_axis_off()
    axes.set(xlim=(0, 1), ylim=(len(picture.stages), 0))
    for i, (word, sizes) in enumerate(picture.stages):
        box = {"boxstyle": "round,pad=0.35", "facecolor": theme.paper, "edgecolor": theme.series[0], "linewidth": 1.2}
        axes.text(0.03, i + 0.5, word, va="center", fontsize=10, bbox=box)
        axes.text(0.97, i + 0.5, sizes, va="center", ha="right", fontsize=10, color=theme.faint)
        if i + 1 < len(picture.stages):
            arrow = {"arrowstyle": "->", "color": theme.faint, "linewidth": 1.0}
            axes.annotate("", (0.06, i + 1.22), (0.06, i + 0.78), arrowprops=arrow)


_DRAWERS: dict[type, Callable[[Any, Any, Theme], None]] = {
    Curves: _curves,
    Bars: _bars,
    Histogram: _histogram,
    Scatter: _scatter,
    Heatmap: _heatmap,
    Surface: _surface,
    Images: _images,
    Boxes: _boxes,
}
