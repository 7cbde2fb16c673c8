"""What can be drawn, as data: curves with bands, bars, histograms, scatters, heatmaps, surfaces with paths, images, boxes.

A picture keeps its numbers, so that a report can be saved and read again, and a page can draw it anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

Numbers: TypeAlias = Sequence[float]


@dataclass(frozen=True)
class Line:
    """A curve: its values, and a band around it (an interval, or a range of draws)."""

    name: str
    y: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    dashed: bool = False
    """For a law or a reference beside what was measured."""
    points: bool = False
    """Points without a line between them."""


@dataclass(frozen=True)
class Curves:
    """Lines over one axis; `claimed` is a shaded range in which the claim wants them."""

    title: str
    x: Numbers
    lines: Sequence[Line]
    xlabel: str = ""
    ylabel: str = ""
    xscale: str = "linear"
    yscale: str = "linear"
    claimed: tuple[float, float] | None = None
    marks: Sequence[tuple[float, str]] = ()
    """Places on the x axis with a word each: where something should happen."""
    note: str = ""


@dataclass(frozen=True)
class Bars:
    """Groups of bars: a group for each label, a bar in it for each name."""

    title: str
    labels: Sequence[str]
    bars: dict[str, Numbers] = field(default_factory=dict)
    ylabel: str = ""
    yscale: str = "linear"
    errors: dict[str, Numbers] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Histogram:
    """How often: samples by name, drawn as outlines on common bins."""

    title: str
    samples: dict[str, Numbers]
    xlabel: str = ""
    bins: int = 40
    density: Line | None = None
    """A law drawn over it, at the places `at`."""
    at: Numbers = ()
    yscale: str = "linear"
    note: str = ""


@dataclass(frozen=True)
class Scatter:
    """Points in the plane by name; `labels` write words beside points of the first name."""

    title: str
    points: dict[str, tuple[Numbers, Numbers]]
    xlabel: str = ""
    ylabel: str = ""
    labels: Sequence[str] = ()
    equal: bool = False
    """Both axes to the same scale."""
    note: str = ""


@dataclass(frozen=True)
class Heatmap:
    """A matrix as colours with its numbers, rows and columns labelled; NaN stays empty."""

    title: str
    values: Sequence[Numbers]
    rows: Sequence[str] = ()
    columns: Sequence[str] = ()
    xlabel: str = ""
    ylabel: str = ""
    diverging: bool = False
    """Colours about 0 in both directions; otherwise from 0 or the least upwards."""
    digits: int = 2
    note: str = ""


@dataclass(frozen=True)
class Surface:
    """A function of two variables as contour lines, with paths over it (the steps of optimizers)."""

    title: str
    x: Numbers
    y: Numbers
    values: Sequence[Numbers]
    """values[i][j] at y[i], x[j]"""
    paths: dict[str, tuple[Numbers, Numbers]] = field(default_factory=dict)
    xlabel: str = ""
    ylabel: str = ""
    log: bool = False
    note: str = ""


@dataclass(frozen=True)
class Images:
    """Small pictures in rows, grey from 0 to 1 (or of three channels), with a caption below each."""

    title: str
    rows: Sequence[Sequence[Sequence[Sequence[float]]]]
    """rows[i][j] is a picture: rows of numbers."""
    captions: Sequence[Sequence[str]] = ()
    labels: Sequence[str] = ()
    """A word before each row."""
    note: str = ""


@dataclass(frozen=True)
class Boxes:
    """The stages of a network from left to right: a word above, its sizes below."""

    title: str
    stages: Sequence[tuple[str, str]]
    note: str = ""


Picture: TypeAlias = Curves | Bars | Histogram | Scatter | Heatmap | Surface | Images | Boxes
PICTURES = (Curves, Bars, Histogram, Scatter, Heatmap, Surface, Images, Boxes)
