"""Control characters: text of others may hold some, and must not move the cursor, rename the window or turn the writing."""

from __future__ import annotations

import re

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""All of them but the tab and the end of a line, and halves of characters, which no terminal can be sent."""


def plain(words: str) -> str:
    """The words without control characters: a name cannot move the cursor or colour the terminal.

    >>> plain("a\\x1b[31mb")
    'a�[31mb'
    """
    return CONTROL.sub("�", words.expandtabs(4))


def plain_json(written: str) -> str:
    """JSON with the control characters escaped that it may hold as they are.

    >>> plain_json('"\\x9b"')
    '"\\\\u009b"'
    """
    return CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", written)
