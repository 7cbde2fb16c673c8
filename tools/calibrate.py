"""How sure a finding is: count the judged findings of each class, and write the table that the checker reads.

    make calibrate

`bench/judged/*.tsv` has a row for each finding that somebody judged by computing it anew, on documents of others:

    set document line kind basis level design blind real

`document` is the beginning of the file's SHA-256; the texts are not here. `design` is 1 for the checker as it was before it
had contexts and roles, 2 for the one since. `blind` is 1 if the checker had never been run on the document, nor changed
after looking at it: these rows are a record, printed by `make bench-check`. The rows with 0 (`current.tsv`) are the findings
of the checker as it is on the same documents; they make the table. They are kinder than the blind ones, so a class counts
half a finding against itself, and a class with few findings is no surer than its rule allows.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
JUDGED = ROOT / "bench" / "judged"
TABLE = ROOT / "src" / "workings" / "check" / "argument" / "levels.toml"
HEAD = "# Written by `make calibrate` from bench/judged/: judged and real findings by what they rest on and their kind.\n"


@dataclass(frozen=True)
class Row:
    """One judged finding."""

    set: str
    document: str
    line: str
    kind: str
    basis: str
    level: str
    design: int
    is_blind: bool
    is_real: bool


def rows(folder: Path = JUDGED) -> Iterator[Row]:
    """Every judged finding."""
    for path in sorted(folder.glob("*.tsv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                yield Row(
                    row["set"],
                    row["document"],
                    row["line"],
                    row["kind"],
                    row["basis"],
                    row["level"],
                    int(row["design"]),
                    row["blind"] == "1",
                    row["real"] == "1",
                )


def table(judged: Iterable[Row]) -> str:
    """The table of classes as TOML."""
    counts: dict[str, dict[str, list[int]]] = {}
    for row in judged:
        if row.design == 2 and not row.is_blind:
            count = counts.setdefault(row.basis, {}).setdefault(row.kind, [0, 0])
            count[0] += 1
            count[1] += row.is_real
    parts = [HEAD]
    for basis, kinds in sorted(counts.items()):
        parts.append(f'\n["{basis}"]\n')
        parts += [f"{kind} = {{ judged = {n}, real = {real} }}\n" for kind, (n, real) in sorted(kinds.items())]
    return "".join(parts)


def main() -> None:
    text = table(rows())
    temporary = TABLE.with_suffix(".new")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(TABLE)
    print(f"wrote {TABLE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
