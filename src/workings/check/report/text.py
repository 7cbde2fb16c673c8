"""The report for a terminal.

notes.md:12:7  error  number
  so that $1/2 + 1/3 = 4/6$
           ^^^^^^^^^^^^^^^
  written   1/2 + 1/3 = 4/6
  why       You wrote 4/6; correct is 5/6.
  follows   line 14: b = 2/3
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from workings.check.document.coverage import Coverage, number, total
from workings.check.document.finding import LEVELS, Finding, Unread
from workings.check.document.relation import Outcome, Relation
from workings.check.document.report_data import Part, ReportData
from workings.check.report.by_file import rows
from workings.check.report.excerpt import excerpt, plain
from workings.check.report.formulas import formula_of, readable
from workings.check.report.links import Links, Place, key, same_errors

BOLD, _DIM, RED, _YELLOW, _CYAN, _GREEN, END = (
    "\x1b[1m",
    "\x1b[2m",
    "\x1b[31m",
    "\x1b[33m",
    "\x1b[36m",
    "\x1b[32m",
    "\x1b[0m",
)
_COLOURS = {"error": RED, "likely": _YELLOW, "note": _CYAN, "possible": _DIM}
_LINES = 3
"""Lines of a long claim that are shown."""
_LABEL = 10
_LONGEST = 600
"""Characters of a claim or of its truth that are shown."""
_MOST_PLACES = 8
"""Consequences, or places of the same error, that are named one by one."""
_MOST_ROWS = 40
"""Files that are listed without a finding, too."""


@dataclass(frozen=True)
class Style:
    """How a report is printed: columns, colours, which findings, whether to list what else was read."""

    width: int = 100
    colour: bool = False
    level: str = "likely"
    verbose: bool = False
    """List unread formulas, every relation as it was read, and the counts of each file."""
    undecided: bool = False
    """List the claims that were not decided, and why."""
    seconds: float | None = None
    """How long it took, where that is to be said."""

    def paint(self, words: str, colour: str) -> str:
        """Words in a colour, where there are colours."""
        return f"{colour}{words}{END}" if self.colour and words else words


def text(results: Sequence[ReportData], style: Style) -> str:
    """The findings, one block each, then the files, then the summary."""
    same = same_errors(results, style.level)
    blocks = [block for result in results for block in _blocks(result, style, same)]
    return "\n\n".join(filter(None, [*blocks, _table(results, style), _summary(results, style)]))


def _blocks(result: ReportData, style: Style, same: dict[tuple[str, str, str], list[Place]]) -> Iterator[str]:
    links = Links(result)
    for found in result.findings(style.level):
        places = same.get(key(found), [])
        if not places or places[0] == (result, found):
            yield _finding(result, links, found, style, [place for place in places if place != (result, found)])
    if style.undecided or style.verbose:
        for part in result.results.unread:
            yield _unread(result, part, style)
    if style.undecided:
        yield from _listed([_undecided(result, links, r, style) for r in result.relations if r.outcome == Outcome.UNDECIDED])
    if style.verbose:
        yield from _listed([_understood(result, links, relation, style) for relation in result.relations])
        if not result.failure:
            yield f"{plain(result.name)}: {_counts_text(result.coverage, style)}"


def _listed(lines: list[str]) -> Iterator[str]:
    if lines:
        yield "\n".join(lines)


def _finding(result: ReportData, links: Links, found: Finding, style: Style, elsewhere: list[Place]) -> str:
    level = style.paint(found.level, _COLOURS[found.level])
    head = f"{style.paint(_place_text(result, found), BOLD)}  {level}  {plain(found.kind)}"
    truth = "" if is_said(found.truth, found.why) else found.truth
    facts = [("written", _short_formula(result, links, found, style)), ("correct", truth)]
    facts += [("why", found.why), ("read as", found.reading)]
    facts += [("follows", _places_text([_consequence(result, links, part) for part in links.consequences(found)], "; "))]
    facts += [("also in", _places_text([_place_text(other, same) for other, same in elsewhere], ", "))]
    return "\n".join(
        [head, *_source(result, found, style), *(labelled(label, words, style) for label, words in facts if words)]
    )


def is_said(truth: str, why: str) -> bool:
    """Whether a sentence has every word of the truth already.

    >>> is_said("0.6698 in row 2", "In row 2: you wrote 0.7; correct is 0.6698."), is_said("16w − 8", "It is 16w − 2.")
    (True, False)
    """
    return {word.strip(".,:;()") for word in truth.lower().split()} <= {word.strip(".,:;()") for word in why.lower().split()}


def _short_formula(result: ReportData, links: Links, part: Finding | Relation, style: Style) -> str:
    """In readable Unicode where that fits on a line, else as it is written."""
    says, tree = formula_of(result, links, part)
    shown = readable(says, tree)
    return shown if cell_len(shown) <= style.width - _LABEL - 2 else says


def _consequence(result: ReportData, links: Links, part: Relation) -> str:
    return f"{line_text(result, part)}: {readable(*formula_of(result, links, part))}"


def _places_text(places: list[str], between: str) -> str:
    left = len(places) - _MOST_PLACES
    return between.join(places[:_MOST_PLACES]) + (f"{between}and {left} more" if left > 0 else "")


def _unread(result: ReportData, part: Unread, style: Style) -> str:
    head = f"{style.paint(_place_text(result, part), BOLD)}  {style.paint('unread', _DIM)}"
    return "\n".join([head, *_source(result, part, style), labelled("why", part.why, style)])


def _undecided(result: ReportData, links: Links, part: Relation, style: Style) -> str:
    """One line: where, what, why not."""
    place = style.paint(_place_text(result, part), BOLD)
    return f"{place}  {plain(_cut(readable(*formula_of(result, links, part))))}  {style.paint(plain(part.reason), _DIM)}"


def _understood(result: ReportData, links: Links, part: Relation, style: Style) -> str:
    """One line: where, what, its role, what came of it, with which values."""
    place = style.paint(_place_text(result, part), BOLD)
    values = f", with {part.values}" if part.values else ""
    said = f"{part.role}, {outcome_text(result, links, part)}{values}"
    return f"{place}  {plain(_cut(readable(*formula_of(result, links, part))))}  {style.paint(plain(said), _DIM)}"


def _cut(words: str, most: int = 80) -> str:
    return words if len(words) <= most else words[: most - 1] + "…"


def outcome_text(result: ReportData, links: Links, part: Relation) -> str:
    """What came of a relation, in words: `undecided: letters without a value`, `follows from the error on line 3`."""
    cause = links.cause(part)
    if part.outcome == Outcome.FOLLOWS and cause is not None:
        return f"follows from the error on {line_text(result, cause)}"
    return f"{part.outcome}: {part.reason}" if part.reason else part.outcome


def line_text(result: ReportData, part: Part) -> str:
    """
    >>> from workings.check.document.document import Document
    >>> line_text(ReportData("a.md", Document("a.md", "one", "markdown")), Unread(0, 1, ""))
    'line 1'
    """
    place = result.document.place(part.start)
    return f"line {place.line}" if place.cell is None else f"cell {place.cell}, line {place.line}"


def _place_text(result: ReportData, part: Part) -> str:
    """notes.md:12:7, or book.ipynb:cell 3:2:1."""
    return f"{plain(result.name)}:{result.document.place(part.start)}"


def _source(result: ReportData, part: Part, style: Style) -> Iterator[str]:
    """The lines of the claim, each underlined where it is part of it."""
    text, columns = result.document.text, max(10, style.width - 2)
    colour = _COLOURS[part.level] if isinstance(part, Finding) else _DIM
    begins, shown = text.rfind("\n", 0, part.start) + 1, 0
    while begins < max(part.end, part.start + 1) and begins <= len(text):
        ends = text.find("\n", begins)
        ends = len(text) if ends < 0 else ends
        first, last = _claim_columns(text, max(begins, part.start), min(ends, part.end))
        if first < last or not shown:
            if shown == _LINES:
                yield "  …"
                return
            line, carets = excerpt(text[begins:ends], first - begins, last - begins, columns)
            yield f"  {line}"
            yield f"  {' ' * (len(carets) - len(carets.lstrip()))}{style.paint(carets.lstrip(), colour)}"
            shown += 1
        begins = ends + 1


def _claim_columns(text: str, first: int, last: int) -> tuple[int, int]:
    """The part of a line that belongs to a claim, without the spaces around it."""
    part = text[first:last]
    return first + len(part) - len(part.lstrip()), max(first, last - len(part) + len(part.rstrip()))


def labelled(label: str, words: str, style: Style) -> str:
    """A labelled sentence, its later lines under the first."""
    words = plain(words[:_LONGEST] + "…" if len(words) > _LONGEST else words)
    lines = textwrap.wrap(words, max(20, style.width - _LABEL - 2), break_on_hyphens=False)
    gap = " " * (_LABEL + 2)
    return f"  {style.paint(label, _DIM)}{' ' * (_LABEL - len(label))}" + f"\n{gap}".join(lines)


def _table(results: Sequence[ReportData], style: Style) -> str:
    """Several files by their figures; of very many, those with something to see."""
    done = [result for result in results if not result.failure]
    if len(done) < 2:
        return ""
    all_rows = rows(done, style.level)
    shown = [row for row in all_rows if len(all_rows) <= _MOST_ROWS or any(row.findings.values()) or row.problem]
    levels = [level for level in LEVELS if any(row.findings[level] for row in all_rows)]
    cells = [["file", "claims", "decided", *levels]]
    cells += [
        [plain(r.file), f"{r.claims:,}", f"{r.decided:,}", *(str(r.findings[level] or "·") for level in levels)]
        for r in shown
    ]
    widths = [max(cell_len(row[at]) for row in cells) for at in range(len(cells[0]))]
    lines = [
        row[0]
        + " " * (widths[0] - cell_len(row[0]))
        + "".join(f"  {word:>{w}}" for word, w in zip(row[1:], widths[1:], strict=True))
        for row in cells
    ]
    left = len(all_rows) - len(shown)
    more = [f"{number(left, 'file')} without findings not listed"] if left else []
    return "\n".join([style.paint(lines[0], _DIM), *lines[1:], *more])


def _summary(results: Sequence[ReportData], style: Style) -> str:
    """How much was read and decided, and whether there is more to see."""
    done = [result for result in results if not result.failure]
    if not done:
        return ""
    line = f"{number(len(done), 'file')}: {_counts_text(total(result.results for result in done), style)}"
    took = f" ({style.seconds:.1f} s)" if style.seconds is not None else ""
    hidden = [found.level for result in done for found in result.results.findings]
    lower = {level: hidden.count(level) for level in LEVELS[LEVELS.index(style.level) + 1 :] if level in hidden}
    more = "\n".join(f"{number(n, 'finding')} of level {level} not listed: --level {level}" for level, n in lower.items())
    return "\n".join(filter(None, [line + took, style.paint(more, _DIM)]))


def _counts_text(counts: Coverage, style: Style) -> str:
    """14 formulas (0 unread), 6 of 9 claims decided (5 right, 1 wrong); 3 not: …"""
    wrong = style.paint(f"{counts.wrong:,} wrong", RED if counts.wrong else "")
    follows = f", {counts.follows:,} following from an error" if counts.follows else ""
    head, semicolon, rest = str(counts).partition("; ")
    unread = f"{number(counts.formulas, 'formula')} ({counts.unread:,} unread)"
    if not counts.claims:
        return f"{unread}, {head}"
    return f"{unread}, {head} ({counts.right:,} right, {wrong}{follows}){semicolon}{rest}"


def failures(results: Iterable[ReportData]) -> str:
    """The documents that could not be checked, or not to their end, a line each."""
    return "\n".join(plain(result.failure or result.unfinished) for result in results if result.failure or result.unfinished)


_SKIPPED = (
    "Not read: {names}. A PDF, an image or a word processor's file has no source of its formulas: check the .md, .tex, .txt "
    "or .ipynb it was made from, or convert it, for example: pandoc notes.docx -o notes.md"
)


def skipped_text(skipped: Sequence[str]) -> str:
    """The files of a folder that have no source to read, and what to do."""
    return _SKIPPED.format(names=plain(_places_text(list(skipped), ", "))) if skipped else ""
