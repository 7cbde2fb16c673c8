"""A relation of the document (=, ≈, <, ∈ …): its role in the argument, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What a relation does in its document. Only claims, and numbers put in for letters, can be wrong."""

    CLAIM = "claim"
    INSTANTIATION = "numbers put in"
    """A general formula, then the same formula in numbers."""
    DEFINITION = "definition"
    GIVEN = "given"
    DECLARATION = "declaration"
    """x ∈ ℝ, f: A → B, X ~ N(0, 1)."""
    EQUATION = "equation to solve"
    CONDITION = "condition"
    RECURRENCE = "recurrence"
    GOAL = "goal"
    """What is to be shown."""
    HYPOTHETICAL = "hypothetical"
    """Negated, asked, or supposed for the sake of argument."""
    RULE = "rule of the author"
    """An operation that the document introduces: a ∗ b = a + b − ab."""
    FRAGMENT = "fragment"
    """Part of a formula that goes on outside of it."""
    LINK = "step"
    """⇒, ⇔, →: from one statement to the next."""


class Outcome(StrEnum):
    """What came of a relation."""

    RIGHT = "right"
    WRONG = "wrong"
    FOLLOWS = "follows"
    """Right from a value that is wrong: the error is elsewhere."""
    UNDECIDED = "undecided"
    NO_CLAIM = "no claim"


@dataclass(frozen=True)
class Relation:
    """One relation, from the beginning of its left side to the end of its right side."""

    start: int
    """As a position in the document's text."""
    end: int
    says: str
    role: str
    """One of `Role`."""
    evidence: str
    """What made it that: «a name beside a number»."""
    outcome: str
    """One of `Outcome`."""
    reason: str = ""
    """Why it could not be decided: one of a few, such as «letters without a value»."""
    values: str = ""
    """What was put in for its letters: «a = 6 (line 3)»."""
    cause: int = -1
    """Where the finding stands that a consequence follows from; −1 for none."""
