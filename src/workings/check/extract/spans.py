"""Stretches of a text: finding the next one quickly, and covering what is not to be read without moving anything else."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable

Span = tuple[int, int]
"""From its first character to just after its last one."""

BLANK_LINE = re.compile(r"\n[ \t\r]*(?=\n)")
_VISIBLE = re.compile(r"[^\r\n]")


class Ahead:
    """Every match of a pattern, so that the next one after any position is found in O(log n).

    >>> Ahead(r"[$]", "a$b$").find(2)
    3
    """

    def __init__(self, pattern: str | re.Pattern[str], text: str) -> None:
        self.spans = [match.span() for match in re.finditer(pattern, text)]
        self.starts = [start for start, _ in self.spans]
        self.end = len(text)

    def find(self, position: int) -> int:
        """Where the first match at or after `position` begins; the end of the text if there is none."""
        index = bisect_left(self.starts, position)
        return self.starts[index] if index < len(self.starts) else self.end

    def span(self, position: int) -> Span | None:
        """The first match at or after `position`."""
        index = bisect_left(self.starts, position)
        return self.spans[index] if index < len(self.spans) else None


def covered(text: str, spans: Iterable[Span]) -> str:
    """`text` with every character of `spans` but the line ends replaced by a space: all positions stay what they were.

    >>> covered("a `code` b", [(2, 8)])
    'a        b'
    """
    pieces: list[str] = []
    done = 0
    for start, end in sorted(spans):
        start = max(start, done)
        if start < end:
            pieces += [text[done:start], _VISIBLE.sub(" ", text[start:end])]
            done = end
    pieces.append(text[done:])
    return "".join(pieces)


_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)


def braces(text: str) -> dict[int, int]:
    r"""For each opening brace that is closed, where that is.

    >>> braces(r"{a{b}\}}c")
    {2: 4, 0: 7}
    """
    found: dict[int, int] = {}
    waiting: list[int] = []
    for match in _BRACES.finditer(text):
        if match[0] == "{":
            waiting.append(match.start())
        elif match[0] == "}" and waiting:
            found[waiting.pop()] = match.start()
    return found
