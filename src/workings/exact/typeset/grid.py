"""Aligned text for nested lists of cells: matrices between tall brackets, wrapped and shortened to fit.

⎡   1  1/2⎤
⎣1/√2    0⎦
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

_MOST_ROWS = 40
_GAP = "  "


def grid(cells: Any, *, width: int = 100, most_rows: int | None = _MOST_ROWS) -> str:
    """Nested lists of strings as rows and columns, each column aligned to the right.

    >>> print(grid([["1", "1/2"], ["1/√2", "0"]]))
    ⎡   1  1/2⎤
    ⎣1/√2    0⎦
    >>> print(grid(["1", "2"]))
    [1  2]

    Columns beyond `width` characters follow below, named by their range; of a matrix with more than
    `most_rows` rows the middle is left out (`None` shows all). With three axes and more, each matrix is
    named by its index.
    """
    if isinstance(cells, str):
        return cells
    slices = list(_slices(cells, ()))
    if len(slices) == 1 and not slices[0][0]:
        return _matrix(slices[0][1], width, most_rows)
    blocks = [f"[{', '.join(map(str, index))}, :, :] =\n{_matrix(m, width, most_rows)}" for index, m in slices]
    return "\n\n".join(blocks) if blocks else "[]"


def _depth(cells: Any) -> int:
    depth = 0
    while not isinstance(cells, str):
        depth += 1
        if not cells:
            break
        cells = cells[0]
    return depth


def _slices(cells: Sequence[Any], index: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], list[list[str]]]]:
    """The matrices of nested lists with their indices; a vector is a matrix of one row."""
    depth = _depth(cells)
    if depth <= 2:
        yield index, [list(row) for row in (cells if depth == 2 else [cells])]
        return
    for i, part in enumerate(cells):
        yield from _slices(part, (*index, i))


def _matrix(rows: list[list[str]], width: int, most_rows: int | None) -> str:
    if most_rows is not None and len(rows) > most_rows:
        rows = _without_middle(rows, most_rows)
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    ranges = list(_ranges(widths, width - 2))
    if len(ranges) <= 1:
        return _bracketed(rows, widths)
    blocks = [_bracketed([row[a:b] for row in rows], widths[a:b]) for a, b in ranges]
    names = [f"columns {a} to {b - 1}:" if b - a > 1 else f"column {a}:" for a, b in ranges]
    return "\n".join(f"{name}\n{block}" for name, block in zip(names, blocks, strict=True))


def _without_middle(rows: list[list[str]], most: int) -> list[list[str]]:
    """The first and last rows, with a row of ⋮ between: `most` rows with it."""
    first = most // 2
    last = most - first - 1
    return [*rows[:first], ["⋮"] * len(rows[0]), *rows[len(rows) - last :]]


def _ranges(widths: list[int], room: int) -> Iterator[tuple[int, int]]:
    """Columns that fit side by side; a column wider than the room stands alone."""
    start, used = 0, 0
    for i, needed in enumerate(widths):
        if i > start and used + needed > room:
            yield start, i
            start, used = i, 0
        used += needed + len(_GAP)
    yield start, len(widths)


def _bracketed(rows: list[list[str]], widths: list[int]) -> str:
    lines = [_GAP.join(map(_right, row, widths)) for row in rows]
    if len(lines) <= 1:
        return f"[{''.join(lines)}]"
    brackets = [("⎡", "⎤"), *[("⎢", "⎥")] * (len(lines) - 2), ("⎣", "⎦")]
    return "\n".join(f"{left}{line}{right}" for (left, right), line in zip(brackets, lines, strict=True))


def _right(cell: str, width: int) -> str:
    return " " * (width - _width(cell)) + cell


def _width(cell: str) -> int:
    """Columns of a terminal: accents take none, wide characters two."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in cell)
    return len(cell) + wide - sum(unicodedata.combining(c) != 0 for c in cell)
