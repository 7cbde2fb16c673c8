r"""A `ShapeReport` as LaTeX, Markdown and a page of its own: the table of `shape_table`, its arithmetic as formulas.

| layer | output | size | parameters |
|---|---|---|---|
| 0 Conv2d(1, 8, 5) | 1×8×28×28 | $\lfloor (32 - 5 + 2 \cdot 0)/1 \rfloor + 1 = 28$ | … |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from workings.show.printers.html import document as page
from workings.show.printers.latex import PACKAGES, PREAMBLE
from workings.show.printers.shape_table import COLUMNS, RIGHT, heading, remarks, rows
from workings.show.write.escape import latex_text, markdown_code, markdown_text
from workings.show.write.markup import element, escaped
from workings.trace.shapes.report import ShapeReport

_ARITHMETIC = re.compile(r"(?=.*\d)[\d\s⌊⌋⌈⌉()·−+/=×→]+")
"""What is a formula: ⌊(32 − 5 + 2·0)/1⌋ + 1 = 28, and no words in it."""
_SIGNS = {
    "⌊": r"\lfloor ",
    "⌋": r" \rfloor",
    "⌈": r"\lceil ",
    "⌉": r" \rceil",
    "·": r" \cdot ",
    "−": "-",
    "×": r" \times ",
    "→": r"\to",
}


def latex(report: ShapeReport) -> str:
    """The table as a LaTeX fragment, whose first line names the packages it needs."""
    return f"% needs {PACKAGES}\n\n{_latex_body(report)}"


def document(report: ShapeReport) -> str:
    """The table as a LaTeX document of its own."""
    return f"{PREAMBLE}\\begin{{document}}\n\n{_latex_body(report)}\n\\end{{document}}\n"


def _latex_body(report: ShapeReport) -> str:
    columns = "".join("r" if name in RIGHT else "l" for name in COLUMNS)
    head, *layers, total = [" & ".join(_cells(row, latex_text)) + r" \\" for row in rows(report)]
    lines = [head, r"\hline", *layers, r"\hline", total]
    table = f"\\begin{{tabular}}{{{columns}}}\n" + "\n".join(lines) + "\n\\end{tabular}"
    parts = [
        rf"\noindent {latex_text(heading(report))}",
        rf"{{\scriptsize\setlength{{\tabcolsep}}{{3pt}}\noindent {table}}}",
    ]
    return "\n\n".join([*parts, *(rf"\noindent {latex_text(note)}" for note in remarks(report))]) + "\n"


def markdown(report: ShapeReport) -> str:
    """The table in Markdown."""
    head, *others = rows(report)
    rule = ["---:" if name in RIGHT else "---" for name in COLUMNS]
    lines = [list(head), rule, *(_cells(row, _markdown_cell) for row in others)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return "\n\n".join([markdown_text(heading(report)), table, *map(markdown_text, remarks(report))]) + "\n"


def _markdown_cell(cell: str) -> str:
    return markdown_code(cell) if re.search(r"\w\(", cell) else markdown_text(cell)


def html(report: ShapeReport) -> str:
    """The table as a self-contained page."""
    head, *others = rows(report)
    first = element("tr", "".join(element("th", escaped(cell), scope="col") for cell in head))
    body = "".join(element("tr", "".join(_html_cells(row))) for row in others)
    table = f'<table class="operands shapes"><thead>{first}</thead><tbody>{body}</tbody></table>'
    kind = "failure" if report.failure is not None else "note"
    notes = "".join(element("p", escaped(note), class_=kind) for note in remarks(report))
    title = heading(report)
    return page(
        title,
        f'<main class="work"><div class="solution"><header><h1>{escaped(title)}</h1>{notes}</header>{table}</div></main>',
    )


def _html_cells(row: tuple[str, ...]) -> Iterator[str]:
    for name, cell in zip(COLUMNS, row, strict=True):
        yield element("td", escaped(cell), class_="right") if name in RIGHT else element("td", escaped(cell))


def _cells(row: tuple[str, ...], words: Callable[[str], str]) -> list[str]:
    """The cells of a row; arithmetic as a formula, anything else as text."""
    return [_formula(cell) if _ARITHMETIC.fullmatch(cell) and not cell.isdigit() else words(cell) for cell in row]


def _formula(cell: str) -> str:
    r"""
    >>> print(_formula("⌊(32 − 5 + 2·0)/1⌋ + 1 = 28"))
    $\lfloor (32 - 5 + 2 \cdot 0)/1 \rfloor + 1 = 28$
    """
    return f"${''.join(_SIGNS.get(sign, sign) for sign in cell)}$"
