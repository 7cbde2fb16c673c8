"""What belongs together: a finding and its relation, a cause and its consequences, the same error in several files."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from workings.check.document.finding import Finding
from workings.check.document.relation import Outcome, Relation
from workings.check.document.report_data import ReportData

Place = tuple[ReportData, Finding]


class Links:
    """The relations of one document, by place and by cause."""

    def __init__(self, result: ReportData) -> None:
        self._relations = sorted(result.relations, key=lambda relation: relation.start)
        self._starts = [relation.start for relation in self._relations]
        self._furthest: list[int] = []
        """For each relation, where the last of it and those before it ends."""
        for relation in self._relations:
            self._furthest.append(max(relation.end, self._furthest[-1] if self._furthest else 0))
        self._consequences: dict[int, list[Relation]] = {}
        for relation in self._relations:
            if relation.cause >= 0:
                self._consequences.setdefault(relation.cause, []).append(relation)
        self._findings: dict[int, Finding] = {}
        for found in result.results.findings:
            self._findings.setdefault(found.start, found)

    def relation_of(self, found: Finding) -> Relation | None:
        """The relation that a finding is about: the one it quotes, else a wrong one, else the shortest that it stands in."""
        at = bisect_right(self._starts, found.start) - 1
        inside = []
        while at >= 0 and self._furthest[at] > found.start:
            if self._relations[at].end > found.start:
                inside.append(self._relations[at])
            at -= 1
        return min(inside, key=lambda r: (r.says != found.says, r.outcome != Outcome.WRONG, r.end - r.start), default=None)

    def consequences(self, found: Finding) -> list[Relation]:
        """The relations that are right from the value that a finding says is wrong."""
        return self._consequences.get(found.start, [])

    def cause(self, relation: Relation) -> Finding | None:
        """The finding that a relation follows from."""
        return self._findings.get(relation.cause) if relation.cause >= 0 else None


def same_errors(results: Sequence[ReportData], level: str) -> dict[tuple[str, str, str], list[Place]]:
    """The errors that stand in more than one file: by kind, what is written and what is right, with their places."""
    places: dict[tuple[str, str, str], list[Place]] = {}
    for result in results:
        for found in result.findings(level):
            places.setdefault(key(found), []).append((result, found))
    return {same: where for same, where in places.items() if len({result.name for result, _ in where}) > 1}


def key(found: Finding) -> tuple[str, str, str]:
    """What makes two findings the same error."""
    return found.kind, " ".join(found.says.split()), found.truth
