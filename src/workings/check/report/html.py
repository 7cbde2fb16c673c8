"""The documents as one self-contained page: their lines, marks at the claims, each finding below the line it is about.

Long stretches without a finding are folded. The page forbids itself every request and every script but its own, and all
text of a document passes through `escaped`.
"""

from __future__ import annotations

import html as markup
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise

from workings.check.document.checked import Checked
from workings.check.document.finding import LEVELS, Finding
from workings.check.report.text import VERDICTS, Style, summary
from workings.checksum import source_hash

AROUND = 3
"""Lines on either side of a finding that are always unfolded."""
FEW = 4
"""Lines that are not worth folding."""
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]")
"""What HTML forbids, half characters, and the marks that turn the direction of writing around."""


def escaped(words: object) -> str:
    """Words for the inside of an element or a quoted attribute.

    >>> escaped('<b a="1">')
    '&lt;b a=&quot;1&quot;&gt;'
    """
    return markup.escape(_UNSEEN.sub("\ufffd", str(words)), quote=True)


def html(results: Sequence[Checked], level: str) -> str:
    """The page.

    >>> "<h1>workings check</h1>" in html([], "likely")
    True
    """
    numbers = iter(range(1, 1 << 60))
    shown = [[_Shown(next(numbers), found) for found in result.findings(level)] for result in results]
    counted = "".join(f"<p>{escaped(line)}</p>" for line in summary(results, Style(level=level)).split("\n")[:1])
    parts = [_file(result, found) for result, found in zip(results, shown, strict=True)]
    header = f"<header><h1>workings check</h1>{counted}{_contents(results, shown)}{TOOLS}</header>"
    return _document(f'<main class="check">{header}{"".join(parts)}</main>')


TOOLS = (
    '<p class="tools"><button type="button" data-open="1">Unfold all</button> <button type="button">Fold all</button> '
    "<span>keys: <kbd>n</kbd> next finding, <kbd>p</kbd> previous</span></p>"
)


@dataclass(frozen=True)
class _Shown:
    """A finding with its number on the page."""

    number: int
    found: Finding

    @property
    def id(self) -> str:
        return f"finding-{self.number}"


def _contents(results: Sequence[Checked], shown: Sequence[list[_Shown]]) -> str:
    """A link to every finding."""
    rows = [
        f'<li><a href="#{one.id}"><b class="{one.found.level}">{one.found.level}</b> {escaped(_place(result, one.found))} '
        f"<code>{escaped(_short(one.found.says))}</code></a></li>"
        for result, listed in zip(results, shown, strict=True)
        for one in listed
    ]
    return f'<nav aria-label="Findings"><ol>{"".join(rows)}</ol></nav>' if rows else '<p class="clean">No findings.</p>'


def _short(words: str, most: int = 80) -> str:
    words = " ".join(words.split())
    return words if len(words) <= most else words[: most - 1] + "…"


def _place(result: Checked, found: Finding) -> str:
    return f"{result.name}:{result.document.place(found.start)}"


def _file(result: Checked, shown: list[_Shown]) -> str:
    """One document, folded as a whole when nothing was found in it."""
    levels = [one.found.level for one in shown]
    tally = ", ".join(f"{levels.count(level)} {level}" for level in LEVELS if level in levels) or "no findings"
    if result.failure:
        body, tally = f'<p class="failure">{escaped(result.failure)}</p>', "not checked"
    else:
        body = _lines(result, shown)
    opened = " open" if shown or result.failure else ""
    head = f"<summary><h2>{escaped(result.name)}</h2> <span>{tally}</span></summary>"
    return f'<details class="file"{opened}>{head}{body}</details>'


