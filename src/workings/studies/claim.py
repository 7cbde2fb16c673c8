"""A claim: a sentence that a computation decides, with the evidence.

holds       the evidence lies wholly where the sentence says
fails       it lies wholly elsewhere
undecided   neither: more samples, or a sharper bound, would tell
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf


class Verdict(StrEnum):
    """What became of a claim."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"


class Method(StrEnum):
    """How a claim is decided, the surest way first."""

    PROOF = "exact arithmetic"
    CLOSED_FORM = "closed form"
    CERTIFIED = "certified bounds"
    TEST = "test"


@dataclass(frozen=True)
class Bounds:
    """The values that a claim allows: what makes it hold, and by how much it could be missed.

    >>> Bounds(0.9, 1.1).judge(0.95, 1.02), Bounds(low=0).judge(-0.2, 0.1), Bounds(high=1).judge(2, 3)
    (<Verdict.HOLDS: 'holds'>, <Verdict.UNDECIDED: 'undecided'>, <Verdict.FAILS: 'fails'>)
    """

    low: float = -inf
    high: float = inf

    def judge(self, low: float, high: float) -> Verdict:
        """What an interval that holds the true value says of the claim; NaN says nothing."""
        if self.low <= low and high <= self.high:
            return Verdict.HOLDS
        return Verdict.FAILS if high < self.low or low > self.high else Verdict.UNDECIDED

    def __str__(self) -> str:
        """
        >>> print(Bounds(0.9, 1.1), Bounds(low=0), Bounds(high=1), sep="; ")
        from 0.9 to 1.1; at least 0; at most 1
        """
        if self.low == -inf:
            return f"at most {self.high:g}"
        return f"at least {self.low:g}" if self.high == inf else f"from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Claim:
    """One claim with its verdict. One of the deciding functions makes it: `proved`, `compared`, `certified`, `measured` …"""

    sentence: str
    verdict: Verdict
    method: Method
    evidence: str
    """What was found, in words and numbers."""
    wanted: Bounds | None = None
    """What the sentence asks of the number that was found: the direction, and the least effect that counts."""
    interval: tuple[float, float] | None = None
    """Where that number lies."""
    alpha: float | None = None
    """The chance of a wrong verdict, of a test."""
    power: float | None = None
    """The chance that a test of this size decides against the claim, if the truth misses it by its least effect."""
    samples: int | None = None
    reference: str = ""
    """The theorem or the closed form that the claim rests on."""

    def citing(self, reference: str) -> Claim:
        """The same claim with the theorem or closed form that it rests on."""
        return replace(self, reference=reference)
