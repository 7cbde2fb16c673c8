"""The report of a run: `report.html`, one file that needs no other, and its loss plot as `loss.svg` and `loss.png`."""

from __future__ import annotations

import re
from html import escape
from math import isfinite
from pathlib import Path
from typing import Any

from workings.atomic import write_text
from workings.train.process.progress import clock, figure
from workings.train.run import metrics
from workings.train.run.run import Run

_FIGURES = 12
"""Rows of the table of figures before it is thinned out."""
_SAMPLES = 6
_WIDE = 30
"""A loss that falls by more than this is drawn on a logarithmic axis."""


def report(run: Run, ended: str = "", best: str = "loss", *, highest: bool = False) -> Path:
    """Write the plot and the page; the page's path."""
    rows = metrics.read(run.metrics)
    svg = _plot(rows, run.folder)
    path = run.folder / "report.html"
    write_text(path, _page(run, rows, svg, ended, best, highest))
    return path


def _plot(rows: list[dict[str, Any]], folder: Path) -> str:
    """The loss by the step, for training and evaluation, into `loss.svg` and `loss.png`; the SVG's text."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    train = [(row["step"], row["train"]) for row in rows if "train" in row]
    judged = [(row["step"], row["loss"]) for row in rows if "loss" in row and row["loss"] != row.get("train")]
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "workings", "font.size": 10, "font.family": "sans-serif"}):
        drawing = Figure(figsize=(7.2, 3.4), layout="constrained")
        axes = drawing.add_subplot()
        axes.plot(*zip(*train, strict=True), color="#8fa3b8", linewidth=1.2, label="training") if train else None
        if judged:
            axes.plot(*zip(*judged, strict=True), color="#1f6fc4", linewidth=2, marker="o", markersize=4, label="held out")
            axes.legend(frameon=False)
        values = [value for _, value in (*train, *judged) if isfinite(value)]
        spread_out = bool(values) and min(values) > 0 and max(values) > _WIDE * min(values)
        axes.set(xlabel="step", ylabel="loss", yscale="log" if spread_out else "linear")
        axes.set_xlim(left=0)
        axes.yaxis.set_major_formatter(lambda loss, _: f"{loss:g}")
        axes.xaxis.set_major_formatter(lambda step, _: f"{step:,.0f}")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        axes.grid(color="#dde2e8", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        drawing.set_canvas(FigureCanvasSVG(drawing))
        drawing.savefig(folder / "loss.svg", metadata={"Date": None})
        drawing.set_canvas(FigureCanvasAgg(drawing))
        drawing.savefig(folder / "loss.png", dpi=160)
    text = (folder / "loss.svg").read_text(encoding="utf-8")
    return re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)


def _page(run: Run, rows: list[dict[str, Any]], svg: str, ended: str, best: str, highest: bool) -> str:
    """The report as one HTML page."""
    data = run.read()
    judged = [row for row in rows if "loss" in row]
    name = data["recipe"] or "fit"
    parts = [
        f"<h1>{escape(name)}</h1>",
        f"<p class=lead>{escape(_lead(judged, ended, best, highest))}</p>",
        f"<figure>{svg}</figure>",
        "<h2>Figures</h2>",
        figures(judged, best, highest),
        samples([row for row in rows if "sample" in row]),
        "<h2>Settings</h2>",
        _pairs(data["settings"]),
        "<h2>Versions and machine</h2>",
        _pairs({**data["versions"], **data.get("machine", {})}),
        "<h2>Data</h2>" + _pairs(data["data"]) if data["data"] else "",
    ]
    return PAGE.format(title=escape(name), style=STYLE, body="\n".join(filter(None, parts)))


def _lead(judged: list[dict[str, Any]], ended: str, best: str, highest: bool) -> str:
    """The run in a sentence."""
    if not judged:
        return "No evaluation yet."
    top = best_row(judged, best, highest)
    took = clock(judged[-1]["seconds"])
    found = f"best {best} {figure(top[best])} at step {top['step']:,}"
    return f"{judged[-1]['step']:,} steps in {took}; {found}; {ended or 'not finished'}."


def best_row(judged: list[dict[str, Any]], best: str, highest: bool) -> dict[str, Any]:
    """The best row; one whose figure is no number is not, unless all are such."""
    pick = max if highest else min
    numbers = [row for row in judged if isfinite(row.get(best, 0.0))]
    return pick(numbers or judged[-1:], key=lambda row: row.get(best, 0.0))


def figures(judged: list[dict[str, Any]], best: str, highest: bool) -> str:
    """The table of figures; the best row is marked."""
    if not judged:
        return "<p>None.</p>"
    top = best_row(judged, best, highest)
    every = -(-len(judged) // _FIGURES)
    shown = [row for i, row in enumerate(judged) if (len(judged) - 1 - i) % every == 0 or row is top]
    names = [name for name in judged[-1] if name != "train" or any(row["train"] != row["loss"] for row in judged)]
    head = "".join(f"<th>{escape(_HEADS.get(name, name).replace('_per_second', '/s'))}</th>" for name in names)
    body = ""
    for row in shown:
        cells = "".join(f"<td>{_cell(name, row.get(name))}</td>" for name in names)
        body += f"<tr{' class=best' if row is top else ''}>{cells}</tr>"
    return f"<div class=scroll><table class=numbers><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


_HEADS = {"train": "training loss", "seconds": "time"}


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name == "step":
        return f"{value:,}"
    if name == "seconds":
        return clock(value)
    return f"{value:,.0f}" if "per_second" in name else figure(value)


def samples(rows: list[dict[str, Any]]) -> str:
    """What the model made, from the first to the last."""
    if not rows:
        return ""
    last = len(rows) - 1
    shown = rows if last < _SAMPLES else [rows[round(i * last / (_SAMPLES - 1))] for i in range(_SAMPLES)]
    return "<h2>Samples</h2>" + "".join(f"<h3>step {row['step']:,}</h3><pre>{escape(row['sample'])}</pre>" for row in shown)


def _pairs(data: dict[str, Any]) -> str:
    body = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(str(value))}</dd></div>" for name, value in data.items())
    return f"<dl>{body}</dl>"


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title} – training report</title><style>{style}</style></head>
<body><main>
{body}
</main></body></html>
"""

