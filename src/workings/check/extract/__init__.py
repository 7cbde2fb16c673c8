"""From a file to a document: what in it is a formula, code, prose or a heading, and where each character stands.

Offers `read(path)` and `read_text(text, name)`. Imports document.
"""

from __future__ import annotations

import re
from pathlib import Path

from workings.check.document.document import Document
from workings.check.extract import latex, markdown
from workings.check.extract.assemble import document
from workings.check.extract.load import load
from workings.check.extract.notebook import notebook
from workings.errors import WorkingsError

_KINDS = {
    **dict.fromkeys("md markdown mdown mkd mdx qmd rmd".split(), "markdown"),
    **dict.fromkeys("tex ltx latex sty cls".split(), "latex"),
    **dict.fromkeys("txt text".split(), "text"),
    "ipynb": "notebook",
}
BINARY = frozenset("pdf docx doc odt pptx png jpg jpeg gif zip gz".split())
_TEX = re.compile(r"\\(?:documentclass|begin\{document\}|(?:sub)*section\*?\{|usepackage)")
_MARKS = re.compile(r"^(?:#{1,6} |```|~~~|---[ \t\r]*$|\|.*\|[ \t\r]*$|[-*+] )", re.MULTILINE)
_CELLS = re.compile(r'\s*\{.*"(?:cells|nbformat)"\s*:', re.DOTALL)


def read(path: str | Path) -> Document:
    """The document in a file; its kind follows from its name's ending, or from its text."""
    path = Path(path)
    ending = path.suffix.lower().removeprefix(".")
    if ending in BINARY and path.is_file():
        raise WorkingsError(f"{path} is a .{ending} file; the checker reads its source: .md, .tex, .txt or .ipynb.")
    return read_text(load(path), str(path))


def read_text(text: str, name: str, kind: str | None = None) -> Document:
    """The document of a text; `name` is what messages call it.

    >>> [formula.text for formula in read_text("Two ($2$) and $1 + 1 = 2$ cost $5.", "a.md").formulas]
    ['2', '1 + 1 = 2']
    """
    kind = kind or kind_of(text, name)
    if kind == "notebook":
        return notebook(text, name)
    if kind == "latex":
        return document(latex.layout(text), name, kind)
    if kind not in {"markdown", "text"}:
        raise WorkingsError(f"A document is markdown, latex, text or a notebook, not {kind!r}.")
    return document(markdown.layout(text, plain=kind == "text"), name, kind)


def has_known_ending(name: str) -> bool:
    """Whether a name ends like that of a document, or of a file that shows one without its source."""
    ending = Path(name).suffix.lower().removeprefix(".")
    return ending in _KINDS or ending in BINARY


def kind_of(text: str, name: str) -> str:
    """What the ending of `name` says; without a known one, what the text looks like."""
    if found := _KINDS.get(Path(name).suffix.lower().removeprefix(".")):
        return found
    if _CELLS.match(text[:2_000]):
        return "notebook"
    if _TEX.search(text[:20_000]):
        return "latex"
    return "markdown" if _MARKS.search(text[:20_000]) else "text"


__all__ = ["has_known_ending", "read", "read_text"]
