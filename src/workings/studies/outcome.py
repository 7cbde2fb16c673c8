"""What a study gave: its claims with their negative controls, its tables and pictures, and all that it depends on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from workings.studies.claim import Claim, Verdict
from workings.studies.parts import Part


@dataclass(frozen=True)
class Control:
    """The same study with a mechanism broken, and what became of its claims."""

    broken: str
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class Outcome:
    """A study that was run, as data; `Result` prints it."""

    name: str
    title: str
    about: str
    rows: tuple[str, ...]
    settings: Mapping[str, Any]
    """Every parameter with its value, the seed too."""
    parts: tuple[Part, ...]
    controls: tuple[Control, ...]
    code: str
    """A checksum of the study's file and of every module of the package that it uses."""
    versions: Mapping[str, str]
    date: str
    seconds: float
    trains: bool = False

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims, as judged: one that holds, though no control made it fail, is undecided."""
        return tuple(self._judged(part) for part in self.parts if isinstance(part, Claim))

    @property
    def verdict(self) -> Verdict:
        """Holds if all claims hold, fails if one fails."""
        verdicts = {claim.verdict for claim in self.claims}
        if Verdict.FAILS in verdicts:
            return Verdict.FAILS
        return Verdict.HOLDS if verdicts == {Verdict.HOLDS} else Verdict.UNDECIDED

    def failing_controls(self, claim: Claim) -> list[str]:
        """The controls in which a claim fails."""
        return [
            control.broken
            for control in self.controls
            if any(one.sentence == claim.sentence and one.verdict is Verdict.FAILS for one in control.claims)
        ]

    def _judged(self, claim: Claim) -> Claim:
        if claim.verdict is not Verdict.HOLDS or not self.controls or self.failing_controls(claim):
            return claim
        return replace(claim, verdict=Verdict.UNDECIDED, evidence=f"{claim.evidence}; but it does not fail in any control")
