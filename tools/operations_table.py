"""The table of operations as a page: what is known of each.

Example: python tools/operations_table.py docs/operations.md
"""

from __future__ import annotations

import sys
from pathlib import Path

from workings.show.formula.notation import text_formula
from workings.trace.formula.operation import Layer, Operation, names_of
from workings.trace.formula.tree import Apply, Leaf, Sequence
from workings.trace.operations import FAMILIES, OPERATIONS

LETTERS = "abcdefgh"
HEAD = """# Operations

What is known of each operation, one row each: where a column is empty, nothing is, and what needs it says so. `make docs`
writes this page from the rows in `src/workings/trace/operations/`; `CONTRIBUTING.md` shows how to add one.

- **read**: *formula* – `workings.show` reads the names as this operation; *call* – it shows the call as it is written, and
  the rules of differentiation read it; otherwise the row is what other operations are written or differentiated with.
- **notation**: how it is written in text, LaTeX and MathML; without one it is a call of its name.
- **definition**: depth 4 writes it out in textbook equations. **gradient**: the backward pass has a rule (0: constant).
- **shapes**: an explanation when operands do not fit. **moves**: it moves numbers and changes none.
"""
COLUMNS = "operation|meaning|read|names in PyTorch|layers|notation|definition|gradient|shapes|moves".split("|")


def table() -> str:
    """The whole page."""
    return HEAD + "".join(map(_section, FAMILIES)) + f"\n{len(OPERATIONS)} operations.\n"


def _section(family: object) -> str:
    name = family.__name__.rpartition(".")[2]  # type: ignore[attr-defined]
    lines = [COLUMNS, ["---"] * len(COLUMNS), *map(_cells, family.ROWS)]  # type: ignore[attr-defined]
    return f"\n## {name.capitalize()}\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cells(row: Operation) -> list[str]:
    layers = layers_of(row)
    classes = [f"`nn.{cls.__name__}`" for layer in layers for cls in layer.classes]
    defined = bool(row.definitions) or any(layer.definition for layer in layers)
    shapes = bool(row.misfit or row.misfits) or any(layer.misfit or layer.size for layer in layers)
    gradient = "0" if row.constant else "✓" if row.gradient or row.means else ""
    marks = [_notation(row), _mark(defined), gradient, _mark(shapes), _mark(row.moves)]
    names = " ".join(f"`{name}`" for name in names_of(row) if not name.startswith("__"))
    return [f"`{row.name}`", row.meaning.replace("|", r"\|"), row.read, names, " ".join(classes), *marks]


def layers_of(row: Operation) -> tuple[Layer, ...]:
    return row.layers if isinstance(row.layers, tuple) else (row.layers,)


def _notation(row: Operation) -> str:
    """An example, for the rows that have a notation of their own."""
    if row.notation is None and row.spelled is None:
        return "`x[i]`" if row.name == "index" else ""
    texts = (_example(row, count) for count in (row.operands, 2, 1, 3, 0))
    written = next((text for text in texts if not text.startswith(f"{row.name}(")), None) or _example(row, row.operands)
    return f"`{written}`".replace("|", r"\|")


def _example(row: Operation, count: int) -> str:
    args = tuple(map(Leaf, LETTERS[:count]))
    return text_formula(Apply(row.name, (Sequence(args),) if row.joins else args))


def _mark(there: bool) -> str:
    return "✓" if there else ""


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(table(), encoding="utf-8")
