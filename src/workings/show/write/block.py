"""Blocks of text: several lines that are set beside or below each other.

beside("A = ", "⎡1  0⎤\n⎣0  1⎦")      A = ⎡1  0⎤
                                          ⎣0  1⎦
"""

from __future__ import annotations

import textwrap

from rich.cells import cell_len


def width(block: str) -> int:
    """Columns of a terminal the widest line takes."""
    return max(map(cell_len, block.split("\n")))


def beside(*blocks: str) -> str:
    """The blocks next to each other, their first lines on one line.

    >>> print(beside("A = ", "⎡1⎤\\n⎣2⎦", " + B"))
    A = ⎡1⎤ + B
        ⎣2⎦
    """
    lines = [""]
    for block in blocks:
        column = max(map(cell_len, lines))
        new = block.split("\n")
        lines += [""] * (len(new) - len(lines))
        for i, line in enumerate(new):
            lines[i] += " " * (column - cell_len(lines[i])) * bool(line) + line
    return "\n".join(line.rstrip() for line in lines)


def indented(block: str, columns: int) -> str:
    """The block moved to the right."""
    return "\n".join(" " * columns + line if line else line for line in block.split("\n"))


def wrapped(prose: str, columns: int) -> str:
    """Prose in lines of at most this width; its own line breaks stay."""
    lines = [textwrap.wrap(line, max(20, columns), break_on_hyphens=False) or [""] for line in prose.split("\n")]
    return "\n".join(line for part in lines for line in part)
