"""Every sentence of a document against the table of false claims. What is found is a note: words can be meant otherwise."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from workings.check.argument.argument import Argument
from workings.check.argument.contexts import DEEPEST_SECTION
from workings.check.document.document import Heading, Prose
from workings.check.document.finding import Finding
from workings.check.prose.sentences import Sentence, answers, is_doubted, sentences
from workings.check.prose.table import Claim, claims, first_cues

_NEAR = 1_500
"""Characters before a sentence in which its topic may have been named, if no heading comes between."""


def claims_in_prose(argument: Argument) -> None:
    """Note the sentences that claim what a system of the catalogue refutes."""
    prose = argument.document.prose
    headings = [Heading("", 0, 0), *(heading for heading in argument.document.headings if heading.depth <= DEEPEST_SECTION)]
    for index, cued in sorted(_candidates(prose).items()):
        before = prose[index - 1].text if index else ""
        part = headings[bisect_right(headings, prose[index].start, key=lambda heading: heading.start) - 1]
        if not is_doubted(part.text):
            argument.results.findings += _paragraph_notes(argument, prose[index], before, cued, part.start)


def _candidates(prose: list[Prose]) -> dict[int, list[Claim]]:
    """The paragraphs that contain the cues of claims; all are searched at once, since most contain none."""
    texts = [paragraph.text.lower() for paragraph in prose]
    whole = "\n".join(texts)
    starts = list(accumulate((len(text) + 1 for text in texts), initial=0))
    heard = {word: {bisect_right(starts, at) - 1 for at in _places(word, whole)} for word in first_cues()}
    found: dict[int, list[Claim]] = {}
    for claim in claims():
        for index in sorted(set().union(*(heard[word] for word in claim.cues[0]))):
            if claim.has_cues(texts[index]):
                found.setdefault(index, []).append(claim)
    return found


def _places(word: str, text: str) -> Iterator[int]:
    """Where a word stands in a text."""
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _paragraph_notes(argument: Argument, paragraph: Prose, before: str, cued: list[Claim], part: int) -> list[Finding]:
    """What a paragraph claims of `cued`, at most one note for a sentence. Its part of the document begins at `part`."""
    found = []
    for sentence in sentences(paragraph.text):
        lowered = sentence.text.lower()
        at = paragraph.start + sentence.start
        for claim in cued:
            if claim.has_cues(lowered) and (span := _claim_span(claim, sentence)) is not None:
                near = argument.document.text[max(part, at - _NEAR) : at] + sentence.text[: span[1]]
                if claim.about.search(near) or claim.about.search(sentence.text):
                    found.append(_note(argument, claim, at + span[0], at + span[1]))
                    break
    return found if found and not answers(paragraph.text, before) else []


def _claim_span(claim: Claim, sentence: Sentence) -> tuple[int, int] | None:
    """Where a sentence makes a claim; none where it does not."""
    for pattern in claim.patterns:
        match = pattern.search(sentence.text)
        if match is not None and sentence.asserts(*match.span()):
            return match.span() if claim.otherwise.search(sentence.text) is None else None
    return None


def _note(argument: Argument, claim: Claim, start: int, end: int) -> Finding:
    """The finding: the words as they stand, the truth, and what shows it."""
    says = " ".join(argument.document.text[start:end].split())
    return Finding(start, end, "note", "prose", says, claim.truth, f"{claim.why} {_shown_by(claim)}")


def _shown_by(claim: Claim) -> str:
    """What demonstrates the truth: a study that can fail, or a row of the catalogue."""
    row, _, name = claim.demonstration.partition(": ")
    if claim.study:
        return f"To see it: workings study {claim.study} ({row}, {name})."
    return f"See {name} (workings systems {row})."
