r"""Read environments: matrices and cases with their cells, aligned rows, `\substack`."""

from __future__ import annotations

import re

from workings.check.latex.reader import Reader
from workings.check.latex.syntax import Cases, Matrix, Node, Nothing, Words
from workings.check.latex.tokens import Token
from workings.errors import ParseError

_COMMAND = re.compile(r"\\[a-zA-Z]+\*?|\\.|[{}$\\]")
_MATRICES = frozenset(("matrix", "bmatrix", "pmatrix", "vmatrix", "Bmatrix", "Vmatrix", "smallmatrix", "array", "tabular"))
_CASES = frozenset(("cases", "dcases", "rcases"))
_ROWS = frozenset(
    "align aligned alignat alignedat gather gathered split multline multlined eqnarray flalign equation displaymath math "
    "xalignat subequations IEEEeqnarray spreadlines center dmath".split()
)


def environment(reader: Reader, token: Token) -> Node:
    r"""`\begin{name} … \end{name}`."""
    _, name, start, _ = token
    saved = reader.bar, reader.thousands, reader.style
    reader.bar, reader.thousands = "", True
    if name in _ROWS or (name == "array" and _holds_relations(reader)):
        node = reader.formulas(rows=True)
        _end(reader, name)
    elif name in _MATRICES or name in _CASES:
        rows = _cells(reader)
        _end(reader, name)
        span = reader.span(start)
        node = Cases(rows, span=span) if name in _CASES else Matrix(rows, "array" if name == "tabular" else name, span=span)
    else:
        raise ParseError(f"The environment {name!r} is not known here.", reader.text, start)
    reader.bar, reader.thousands, reader.style = saved
    return node


def _holds_relations(reader: Reader) -> bool:
    """Whether an array that is all of a formula is used like align: relations stand in it."""
    tokens, at = reader.tokens, reader.at
    depth, found = 0, False
    while reader.at == 1 and depth >= 0 and tokens[at][0] != "end of text":
        found |= tokens[at][0] == "relation" and depth == 0
        depth += {"begin": 1, "{": 1, "open": 1, "end": -1, "}": -1, "close": -1}.get(tokens[at][0], 0)
        at += 1
    return found and all(kind in ("end of text", ".", "separator") for kind, *_ in tokens[at : at + 2])


def _end(reader: Reader, name: str) -> None:
    """The end of this environment."""
    if reader.tokens[reader.at][:2] != ("end", name):
        raise reader.refuse(f"\\end{{{name}}}")
    reader.at += 1


def _cells(reader: Reader) -> tuple[tuple[Node, ...], ...]:
    """Rows of cells. An empty row is none: it ends the matrix, or its row break is doubled."""
    rows: list[tuple[Node, ...]] = []
    row: list[Node] = []
    while True:
        row.append(_label(reader) if reader.kind == "hash" else reader.formulas())
        if reader.kind == "&":
            reader.at += 1
            continue
        if len(row) > 1 or not isinstance(row[0], Nothing):
            rows.append(tuple(row))
        if reader.kind != "row":
            return tuple(rows)
        row = []
        reader.at += 1


def _label(reader: Reader) -> Node:
    r"""`\# words`: a cell that names its row or column."""
    start = reader.tokens[reader.at][2]
    while reader.kind not in ("&", "row", "end", "end of text"):
        reader.at += 1
    first, last = reader.span(start)
    plain = _COMMAND.sub("", reader.text[first:last].replace("\\langle", "⟨").replace("\\rangle", "⟩"))
    return Words("# " + " ".join(plain.replace("#", " ").split()), span=(first, last))


def substack(reader: Reader, token: Token) -> Node:
    r"""`\substack{a \\ b}`: rows below a sum."""
    reader.take("{", "An opening brace after \\substack")
    node = reader.formulas(rows=True)
    reader.take("}", "A closing brace")
    return node


def continues(tokens: list[Token], at: int) -> bool:
    """Whether the next row goes on with this row's sum: a sign comes first, and it is no equation of its own.

    `&= a + b \\\\ & + c` goes on; in `x &= 1 \\\\ -y &= 2` the second row is its own. A row with a relation goes on if
    its sign stands after the mark `&` that stood before a relation in the row before.
    """
    first = at
    while tokens[first][0] in ("row", "&", "quad"):
        first += 1
    if tokens[first][0] != "sign" or tokens[at][0] != "row":
        return False
    last, depth = first, 0
    while tokens[last][0] not in ("row", "end of text") or depth:
        depth += {"begin": 1, "{": 1, "open": 1, "end": -1, "}": -1, "close": -1}.get(tokens[last][0], 0)
        if depth < 0 or tokens[last][0] == "end of text":
            return True
        if tokens[last][0] == "relation" and not depth:
            return tokens[at + 1][0] == "&" and _is_aligned(tokens, at)
        last += 1
    return True


def _is_aligned(tokens: list[Token], at: int) -> bool:
    """Whether the row that ends here has its first alignment mark before a relation."""
    mark = None
    while at > 0 and (tokens[at - 1][0] != "row") and tokens[at - 1][0] != "begin":
        at -= 1
        if tokens[at][0] == "&":
            mark = at
    return mark is not None and tokens[mark + 1][0] == "relation"
