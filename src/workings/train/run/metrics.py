"""metrics.jsonl: one line of figures for each report, in the order of steps.

{"step": 100, "train": 2.31, "seconds": 1.2}                   the mean loss of the steps since the last line
{"step": 500, "train": 1.93, "loss": 1.98, "seconds": 6.1, "examples_per_second": 2650.0, "rate": 0.001}
{"step": 500, "sample": "to be or not"}                        what the model makes
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from workings.atomic import write_text
from workings.errors import WorkingsError

Row = dict[str, Any]


def append(path: Path, row: Row) -> None:
    """Add a line."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    except OSError as error:
        raise WorkingsError(f"Could not write {path}: {error.strerror or error}. Checkpoints are untouched.") from None


def read(path: Path) -> list[Row]:
    """All lines; one that a killed process left unfinished is passed over."""
    rows = []
    content = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    for line in content.split("\n"):  # splitlines would cut a sample at U+2028, which JSON leaves as it is
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and "step" in row:
            rows.append(row)
    return rows


def rewind(path: Path, step: int) -> list[Row]:
    """Keep the lines up to a step: what came after is about to happen again."""
    kept = [row for row in read(path) if row["step"] <= step]
    if path.is_file():
        write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept))
    return kept
