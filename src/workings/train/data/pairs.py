"""Pairs of sequences: old and modern English, spelling and sound, or a TSV of one's own."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import re
from pathlib import Path

from workings.errors import WorkingsError
from workings.train.data.fetch import archive
from workings.train.data.members import member, members
from workings.train.data.texts import lines, read

Pair = tuple[str, str]


def pairs(named: str, seed: int = 0) -> tuple[list[Pair], list[Pair]]:
    """Pairs to learn from and to be judged by: `verses` (old → modern English), `sounds` (spelling → sound), or a TSV."""
    known = {"verses": _verses, "sounds": _sounds}
    found = known[named]() if named in known else table(Path(named))
    random.Random(seed).shuffle(found)
    kept = max(1, len(found) // 20)
    return found[kept:], found[:kept]


def _verses() -> list[Pair]:
    """Verses of the King James Version with their World English translation, where both have the verse."""
    old = {}
    for name, content in members(archive("bible-old")):
        if place := re.search(r"/resources/(\d+)/(\d+)\.json$", name):
            for verse, words in enumerate(json.loads(content), 1):
                old[int(place[1]), int(place[2]), verse] = clean(words)
    rows = csv.reader(io.StringIO(gzip.decompress(member(archive("bible-modern"), "t_web.csv.gz")).decode("utf-8")))
    next(rows)
    modern = {(int(book), int(chapter), int(verse)): clean(words) for _, book, chapter, verse, words in rows}
    return [(old[place], modern[place]) for place in sorted(old.keys() & modern.keys()) if old[place] and modern[place]]


def clean(verse: str) -> str:
    """A verse without markup and notes.

    >>> clean("God{After God, a note.} said <FI>it was<Fi> good.<CM>")
    'God said it was good.'
    """
    return " ".join(re.sub(r"<[^>]*>|\{[^}]*\}", "", verse).split())


def _sounds() -> list[Pair]:
    """Words of letters only, with their sounds; a second pronunciation of a word is left out."""
    content = member(archive("sounds"), "index.js").decode("utf-8")
    found = re.findall(r'"([a-z\']+)": "([A-Z0-2 ]+)"', content)
    return [(word, sound) for word, sound in found if word.isalpha()]


def table(path: Path) -> list[Pair]:
    """Two columns with a tab between them, one pair a line; a pair that stands there twice counts once."""
    rows: list[Pair] = []
    for number, line in enumerate(lines(read(path, what="a TSV file of pairs", among=("verses", "sounds"))), 1):
        if not line.strip():
            continue
        parts = [part.strip() for part in line.split("\t")]
        if len(parts) != 2:
            raise WorkingsError(f"{path}, line {number}: two columns with a tab between them are needed; got {len(parts)}.")
        if not all(parts):
            empty = "second" if parts[0] else "first"
            raise WorkingsError(f"{path}, line {number}: the {empty} column is empty. Fill it in, or leave the line out.")
        rows.append((parts[0], parts[1]))
    distinct = [*dict.fromkeys(rows)]
    if len(distinct) < 20:
        raise WorkingsError(f"{path} has {len(distinct)} {'different ' * (distinct != rows)}pairs; at least 20 are needed.")
    return distinct
