"""A formula that cannot be read as a whole is read piece by piece: row by row, then side by side.

One strange command in the last row of a long derivation must not cost the rows before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from workings.check.latex.parse import ParseError, parse
from workings.check.latex.syntax import Chain, Items, Node, Nothing, Words

_STEPS = re.compile(
    r"\\(?:begin|end)\s*\{[^{}]*\}|\\left(?![a-zA-Z])\s*\\?.|\\right(?![a-zA-Z])\s*\\?.|\\\\|\\[a-zA-Z]+|\\.|[{}()\[\]=≈≤≥<>]",
    re.S,
)
_OUTER = re.compile(r"\s*\\begin\s*\{((?:aligned|align|split|gathered|gather|alignedat|multline)\*?)\}")
_SPELLINGS = {
    "=": "=", "≈": r"≈ \approx \simeq", "≤": r"≤ \le \leq", "≥": r"≥ \ge \geq", "<": r"< \lt", ">": r"> \gt",
    "⇒": r"\Rightarrow \implies", "→": r"\to \rightarrow", "∈": r"\in",
}  # fmt: skip
_SIGNS = {spelling: sign for sign, spellings in _SPELLINGS.items() for spelling in spellings.split()}


def _cuts(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Where rows and relations stand outside of all brackets: begin, end, and which it is (`\\\\` for a row)."""
    depth = 0
    for step in _STEPS.finditer(text, start, end):
        word = step.group()
        if word in "{([" or word.startswith(("\\begin", "\\left")):
            depth += 1
        elif word in "})]" or (word.startswith(("\\end", "\\right")) and word not in _SIGNS):
            depth = max(0, depth - 1)
        elif depth == 0 and word == "\\\\":
            yield step.start(), step.end(), "\\\\"
        elif depth == 0 and word in _SIGNS:
            yield step.start(), step.end(), _SIGNS[word]


def _formula_span(text: str) -> tuple[int, int]:
    """The inside of an aligned environment that is all of a formula, or all of the formula."""
    start, end = 0, len(text)
    match = _OUTER.match(text)
    if match is not None:
        last = text.rfind(f"\\end{{{match.group(1)}}}")
        if last > 0 and len(text) - last < 60:
            start, end = match.end(), last
    return start, end


def _read_piece(text: str, start: int, end: int) -> Node | None:
    """One piece in its place; none if it cannot be read."""
    piece = text[start:end].replace("&", " ") if "\\begin" not in text[start:end] else text[start:end]
    try:
        return _shifted(parse(piece), start)
    except ParseError:
        return None


def _shifted(node: Node, by: int) -> Node:
    """The tree with all its spans moved by `by` characters."""
    if by == 0:
        return node
    first, last = node.span
    return replace(node.rebuilt(lambda part: _shifted(part, by)), span=(first + by, last + by))


def read_pieces(text: str) -> tuple[Node, int] | None:
    """What can be read of a formula, with the number of pieces that cannot be; none if nothing can."""
    start, end = _formula_span(text)
    rows: list[Node] = []
    unread = read = 0
    edges = [start]
    row_ends: list[int] = []
    for first, last, sign in _cuts(text, start, end):
        if sign == "\\\\":
            row_ends.append(first)
            edges.append(last)
    row_ends.append(end)
    for row_start, row_end in zip(edges, row_ends, strict=True):
        if not text[row_start:row_end].strip(" &\n\t"):
            continue
        whole = _read_piece(text, row_start, row_end)
        if whole is not None:
            rows.append(whole)
            read += 1
            continue
        row, missing = _read_sides(text, row_start, row_end)
        rows.append(row)
        unread += missing
        read += sum(not isinstance(item, Words) for item in (row.items if isinstance(row, Chain) else (row,)))
    return (Items(tuple(rows)), unread) if read else None


def _read_sides(text: str, start: int, end: int) -> tuple[Node, int]:
    """The sides of a row; those that cannot be read stand as words."""
    items: list[Node] = []
    signs: list[str] = []
    unread = 0
    position = start
    for first, last, sign in [*(cut for cut in _cuts(text, start, end) if cut[2] != "\\\\"), (end, end, "")]:
        blank = not text[position:first].strip(" &\n\t")
        side = Nothing(span=(position, first)) if blank else _read_piece(text, position, first)
        if side is None or isinstance(side, Chain):
            side = Words(text[position:first], span=(position, first))
            unread += 1
        items.append(side)
        if sign:
            signs.append(sign)
        position = last
    return (Chain(tuple(items), tuple(signs), span=(start, end)), unread) if signs else (items[0], unread)
