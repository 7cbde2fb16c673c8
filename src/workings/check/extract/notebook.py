"""Jupyter notebooks: Markdown cells are read like Markdown, code cells are listings; outputs are left alone."""

from __future__ import annotations

import json
from typing import Any

from workings.check.document.document import Document, Listing
from workings.check.extract.assemble import document, macros_of, shifted
from workings.check.extract.markdown import layout
from workings.errors import WorkingsError


def notebook(text: str, name: str) -> Document:
    """Join the cells with blank lines; each keeps its number in the notebook."""
    whole, language = _cells_of(text, name)
    made = Document(name, "", "notebook")
    kept = [(number, kind, source) for number, (kind, source) in enumerate(whole, start=1) if source.strip()]
    layouts = [layout(source) for _, kind, source in kept if kind == "markdown"]
    macros = macros_of(layouts) if layouts else []
    position, sources, marked = 0, [], 0
    for number, kind, source in kept:
        if kind not in {"markdown", "code"}:
            continue
        made.cells.append((position, number))
        if kind == "code":
            made.listings.append(Listing(language, source, position))
        else:
            part = shifted(document(layouts[marked], name, "markdown", macros[marked]), position)
            for entries in ("formulas", "listings", "prose", "headings", "unread"):
                getattr(made, entries).extend(getattr(part, entries))
            marked += 1
        sources.append(source)
        position += len(source) + 2
    made.text = "\n\n".join(sources)
    return made


def _cells_of(text: str, name: str) -> tuple[list[tuple[str, str]], str]:
    """The kind and source of every cell, and the language of its code."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise WorkingsError(
            f"{name} is not a notebook: its JSON breaks off at line {error.lineno}, column {error.colno} ({error.msg})."
        ) from None
    except (RecursionError, ValueError):
        raise WorkingsError(
            f"{name} is not a notebook: its JSON is nested too deeply or holds a number too long to read."
        ) from None
    cells = data.get("cells") if isinstance(data, dict) else None
    if cells is None and isinstance(data, dict) and isinstance(data.get("worksheets"), list):
        cells = [cell for sheet in data["worksheets"] if isinstance(sheet, dict) for cell in sheet.get("cells") or []]
    if not isinstance(cells, list):
        raise WorkingsError(f"{name} is not a notebook: it has no list of cells.")
    return [_cell_of(cell) for cell in cells if isinstance(cell, dict)], _language_of(data.get("metadata"))


def _cell_of(cell: dict[str, Any]) -> tuple[str, str]:
    """The kind of one cell and its source, which is a text or a list of lines."""
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    return str(cell.get("cell_type", "")), source if isinstance(source, str) else ""


def _language_of(metadata: object) -> str:
    """The language that the notebook's kernel runs; Python if it does not say."""
    for part in ("kernelspec", "language_info"):
        inner = metadata.get(part) if isinstance(metadata, dict) else None
        found = inner.get("language" if part == "kernelspec" else "name") if isinstance(inner, dict) else None
        if isinstance(found, str):
            return found.lower()
    return "python"
