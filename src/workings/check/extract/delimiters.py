r"""Where mathematics begins and ends: dollars, `\(…\)`, `\[…\]` and the environments that are formulas of their own."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field

from workings.check.document.finding import Unread
from workings.check.extract.environments import EDGE, EQUATIONS, MATRICES, content_start, pairs
from workings.check.extract.markdown import Layout
from workings.check.extract.spans import BLANK_LINE, Ahead, Span

_OPENERS = (
    r"\\\\(?P<double>[(\[])?|\\(?P<single>[(\[])|\\[$%#&{}]"
    r"|(?P<dollars>\$\$?)|(?P<begin>(?:\\|(?<![A-Za-z\\]))begin[ \t]*\{)"
)
_DOLLAR = re.compile(r"\\.|[${}]", re.DOTALL)
_TEXT_GROUP = re.compile(r"\\(?:text\w*|mbox|hbox|fbox)\s*\Z")
_PRICE = re.compile(r"\d[\d,.]*(?:k|K|M|bn|m)?(?:[ \t]+|[-–—/(])[^$\\]*?[A-Za-z]{2,}")
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3,}")
_PROSE = re.compile(r"(?<![\\A-Za-z{])[A-Za-z]{4,}")
_SPEAKS = re.compile(r"[\\=^_<>≈≤≥∈]")
_LOOKS_OPEN = re.compile(r"(?=[^\n$]*[\\=^_])(?![^\n$]*(?<![\\A-Za-z])[A-Za-z]{4})[^\n$]{3}")
"""A dollar without a partner before what looks like a formula."""
_IN_TEXT = re.compile(r"\\(?:text\w*|mathrm|operatorname\*?|mbox|label|tag)\s*\{[^{}]*\}")
_NESTED = 4
"""Dollars inside a `\\text{…}` of a formula that is itself between dollars."""
_REACH = 2_000
"""How far a display may go on after a blank line, if all of it is mathematics."""


@dataclass(frozen=True, slots=True)
class Region:
    """A formula's content, from `start` to `end`, and what it takes up with its delimiters."""

    start: int
    end: int
    outer: Span
    display: bool
    joined: bool = False
    """Whether it is several formulas with what stands between them."""


