"""How much of a document was read and decided, and why the rest was not.

A claim is a relation that can be true or false: any whose outcome is not `no claim`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from workings.check.document.finding import Results
from workings.check.document.relation import Outcome

_MOST_REASONS = 4
"""Reasons that are named in a sentence."""
_UNSAID = "for no stated reason"


@dataclass(frozen=True)
class Coverage:
    """The counts of one document or of several: `coverage(one) + coverage(other)`."""

    formulas: int = 0
    unread: int = 0
    """Formulas that could not be read."""
    claims: int = 0
    right: int = 0
    wrong: int = 0
    follows: int = 0
    """Right from a value that is wrong."""
    undecided: dict[str, int] = field(default_factory=dict)
    """How many claims were not decided for each reason, the commonest first."""

    @property
    def decided(self) -> int:
        return self.right + self.wrong + self.follows

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(
            self.formulas + other.formulas,
            self.unread + other.unread,
            self.claims + other.claims,
            self.right + other.right,
            self.wrong + other.wrong,
            self.follows + other.follows,
            dict((Counter(self.undecided) + Counter(other.undecided)).most_common()),
        )

    def __str__(self) -> str:
        """
        >>> print(Coverage(claims=9, right=5, wrong=1, undecided={"letters without a value": 2, "sets": 1}))
        6 of 9 claims decided; 3 not: 2 letters without a value, 1 sets
        """
        if not self.claims:
            return "no claims"
        said = f"{self.decided:,} of {number(self.claims, 'claim')} decided"
        left = self.claims - self.decided
        if not left:
            return said
        named = list(self.undecided.items())[:_MOST_REASONS]
        reasons = [f"{n:,} {reason}" for reason, n in named]
        rest = left - sum(n for _, n in named)
        return f"{said}; {left:,} not: {', '.join([*reasons, *([f'{rest:,} for other reasons'] if rest else [])])}"


def coverage(report: Results) -> Coverage:
    """The counts of one report."""
    counts = report.counts
    outcomes = Counter(relation.outcome for relation in report.relations)
    reasons = Counter(relation.reason or _UNSAID for relation in report.relations if relation.outcome == Outcome.UNDECIDED)
    return Coverage(
        counts.formulas,
        counts.unread,
        len(report.relations) - outcomes[Outcome.NO_CLAIM],
        outcomes[Outcome.RIGHT],
        outcomes[Outcome.WRONG],
        outcomes[Outcome.FOLLOWS],
        dict(reasons.most_common()),
    )


def total(reports: Iterable[Results]) -> Coverage:
    """The counts of several reports together."""
    return sum(map(coverage, reports), Coverage())


def number(n: int, thing: str) -> str:
    """
    >>> number(1, "file"), number(2000, "claim")
    ('1 file', '2,000 claims')
    """
    return f"{n:,} {thing}{'' if n == 1 else 's'}"
