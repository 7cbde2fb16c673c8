"""A claim's number on a line: where it lies, and where the claim wants it. SVG without styles of its own."""

from __future__ import annotations

from math import inf, isfinite

from workings.studies.claim import Claim
from workings.studies.report.lines import cell

_WIDTH, _MIDDLE = 480.0, 14.0


def interval(claim: Claim) -> str:
    """The line, or nothing where there is no number."""
    if claim.wanted is None or claim.interval is None or not all(map(isfinite, claim.interval)):
        return ""
    places = [end for end in (*claim.interval, claim.wanted.low, claim.wanted.high) if isfinite(end)]
    low, high = min(places), max(places)
    room = 0.12 * (high - low) or 1.0
    low, high = low - room, high + room

    def at(x: float) -> float:
        return round(_WIDTH * (min(max(x, low), high) - low) / (high - low), 2)

    start, end = (
        at(claim.wanted.low if claim.wanted.low > -inf else low),
        at(claim.wanted.high if claim.wanted.high < inf else high),
    )
    left, right = at(claim.interval[0]), max(at(claim.interval[1]), at(claim.interval[0]) + 0.5)
    labels = "".join(_label(x, at(x)) for x in (claim.wanted.low, claim.wanted.high) if isfinite(x))
    said = f"{claim.interval[0]:.4g} to {claim.interval[1]:.4g}, wanted {claim.wanted}"
    return (
        f'<svg class="interval" viewBox="0 0 {_WIDTH:g} 38" role="img" aria-label="{said}">'
        f'<rect class="wanted" x="{start}" y="4" width="{max(end - start, 1.5):.2f}" height="20"/>'
        f'<line class="axis" x1="0" x2="{_WIDTH:g}" y1="{_MIDDLE}" y2="{_MIDDLE}"/>'
        f'<line class="found" x1="{left}" x2="{right}" y1="{_MIDDLE}" y2="{_MIDDLE}"/>{labels}</svg>'
    )


def _label(value: float, x: float) -> str:
    anchor = "start" if x < 60 else "end" if x > _WIDTH - 60 else "middle"
    return f'<text x="{x}" y="36" text-anchor="{anchor}">{cell(value)}</text>'
