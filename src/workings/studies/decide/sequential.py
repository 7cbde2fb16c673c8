"""Claims about means, decided by samples: drawn until the interval of the mean lies inside the claimed range or outside."""

from __future__ import annotations

from collections.abc import Callable
from math import erf, isfinite, sqrt

from torch import Tensor

from workings.studies.claim import Bounds, Claim, Method, Verdict
from workings.studies.decide.means import ALPHA, AnyMean, BoundedMean, half_width


def measured(
    sentence: str,
    draw: Callable[[int], Tensor],
    wanted: Bounds,
    *,
    what: str = "mean",
    most: int = 200_000,
    batch: int = 5_000,
    bounds: tuple[float, float] | None = None,
    alpha: float = ALPHA,
    reference: str = "",
) -> Claim:
    """The mean of what `draw(n)` draws lies where the claim wants it; drawn until that is decided, or `most` are drawn.

    Pass the `bounds` of the samples where there are any: then the interval rests on no assumption.
    """
    mean = BoundedMean(*bounds, alpha=alpha) if bounds else AnyMean(alpha, expected=most)
    verdict = Verdict.UNDECIDED
    while verdict is Verdict.UNDECIDED and mean.count < most:
        mean.add(draw(min(batch, most - mean.count)))
        verdict = wanted.judge(*mean.interval())
    return _claim(sentence, mean, wanted, what, most, reference)


def judged(
    sentence: str,
    samples: Tensor,
    wanted: Bounds,
    *,
    what: str = "mean",
    bounds: tuple[float, float] | None = None,
    alpha: float = ALPHA,
    reference: str = "",
) -> Claim:
    """The mean of samples that are there lies where the claim wants it.

    >>> import torch
    >>> heads = torch.tensor([0.0, 1.0] * 2000)
    >>> judged("a fair coin", heads, Bounds(0.4, 0.6), bounds=(0, 1)).verdict
    <Verdict.HOLDS: 'holds'>
    """
    mean = BoundedMean(*bounds, alpha=alpha) if bounds else AnyMean(alpha, expected=samples.numel())
    mean.add(samples)
    return _claim(sentence, mean, wanted, what, mean.count, reference)


def _claim(sentence: str, mean: AnyMean, wanted: Bounds, what: str, most: int, reference: str) -> Claim:
    low, high = mean.interval()
    verdict = wanted.judge(low, high)
    sure = f"{100 * (1 - mean.alpha):.6g} %"
    evidence = f"{what} {mean.mean:.4g}, {sure} interval {low:.4g} to {high:.4g} (wanted: {wanted}), {mean.count:,} samples"
    if verdict is Verdict.UNDECIDED and (needed := _samples_needed(mean, wanted)):
        evidence += f"; about {needed:,} would decide it"
    power = _power(mean, wanted, most)
    return Claim(sentence, verdict, Method.TEST, evidence, wanted, (low, high), mean.alpha, power, mean.count, reference)


def _samples_needed(mean: AnyMean, wanted: Bounds) -> int:
    """About how many samples would decide a claim, if the mean is where it seems to be; 0 where no number would."""
    away = min(abs(mean.mean - end) for end in (wanted.low, wanted.high) if isfinite(end))
    n = max(mean.count, 100)
    while n < 1e12 and mean.deviation * half_width(n, mean.alpha, n) > away:
        n *= 2
    return n if isfinite(away) and n < 1e12 else 0


def _power(mean: AnyMean, wanted: Bounds, most: int) -> float | None:
    """The chance that `most` samples refute the claim, if the truth lies as far outside the claimed range as half its width
    (of a one-sided claim: as far outside as it was found inside)."""
    if mean.count < 2 or mean.deviation == 0:
        return None
    two_sided = isfinite(wanted.low) and isfinite(wanted.high)
    end = wanted.low if isfinite(wanted.low) else wanted.high
    effect = (wanted.high - wanted.low) / 2 if two_sided else abs(mean.mean - end)
    margin = (effect / mean.deviation - half_width(most, mean.alpha, most)) * sqrt(most)
    return min(1.0, max(0.0, (1 + erf(margin / sqrt(2))) / 2))
