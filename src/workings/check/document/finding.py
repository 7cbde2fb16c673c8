"""What the checker says about a document: findings, each at its place, and the counts of what was read and decided."""

from __future__ import annotations

from dataclasses import dataclass, field

from workings.check.document.relation import Relation

LEVELS = ("error", "likely", "note", "possible")
"""From sure to unsure. `note` is for rounding, notation and claims in prose; `possible` is hidden unless asked for."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or may be: where it stands, what it says, what is true, why, and how it was read."""

    start: int
    """Where the claim begins, as a position in the document's text."""
    end: int
    level: str
    kind: str
    """`number`, `matrix`, `shape`, `rows`, `definition`, `identity`, `derivative`, `listing`, `rounding`, `prose`, …"""
    says: str
    """The claim as it is written."""
    truth: str
    """What would be right in its place."""
    why: str
    """One or two sentences that a student understands."""
    reading: str = ""
    """The reading of ambiguous notation that was used, if there was a choice."""
    basis: str = "closed"
    """What it rests on: `closed` (numbers alone), `letters` (values given in the document), `substitution`, `words`, …"""
    support: str = ""
    """Why it can be believed, with commas: `arithmetic`, `usual`, `slip`, `chain`, `entries`, `notation`, `document`."""


@dataclass
class Counts:
    """How much was read and decided. A claim is one relation (= ≈ ≤ < …) that can be true or false."""

    formulas: int = 0
    unread: int = 0
    """Formulas that could not be read."""
    claims: int = 0
    """Relations between closed forms, or between forms that carried definitions make closed."""
    decided: int = 0
    right: int = 0
    wrong: int = 0

    def add(self, other: Counts) -> None:
        """Count what `other` counted, too."""
        for name in vars(other):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(frozen=True)
class Unread:
    """A formula that could not be read, where, and why."""

    start: int
    end: int
    why: str


@dataclass
class Results:
    """Everything that was found in one document."""

    findings: list[Finding] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    """Every relation of the document in the order of the text."""
    counts: Counts = field(default_factory=Counts)
