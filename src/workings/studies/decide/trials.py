"""Claims about few, costly trials, such as models trained with other seeds: an exact test of signs."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from workings.studies.claim import Bounds, Claim, Method, Verdict

_TRAINED = 0.01
"""The chance that a test of trained models errs, at most."""


def most_trials(
    sentence: str,
    differences: Sequence[float],
    least: float = 0.0,
    *,
    what: str = "difference",
    alpha: float = _TRAINED,
    reference: str = "",
) -> Claim:
    """In most trials the difference is above `least` (a test of signs, one trial for each seed).

    If the difference were as often below as above, so many above would come with probability at most α. Seven trials of
    seven decide at α = 0.01.

    >>> most_trials("up", [0.3, 0.1, 0.2, 0.4, 0.2, 0.1, 0.3]).verdict, most_trials("up", [0.3, -0.1, 0.2]).verdict
    (<Verdict.HOLDS: 'holds'>, <Verdict.UNDECIDED: 'undecided'>)
    """
    n, above = len(differences), sum(one > least for one in differences)
    chance, other = _at_least(above, n), _at_least(n - above, n)
    verdict = Verdict.HOLDS if chance <= alpha else Verdict.FAILS if other <= alpha else Verdict.UNDECIDED
    spread = f"{min(differences):.3g} to {max(differences):.3g}" if n else "none"
    evidence = f"{what} above {least:g} in {above} of {n} trials ({spread}); by chance alone {min(chance, other):.2g}"
    return Claim(sentence, verdict, Method.TEST, evidence, Bounds(low=least), _range(differences), alpha, None, n, reference)


def _at_least(k: int, n: int) -> float:
    """The probability of k or more heads of n fair coins.

    >>> _at_least(7, 7), _at_least(0, 3)
    (0.0078125, 1.0)
    """
    return float(sum(comb(n, i) for i in range(k, n + 1)) / 2**n)


def _range(values: Sequence[float]) -> tuple[float, float] | None:
    return (min(values), max(values)) if values else None
