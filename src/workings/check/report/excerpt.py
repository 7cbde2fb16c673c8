"""A line of the source with its claim underlined, cut to the width of the terminal around the claim.

…so that $1/2 + 1/3 = 4/6$, which is…
          ^^^^^^^^^^^^^^^
"""

from __future__ import annotations

from rich.cells import cell_len

from workings.control import CONTROL

_TAB = 4
_BEFORE = 3
"""The claim begins one part in three into a line that is cut."""


def plain(words: str) -> str:
    """The words on one line, without control characters: a document cannot move the cursor or colour the terminal.

    >>> plain("a\\x1b[31m\\n b")
    'a�[31m b'
    """
    return CONTROL.sub("�", " ".join(words.split()))


def excerpt(line: str, start: int, end: int, columns: int) -> tuple[str, str]:
    """The line and the underline of its characters from `start` to before `end`, both at most so many columns wide.

    >>> print(*excerpt("a\\tb = 3", 2, 7, 40), sep="\\n")
    a   b = 3
        ^^^^^
    """
    pieces, places = _cells(line)
    end = max(start + 1, min(end, len(line)))
    first, last = places[min(start, len(line))], places[min(end, len(line))]
    last = max(last, first + 1)
    whole = places[-1]
    if whole <= columns:
        return "".join(pieces).rstrip(), " " * first + "^" * (last - first)
    room = max(1, columns - 2)
    left = max(0, min(first - room // _BEFORE if last - first <= room * 2 // 3 else first - 4, whole - room))
    kept = [i for i in range(len(pieces)) if left <= places[i] and places[i + 1] <= left + room]
    if not kept:  # a window narrower than its one character
        return "…", "^"
    origin = places[kept[0]]
    ahead = "…" if kept[0] else ""
    behind = "…" if kept[-1] + 1 < len(pieces) else ""
    shown = ahead + "".join(pieces[i] for i in kept).rstrip() + behind
    from_, to = max(first, origin), min(last, places[kept[-1] + 1])
    return shown, " " * (len(ahead) + from_ - origin) + "^" * max(1, to - from_)


def _cells(line: str) -> tuple[list[str], list[int]]:
    """Each character as it is shown, and the column that it begins at; the last column is the end of the line."""
    pieces, places = [], [0]
    for character in line:
        column = places[-1]
        shown = " " * (_TAB - column % _TAB) if character == "\t" else CONTROL.sub("�", character)
        pieces.append(shown)
        places.append(column + cell_len(shown))
    return pieces, places
