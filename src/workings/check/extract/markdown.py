"""What in Markdown (and in plain text that is written like it) is code, a comment or a heading."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from workings.check.document.document import Heading, Listing
from workings.check.document.finding import Unread
from workings.check.extract.spans import Ahead, Span, covered

_FRONT = re.compile(r"\ufeff?(---|\+\+\+)[ \t\r]*\n(.*?)\n(?:\1|\.\.\.)[ \t\r]*(?:\n|$)", re.DOTALL)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r"((?:[ \t]|>|[-*+][ \t]|\d{1,3}[.)][ \t]){0,40})(`{3,}|~{3,})[ \t]*([^`\n]*)$")
_NO_LANGUAGE = frozenset(("", "text", "txt", "plain", "plaintext"))
_LANGUAGE = re.compile(r"\{?\.?\s*([A-Za-z0-9_+#-]*)")
_ITEM = re.compile(r"[ \t]*(?:[-*+•☐]|\(?[A-Za-z0-9]{1,3}[.)])[ \t]")
_INDENTED = re.compile(r"(?: {4}| {0,3}\t)")
_TICKS = re.compile(r"\\`|`+|\n[ \t\r]*(?=\n)")
_HIDDEN = re.compile(r"<!--|<(pre|script|style|code)\b[^>\n]{0,200}>", re.IGNORECASE)

_ATX = re.compile(r"^ {0,3}(#{1,6})[ \t]+([^\n]*?)[ \t]*#*[ \t\r]*$", re.MULTILINE)
_SETEXT = re.compile(r"(?:\A|\n)[ \t\r]*\n {0,3}(?![-*+>|#] ?)(\S[^\n|]*)\n(={3,}|-{3,})[ \t\r]*$", re.MULTILINE)
PROBLEM = re.compile(
    r"^[ \t>*_]*((?:Part|(Problem|Question|Exercise|Task|Assignment|Example))[ \t]+(?:\d+(?:\.\d+)*|[A-Z]|[IVX]+)"
    r"(?=[ \t]*(?:$|\r|[.:(*_–—-]|\)))[^\n]*)",
    re.MULTILINE,
)
_NUMBERED = re.compile(r"^(?:\*\*)?\d{1,3}(?:\.\d{1,3})*[.)](?:\*\*)?[ \t]+[^\n]*|^\*\*\d{1,3}[.)]?\*\*[^\n]*", re.MULTILINE)
_POINTS = re.compile(r"^[-*+•][ \t]+\(\d{1,3} (?:points?|marks?|pts?)\)[^\n]*", re.MULTILINE)
_LETTERED = re.compile(r"^\((?:[a-z]|[ivx]{2,4})\)[ \t]+[^\n]*", re.MULTILINE)


@dataclass
class Layout:
    """How a document is laid out. `blocks` is the text without code blocks and comments, `clean` without code spans, too."""

    text: str
    blocks: str = ""
    clean: str = ""
    front: str = ""
    listings: list[Listing] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    formulas: list[Span] = field(default_factory=list)
    """Displays that are marked by a fence: ```` ```math ````."""
    plain: list[Span] = field(default_factory=list)
    """Blocks that are set like code but name no language: calculations may stand in them."""
    unread: list[Unread] = field(default_factory=list)
    strict: bool = False
    """Every dollar that is not escaped opens or closes mathematics, as in TeX."""


def layout(text: str, *, plain: bool = False) -> Layout:
    """Find the code, the comments and the headings; `plain` text has no indented code."""
    found = Layout(text)
    hidden: list[Span] = []
    if match := _FRONT.match(text):
        found.front = match[2]
        hidden.append(match.span())
    hidden += _code_blocks(text, found, match.end() if match else 0, plain)
    outside = covered(text, hidden)
    found.blocks = covered(outside, _hidden_html(outside))
    found.clean = covered(found.blocks, _code_spans(found.blocks))
    found.headings = _headings(found.blocks, plain)
    return found


def _code_blocks(text: str, found: Layout, start: int, plain: bool) -> list[Span]:
    """Fenced and indented code, line by line: the spans they cover; the listings go to `found`."""
    spans: list[Span] = []
    fence, language, opened, content = "", "", 0, 0
    listed = code = False
    blank, indented = True, 0
    last = position = start
    for line in _LINE.findall(text, start):
        end = position + len(line)
        if fence:
            stripped = line.strip(" \t\r\n>")
            if stripped.startswith(fence) and not stripped.strip(fence[0]):
                _close(text, found, spans, language, (opened, content, position, end))
                fence = ""
        elif ("```" in line or "~~~" in line) and (match := _FENCE.match(line.rstrip("\r\n"))):
            fence, opened, content = match[2], position, end
            language = _LANGUAGE.match(match[3])[1]  # type: ignore[index]
            code = False
        elif not line.strip():
            blank = True
            position = end
            continue
        else:
            if _ITEM.match(line):
                listed = True
            elif blank and not line[0].isspace():
                listed = False
            if not plain and _INDENTED.match(line) and not listed and (code or blank):
                if not code:
                    indented = position
                code, last = True, end
            elif code:
                code = False
                found.listings.append(Listing("", text[indented:last], indented))
                found.plain.append((indented, last))
                spans.append((indented, last))
        blank = False
        position = end
    if code:
        found.listings.append(Listing("", text[indented:last], indented))
        found.plain.append((indented, last))
        spans.append((indented, last))
    if fence:
        found.unread.append(Unread(opened, content, "The block of code that begins here is never closed."))
        _close(text, found, spans, language, (opened, content, len(text), len(text)))
    return spans