def _lines(result: Checked, shown: list[_Shown]) -> str:
    """The lines in stretches: those near a finding unfolded, the others folded if they are many."""
    document = result.document
    starts = [0, *(found.end() for found in re.finditer("\n", document.text))]
    rows = [_Row(start, end - 1) for start, end in pairwise([*starts, len(document.text) + 1])]
    spans = [_rows_of(one.found, starts) for one in shown]
    near = {i for first, last in spans for i in range(first - AROUND, last + AROUND + 1)}
    on: dict[int, list[_Shown]] = {}
    below: dict[int, list[_Shown]] = {}
    for (first, last), one in zip(spans, shown, strict=True):
        below.setdefault(last, []).append(one)
        for i in range(first, last + 1):
            on.setdefault(i, []).append(one)
    out: list[str] = []
    for opened, stretch in _stretches(len(rows), near):
        lines = "".join(_line(result, rows[i], on.get(i, [])) + "".join(map(_finding, below.get(i, []))) for i in stretch)
        title = f"lines {_number(result, rows[stretch[0]])} to {_number(result, rows[stretch[-1]])}"
        out.append(lines if opened else f'<details class="quiet"><summary>{title}</summary>{lines}</details>')
    return f'<div class="lines">{"".join(out)}</div>'


@dataclass(frozen=True)
class _Row:
    """Where a line begins and ends in the text."""

    start: int
    end: int


def _rows_of(found: Finding, starts: list[int]) -> tuple[int, int]:
    """The first and last line of a claim, counted from 0."""
    return bisect_right(starts, found.start) - 1, bisect_right(starts, max(found.start, found.end - 1)) - 1


def _stretches(lines: int, near: set[int]) -> Iterator[tuple[bool, range]]:
    """Lines that follow each other and are all unfolded, or all folded.

    >>> [(opened, len(lines)) for opened, lines in _stretches(20, {0, 1})]
    [(True, 2), (False, 18)]
    """
    cuts = [0, *(i for i in range(1, lines) if (i in near) != (i - 1 in near)), lines]
    for first, last in pairwise(cuts):
        yield first in near or last - first <= FEW, range(first, last)


def _line(result: Checked, row: _Row, here: list[_Shown]) -> str:
    """A line with its number, and marks where claims stand."""
    return (
        f'<div class="line"><span class="number">{_number(result, row)}</span>'
        f"<code>{''.join(_marked(result.document.text, row, here))}</code></div>"
    )


def _number(result: Checked, row: _Row) -> str:
    """The number of a line; in a notebook, behind that of its cell."""
    place = result.document.place(row.start)
    return f"{place.cell}:{place.line}" if place.cell is not None else str(place.line)


def _marked(text: str, row: _Row, here: list[_Shown]) -> Iterator[str]:
    """The pieces of a line; one that claims share carries the mark of the gravest."""
    inside = {cut for one in here for cut in (one.found.start, one.found.end) if row.start < cut < row.end}
    for first, last in pairwise(sorted({row.start, row.end} | inside)):
        over = [one for one in here if one.found.start <= first and one.found.end >= last]
        piece = escaped(text[first:last])
        if not over:
            yield piece
            continue
        worst = min(over, key=lambda one: LEVELS.index(one.found.level))
        yield f'<a href="#{worst.id}" title="{worst.found.level}"><mark class="{worst.found.level}">{piece}</mark></a>'


def _finding(one: _Shown) -> str:
    found = one.found
    facts = [("written", found.says, "code"), ("correct", found.truth, "code"), ("why", found.why, "span")]
    facts += [("read as", found.reading, "span"), ("verdict", VERDICTS[found.level], "span")]
    rows = "".join(f"<dt>{name}</dt><dd><{tag}>{escaped(words)}</{tag}></dd>" for name, words, tag in facts if words)
    head = f'<summary><b class="{found.level}">{found.level}</b> {escaped(found.kind)}</summary>'
    return f'<details class="finding {found.level}" id="{one.id}" tabindex="-1" open>{head}<dl>{rows}</dl></details>'


def _document(body: str) -> str:
    """A whole page around its one element."""
    style, script = _asset("page.css"), _asset("page.js")
    policy = f"default-src 'none'; style-src {source_hash(style)}; script-src {source_hash(script)}"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>workings check</title><style>{style}</style></head>"
        f"<body>{body}<script>{script}</script></body></html>\n"
    )


def _asset(name: str) -> str:
    return (files("workings.check.report") / "assets" / name).read_text(encoding="utf-8")
