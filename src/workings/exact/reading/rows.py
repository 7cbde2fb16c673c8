"""The text of a matrix → the tokens of each entry.

matrix = row {(";" | newline) row}            or [[1, 2], [3, 4]]
row    = entry {("," | space) entry}          only commas separate where there is one
"""

from __future__ import annotations

from workings.errors import ParseError
from workings.exact.reading.real import NAMES
from workings.exact.reading.tokens import OPERAND, Token, tokens


def entries(text: str) -> tuple[list[list[list[Token]]], int]:
    """The tokens of each entry in each row, and how many square brackets stood around them: 0, 1 or 2."""
    body, bracketed = _without_brackets(tokens(text)[:-1])
    listed = bracketed and bool(body) and body[0].kind == "["
    rows = _split_at_signs(body, text, ",;" if listed else ";", newlines=True)
    if listed:
        rows = [_row_of_list(row, text) for row in rows]
    found = [_entries(row, text) for row in rows]
    for row, of_row in zip(rows, found, strict=True):
        if len(of_row) != len(found[0]):
            reason = f"Expected {len(found[0])} entries, as in the first row, found {len(of_row)}."
            raise ParseError(reason, text, row[0].position)
    return found, bracketed + listed


def _without_brackets(found: list[Token]) -> tuple[list[Token], bool]:
    """The tokens without the square brackets around all of them, and whether there were any."""
    depth = 0
    for i, token in enumerate(found):
        depth += _step(token)
        if depth == 0:
            around = (found[0].kind, token.kind) == ("[", "]") and i == len(found) - 1
            return (found[1:-1], True) if around else (found, False)
    return found, False


def _step(token: Token) -> int:
    return (token.kind in ("(", "[")) - (token.kind in (")", "]"))


def _split_at_signs(found: list[Token], text: str, signs: str, newlines: bool = False) -> list[list[Token]]:
    """The tokens between separators; a `;` may also stand at the end."""
    pieces: list[list[Token]] = [[]]
    depth, last = 0, None
    for token in found:
        if depth == 0 and token.kind in signs:
            if not pieces[-1]:
                raise ParseError(f"Expected an entry before '{token.text}'.", text, token.position)
            pieces.append([])
            last = token
            continue
        if newlines and depth == 0 and token.newline and pieces[-1]:
            pieces.append([])
        depth += _step(token)
        pieces[-1].append(token)
    if pieces[-1]:
        return pieces
    if last is None:
        raise ParseError("Expected an entry.", text, len(text))
    if last.kind != ";":
        raise ParseError(f"Expected an entry after '{last.text}'.", text, last.position + 1)
    return pieces[:-1]


def _row_of_list(row: list[Token], text: str) -> list[Token]:
    inside, bracketed = _without_brackets(row)
    if not bracketed:
        raise ParseError("Expected a row in brackets, like the first.", text, row[0].position)
    return inside


def _entries(row: list[Token], text: str) -> list[list[Token]]:
    """The tokens of each entry of a row, closed by an `end`."""
    depth, commas = 0, False
    for token in row:
        depth += _step(token)
        commas = commas or (token.kind == "," and depth == 0)
    entries = _split_at_signs(row, text, ",") if commas or not row else _split_at_spaces(row)
    return [[*entry, Token("end", "", entry[-1].position + len(entry[-1].text))] for entry in entries]


def _split_at_spaces(row: list[Token]) -> list[list[Token]]:
    """Entries separated by white space, as in MATLAB: `1 -1` is two entries, `1 - 1` and `1-1` are one."""
    entries, depth = [[row[0]]], _step(row[0])
    for before, token, after in zip(row, row[1:], [*row[2:], None], strict=False):
        ended = before.kind in ("number", "power", ")") or (before.kind == "name" and before.text not in NAMES)
        sign_of_next = token.kind in ("+", "-") and after is not None and not after.spaced
        if depth == 0 and token.spaced and ended and (token.kind in OPERAND or sign_of_next):
            entries.append([])
        depth += _step(token)
        entries[-1].append(token)
    return entries
