"""Equations between numbers in prose: `28 × 28 × 8 = 6272`, without dollars. Only what can hardly be anything else."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workings.check.extract.spans import Span, covered

GUARD = "\ue000"
"""Stands at both ends of every formula that has delimiters: a number beside it is a part of something else."""
_NUMBER = r"(?:\\?\$|[€£])?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])|\d*[¼½¾⅓⅔]|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)"
_OPERATOR = r"(?:mod|plus|minus|times|divided by|(?<=% )of)(?= [\d(])"
_RUN = re.compile(
    rf"(?=[-+−–(√\d$€£¼½¾⅓⅔=≈\\])"
    rf"(?:(?:{_NUMBER})(?:(?<!\b0)[ \t]?x[ \t]?(?=[\d(]))?|{_OPERATOR}|[-+−–*/×·∙⋅÷^()=≈²³√%]|[ \t])+"
)
_TOKEN = re.compile(rf"(?P<number>{_NUMBER})|(?P<relation>[=≈])|(?P<operator>{_OPERATOR}|[+−–*/×·∙⋅÷^x-])"
                   r"|(?P<open>\()|(?P<close>\))|(?P<after>[²³%])|(?P<root>√)|(?P<space>[ \t]+)")  # fmt: skip
_LABEL = re.compile(
    r"^[ \t>]*(?:[-*+•☐–—]|\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[ivx]{1,4})[.)])(?=[ \t])|\*\*|__|https?://\S+|\]\([^)\s]*\)",
    re.MULTILINE,
)
_TOUCHES_BEFORE = re.compile(rf"[\w\\$#@.,<>!~&_{{}}\[{GUARD}]\Z")
_LETTER_BEFORE_SPACE = re.compile(r"(?:^|[^A-Za-z])[B-HJ-Zb-z][ \t]+\Z")
_TOUCHES_AFTER = re.compile(
    rf"\.?[\w\\$@#<>~&_{{^\[{GUARD}]|,\d|:\d|[ \t]*[<>]"
    rf"|[ \t]+(?:[b-zB-HJ-Z](?![A-Za-z'’])|\\|\$|{GUARD}|million|billion|thousand|percent|dozen)"
)


_RANGE = re.compile(r"(?<=[A-Za-z] )(\d+)[-–](\d+)\s*=\s*\d")
"""Pages 3-5 = 3 pages: no subtraction, if it would be negative."""


_BROKEN = re.compile(r"[A-Za-z][ \t]*=[ \t]*\d+\.[ \t]*\n\Z")
"""What may be the first half of a number that a line end breaks: IQR = 26.⏎86 − 23.13."""


def numeric_equations(text: str, unread: list[Span] | None = None) -> Iterator[Span]:
    """Where equations between closed forms of numbers stand; `unread` gets those that are a part of something else.

    >>> [text[a:b] for text in ["so 3 × 3 × 16 = 144 weights; x + 2 = 5, 1.2.3 = 4"] for a, b in numeric_equations(text)]
    ['3 × 3 × 16 = 144']
    """
    if "=" not in text and "≈" not in text:
        return
    shown = covered(text, (match.span() for match in _LABEL.finditer(text)))
    for run in _RUN.finditer(shown):
        if ("=" in run[0] or "≈" in run[0]) and len(run[0]) > 4:
            for span, apart in _equations(shown, run):
                if apart:
                    yield span
                elif unread is not None:
                    unread.append(span)


def _equations(text: str, run: re.Match[str]) -> Iterator[tuple[Span, bool]]:
    """The equations in one run of numbers and signs, or in brackets there, each with the answer whether it is apart."""
    tokens = [match for match in _TOKEN.finditer(text, run.start(), run.end()) if match.lastgroup != "space"]
    for part in _parts(tokens):
        first, last = 0, len(part)
        while first < last and part[first].lastgroup == "relation":
            first += 1
        while first < last and part[last - 1].lastgroup == "relation":
            last -= 1
        part = part[first:last]
        if part and _is_equation(part) and not _is_range(text, part[0].start()):
            yield (part[0].start(), part[-1].end()), _is_apart(text, part)


def _is_range(text: str, start: int) -> bool:
    """Is what looks like a subtraction a range: `Digits 0-9 = 10`?"""
    found = _RANGE.match(text, start)
    return found is not None and int(found[1]) < int(found[2])


_ALONE = re.compile(r"^[A-Za-z \t]*[=:]?[ \t]*\Z", re.MULTILINE)


def plain_equations(text: str) -> Iterator[Span]:
    """Those of a block without a language: only what its line begins with, but for a few words; the rest may be code."""
    for start, end in numeric_equations(text):
        if _ALONE.search(text, text.rfind("\n", 0, start) + 1, start):
            yield start, end


def _parts(tokens: list[re.Match[str]]) -> Iterator[list[re.Match[str]]]:
    """Cut at brackets that do not match, and at those with a relation inside."""
    partner: dict[int, int] = {}
    waiting: list[int] = []
    for index, token in enumerate(tokens):
        if token.lastgroup == "open":
            waiting.append(index)
        elif token.lastgroup == "close" and waiting:
            start = waiting.pop()
            partner[start], partner[index] = index, start
        elif token.lastgroup == "relation":
            waiting.clear()
    part: list[re.Match[str]] = []
    for index, token in enumerate(tokens):
        if token.lastgroup in {"open", "close"} and index not in partner:
            yield part
            part = []
        else:
            part.append(token)
    yield part


def _is_equation(part: list[re.Match[str]]) -> bool:
    """Do operands and operators alternate, with a relation, and with something to compute on one side of it?"""
    operand = relation = computes = False
    for token in part:
        match token.lastgroup:
            case "number" if operand:
                return False
            case "number":
                operand = True
            case "relation" if not operand:
                return False
            case "relation":
                operand, relation = False, True
            case "operator" if not operand and token[0] not in "-−–+":
                return False
            case "operator":
                computes |= operand
                operand = False
            case "open" if operand:
                computes, operand = True, False
            case "close" if not operand:
                return False
            case "after" if not operand:
                return False
            case "after" | "root":
                if token.lastgroup == "root" and operand:
                    return False
                computes = True
    return operand and relation and computes


def _is_apart(text: str, part: list[re.Match[str]]) -> bool:
    """Does nothing that belongs to it, a letter or a sign, stand beside the equation?"""
    start, end = part[0].start(), part[-1].end()
    before = text[max(0, start - 12) : start]
    after = text[end : end + 12]
    if _TOUCHES_BEFORE.search(before) or _TOUCHES_AFTER.match(after) or _BROKEN.search(before):
        return False
    neighbour = before.rstrip(" \t")[-1:]
    if neighbour == GUARD or (part[0].lastgroup == "operator" and (neighbour.isalnum() or neighbour in ")]}")):
        return False
    return neighbour in {"=", "≈"} or not _LETTER_BEFORE_SPACE.search(before)
