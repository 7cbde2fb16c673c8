"""What became of judged findings: the checker as it is now against the judgements of `bench/judged`, or of another table.

    python tools/rejudge.py FOLDER … [--judged TABLE] [--all] [--write SET]

Documents are found in the folders by the beginning of their SHA-256, findings by document and line. Lists the real findings
that are lost (below `likely`), the false ones that are raised, and those at `error` or `likely` that nobody judged; then the
counts by level. `--all` lists every finding. `--write SET` writes the findings of now that are judged as rows of that set.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.calibrate import COLUMNS, JUDGED
from workings.check.document.finding import LEVELS
from workings.check.extract import read
from workings.check.run.checker import check_document
from workings.errors import WorkingsError

SUFFIXES = (".md", ".tex", ".txt", ".ipynb")
SURE = LEVELS[:2]


@dataclass(frozen=True)
class Now:
    """A finding of the checker as it is."""

    name: str
    document: str
    place: str
    kind: str
    basis: str
    support: str
    level: str
    text: str

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from others in the tables: its document and its line."""
        return self.document, self.place.rpartition(":")[0]


def findings_now(folders: list[Path]) -> list[Now]:
    """Every finding of the documents in these folders."""
    found = []
    for path in sorted(p for folder in folders for p in folder.rglob("*") if p.suffix in SUFFIXES):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        try:
            document = read(path)
        except WorkingsError as error:
            print(error, file=sys.stderr)
            continue
        for f in check_document(document).findings:
            place = str(document.place(f.start))
            text = f"{f.says[:140]} | {f.why[:140]}"
            found.append(Now(path.name, digest, place, f.kind, f.basis, f.support, f.level, text))
    return found


def judgements(tables: list[Path]) -> dict[tuple[str, str], dict[str, bool]]:
    """For each document and line: its places, and whether the finding there was real."""
    known: dict[tuple[str, str], dict[str, bool]] = defaultdict(dict)
    for path in tables:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                place = row.get("line") or row["place"]
                if row.get("cell") not in (None, "", "None"):
                    place = f"cell {row['cell']}:{place}"
                document = (row["document"] if "line" in row else row["sha256"])[:16]
                if row["real"] in ("0", "1"):
                    known[document, place.rpartition(":")[0]][place] = row["real"] == "1"
    return known


def verdict(found: Now, known: dict[tuple[str, str], dict[str, bool]]) -> bool | None:
    """Whether a finding is real, by the judgement at its place, or of its line if that is of one mind."""
    there = known.get(found.key, {})
    if found.place in there:
        return there[found.place]
    return next(iter(there.values())) if len(set(there.values())) == 1 else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--judged", nargs="*", type=Path, default=sorted(JUDGED.glob("*.tsv")))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--write", metavar="SET")
    options = parser.parse_args()
    known, found = judgements(options.judged), findings_now(options.folders)
    counts: dict[tuple[str, bool | None], int] = defaultdict(int)
    for now in found:
        real = verdict(now, known)
        counts[now.level, real] += 1
        word = {True: "real", False: "not", None: "unjudged"}[real]
        is_odd = (now.level in SURE) != real if real is not None else now.level in SURE
        if options.all or is_odd:
            print(f"{word:8} {now.level:8} {now.name} {now.place} [{now.kind}, {now.basis}; {now.support}] {now.text}")
    here = {now.key for now in found}
    documents = {now.document for now in found}
    for (document, line), there in known.items():
        if (document, line) not in here and any(there.values()) and (options.all or document in documents):
            print(f"gone     {document} {line}")
    for level in LEVELS:
        print(f"{level:8} real {counts[level, True]}, not {counts[level, False]}, unjudged {counts[level, None]}")
    if options.write:
        rows = [
            [options.write, n.document, n.place, n.kind, n.basis, n.support or "none", n.level, "2", "0", str(int(real))]
            for n in found
            if (real := verdict(n, known)) is not None
        ]
        text = "".join("\t".join(row) + "\n" for row in [list(COLUMNS), *rows])
        (JUDGED / f"current-{options.write}.tsv").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
