"""How sure a finding is: count the judged findings of each class, and write the table that the checker reads.

    make calibrate

`bench/judged/*.tsv` has a row for each finding that somebody judged by computing it anew, on documents of others:

    set document line kind basis support level design blind real

`document` is the beginning of the file's SHA-256; the texts are not here. `design` is 1 for the checker as it was before it
had contexts and roles, 2 for the one since. `blind` is 1 if the checker had never been run on the document, nor changed
after looking at it: these rows are a record, printed by `make bench-check`. The rows with 0 (`current….tsv`) are findings of
the checker as it is on the same documents. `support` says why a finding could be believed (`none` for no reason); rows from
before it was noted have no such column and make no class. The others make the table.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
JUDGED = ROOT / "bench" / "judged"
TABLE = ROOT / "src" / "workings" / "check" / "argument" / "levels.toml"
COLUMNS = ("set", "document", "line", "kind", "basis", "support", "level", "design", "blind", "real")
UNKNOWN, NONE = "-", "none"
"""The support of findings that were judged before it was noted, and of those that have no support."""
HEAD = "# Written by `make calibrate` from bench/judged/: judged and real findings by basis, kind and support.\n"


@dataclass(frozen=True)
class Row:
    """One judged finding."""

    set: str
    document: str
    line: str
    kind: str
    basis: str
    support: str
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
                    row.get("support", UNKNOWN),
                    row["level"],
                    int(row["design"]),
                    row["blind"] == "1",
                    row["real"] == "1",
                )


def table(judged: Iterable[Row]) -> str:
    """The table of classes as TOML."""
    counts: dict[str, dict[str, dict[str, list[int]]]] = {}
    for row in judged:
        if row.design == 2 and row.support != UNKNOWN:
            support = "" if row.support == NONE else row.support
            count = counts.setdefault(row.basis, {}).setdefault(row.kind, {}).setdefault(support, [0, 0])
            count[0] += 1
            count[1] += row.is_real
    parts = [HEAD]
    for basis, kinds in sorted(counts.items()):
        for kind, supports in sorted(kinds.items()):
            parts.append(f'\n["{basis}".{kind}]\n')
            parts += [
                f'"{support}" = {{ judged = {n}, real = {real} }}\n' for support, (n, real) in sorted(supports.items())
            ]
    return "".join(parts)


def main() -> None:
    text = table(rows())
    temporary = TABLE.with_suffix(".new")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(TABLE)
    print(f"wrote {TABLE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