STYLE = """
:root { --ink: #1b1f24; --faint: #5d6673; --line: #dde2e8; --tint: #f5f7f9; --paper: #fff; color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ed; --faint: #9aa4b1; --line: #2e353d; --tint: #1c2127; --paper: #14171b; }
}
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, "Segoe UI", sans-serif;
  overflow-wrap: anywhere; }
main { max-width: 56rem; margin: 0 auto; padding: 1.5rem 1.2rem 4rem; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
h3 { font-size: .85rem; margin: .8rem 0 .2rem; color: var(--faint); font-weight: 600; }
.lead { color: var(--faint); margin: .2rem 0 1rem; }
figure { margin: 0; padding: .6rem; background: #fff; border: 1px solid var(--line); border-radius: .5rem; }
figure svg { width: 100%; height: auto; display: block; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .9rem .25rem 0; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
.numbers th, .numbers td { text-align: right; padding: .25rem .6rem; white-space: nowrap; }
th { font-weight: 600; color: var(--faint); } .best td { font-weight: 700; background: var(--tint); }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: 0 1.5rem; margin: 0; }
dl div { display: flex; font-size: .9rem; gap: .6rem; padding: .2rem 0; border-bottom: 1px solid var(--line); }
dt { color: var(--faint); flex: 0 0 7.5rem; } dd { margin: 0; min-width: 0; }
pre { margin: 0; padding: .6rem .8rem; background: var(--tint); white-space: pre-wrap; font-size: .85rem; }
"""
