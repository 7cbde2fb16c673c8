"""Every sentence of a document against the table of false claims. What is found is a note: words can be meant otherwise."""

from __future__ import annotations

from bisect import bisect_right

from workings.check.document import Prose
from workings.check.finding import Finding
from workings.check.prose.sentences import Sentence, asserted, sentences
from workings.check.prose.table import Claim, claims
from workings.check.study import DEEPEST_PART, Study

NEAR = 1_500
"""Characters before a sentence in which its topic may have been named, if no heading comes between."""


def claims_in_prose(study: Study) -> None:
    """Note the sentences that claim what a system of the catalogue refutes."""
    parts = [heading.start for heading in study.document.headings if heading.depth <= DEEPEST_PART]
    before = ""
    for paragraph in study.document.prose:
        lowered = paragraph.text.lower()
        cued = [claim for claim in claims() if claim.cued(lowered)]
        if cued:
            index = bisect_right(parts, paragraph.start)
            study.report.findings += notes(study, paragraph, before, cued, parts[index - 1] if index else 0)
        before = paragraph.text


def notes(study: Study, paragraph: Prose, before: str, cued: list[Claim], part: int) -> list[Finding]:
    """What a paragraph claims of `cued`, at most one note for a sentence; `part` is where its part of the document begins."""
    found = []
    for sentence in sentences(paragraph.text, before):
        if sentence.silent:
            continue
        at = paragraph.start + sentence.start
        near = study.document.text[max(part, at - NEAR) : at] + sentence.text
        for claim in cued:
            if (span := claimed(claim, sentence, near)) is not None:
                found.append(note(study, claim, at + span[0], at + span[1]))
                break
    return found


def claimed(claim: Claim, sentence: Sentence, near: str) -> tuple[int, int] | None:
    """Where a sentence makes a claim; none where it does not."""
    for pattern in claim.patterns:
        match = pattern.search(sentence.text)
        if match is None or not asserted(sentence, *match.span()):
            continue
        if claim.otherwise.search(sentence.text) is None and claim.about.search(near) is not None:
            return match.span()
    return None


def note(study: Study, claim: Claim, start: int, end: int) -> Finding:
    """The finding: the words as they stand, the truth, and what shows it."""
    row, _, name = claim.demonstration.partition(": ")
    says = " ".join(study.document.text[start:end].split())
    return Finding(start, end, "note", "prose", says, claim.truth, f"{claim.why} See {name} (workings systems {row}).")