def _close(text: str, found: Layout, spans: list[Span], language: str, at: tuple[int, int, int, int]) -> None:
    """A fenced block ends: a listing, or a formula if its language is `math`."""
    opened, content, closed, end = at
    spans.append((opened, end))
    if language.lower() in {"math", "latex-math"}:
        found.formulas.append((content, max(content, closed)))
        return
    found.listings.append(Listing(language.lower(), text[content:closed], content))
    if language.lower() in _NO_LANGUAGE:
        found.plain.append((content, max(content, closed)))


def _hidden_html(text: str) -> list[Span]:
    """Comments and elements whose content is not prose."""
    spans: list[Span] = []
    closers: dict[str, Ahead] = {}
    done = 0
    for match in _HIDDEN.finditer(text):
        if match.start() < done:
            continue
        closer = "-->" if match[1] is None else rf"(?i)</{match[1].lower()}\s*>"
        ahead = closers.setdefault(closer, Ahead(closer, text)) if closer not in closers else closers[closer]
        if span := ahead.span(match.end()):
            done = span[1]
            spans.append((match.start(), done))
    return spans


def _code_spans(text: str) -> list[Span]:
    """Code between backticks: as many as opened it must close it, in the same paragraph. ``$`…`$`` is mathematics."""
    spans: list[Span] = []
    if "`" not in text:
        return spans
    runs = [match for match in _TICKS.finditer(text) if match[0] != "\\`"]
    closer: list[int] = [-1] * len(runs)
    latest: dict[int, int] = {}
    for index in range(len(runs) - 1, -1, -1):
        if runs[index][0][0] != "`":
            latest.clear()
            continue
        closer[index] = latest.get(len(runs[index][0]), -1)
        latest[len(runs[index][0])] = index
    index = 0
    while index < len(runs):
        if (other := closer[index]) < 0:
            index += 1
            continue
        start, end = runs[index].start(), runs[other].end()
        if not (text[start - 1 : start] == "$" and text[end : end + 1] == "$"):
            spans.append((start, end))
        index = other + 1
    return spans


def _headings(text: str, plain: bool) -> list[Heading]:
    """Marked headings, lines that begin a problem, and numbered items."""
    found = {match.start(): Heading(match[2].strip(), match.start(), len(match[1])) for match in _ATX.finditer(text)}
    if not plain:
        for match in _SETEXT.finditer(text):
            found.setdefault(match.start(1), Heading(match[1].strip(), match.start(1), 1 if match[2][0] == "=" else 2))
    for match in PROBLEM.finditer(text):
        found.setdefault(match.start(), Heading(heading_text(match[1]), match.start(1), 5 if match[2] else 4))
    for pattern, depth in ((_NUMBERED, 6), (_POINTS, 6), (_LETTERED, 7)):
        for match in pattern.finditer(text):
            found.setdefault(match.start(), Heading(heading_text(match[0]), match.start(), depth))
    return sorted(found.values(), key=lambda heading: heading.start)


def heading_text(line: str) -> str:
    """A heading's words, without emphasis, cut to a bearable length."""
    return line.replace("*", "").strip(" \t\r_")[:120]
