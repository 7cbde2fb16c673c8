"""Formulas in prose that are written with signs of mathematics: `|−3| = 3`, `⌈3.2⌉ = 4`, `‖x‖² = 9 + 16 = 25`.

A line is cut at words and at punctuation. A piece with such a sign and a relation is a formula if it can be read as one; if
not, and numbers stand on both sides of its relation, it is told as unread: nothing that looks like a claim is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from workings.check.extract.plain import GUARD, is_code, typeset, without_labels
from workings.check.extract.spans import Span
from workings.check.extract.traced import Traced
from workings.check.latex.parse import ParseError, parse
from workings.check.latex.signs import FUNCTIONS
from workings.check.latex.syntax import Chain
from workings.check.latex.units import is_measure

_SIGN = re.compile(r"[|‖⌈⌊∩∪∖√°€£]|\{|//|\d,\d{1,2}(?!\d)|\^|_|\b[A-Z][a-z]{1,3}\(")
"""What the equations of plain numbers and letters do not have."""
_RELATION = re.compile(r"[=≈≤≥≠]|(?<=\s)[<>](?=\s)")
_WORD = re.compile(r"\\?\w*[A-Za-z]{2,}\w*(?!\w*\()")
_CUT = re.compile(rf"[;:?!\\$&#@\"`~{GUARD}]|\.(?!\d)|,(?=\s)(?![^()\[\]{{}}\n]*[)\]}}])")
_ORDER = re.compile(r"[-−]?\d+(?:\.\d+)?\s+[<>≤≥]\s+[-−]?\d+(?:\.\d+)?")
_TABLE = re.compile(r"\s*\|\s|\s*\|.*\|\s*$|.*\s\|\s")
_CLOSED = re.compile(r"\d[^A-Za-z=≈≤≥≠<>]*[=≈≤≥≠<>][^A-Za-z]*\d")
_RELATIONS = "=<>≤≥≈≠"
_GLUE = ("\\", "$", "&", GUARD)
"""What stands beside a part of a formula."""
_JOINS = "+-−–*/·×÷^_!%"
"""What goes on with what stands before it."""


def formulas_of_signs(text: str, taken: list[Span], unread: list[Span]) -> Iterator[Span]:
    """Where such formulas stand, none of them in `taken`; `unread` gets those that cannot be read."""
    position = 0
    for line in without_labels(text).splitlines(keepends=True):
        start, position = position, position + len(line)
        if not _RELATION.search(line) or _TABLE.match(line) or is_code(line):
            continue
        for first, last, alone in _pieces(line):
            span = start + first, start + last
            if any(a < span[1] and span[0] < b for a, b in taken):
                continue
            piece = line[first:last]
            if alone and "//" not in piece and _reads(piece):
                yield span
            elif _CLOSED.search(piece):
                unread.append(span)


def _pieces(line: str) -> Iterator[tuple[int, int, bool]]:
    """The pieces of a line between words and punctuation that have a sign and a relation; whether each stands alone."""
    words = [found.span() for found in _WORD.finditer(line) if found[0].lower() not in FUNCTIONS]
    cuts = sorted([*words, *(found.span() for found in _CUT.finditer(line)), (len(line), len(line))])
    at, before = 0, ""
    for start, end in cuts:
        piece, after = line[at:start], line[start:end]
        if _RELATION.search(piece.strip()) and (_SIGN.search(piece) or _ORDER.fullmatch(piece.strip())):
            left = at + len(piece) - len(piece.lstrip(" \t*"))
            right = left + len(line[left:start].rstrip(" \t\r\n,*"))
            goes_on = (
                line[left] in _RELATIONS
                or line[right - 1] in _RELATIONS
                or before.startswith(_GLUE)
                or after.startswith(_GLUE)
            )
            joined = before[-1:].isalpha() and (left == at or line[left] in _JOINS)
            measured = after[:1].isalpha() and (right == start or is_measure(after))
            yield left, right, not (goes_on or joined or measured)
        at, before = max(at, end), after


def _reads(piece: str) -> bool:
    """Whether a piece is a relation between formulas."""
    try:
        found = parse(typeset(Traced(piece, 0)).text)
    except ParseError:
        return False
    return isinstance(found, Chain) and len(found.items) > 1
