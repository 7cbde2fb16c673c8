"""What every form of a report says, in the same words: verdicts, how a claim was decided, its control, figures."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from workings.studies.claim import Claim, Method, Verdict
from workings.studies.outcome import Outcome
from workings.studies.parts import Cell

MARKS = {Verdict.HOLDS: "✓", Verdict.FAILS: "✗", Verdict.UNDECIDED: "?"}


def decided(claim: Claim) -> str:
    """How a claim was decided.

    >>> from workings.studies.decide.proof import proved
    >>> decided(proved("2 is even", True, "2 = 2 · 1", reference="definition"))
    'exact arithmetic; definition'
    """
    how = str(claim.method)
    if claim.method is Method.TEST:
        how += f", α = {claim.alpha:g}" + (f", power {_power(claim.power)}" if _has_power(claim) else "")
    return f"{how}; {claim.reference}" if claim.reference else how


def _has_power(claim: Claim) -> bool:
    """Whether the chance to refute is worth telling: a claim that was refuted shows it."""
    return claim.power is not None and claim.verdict is not Verdict.FAILS


def _power(power: float | None) -> str:
    """
    >>> _power(0.99999), _power(0.8312)
    ('> 0.999', '0.831')
    """
    return "" if power is None else "> 0.999" if power > 0.999 else f"{power:.3f}"


def control(outcome: Outcome, claim: Claim) -> str:
    """Whether the claim fails where its mechanism is broken, as it must."""
    if not outcome.controls:
        return "its negative control was not run" if not outcome.settings.get("broken") else ""
    ways = outcome.failing_controls(claim)
    return f"broken ({'; '.join(ways)}), it fails, as it must" if ways else "it fails in no control, so it shows nothing"


def settings(outcome: Outcome) -> str:
    """The parameters in a line; `broken` only where something is."""
    shown = {name: value for name, value in outcome.settings.items() if name != "broken" or value}
    return ", ".join(f"{name.replace('_', '-')} {cell(value)}" for name, value in shown.items())


def made(outcome: Outcome) -> str:
    """When it was run, how long it took, by which code."""
    versions = ", ".join(f"{name} {version}" for name, version in outcome.versions.items())
    return f"{outcome.date}, {outcome.seconds:.1f} s, code {outcome.code[:12]}, {versions}"


def cell(value: Cell) -> str:
    """A figure of a table: four significant digits, thousands apart.

    >>> cell(0.19532), cell(200000), cell(True), cell(None), cell(1.0)
    ('0.1953', '200,000', 'yes', '', '1')
    """
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.4g}".replace("-", "−", 1)
    return str(value)


def sparkline(values: Sequence[float]) -> str:
    """A curve in one line of text.

    >>> sparkline([0, 1, 2, 3, float("nan"), 7])
    '▁▂▃▄ █'
    """
    finite = [value for value in values if isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    bars = "▁▂▃▄▅▆▇█"
    heights = [round(7 * (value - low) / ((high - low) or 1)) if isfinite(value) else None for value in values]
    return "".join(" " if height is None else bars[height] for height in heights)