@dataclass
class _Scan:
    """One walk through a text from its beginning to its end; each step moves on, so the time is linear."""

    text: str
    strict: bool
    shortcuts: dict[str, tuple[str, str]] = field(default_factory=dict)
    r"""Macros that only begin or end an environment: `be` → (`begin`, `equation`)."""
    stops: list[int] = field(default_factory=list)
    """Where headings begin."""
    regions: list[Region] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.blanks = Ahead(BLANK_LINE, self.text)
        self.closers: dict[str, Ahead] = {}
        self.ends = pairs(self.text)
        self.double = Ahead(r"(?<!\\)\$\$", self.text)
        begin = [rf"\\{name}(?![A-Za-z])" for name, (edge, _) in self.shortcuts.items() if edge == "begin"]
        self.openers = re.compile("|".join([_OPENERS, *([f"(?P<short>{'|'.join(begin)})"] if begin else [])]))

    def run(self) -> None:
        """Find every formula."""
        position = 0
        while match := self.openers.search(self.text, position):
            position = max(match.end(), self.step(match))

    def step(self, match: re.Match[str]) -> int:
        """Deal with one opener; where to go on."""
        match match.lastgroup:
            case "dollars" if match[0] == "$$":
                return self.display_dollars(match.start())
            case "dollars":
                return self.dollar(match.start())
            case "single":
                return self.bracket(match, "\\" + ")]"["([".index(match["single"])])
            case "double" if not self.strict:
                return self.bracket(match, "\\\\" + ")]"["([".index(match["double"])])
            case "begin":
                return self.environment(match.start())
            case "short":
                return self.shortcut(match)
        return match.end()

    def paragraph_end(self, position: int) -> int:
        """The next blank line or heading."""
        index = bisect_left(self.stops, position)
        heading = self.stops[index] if index < len(self.stops) else len(self.text)
        return min(self.blanks.find(position), heading)

    def keep(self, start: int, end: int, outer: Span, display: bool) -> int:
        """Note a formula, if there is anything in it."""
        if self.text[start:end].strip():
            self.regions.append(Region(start, end, outer, display))
        return outer[1]

    def unclosed(self, start: int, content: int, what: str) -> int:
        """A formula that never ends is taken to end with its paragraph."""
        end = self.paragraph_end(content)
        self.unread.append(Unread(start, end, f"{what} is never closed: it is read up to the end of its paragraph."))
        return self.keep(content, end, (start, end), True)

    def closer(self, mark: str, position: int) -> int:
        """Where `mark` comes next (not after another backslash), or -1 if that is beyond this paragraph."""
        if mark not in self.closers:
            self.closers[mark] = Ahead(r"(?<!\\)" + re.escape(mark), self.text)
        found = self.closers[mark].find(position)
        return found if found < self.paragraph_end(position) else -1

    def dollar(self, start: int) -> int:
        """`$…$`. Outside TeX: a space inside the dollars only in what is clearly a formula, no digit after the second."""
        text, first = self.text, start + 1
        end = self.next_dollar(first)
        if end < 0:
            if self.strict or _LOOKS_OPEN.match(text, first):
                self.unread.append(Unread(start, first, "This dollar has no partner in its paragraph."))
            return first
        content = text[first:end]
        if content[:1] == content[-1:] == "`" and len(content) > 2:
            return self.keep(first + 1, end - 1, (start, end + 1), False)
        if not self.strict and not self.is_formula(content, text[end + 1 : end + 2]):
            return first
        return self.keep(first, end, (start, end + 1), False)

    def next_dollar(self, position: int) -> int:
        r"""The next dollar of this paragraph; pairs of them inside a `\text{…}` are passed over."""
        depth, nested = [], 0
        for match in _DOLLAR.finditer(self.text, position, self.paragraph_end(position)):
            if match[0] == "{":
                depth.append(match.start())
            elif match[0] == "}":
                del depth[-1:]
            elif match[0] == "$":
                inside = depth and _TEXT_GROUP.search(self.text, max(position, depth[-1] - 12), depth[-1])
                if not inside or nested == _NESTED:
                    return match.start()
                nested += 1
        return -1

    def is_formula(self, content: str, after: str) -> bool:
        """Is what stands between two dollars of a text a formula?"""
        if not content or after.isdigit():
            return False
        if content[0].isspace() or content[-1].isspace():
            clear = not after.isalnum() and _SPEAKS.search(content) and not content.isspace()
            return bool(clear and not _WORD.search(_IN_TEXT.sub("", content)) and content.count("\n") < 2)
        return bool(_SPEAKS.search(content)) or not _PRICE.match(content)

    def display_dollars(self, start: int) -> int:
        """`$$…$$`; a blank line ends it unless what follows it is mathematics up to the second `$$`."""
        content = start + 2
        end = self.double.find(content)
        if end == len(self.text):
            return self.unclosed(start, content, "$$") if self.text[content:].strip() else content
        stop = self.paragraph_end(content)
        if end > stop:
            between = self.text[content:end]
            if self.crosses_heading(start, end) or len(between) > _REACH or _PROSE.search(_IN_TEXT.sub("", between)):
                return self.unclosed(start, content, "$$")
        return self.keep(content, end, (start, end + 2), True)

    def bracket(self, match: re.Match[str], mark: str) -> int:
        r"""`\(…\)` and `\[…\]`; in Markdown also with two backslashes."""
        end = self.closer(mark, match.end())
        display = mark[-1] == "]"
        if end >= 0:
            return self.keep(match.end(), end, (match.start(), end + len(mark)), display)
        alone = self.text[match.end() : match.end() + 1] in "\r\n"
        if display and (self.strict or alone) and len(mark) == 2:
            return self.unclosed(match.start(), match.end(), match[0])
        return match.end()

    def environment(self, start: int) -> int:
        r"""`\begin{align}…\end{align}`. A matrix outside mathematics is kept whole in TeX; else `bare.py` finds it."""
        edge = EDGE.match(self.text, start)
        if not edge or edge[2].rstrip("*") not in EQUATIONS | MATRICES:
            return start + 1
        name = edge[2]
        matrix = name.rstrip("*") in MATRICES
        if matrix and not self.strict:
            return self.ends.get(start, (0, edge.end()))[1]
        content = content_start(self.text, name, edge.end())
        if start not in self.ends or self.crosses_heading(start, self.ends[start][0]):
            return self.unclosed(start, content, f"\\begin{{{name}}}")
        close, after = self.ends[start]
        if matrix:
            return self.keep(start, after, (start, after), True)
        return self.keep(content, close, (start, after), name != "math")

    def crosses_heading(self, start: int, end: int) -> bool:
        """Does a heading stand between two positions?"""
        index = bisect_left(self.stops, start + 1)
        return index < len(self.stops) and self.stops[index] < end

    def shortcut(self, match: re.Match[str]) -> int:
        r"""A macro such as `\be` that begins an equation: up to the macro that ends it."""
        _, name = self.shortcuts[match[0][1:]]
        ends = [short for short, edge in self.shortcuts.items() if edge == ("end", name)]
        mark = "|".join([*(rf"\\{short}(?![A-Za-z])" for short in ends), rf"\\end\{{{re.escape(name)}\}}"])
        ahead = self.closers.setdefault(name, Ahead(mark, self.text))
        span = ahead.span(match.end())
        if span is None or self.crosses_heading(match.start(), span[0]):
            return self.unclosed(match.start(), match.end(), match[0])
        return self.keep(match.end(), span[0], (match.start(), span[1]), True)


def regions(layout: Layout, text: str, shortcuts: dict[str, tuple[str, str]]) -> tuple[list[Region], list[Unread]]:
    """The formulas between delimiters, in order, and what could not be closed."""
    scan = _Scan(text, layout.strict, shortcuts, [heading.start for heading in layout.headings if heading.depth <= 5])
    scan.run()
    fenced = [Region(start, end, (start, end), True) for start, end in layout.formulas]
    found = sorted([*scan.regions, *fenced], key=lambda region: region.start)
    return found, scan.unread
