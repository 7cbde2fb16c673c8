"""From the layout of a text to its document: formulas with their macros expanded, their surroundings, and the prose."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from workings.check.document.document import Document, Formula, Heading, Listing, Prose
from workings.check.document.finding import Unread
from workings.check.extract.bare import bare_formulas
from workings.check.extract.delimiters import Region, regions
from workings.check.extract.environments import pairs
from workings.check.extract.expand import TooLargeError, expanded
from workings.check.extract.macros import Macros, definitions, settings
from workings.check.extract.markdown import Layout
from workings.check.extract.plain import GUARD, equations, plain_equations, typeset
from workings.check.extract.repair import repaired
from workings.check.extract.signs import formulas_of_signs
from workings.check.extract.spans import BLANK_LINE, Span, covered
from workings.check.extract.traced import Traced

_AROUND = 200
"""Characters of prose kept on either side of a formula."""

_COMMENT = re.compile(r"(?:(?<=\n)|(?<=\s)(?<![\d}] )|(?<=\\\\))[ \t]*(?<!\\)%[^\n]*")
_TIMES = re.compile(r"(?<=[\d)])([ \t]?)x([ \t]?)(?=[\d(])")
_JOIN = re.compile(r"[ \t]*\n?[ \t]*[=≈][ \t]*\n?[ \t]*")
_OPERATION = re.compile(r"\s+(?:plus|minus|times|divided by|mod|[-+×·*/−])\s+")
_WORDS_BETWEEN = re.compile(r"[^$.;:?!]*[A-Za-z0-9][^$.;:?!]*")
_BRACKET = re.compile(r"\\[{}]|(?<!\\)[()\[\]]")
_COMMANDS = re.compile(r"\\[A-Za-z]+\*?|[\\{}]")
_RELATION = re.compile(r"[=≈<>≤≥]|\\(?:approx|leq?|geq?|to|in|sim|equiv|neq?)(?![A-Za-z])")
_FARTHEST = 60
"""Characters between two formulas that are one."""
_BETWEEN = re.compile(r"\$([^$]{0,60})\$|\\\)(.{0,60}?)\\\(", re.DOTALL)
_RESULT = re.compile(
    r"[ \t]*[=≈][ \t]*[-−+]?\d+(?:\.\d+)?"
    r"(?![\d.]*[\w$%\\(^/*+×·-]|[ \t]*[-+−–*/×·^(=≈<>$%\\]|[.,]\d|[ \t]+[b-zB-Z](?![A-Za-z]))"
)
_BESIDE = "This calculation is a part of something else: a letter or a sign stands right beside it."
_RANGE = "This looks like a range, a date or a code, not like a calculation."
_SIGNS = "This looks like a calculation, but its signs are not read outside of formulas: write it between dollars."
_DOLLARS = re.compile(r"(?<!\\)\$|\\[()]")
_QUOTED = re.compile(r"[ \t]*>[>\t ]*")
_BODY = re.compile(r"\\begin\{document\}")


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
    found = list(_joined(clean, found))
    found = sorted([*found, *_outside(layout, clean, found, unread)], key=lambda region: region.outer)
    prose = _paragraphs(layout)
    made = Document(
        name, layout.text, kind, listings=sorted(layout.listings, key=lambda listing: listing.start), prose=prose
    )
    made.headings = layout.headings
    made.unread = [*layout.unread, *unread]
    surroundings = _Surroundings(layout, prose)
    for region in found:
        formula = _formula_of(layout, clean, region, macros, made.unread)
        if formula.text.strip():
            made.formulas.append(surroundings.of(formula, region))
    made.unread.sort(key=lambda record: record.start)
    return made


def _joined(text: str, found: list[Region]) -> Iterator[Region]:
    """Formulas that only a sign or a word for one parts are one: `$x$ = $y$`, `$a$ plus $b$ = $c$`, `$P(A$ or $B)$`."""
    group: list[Region] = []
    for region in found:
        if group and not (group[-1].display or region.display) and _is_joined(text, group, region):
            group.append(region)
        else:
            yield from _together(text, group)
            group = [region]
    yield from _together(text, group)


def _is_joined(text: str, group: list[Region], region: Region) -> bool:
    """Does a formula go on with the next one?"""
    latest = group[-1]
    between = text[latest.outer[1] : region.outer[0]]
    if len(between) > _FARTHEST:
        return False
    if _JOIN.fullmatch(between):
        return True
    if _OPERATION.fullmatch(between):
        return not any(_RELATION.search(text, part.start, part.end) for part in group)
    if not _WORDS_BETWEEN.fullmatch(between):
        return False
    open_brackets = max(0, sum(_balance(text[part.start : part.end]) for part in group))
    return open_brackets > 0 and _is_closing(text, region)


def _balance(text: str) -> int:
    """How many brackets are opened and not closed."""
    return sum(1 if match[0][-1] in "([{" else -1 for match in _BRACKET.finditer(text))


def _is_closing(text: str, region: Region) -> bool:
    """Does a formula begin by closing a bracket that was opened before it?"""
    depth = 0
    for match in _BRACKET.finditer(text, region.start, region.end):
        depth += 1 if match[0][-1] in "([{" else -1
        if depth < 0:
            return True
    return False


def _together(text: str, group: list[Region]) -> Iterator[Region]:
    """A group as one formula; formulas that only `plus` joins are one where there is a relation."""
    if len(group) > 1:
        whole = Region(group[0].start, group[-1].end, (group[0].outer[0], group[-1].outer[1]), False, joined=True)
        plain = all(_OPERATION.fullmatch(text, a.outer[1], b.outer[0]) for a, b in pairwise(group))
        last = _extended(text, whole)
        if not plain or last is not whole or _RELATION.search(text, whole.start, whole.end):
            yield last
            return
    for region in group:
        yield _extended(text, region)


def _extended(text: str, region: Region) -> Region:
    """The region with the number that its relation leads to."""
    match = None if region.display else _RESULT.match(text, region.outer[1])
    if match is None:
        return region
    return replace(region, end=match.end(), outer=(region.outer[0], match.end()))


def _outside(layout: Layout, clean: str, found: list[Region], unread: list[Unread]) -> list[Region]:
    """Formulas in the prose that have no delimiters; `unread` gets the calculations that are a part of something else."""
    hidden: list[Span] = [region.outer for region in found]
    body = _BODY.search(clean) if layout.strict else None
    gaps = covered(clean, [*hidden, *layout.formulas, (0, body.end() if body else 0)])
    bare: list[Span] = []
    if not layout.strict and ("\\" in gaps or "begin" in gaps):
        bare = list(bare_formulas(gaps, pairs(gaps), 0, len(gaps)))
        gaps = covered(gaps, bare)
    titles = [span for heading in layout.headings if heading.depth < 6 for span in [_line_of(gaps, heading)]]
    guarded = _guard(covered(gaps, titles), [*hidden, *bare])
    beside: list[Span] = []
    ranges: list[Span] = []
    spans = [*bare, *equations(guarded, beside, ranges=ranges)]
    if not layout.strict:
        unreadable: list[Span] = []
        spans += list(formulas_of_signs(guarded, [*spans, *beside], unreadable))
        unread += [Unread(start, end, _SIGNS) for start, end in unreadable]
    unread += [Unread(start, end, _BESIDE) for start, end in beside]
    unread += [Unread(start, end, _RANGE) for start, end in ranges]
    for start, end in layout.plain:
        spans += [(start + a, start + b) for a, b in plain_equations(layout.text[start:end])]
    return [Region(start, end, (start, end), False) for start, end in spans]


def _guard(text: str, spans: list[Span]) -> str:
    """Mark both ends of every formula: a number beside one is a part of something else."""
    letters = list(text)
    for start, end in spans:
        letters[start] = letters[end - 1] = GUARD
    return "".join(letters)


def _line_of(text: str, heading: Heading) -> Span:
    """The line that a heading stands on."""
    end = text.find("\n", heading.start)
    return heading.start, end if end >= 0 else len(text)


def _formula_of(layout: Layout, clean: str, region: Region, macros: Macros, unread: list[Unread]) -> Formula:
    """The formula of a region: comments blanked, macros expanded, damage mended."""
    hidden = region.outer in layout.formulas or any(start <= region.start < end for start, end in layout.plain)
    text = (layout.text if hidden else clean)[region.start : region.end]
    if not layout.strict and region.display and "%" in text:
        text = _COMMENT.sub(lambda found: " " * len(found[0]), text)
    if region.display and ">" in text and not layout.strict:
        text = _unquoted(text, layout.text, region.start)
    is_typed = region.outer == (region.start, region.end) and not region.display and "\\" not in text
    if is_typed and "x" in text:
        text = _TIMES.sub(r"\1×\2", text)
    written = Traced(text, region.start)
    if is_typed:
        written = typeset(written)
    if not region.display and ("$" in text or "\\)" in text):
        written = written.sub(_BETWEEN, _words_between) if region.joined else written
        written = written.sub(_DOLLARS, lambda found: " " * len(found[0]))
    try:
        traced = expanded(written, macros)
    except TooLargeError:
        why = "The macros in this formula do not stop, or make it longer than 100,000 characters: it is read as written."
        unread.append(Unread(region.start, region.end, why))
        traced = written
    traced = repaired(traced)
    return Formula(traced.text, region.start, region.end, region.display, traced.origins)


def _words_between(found: re.Match[str]) -> str:
    """What stands between two formulas that are one: a sign, a word for a sign, or words."""
    between = found[1] if found[1] is not None else found[2]
    signs = _JOIN.fullmatch(between) or _OPERATION.fullmatch(between)
    return f" {between} " if signs or not _WORDS_BETWEEN.fullmatch(between) else rf"\text{{{_COMMANDS.sub('', between)}}}"


def _unquoted(text: str, around: str, start: int) -> str:
    """A display in a quote without the marks at the beginnings of its lines; everything keeps its place.

    >>> _unquoted("\\n>> a > b\\n>> ", ">> $$\\n>> a > b\\n>> $$", 5)
    '\\n   a > b\\n   '
    """
    opened = _QUOTED.match(around, around.rfind("\n", 0, start) + 1)
    if opened is None:
        return text
    marks = re.compile(rf"\n(?:[ \t]*>){{1,{opened[0].count('>')}}}")
    return marks.sub(lambda found: "\n" + " " * (len(found[0]) - 1), text)


def _paragraphs(layout: Layout) -> list[Prose]:
    """What stands between blank lines, headings (but not items) cut out."""
    titles = [_line_of(layout.blocks, heading) for heading in layout.headings if heading.depth <= 3]
    text = covered(layout.blocks, titles)
    found = []
    start = 0
    for end in [*(match.start() for match in BLANK_LINE.finditer(text)), len(text)]:
        part = text[start:end]
        if stripped := part.strip():
            found.append(Prose(stripped, start + len(part) - len(part.lstrip())))
        start = end
    return found


class _Surroundings:
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
        before = self.text[max(start, region.outer[0] - _AROUND) : region.outer[0]]
        after = self.text[region.outer[1] : min(end, region.outer[1] + _AROUND)]
        if (
            region.display
            and not before.strip()
            and index > 0
            and self.is_one_section(self.starts[index - 1], region.outer[0])
        ):
            before = self.prose[index - 1].text[-_AROUND:]
        if region.display and not after.strip(" .,;") and index + 1 < len(self.prose):
            following = self.prose[index + 1]
            if following.text[:1].islower() and self.is_one_section(region.outer[0], following.start):
                after = following.text[:_AROUND]
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
