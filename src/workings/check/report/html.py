"""The documents as one self-contained page: their lines, marks at the claims, each finding below the line it is about.

A line with relations unfolds to how they were read. Long stretches without a finding are folded. The page forbids itself
every request and every script but its own, and all text of a document passes through `escaped`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from workings.check.document.coverage import Coverage, total
from workings.check.document.finding import LEVELS, Finding, Unread
from workings.check.document.relation import Outcome, Relation
from workings.check.document.report_data import Part, ReportData
from workings.check.latex.syntax import Node
from workings.check.report.by_file import rows
from workings.check.report.formulas import formula_of, readable, truth_tree
from workings.check.report.links import Links, Place, key, same_errors
from workings.check.report.markup import escaped
from workings.check.report.mathml import formula
from workings.check.report.text import is_said, line_text, outcome_text, skipped_text
from workings.page.document import asset, cell, document

_AROUND = 3
"""Lines on either side of a finding that are always unfolded."""
_FEW = 4
"""Lines that are not worth folding."""
_ICON = '<svg viewBox="0 0 12 12" aria-hidden="true"><path d="{path}"></path></svg>'
_CROSS, _ARROW, _TICK = (
    _ICON.format(path=path) for path in ("M3 3l6 6M9 3l-6 6", "M3 2v5h6M7 5l2 2-2 2", "M2.5 6.5l2.5 2.5 4.5-6")
)
"""Drawn, because not every font has ✗ ↳ ✓."""
_MARKS = {
    Outcome.WRONG: (_CROSS, "wrong"),
    Outcome.FOLLOWS: (_ARROW, "follows"),
    Outcome.UNDECIDED: ("?", "undecided"),
    Outcome.RIGHT: (_TICK, "right"),
}
"""The sign of each outcome and its class; a line carries the gravest of its relations."""
_VERDICTS = {
    "error": "surely wrong",
    "likely": "probably wrong",
    "note": "a matter of rounding, notation or wording",
    "possible": "may well be right",
}
"""What each level means, in words."""


def html(results: Sequence[ReportData], level: str, skipped: Sequence[str] = ()) -> str:
    """The page; `skipped` are files that have no source to read.

    >>> "<h1>workings check</h1>" in html([], "likely")
    True
    """
    style, script = (asset("workings.check.report", name) for name in ("page.css", "page.js"))
    return document("workings check", _report(results, level, skipped, _TOOLS), style, script)


def in_cell(result: ReportData, level: str = "likely") -> str:
    """The report on one document as the output of a cell of a notebook."""
    return cell(_report([result], level), asset("workings.check.report", "page.css"))


def _report(results: Sequence[ReportData], level: str, skipped: Sequence[str] = (), tools: str = "") -> str:
    numbers = iter(range(1, 1 << 60))
    pages = [
        _Page(at, result, [_Shown(next(numbers), found) for found in result.findings(level)], len(results) == 1)
        for at, result in enumerate(results, 1)
    ]
    title = escaped(results[0].name) if len(results) == 1 else "workings check"
    counts = total(result.results for result in results)
    same = _same(pages, same_errors(results, level))
    for page in pages:
        page.elsewhere = same
    header = f"<header><h1>{title}</h1>{_tallies(counts)}<p>{escaped(counts)}</p>{tools}</header>"
    missed = f'<p class="failure">{escaped(skipped_text(skipped))}</p>' if skipped else ""
    overview = f"{_table(results, level)}{missed}{_contents(pages)}"
    return f'<main class="check">{header}{overview}{"".join(map(_file, pages))}</main>'


_TOOLS = (
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


@dataclass
class _Page:
    """One document on the page, and what stands where in it."""

    number: int
    result: ReportData
    shown: list[_Shown]
    alone: bool
    """Whether it is the only document."""
    elsewhere: dict[int, list[str]] = field(default_factory=dict)
    """By the number of a finding, the links to the same error in other places."""

    @cached_property
    def links(self) -> Links:
        return Links(self.result)

    @cached_property
    def starts(self) -> list[int]:
        """Where each line begins."""
        return [0, *(found.end() for found in re.finditer("\n", self.result.document.text))]

    @cached_property
    def by_start(self) -> dict[int, _Shown]:
        return {one.found.start: one for one in reversed(self.shown)}

    def line(self, position: int) -> int:
        """The line of a position, counted from 0."""
        return bisect_right(self.starts, position) - 1

    def lines(self, part: Part) -> tuple[int, int]:
        """The first and last line of a part."""
        return self.line(part.start), self.line(max(part.start, part.end - 1))

    def link(self, part: Part) -> str:
        """A link to the line of a part: to the finding on it, if it is one."""
        one = self.by_start.get(part.start) if isinstance(part, Finding) else None
        target = one.id if one is not None else f"line-{self.number}-{self.line(part.start) + 1}"
        return f'<a href="#{target}">{escaped(line_text(self.result, part))}</a>'


def _tallies(counts: Coverage) -> str:
    """✗ 2 wrong ↳ 3 follow ✓ 9 right ? 4 undecided."""
    figures = {
        Outcome.WRONG: (counts.wrong, "wrong"),
        Outcome.FOLLOWS: (counts.follows, "following from an error"),
        Outcome.RIGHT: (counts.right, "right"),
        Outcome.UNDECIDED: (counts.claims - counts.decided, "undecided"),
    }
    said = [
        f'<span class="{_MARKS[outcome][1]}"><i>{_MARKS[outcome][0]}</i> <b>{n:,}</b> {what}</span>'
        for outcome, (n, what) in figures.items()
        if n
    ]
    return f'<p class="tally">{" ".join(said)}</p>' if said else ""


def _table(results: Sequence[ReportData], level: str) -> str:
    """The files by their figures, if there are several."""
    if len(results) < 2:
        return ""
    listed = rows(results, level)
    levels = [name for name in LEVELS if any(row.findings[name] for row in listed)]
    head = "".join(f'<th scope="col">{name}</th>' for name in ("file", "claims", "decided", *levels))
    body = "".join(
        f'<tr><th scope="row"><a href="#file-{at}">{escaped(row.file)}</a></th>'
        + (
            f'<td colspan="{2 + len(levels)}">not checked</td>'
            if results[at - 1].failure
            else f"<td>{row.claims:,}</td><td>{row.decided:,}</td>"
            + "".join(f'<td class="{name}">{row.findings[name] or "·"}</td>' for name in levels)
        )
        + "</tr>"
        for at, row in enumerate(listed, 1)
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _contents(pages: Sequence[_Page]) -> str:
    """A link to every finding; the same error in several files has one entry."""
    items, seen = [], set()
    for page in pages:
        for one in page.shown:
            others = len(page.elsewhere.get(one.number, []))
            if others and key(one.found) in seen:
                continue
            seen.add(key(one.found))
            more = f"<span>and {others} more like it</span>" if others else ""
            says = escaped(_short(readable(*formula_of(page.result, page.links, one.found))))
            items.append(
                f'<li><a href="#{one.id}"><b class="{one.found.level}">{one.found.level}</b> '
                f"<span>{escaped(_place(page, one.found))}</span> <code>{says}</code> {more}</a></li>"
            )
    return f'<nav aria-label="Findings"><ol>{"".join(items)}</ol></nav>' if items else '<p class="clean">No findings.</p>'


def _short(words: str, most: int = 80) -> str:
    words = " ".join(words.split())
    return words if len(words) <= most else words[: most - 1] + "…"


def _place(page: _Page, found: Finding) -> str:
    return f"{page.result.name}:{page.result.document.place(found.start)}"


def _same(pages: Sequence[_Page], same: dict[tuple[str, str, str], list[Place]]) -> dict[int, list[str]]:
    """For each finding that stands in several files, links to the others."""
    where: dict[tuple[str, str, str], list[tuple[_Page, _Shown]]] = {}
    for page in pages:
        for one in page.shown:
            if key(one.found) in same:
                where.setdefault(key(one.found), []).append((page, one))
    return {
        one.number: [
            f'<a href="#{other.id}">{escaped(_place(page, other.found))}</a>' for page, other in group if other is not one
        ]
        for group in where.values()
        for _, one in group
    }


def _file(page: _Page) -> str:
    """One document, folded as a whole when nothing was found in it."""
    result, shown = page.result, page.shown
    levels = [one.found.level for one in shown]
    tally = ", ".join(f"{levels.count(level)} {level}" for level in LEVELS if level in levels) or "no findings"
    if result.failure:
        body, said = f'<p class="failure">{escaped(result.failure)}</p>', "not checked"
    else:
        body = (f'<p class="failure">{escaped(result.unfinished)}</p>' if result.unfinished else "") + _lines(page)
        said = tally if page.alone else f"{tally}; {escaped(result.coverage)}"
    opened = " open" if shown or result.failure or result.unfinished else ""
    head = f"<summary><h2>{escaped(result.name)}</h2> <span>{said}</span></summary>"
    return f'<details class="file" id="file-{page.number}"{opened}>{head}{body}</details>'


def _lines(page: _Page) -> str:
    """The lines in stretches: those near a finding or a consequence unfolded, the others folded if they are many."""
    result = page.result
    spans = [page.lines(one.found) for one in page.shown]
    on: dict[int, list[_Shown]] = {}
    below: dict[int, list[str]] = {}
    for (first, last), one in zip(spans, page.shown, strict=True):
        below.setdefault(last, []).append(_finding(page, one))
        for i in range(first, last + 1):
            on.setdefault(i, []).append(one)
    understood: dict[int, list[Part]] = {}
    parts: list[Part] = [*result.relations, *result.results.unread]
    for part in parts:
        first, last = page.lines(part)
        understood.setdefault(first, []).append(part)
        if isinstance(part, Relation) and part.outcome == Outcome.FOLLOWS:
            spans.append((first, last))
            below.setdefault(last, []).append(_consequence(page, part))
    near = {i for first, last in spans for i in range(first - _AROUND, last + _AROUND + 1)}
    out: list[str] = []
    for opened, stretch in _stretches(len(page.starts), near):
        lines = "".join(_line(page, i, on.get(i, []), understood.get(i, [])) + "".join(below.get(i, [])) for i in stretch)
        title = f"lines {_number(page, stretch[0])} to {_number(page, stretch[-1])}"
        out.append(lines if opened else f'<details class="quiet"><summary>{title}</summary>{lines}</details>')
    return f'<div class="lines">{"".join(out)}</div>'


def _stretches(lines: int, near: set[int]) -> Iterator[tuple[bool, range]]:
    """Lines that follow each other and are all unfolded, or all folded.

    >>> [(opened, len(lines)) for opened, lines in _stretches(20, {0, 1})]
    [(True, 2), (False, 18)]
    """
    cuts = [0, *(i for i in range(1, lines) if (i in near) != (i - 1 in near)), lines]
    for first, last in pairwise(cuts):
        yield first in near or last - first <= _FEW, range(first, last)


def _line(page: _Page, i: int, here: list[_Shown], understood: list[Part]) -> str:
    """A line with its number and marks where claims stand; what was understood unfolds below it."""
    text = page.result.document.text
    start, end = page.starts[i], page.starts[i + 1] - 1 if i + 1 < len(page.starts) else len(text)
    number = f'<span class="number">{_number(page, i)}</span>'
    code = f"<code>{''.join(_marked(text, start, end, here))}</code>"
    name = f'id="line-{page.number}-{i + 1}"'
    if not understood:
        return f'<div class="line" {name}>{number}{code}</div>'
    sign, kind = _outcome_mark(understood)
    mark = f'<span class="mark {kind}" title="{kind}">{sign}</span>'
    read = "".join(_understood(page, part) for part in understood)
    return (
        f'<details class="read"><summary class="line" {name}>{number}{code}{mark}</summary>'
        f'<div class="reading">{read}</div></details>'
    )


def _outcome_mark(understood: list[Part]) -> tuple[str, str]:
    """The sign of the gravest outcome on a line."""
    outcomes = {part.outcome for part in understood if isinstance(part, Relation)}
    found = next((mark for outcome, mark in _MARKS.items() if outcome in outcomes), None)
    if found is not None:
        return found
    return ("?", "unread") if any(isinstance(part, Unread) for part in understood) else ("·", "no claim")


def _understood(page: _Page, part: Part) -> str:
    """How a relation was read, or why a formula was not."""
    if not isinstance(part, Relation):
        why = part.why if isinstance(part, Unread) else ""
        return f'<div class="relation"><p>not read: {escaped(why)}</p></div>'
    said = f"{part.role}, {outcome_text(page.result, page.links, part)}"
    more = [part.evidence, f"with {part.values}" if part.values else ""]
    return (
        f'<div class="relation">{_typeset(*formula_of(page.result, page.links, part))}'
        f"<p><b>{escaped(said)}</b> {escaped(' · '.join(filter(None, more)))}</p></div>"
    )


def _facts(facts: list[tuple[str, str]]) -> str:
    """Labels and what they say, which is markup already."""
    return f"<dl>{''.join(f'<dt>{label}</dt><dd>{said}</dd>' for label, said in facts if said)}</dl>"


def _typeset(says: str, tree: Node | None) -> str:
    """The formula typeset; its source where it cannot be read."""
    if tree is None:
        return f"<code>{escaped(says)}</code>"
    return f'<span class="formula" title="{escaped(says)}">{formula(tree)}</span>'


def _number(page: _Page, i: int) -> str:
    """The number of a line; in a notebook, behind that of its cell."""
    place = page.result.document.place(page.starts[i])
    return f"{place.cell}:{place.line}" if place.cell is not None else str(place.line)


def _marked(text: str, start: int, end: int, here: list[_Shown]) -> Iterator[str]:
    """The pieces of a line; one that claims share carries the mark of the gravest."""
    inside = {cut for one in here for cut in (one.found.start, one.found.end) if start < cut < end}
    for first, last in pairwise(sorted({start, end} | inside)):
        over = [one for one in here if one.found.start <= first and one.found.end >= last]
        piece = escaped(text[first:last])
        if not over:
            yield piece
            continue
        worst = min(over, key=lambda one: LEVELS.index(one.found.level))
        yield f'<a href="#{worst.id}" title="{worst.found.level}"><mark class="{worst.found.level}">{piece}</mark></a>'


def _finding(page: _Page, one: _Shown) -> str:
    found, result = one.found, page.result
    says, tree = formula_of(result, page.links, found)
    truth = truth_tree(found.truth)
    correct = _typeset(found.truth, truth) if truth is not None else escaped(found.truth)
    correct = "" if truth is None and is_said(found.truth, found.why) else correct
    follows = [f"{page.link(part)} follows from it" for part in page.links.consequences(found)]
    facts = [("written", _typeset(says, tree)), ("correct", correct), ("why", escaped(found.why))]
    facts += [("read as", escaped(found.reading)), ("then", ", ".join(follows))]
    facts += [("also in", ", ".join(page.elsewhere.get(one.number, [])))]
    sign = _CROSS if found.level in ("error", "likely") else "i"
    place = f'<span class="place">{escaped(line_text(result, found))}</span>'
    level = f'<b class="{found.level}" title="{_VERDICTS[found.level]}">{found.level}</b>'
    head = f"<summary><i>{sign}</i> {level} {escaped(found.kind)} {place}</summary>"
    return f'<details class="finding {found.level}" id="{one.id}" tabindex="-1" open>{head}{_facts(facts)}</details>'


def _consequence(page: _Page, part: Relation) -> str:
    """One line under a consequence: where its cause is."""
    cause = page.links.cause(part)
    origin = f"from {page.link(cause)}" if cause is not None else "from an error"
    return (
        f'<p class="consequence"><i>{_ARROW}</i> follows {origin}: '
        f"{_typeset(*formula_of(page.result, page.links, part))} is right for the value written there.</p>"
    )
