"""The one plotting style: colours that colour-blind readers tell apart, dashes and markers that black and white keeps apart,
letters that can be read at the width of a phone. Every picture is drawn on a light and on a dark ground."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

WIDTH, HEIGHT = 5.2, 3.4
"""Inches; on a phone (350 pixels of 500) letters of 11 points are still 10 pixels high."""
_DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 1.5, 1.5, 1.5)), (0, (3, 3)), (0, (8, 2, 2, 2, 2, 2)))
MARKERS = "os^Dv*"


@dataclass(frozen=True)
class Theme:
    """The colours of one ground."""

    ink: str
    faint: str
    grid: str
    paper: str
    series: tuple[str, ...]
    claimed: str
    upward: tuple[str, str]
    """From zero to the largest value."""
    downward: str


LIGHT = Theme(
    ink="#1d2025",
    faint="#5f646b",
    grid="#e4e1da",
    paper="#ffffff",
    series=("#0b5fa5", "#b3480d", "#17704a", "#8a357f", "#5f646b", "#8a6100"),
    claimed="#17704a",
    upward=("#ffffff", "#0b4a86"),
    downward="#b3480d",
)
DARK = Theme(
    ink="#e8e9eb",
    faint="#a3aab4",
    grid="#2b3038",
    paper="#1a1d22",
    series=("#74bdf2", "#f0a06a", "#74d3a1", "#e2a3d8", "#b6bcc6", "#efc25f"),
    claimed="#74d3a1",
    upward=("#1a1d22", "#9ccbf5"),
    downward="#f0a06a",
)


def settings(theme: Theme) -> dict[str, Any]:
    """Matplotlib's settings for a theme. Letters become outlines, so that a picture looks alike on every machine."""
    return {
        "svg.fonttype": "path",
        "svg.hashsalt": "workings",
        "font.family": "DejaVu Sans",
        "font.size": 11,
        "axes.labelsize": 10.5,
        "axes.edgecolor": theme.faint,
        "axes.labelcolor": theme.ink,
        "axes.facecolor": "none",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": theme.grid,
        "grid.linewidth": 0.7,
        "xtick.color": theme.faint,
        "ytick.color": theme.faint,
        "xtick.labelsize": 9.5,
        "ytick.labelsize": 9.5,
        "text.color": theme.ink,
        "legend.frameon": False,
        "legend.fontsize": 9.5,
        "lines.linewidth": 1.8,
        "lines.markersize": 4.5,
        "figure.constrained_layout.w_pad": 0.1,
        "figure.constrained_layout.h_pad": 0.08,
        "figure.facecolor": theme.paper,
        "savefig.facecolor": theme.paper,
    }


def line_style(theme: Theme, i: int) -> dict[str, Any]:
    """Colour, dash and marker of the i-th of several lines."""
    return {
        "color": theme.series[i % len(theme.series)],
        "linestyle": _DASHES[i % len(_DASHES)],
        "marker": MARKERS[i % len(MARKERS)],
        "markerfacecolor": theme.paper,
    }
