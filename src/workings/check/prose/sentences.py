"""Paragraphs taken apart into items and sentences, and the sentences that do not claim what they say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

_LONGEST = 1_500
"""A longer stretch without a full stop is no sentence."""
_ITEM = re.compile(
    r"^[ \t>]*(?:[-*+•][ \t]|\d{1,2}[.)][ \t]|\(?[a-zA-Z][.)][ \t]|\\item\b|[☐☑☒□○●◯]|\\(?:Correct)?[cC]hoice\b)", re.M
)
_LISTED = re.compile(r"[ \t>]*(?:[-*+•]|\(?\w{1,2}[.)]|\\item\b)")
_OPTION = re.compile(
    r"[ \t>]*(?:[-*+•][ \t]+|\d{1,2}[.)][ \t]+|\\item\s*)?"
    r"(?:\[[ xX✓]?\]|\(\s?\)|[☐☑☒□○●◯]|\\(?:Correct)?[cC]hoice\b|\[?\(?[a-hA-H][.)]\]?\s|\$?\\(?:square|Box)\b)"
)
"""An answer to choose: a box, a circle, a letter."""
_END = re.compile(r"[.!?][)\]}\"”»']*\s+(?=[A-Z$\\(\"“«*\[]|\d)")
_SHORT = re.compile(r"(?:\b(?:e\.g|i\.e|cf|vs|resp|approx|w\.r\.t|al|Fig|Figs|Eq|Eqs|Sec|Ch|no|Dr|Prof)|\b[A-Z])\.\s+\Z")
_STYLED = re.compile(r"(\\(?:emph|textbf|textit|underline|textsl)\{)([^{}]*)\}")
_STARS = re.compile(r"\*+|`")

_QUIZ = re.compile(
    r"true or false|true/false|\bT/F\b|which (?:one )?of the (?:following|statements|options)"
    r"|(?:select|mark|tick|check|choose) (?:all|each|the|one)|prove or disprove|agree or disagree"
    r"|(?:following|these|each) (?:statement|claim|sentence)s?",
    re.I,
)
_DOUBTED = re.compile(
    r"misconception|\bmyths?\b|fallac|\bwrong|incorrect|\bfalse|mistak|erroneous|untrue|contrary to|tempting|na[iï]ve"
    r"|suppos|alleged|hypothe|\bwhether\b|counter-?example|disprove|refut|\bif\b[^,]*\bwere\b"
    r"|(?:one|you|we) (?:might|may|could) (?:think|believe|expect|assume|say)"
    r"|(?:people|students|many|some) (?:\w+ )?(?:think|believe|say|claim)"
    r"|(?:often|sometimes|commonly|usually) (?:said|claimed|thought|believed|stated)"
    r"|(?:\bnot|n['’]t) (?:true|correct|right|the case)\b",
    re.I,
)
_RETRACTED = re.compile(
    r"\W*(?:false|wrong|incorrect|no|not (?:quite|so|true))\b"
    r"|\W*(?:this|that|it|both|which|the (?:claim|statement))\b.{0,40}"
    r"\b(?:false|wrong|incorrect|misleading|misconception|mistake|imprecise|not (?:true|quite|right|correct|exact))",
    re.I | re.S,
)
_NEGATED = re.compile(
    r"\b(?:not|never|cannot|nor|neither|unlike|without|unable|hardly|fails?|rather than|instead of)\b"
    r"|n['’]t\b|\bno (?:longer|way|reason|guarantee)\b",
    re.I,
)
_CLAUSE = re.compile(r"[,;:()—]|\b(?:because|since|as|while|but|so|and|hence|thus|therefore|whereas)\b", re.I)
_QUOTED = re.compile(r"“[^”]*”|«[^»]*»|„[^“”]*[“”]|``.*?''|\"[^\"]*\"|‘[^’]*’(?!\w)", re.S)


@dataclass(slots=True)
class Sentence:
    """A sentence, where it begins in its paragraph, its neighbours, and whether it is an answer to choose."""

    text: str
    start: int
    behind: str = ""
    ahead: str = ""
    option: bool = False

    def asserts(self, start: int, end: int) -> bool:
        """Whether it says what stands from `start` to `end`: it does not ask, doubt, deny or quote it."""
        return not (self.option or self._asks() or self._doubts() or self._denies(start) or self._quotes(start, end))

    def _asks(self) -> bool:
        return self.text.rstrip(" )]}\"”»'\n").endswith("?")

    def _doubts(self) -> bool:
        announced = self.behind.rstrip().endswith("?") and is_doubted(self.behind)
        return announced or is_doubted(self.text) or _RETRACTED.match(self.ahead) is not None

    def _denies(self, start: int) -> bool:
        clause = max((found.end() for found in _CLAUSE.finditer(self.text, 0, start)), default=0)
        return _NEGATED.search(self.text, clause, start) is not None

    def _quotes(self, start: int, end: int) -> bool:
        return any(found.start() < start and end < found.end() for found in _QUOTED.finditer(self.text))


def is_doubted(text: str) -> bool:
    """Whether a text puts in doubt what it says, or asks what to think of it."""
    return _DOUBTED.search(text) is not None or _QUIZ.search(text) is not None


def plain(text: str) -> str:
    r"""The text without emphasis, every other character in its place.

    >>> plain(r"**a** \emph{b}")
    '  a         b '
    """
    if "\\" in text:
        text = _STYLED.sub(lambda found: f"{' ' * len(found[1])}{found[2]} ", text)
    return _STARS.sub(lambda found: " " * len(found[0]), text)


def answers(paragraph: str, before: str) -> bool:
    """Whether a paragraph is what the one before it announces: answers to choose from, or what many believe."""
    return _announces(before[-400:]) or (_LISTED.match(paragraph) is not None and _QUIZ.search(before[-400:]) is not None)


def _announces(text: str) -> bool:
    """Whether a text ends in a colon, and what follows it is to be doubted."""
    return text.rstrip().endswith(":") and is_doubted(text)


def sentences(paragraph: str) -> Iterator[Sentence]:
    """The sentences of a paragraph; items of a list end a sentence."""
    text = plain(paragraph)
    edges = [0, *(found.start() for found in _ITEM.finditer(paragraph) if found.start()), len(paragraph)]
    announced = len(edges) > 2 and _announces(text[: edges[1]])
    for start, end in pairwise(edges):
        option = (announced and start > 0) or _OPTION.match(paragraph, start, end) is not None
        cuts = [*_cut(text, start, end), end]
        parts = ["", *(text[one:other] for one, other in pairwise(cuts)), ""]
        for index, at in enumerate(cuts[:-1], 1):
            if len(parts[index]) <= _LONGEST:
                yield Sentence(parts[index], at, parts[index - 1], parts[index + 1], option)


def _cut(text: str, start: int, end: int) -> Iterator[int]:
    """Where the sentences of an item begin."""
    yield start
    for found in _END.finditer(text, start, end):
        if found.end() < end and _SHORT.search(text, max(start, found.start() - 8), found.end()) is None:
            yield found.end()
