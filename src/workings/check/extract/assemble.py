"""From the layout of a text to its document: formulas with their macros expanded, their surroundings, and the prose."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace

from workings.check.document.document import Document, Formula, Heading, Listing, Prose
from workings.check.document.finding import Unread
from workings.check.extract.bare import bare_formulas
from workings.check.extract.delimiters import Region, regions
from workings.check.extract.environments import pairs
from workings.check.extract.expand import TooLargeError, expanded
from workings.check.extract.macros import Macros, definitions, settings
from workings.check.extract.markdown import Layout
from workings.check.extract.plain import numeric_equations
from workings.check.extract.repair import repaired
from workings.check.extract.spans import BLANK_LINE, Span, covered
from workings.check.extract.traced import Traced

AROUND = 200
"""Characters of prose kept on either side of a formula."""

COMMENT = re.compile(r"(?:(?<=\n)|(?<=\s)(?<![\d}] )|(?<=\\\\))[ \t]*(?<!\\)%[^\n]*")
TIMES = re.compile(r"(?<=[\d)])([ \t]?)x([ \t]?)(?=[\d(])")
JOIN = re.compile(r"[ \t]*\n?[ \t]*[=≈][ \t]*\n?[ \t]*")
RESULT = re.compile(
    r"[ \t]*[=≈][ \t]*[-−+]?\d+(?:\.\d+)?"
    r"(?![\d.]*[\w$%\\(^/*+×·-]|[ \t]*[-+−–*/×·^(=≈<>$%\\]|[.,]\d|[ \t]+[b-zB-Z](?![A-Za-z]))"
)
DOLLARS = re.compile(r"(?<!\\)\$|\\[()]")
BODY = re.compile(r"\\begin\{document\}")


def macros_of(layouts: list[Layout]) -> list[Macros]:
    """The macros of each part of a document; a part sees those of all the others."""
    every = Macros()
    found = []
    for layout in layouts:
        own = definitions(layout.clean)
        settings(layout.front, own)
        found.append(own)
        for name, known in own.known.items():
            for position, macro in known:
                every.add(name, position, macro)
    if len(found) == 1:
        return found
    for own in found:
        own.known = {name: own.known.get(name, known[:1]) for name, known in every.known.items()}
    return found


def document(layout: Layout, name: str, kind: str, macros: Macros | None = None) -> Document:
    """Take a text apart."""
    macros = macros_of([layout])[0] if macros is None else macros
    clean = covered(layout.clean, macros.spans)
    found, unread = regions(layout, clean, macros.shortcuts())
    found = list(joined(clean, found))
    found = sorted([*found, *outside(layout, clean, found)], key=lambda region: region.outer)
    prose = paragraphs(layout)
    made = Document(
        name, layout.text, kind, listings=sorted(layout.listings, key=lambda listing: listing.start), prose=prose
    )
    made.headings = layout.headings
    made.unread = [*layout.unread, *unread]
    surroundings = Surroundings(layout, prose)
    for region in found:
        formula = formula_of(layout, clean, region, macros, made.unread)
        if formula.text.strip():
            made.formulas.append(surroundings.of(formula, region))
    made.unread.sort(key=lambda record: record.start)
    return made


def joined(text: str, found: list[Region]) -> Iterator[Region]:
    """Formulas that only a relation parts are one: `$x$ = $y$`, and `$x$ = 2`."""
    latest: Region | None = None
    for region in found:
        if latest and not latest.display and not region.display and JOIN.fullmatch(text, latest.outer[1], region.outer[0]):
            latest = Region(latest.start, region.end, (latest.outer[0], region.outer[1]), False)
            continue
        if latest:
            yield extended(text, latest)
        latest = region
    if latest:
        yield extended(text, latest)


def extended(text: str, region: Region) -> Region:
    """The region with the number that its relation leads to."""
    match = None if region.display else RESULT.match(text, region.outer[1])
    return region if match is None else Region(region.start, match.end(), (region.outer[0], match.end()), False)


def outside(layout: Layout, clean: str, found: list[Region]) -> list[Region]:
    """Formulas in the prose that have no delimiters."""
    hidden: list[Span] = [region.outer for region in found]
    body = BODY.search(clean) if layout.strict else None
    gaps = covered(clean, [*hidden, *layout.formulas, (0, body.end() if body else 0)])
    bare: list[Span] = []
    if not layout.strict and ("\\" in gaps or "begin" in gaps):
        bare = list(bare_formulas(gaps, pairs(gaps), 0, len(gaps)))
        gaps = covered(gaps, bare)
    titles = [span for heading in layout.headings if heading.depth < 6 for span in [line_of(gaps, heading)]]
    guarded = guard(covered(gaps, titles), [*hidden, *bare])
    spans = [*bare, *numeric_equations(guarded)]
    return [Region(start, end, (start, end), False) for start, end in spans]


def guard(text: str, spans: list[Span]) -> str:
    """Put a dollar at both ends of every formula: a number beside one is a part of something else."""
    letters = list(text)
    for start, end in spans:
        letters[start] = letters[end - 1] = "$"
    return "".join(letters)


def line_of(text: str, heading: Heading) -> Span:
    """The line that a heading stands on."""
    end = text.find("\n", heading.start)
    return heading.start, end if end >= 0 else len(text)


def formula_of(layout: Layout, clean: str, region: Region, macros: Macros, unread: list[Unread]) -> Formula:
    """The formula of a region: comments blanked, macros expanded, damage mended."""
    text = (layout.text if region.outer in layout.formulas else clean)[region.start : region.end]
    if not layout.strict and region.display and "%" in text:
        text = COMMENT.sub(lambda found: " " * len(found[0]), text)
    if region.outer == (region.start, region.end) and not region.display and "x" in text and "\\" not in text:
        text = TIMES.sub(r"\1×\2", text)
    if not region.display and ("$" in text or "\\)" in text):
        text = DOLLARS.sub(lambda found: " " * len(found[0]), text)
    written = Traced(text, region.start)
    try:
        traced = expanded(written, macros)
    except TooLargeError:
        why = "The macros in this formula do not stop, or make it longer than 100,000 characters: it is read as written."
        unread.append(Unread(region.start, region.end, why))
        traced = written
    traced = repaired(traced)
    return Formula(traced.text, region.start, region.end, region.display, traced.origins)


def paragraphs(layout: Layout) -> list[Prose]:
    """What stands between blank lines, headings (but not items) cut out."""
    titles = [line_of(layout.blocks, heading) for heading in layout.headings if heading.depth <= 3]
    text = covered(layout.blocks, titles)
    found = []
    start = 0
    for end in [*(match.start() for match in BLANK_LINE.finditer(text)), len(text)]:
        part = text[start:end]
        if stripped := part.strip():
            found.append(Prose(stripped, start + len(part) - len(part.lstrip())))
        start = end
    return found


class Surroundings:
    """The prose beside each formula. A display that stands alone takes the end of the paragraph before it."""

    def __init__(self, layout: Layout, prose: list[Prose]) -> None:
        self.text, self.prose = layout.blocks, prose
        self.starts = [paragraph.start for paragraph in prose]
        self.titles = [heading.start for heading in layout.headings if heading.depth <= 5]

    def of(self, formula: Formula, region: Region) -> Formula:
        """The formula with what stands before and after it."""
        index = bisect_right(self.starts, region.outer[0]) - 1
        if index < 0:
            return formula
        start = self.starts[index]
        end = start + len(self.prose[index].text)
        before = self.text[max(start, region.outer[0] - AROUND) : region.outer[0]]
        after = self.text[region.outer[1] : min(end, region.outer[1] + AROUND)]
        if (
            region.display
            and not before.strip()
            and index > 0
            and self.is_one_section(self.starts[index - 1], region.outer[0])
        ):
            before = self.prose[index - 1].text[-AROUND:]
        if region.display and not after.strip(" .,;") and index + 1 < len(self.prose):
            following = self.prose[index + 1]
            if following.text[:1].islower() and self.is_one_section(region.outer[0], following.start):
                after = following.text[:AROUND]
        return replace(formula, before=before, after=after)

    def is_one_section(self, start: int, end: int) -> bool:
        """Is there no heading between two positions?"""
        return bisect_right(self.titles, start) == bisect_right(self.titles, end)


def shifted(part: Document, by: int) -> Document:
    """The same document, `by` characters later."""

    def moved(formula: Formula) -> Formula:
        origins = None if formula.origins is None else tuple(origin + by for origin in formula.origins)
        return replace(formula, start=formula.start + by, end=formula.end + by, origins=origins)

    part.formulas = [moved(formula) for formula in part.formulas]
    part.listings = [Listing(entry.language, entry.text, entry.start + by) for entry in part.listings]
    part.prose = [Prose(entry.text, entry.start + by) for entry in part.prose]
    part.headings = [Heading(entry.text, entry.start + by, entry.depth) for entry in part.headings]
    part.unread = [Unread(entry.start + by, entry.end + by, entry.why) for entry in part.unread]
    return part
