"""The report for a terminal.

notes.md:12:7  error  number
  so that $1/2 + 1/3 = 4/6$
           ^^^^^^^^^^^^^^^
  says      1/2 + 1/3 = 4/6
  true      5/6
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from workings.check.document.checked import Checked, total
from workings.check.document.finding import LEVELS, Finding, Unread
from workings.check.report.excerpt import excerpt, plain

BOLD, DIM, RED, YELLOW, CYAN, END = "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[33m", "\x1b[36m", "\x1b[0m"
COLOURS = {"error": RED, "likely": YELLOW, "note": CYAN, "possible": DIM}
VERDICTS = {
    "error": "certain: wrong under every interpretation",
    "likely": "likely: the notation leaves some doubt",
    "note": "a note on rounding, notation or wording",
    "possible": "possible: it may well be right",
}
"""What each level means, in words."""
LINES = 3
"""Lines of a long claim that are shown."""
LABEL = 10
LONGEST = 600
"""Characters of a claim or of its truth that are shown."""


@dataclass(frozen=True)
class Style:
    """How a report is printed: columns, colours, which findings, whether to list what was not read."""

    width: int = 100
    colour: bool = False
    level: str = "likely"
    verbose: bool = False
    seconds: float | None = None
    """How long it took, where that is to be said."""

    def paint(self, words: str, colour: str) -> str:
        """Words in a colour, where there are colours."""
        return f"{colour}{words}{END}" if self.colour and words else words


def text(results: Sequence[Checked], style: Style) -> str:
    """The findings, one block each, then the summary."""
    blocks = [block for result in results for block in _blocks(result, style)]
    return "\n\n".join([*blocks, summary(results, style)])


def _blocks(result: Checked, style: Style) -> Iterator[str]:
    for found in result.findings(style.level):
        yield _finding(result, found, style)
    if style.verbose:
        for part in result.report.unread:
            yield _unread(result, part, style)
        if not result.failure:
            yield f"{plain(result.name)}: {_counts_text(result, style)}"


def _finding(result: Checked, found: Finding, style: Style) -> str:
    level = style.paint(found.level, COLOURS[found.level])
    head = f"{style.paint(_place(result, found), BOLD)}  {level}  {plain(found.kind)}"
    facts = [("written", found.says), ("correct", found.truth), ("why", found.why), ("read as", found.reading)]
    rows = [_row(label, words, style) for label, words in [*facts, ("verdict", VERDICTS[found.level])] if words]
    return "\n".join([head, *_source(result, found, style), *rows])


def _unread(result: Checked, part: Unread, style: Style) -> str:
    head = f"{style.paint(_place(result, part), BOLD)}  {style.paint('unread', DIM)}"
    return "\n".join([head, *_source(result, part, style), _row("why", part.why, style)])


def _place(result: Checked, part: Finding | Unread) -> str:
    """notes.md:12:7, or book.ipynb:cell 3:2:1."""
    return f"{plain(result.name)}:{result.document.place(part.start)}"


def _source(result: Checked, part: Finding | Unread, style: Style) -> Iterator[str]:
    """The lines of the claim, each underlined where it is part of it."""
    text, columns = result.document.text, max(10, style.width - 2)
    colour = COLOURS[part.level] if isinstance(part, Finding) else DIM
    begins, shown = text.rfind("\n", 0, part.start) + 1, 0
    while begins < max(part.end, part.start + 1) and begins <= len(text):
        ends = text.find("\n", begins)
        ends = len(text) if ends < 0 else ends
        first, last = _claim_columns(text, max(begins, part.start), min(ends, part.end))
        if first < last or not shown:
            if shown == LINES:
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


def _row(label: str, words: str, style: Style) -> str:
    """A labelled sentence, its later lines under the first."""
    words = plain(words[:LONGEST] + "…" if len(words) > LONGEST else words)
    lines = textwrap.wrap(words, max(20, style.width - LABEL - 2), break_on_hyphens=False)
    gap = " " * (LABEL + 2)
    return f"  {style.paint(label, DIM)}{' ' * (LABEL - len(label))}" + f"\n{gap}".join(lines)


def summary(results: Sequence[Checked], style: Style) -> str:
    """How much was read and decided, and whether there is more to see."""
    done = [result for result in results if not result.failure]
    line = f"{_number(len(done), 'file')}: {_counts_text(done, style)}"
    took = f" ({style.seconds:.1f} s)" if style.seconds is not None else ""
    hidden = [found.level for result in done for found in result.report.findings]
    lower = {level: hidden.count(level) for level in LEVELS[LEVELS.index(style.level) + 1 :] if level in hidden}
    more = "\n".join(f"{_number(n, 'finding')} of level {level} not listed: --level {level}" for level, n in lower.items())
    return "\n".join(filter(None, [line + took, style.paint(more, DIM)]))


def _counts_text(results: Checked | Iterable[Checked], style: Style) -> str:
    counts = total([results] if isinstance(results, Checked) else results)
    wrong = style.paint(f"{counts.wrong} wrong", RED if counts.wrong else "")
    claims = f"{_number(counts.claims, 'claim')} found, {counts.decided} decided, {counts.right} right, {wrong}"
    return f"{_number(counts.formulas, 'formula')} ({counts.unread} unread), {claims}"


def _number(n: int, thing: str) -> str:
    """
    >>> _number(1, "file"), _number(2000, "claim")
    ('1 file', '2,000 claims')
    """
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def failures(results: Iterable[Checked]) -> str:
    """The documents that could not be checked, a line each."""
    return "\n".join(plain(result.failure) for result in results if result.failure)
