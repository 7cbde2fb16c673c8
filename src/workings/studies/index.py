"""The studies of the course, found by reading their files: a list of them needs no PyTorch.

A study is a function with `@study(rows=(…), …)`; its decorator and its docstring are read as they stand there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

from workings.errors import WorkingsError, did_you_mean
from workings.studies.definition import Study

_FAMILIES = Path(__file__).parent / "families"


@dataclass(frozen=True)
class Entry:
    """Where a study is, and what it is about."""

    name: str
    title: str
    rows: tuple[str, ...]
    trains: bool
    family: str

    def load(self) -> Study:
        """The study itself."""
        found = getattr(import_module(f"workings.studies.families.{self.family}"), self.name.replace("-", "_"))
        assert isinstance(found, Study)
        return found


@cache
def entries() -> dict[str, Entry]:
    """Every study of the course by name, in the order of the catalogue."""
    found = [entry for path in sorted(_FAMILIES.rglob("*.py")) for entry in _entries_in(path)]
    return {entry.name: entry for entry in sorted(found, key=_place)}


def entry_of(name: str) -> Entry:
    """The study of this name, written with dashes or underscores."""
    known = entries()
    wanted = name.replace("_", "-").lower()
    if wanted not in known:
        hint = did_you_mean(wanted, known, "`workings study --list` lists them; one of your own is FILE.py:NAME.")
        raise WorkingsError(f"There is no study {name!r}.{hint}")
    return known[wanted]


def about_row(row: str) -> list[Entry]:
    """The studies about a row of the catalogue."""
    return [entry for entry in entries().values() if row.upper() in entry.rows]


def _place(entry: Entry) -> tuple[str, int, str]:
    row = entry.rows[0] if entry.rows else "Z0"
    return row[0], int(row[1:]), entry.name


def _entries_in(path: Path) -> Iterator[Entry]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name) and decorator.func.id == "study":
                    given = {word.arg: word.value for word in decorator.keywords}
                    rows = tuple(ast.literal_eval(given["rows"])) if "rows" in given else ()
                    trains = "trains" in given and bool(ast.literal_eval(given["trains"]))
                    title = (ast.get_docstring(node) or "").partition("\n")[0].rstrip(".")
                    family = ".".join(path.relative_to(_FAMILIES).with_suffix("").parts)
                    yield Entry(node.name.replace("_", "-"), title, rows, trains, family)
