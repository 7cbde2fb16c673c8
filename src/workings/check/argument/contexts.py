"""The tree of contexts of a document: section → problem → part → step, and what a place sees of the values given elsewhere.

Form alone makes a context: a heading, an environment, a macro with a long argument, a quote, a list item, labels that count
up, a bold word at the beginning of a paragraph. Only environments and macros that are mere layout are known by name.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from functools import cached_property
from itertools import pairwise

from workings.check.document.document import Document
from workings.check.extract.spans import Ahead, braces


class Form(StrEnum):
    """What made a context."""

    DOCUMENT = "document"
    SECTION = "section"
    BLOCK = "block"
    """A theorem, an example, a solution, a quote: something that is complete in itself."""
    PART = "part"
    """(a), (b), (c); the items of a list."""
    STEP = "step"
    """A paragraph with a bold head, a cell: it divides the text, and hides nothing."""
    FENCE = "fence"
    """A block of code with the words that lead to it: it hides nothing."""
    ASIDE = "aside"
    """A caption, a footnote: it sees what is around it, and nobody sees what it says."""


class Visibility(IntEnum):
    """How a value that was given in one context is seen from another, from near to far."""

    OWN = 0
    """Given here, or around here in the same problem."""
    REFERRED = 1
    """Given in a part or a problem that the text here refers to."""
    SIBLING = 2
    """Given in another part of the same problem."""
    FAR = 3
    """Given in a section around the problem."""
    HIDDEN = 4


@dataclass(eq=False)
class Context:
    """A stretch of the document."""

    start: int
    end: int
    form: Form
    title: str = ""
    parent: Context | None = None
    children: list[Context] = field(default_factory=list)
    continues: Context | None = None
    """The problem that a solution solves."""
    refers_to: list[Context] = field(default_factory=list)
    """The contexts that its text names: «as in question 1»."""

    def path(self) -> Iterator[Context]:
        """This context and those around it, innermost first."""
        here: Context | None = self
        while here is not None:
            yield here
            here = here.parent

    @cached_property
    def problem(self) -> Context:
        """The problem it belongs to: the outermost block below the nearest section, or that section.

        A solution belongs to what it solves.
        """
        found: Context | None = None
        for here in self.path():
            if here.continues is not None:
                return here.continues.problem
            if here.form is Form.ASIDE:
                return here
            if here.form is Form.BLOCK:
                found = here
            elif here.form in (Form.SECTION, Form.DOCUMENT):
                if _is_solution(here) and found is None and here.parent is not None:
                    continue  # a section «Solution» belongs to the exercise around it
                return found or here
        return self

    @cached_property
    def home(self) -> Context:
        """The nearest context that keeps its values to itself: not a step, not a solution beside its problem."""
        here = self
        while here.form in (Form.STEP, Form.FENCE) and here.continues is None and here.parent is not None:
            here = here.parent
        return here.continues.home if here.continues is not None else here

    @cached_property
    def homes(self) -> frozenset[Context]:
        """The homes of this context and of those around it in the same problem."""
        found, here = set(), self.home
        while True:
            found.add(here)
            if here is self.problem or here.parent is None:
                return frozenset(found)
            here = here.parent.home

    @cached_property
    def problems_seen(self) -> tuple[Context, ...]:
        """The problems whose values may be seen from here: its own, those referred to, those of the sections around it."""
        return tuple(dict.fromkeys(context.problem for context in (self, *self.referred, *self.problem.path())))

    @cached_property
    def referred(self) -> tuple[Context, ...]:
        """What the text here refers to, and the text around it in the same problem."""
        found: list[Context] = []
        for here in self.path():
            found += here.refers_to
            if here is self.problem:
                break
        return tuple(found)

    @property
    def is_solution(self) -> bool:
        """Whether it, or something around it, answers a problem."""
        return any(_is_solution(here) for here in self.path())

    @property
    def is_called_wrong(self) -> bool:
        """Whether a heading calls what stands below it wrong."""
        heads = (here.title for here in self.path() if here.form in (Form.SECTION, Form.FENCE))
        return any(map(_CALLED_WRONG.search, heads))


def visibility(here: Context, there: Context) -> Visibility:
    """How a value given `there` is seen from `here`."""
    if there.home in here.homes:
        return Visibility.OWN
    if there.form is Form.ASIDE:
        return Visibility.HIDDEN
    if here.referred and any(belongs(there, target) for target in here.referred):
        return Visibility.REFERRED
    if here.problem is there.problem:
        return Visibility.SIBLING
    return Visibility.FAR if there.home in here.problem.path() else Visibility.HIDDEN


def belongs(context: Context, target: Context) -> bool:
    """Whether a context stands in another, or in its solution."""
    return any(part is target or part.continues is target for part in context.path())


_LAYOUT = re.compile(
    r"(?:document|multicols|center|figure|table|tabular\w?|longtable|minipage|flush\w+|small|large|adjustwidth|wrapfigure|appendix"
    r"|abstract|equation|align\w*|gather\w*|multline|flalign|eqnarray|split|array|d?cases|math|displaymath|\w*matrix|lstlisting"
    r"|verbatim|minted|tikzpicture|axis|subfigure|subequations|comment|thebibliography|enumerate|itemize|description|tasks"
    r"|(?:sub)?parts|compact\w+|frame|columns?)\*?"
)
"""Environments that only lay out what is in them."""
_FONT = re.compile(
    r"text\w*|emph|small|large|color|underline|href|mbox|[hv]space|(?:re)?new\w*|def|provide\w*|setlength|(?:sub)*section|chapter"
    r"|paragraph|label|index|includegraphics|usepackage|document\w*|bibitem|begin|end|item|caption\w*|footnote\w*|frametitle"
)
"""Macros that only set what is in them."""
_ASIDE = re.compile(r"\\(caption\w*|footnote(?:text)?|marginnote|sidenote|thanks)(?:\[[^\]]*\])?\s*\{")
_EDGE = re.compile(r"\\(begin|end)\s*\{(\w+\*?)\}|\\item\b")
_MACRO = re.compile(r"^[ \t]*\\(\w+)(?:\[[^\]]*\])?\{", re.MULTILINE)
_LABEL = re.compile(
    r"(?:(?<=[\n{.!?:;])|^)[ \t~]*(?:\*\*|\\textbf\{|\\item\[?)?\(?([a-k]|[ivx]{1,4}|\d{1,2})\)[ \t~\n*}\]]", re.MULTILINE
)
_SERIES = (
    tuple("abcdefghijk"),
    tuple(str(n) for n in range(1, 40)),
    ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"),
)
_RUN_IN = re.compile(
    r"^[ \t>]*(?:\*\*|__|(?:\\noindent\s*)?\\textbf\{|\\paragraph\*?\{)([^*_}\n]{2,60})(?:\*\*|__|\})[:：.]?"
    r"|^(?:#{1,6} |\\(?:sub)*section)",
    re.MULTILINE,
)
_BULLET = re.compile(r"^([ \t]*)(?:[-*+]|\d{1,2}[.)])[ \t]+\S", re.MULTILINE)
_FENCE = re.compile(
    r"(?:^[ \t>]*(?P<head>[^\n`]{1,60})\n(?:[ \t>]*\n)?)?^[ \t>]*(?P<fence>```+|~~~+)(?P<info>[^\n`]*)\n.*?"
    r"^[ \t>]*(?P=fence)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
_QUOTE = re.compile(r"(?:^[ \t]*>.*\n?)+", re.MULTILINE)
_MARKS = re.compile(r"^(?:[ \t]*>)+", re.MULTILINE)
_COLONS = re.compile(r"^(:{3,}) *\{?([^\n]*)\n.*?^\1 *$", re.MULTILINE | re.DOTALL)
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n(?![ \t])|\Z")
_SOLUTION = re.compile(
    r"^\W*(?:sol\w*\b|answers?\b|ans\b|proof\b|hint)|解|证明|答|footnotetext|\bsolutions?\W*$|Lösung|corrigé", re.IGNORECASE
)
"""What a text calls the answer to the problem before it."""
_CALLED_WRONG = re.compile(
    r"(?<![a-z])(?:mistakes?|misconceptions?|fallac(?:y|ies)|common errors?)(?: to avoid| (?:in|when|with) .*)?\W*$"
    r"|^\W*(?:the )?(?:wrong|incorrect)(?: (?:ways?|approach|method|solution|answer|proof|reasoning))?\W*$",
    re.IGNORECASE,
)
"""A heading whose noun is a mistake, or that calls a way wrong; not «Mistake rate»."""
_NEXT_ARGUMENT = re.compile(r"\}[ \t]*(?:%[^\n]*)?\n?[ \t]*\{")
_LONG_ARGUMENT = 60
"""Characters from which on the argument of a macro is a text."""
DEEPEST_SECTION = 5


def _is_solution(context: Context) -> bool:
    """Whether its title says that it answers a problem."""
    return _SOLUTION.search(context.title) is not None


_Span = tuple[int, int, Form, str]


class Contexts:
    """The contexts of a document, found by position."""

    def __init__(self, document: Document) -> None:
        text = document.text
        self.root = Context(0, len(text) + 1, Form.DOCUMENT)
        closing = braces(text) if "\\" in text else {}
        spans = [*_sections(document), *_run_ins(text), *_asides(text, closing), *_cells(document)]
        spans += _latex_blocks(text, closing) if document.kind == "latex" else _markdown_blocks(text)
        self._nest(spans)
        labels = [span for context in list(self) for span in self._labelled(text, context)]
        if labels:
            spans += labels
            self._nest(spans)
        for context in self:
            _link(context)
        self.every = sorted(self, key=lambda context: context.start)
        self.numbers = {context: number for number, context in enumerate(self.every)}

    def __iter__(self) -> Iterator[Context]:
        waiting = [self.root]
        while waiting:
            context = waiting.pop()
            yield context
            waiting += reversed(context.children)

    def at(self, position: int) -> Context:
        """The innermost context at a position."""
        index = bisect_right(self._changes, position, key=lambda change: change[0])
        return self._changes[index - 1][1] if index else self.root

    def number(self, context: Context) -> int:
        """A number for each context, counted in the order of the text."""
        return self.numbers[context]

    def _nest(self, spans: list[_Span]) -> None:
        """Make the tree: each span inside the one around it, cut to it; then where one context gives way to another."""
        self.root.children.clear()
        around = [self.root]
        changes: list[tuple[int, Context]] = [(0, self.root)]

        def leave(until: int) -> None:
            while len(around) > 1 and around[-1].end <= until:
                left = around.pop()
                changes.append((left.end, around[-1]))

        for start, end, form, title in sorted(spans, key=lambda span: (span[0], -span[1])):
            leave(start)
            parent = around[-1]
            end = min(end, parent.end)
            if end <= start or ((parent.start, parent.end) == (start, end) and parent.form is form):
                continue
            made = Context(start, end, form, title, parent)
            parent.children.append(made)
            around.append(made)
            changes.append((start, made))
        leave(self.root.end + 1)
        self._changes = changes

    def _labelled(self, text: str, context: Context) -> Iterator[_Span]:
        """Parts by labels that count up, (a) (b) (c) or 1) 2) 3), in the own text of a context."""
        end = min([child.start for child in context.children if child.form is Form.SECTION] + [context.end])
        own = [found for found in _LABEL.finditer(text, context.start, end) if self.at(found.start(1)) is context]
        for labels in _SERIES if len(own) > 1 else ():
            series: list[list[re.Match[str]]] = [[]]
            for found in own:
                if found[1] == labels[0]:
                    series.append([found])
                elif series[-1] and len(series[-1]) < len(labels) and found[1] == labels[len(series[-1])]:
                    series[-1].append(found)
            for index, run in enumerate(series):
                if len(run) > 1:
                    following = series[index + 1][0].start() if index + 1 < len(series) else end
                    stops = [*(found.start() for found in run[1:]), following]
                    yield from ((found.start(), stop, Form.PART, found[1]) for found, stop in zip(run, stops, strict=True))


def _sections(document: Document) -> Iterator[_Span]:
    """From a heading to the next one that is as wide; the numbered and lettered items of a sheet are parts."""
    heads = document.headings
    ends = _ends([(head.start, head.depth) for head in heads], len(document.text))
    for head, end in zip(heads, ends, strict=True):
        form = Form.SECTION if head.depth <= DEEPEST_SECTION else Form.PART
        yield head.start, end, form, head.text.strip(" #*")[:60]


def _ends(marks: list[tuple[int, int]], last: int) -> list[int]:
    """For each mark (its position, its depth) where the next one begins that is not deeper.

    >>> _ends([(0, 1), (10, 2), (20, 2), (30, 1)], 40)
    [30, 20, 30, 40]
    """
    ends = [last] * len(marks)
    waiting: list[int] = []
    for index, (start, depth) in enumerate(marks):
        while waiting and marks[waiting[-1]][1] >= depth:
            ends[waiting.pop()] = start
        waiting.append(index)
    return ends


def _run_ins(text: str) -> Iterator[_Span]:
    """From a bold head in the line (Solution., Example 3:, Step 2) to the next one, or to the next heading."""
    found = list(_RUN_IN.finditer(text))
    for index, head in enumerate(found):
        if head[1]:
            yield head.start(), found[index + 1].start() if index + 1 < len(found) else len(text), Form.STEP, head[1]


def _asides(text: str, closing: dict[int, int]) -> Iterator[_Span]:
    for found in _ASIDE.finditer(text):
        yield found.start(), closing.get(found.end() - 1, found.end()), Form.ASIDE, found[1]


def _cells(document: Document) -> Iterator[_Span]:
    for (start, number), (end, _) in pairwise([*document.cells, (len(document.text), 0)]):
        yield start, end, Form.STEP, f"cell {number}"


def _latex_blocks(text: str, closing: dict[int, int]) -> Iterator[_Span]:
    """Environments that are not mere layout, items of lists, and macros of the document with a long argument."""
    waiting: list[tuple[str, int]] = []
    for found in _EDGE.finditer(text):
        if found[1] == "begin":
            waiting.append((found[2], found.start()))
        elif found[1] is None:
            if waiting and waiting[-1][0] == "\\item":
                yield waiting.pop()[1], found.start(), Form.PART, "item"
            if waiting:
                waiting.append(("\\item", found.start()))
        elif any(name == found[2] for name, _ in waiting):
            while waiting:
                name, start = waiting.pop()
                if name == "\\item":
                    yield start, found.start(), Form.PART, "item"
                elif not _LAYOUT.fullmatch(name):
                    yield start, found.end(), Form.BLOCK, name
                if name == found[2]:
                    break
    for found in _MACRO.finditer(text):
        end = _last_brace(text, closing, found.end() - 1)
        is_text = end - found.end() > _LONG_ARGUMENT and re.search(r"[$.]", text[found.end() : end]) is not None
        if is_text and not _FONT.fullmatch(found[1]):
            yield found.start(), end, Form.BLOCK, found[1]


def _last_brace(text: str, closing: dict[int, int], opening: int) -> int:
    r"""Where the last argument of a macro ends: \example{label}{title}{statement} is one text."""
    end = opening + 1
    while opening in closing:
        end = closing[opening]
        following = _NEXT_ARGUMENT.match(text, end)
        if following is None:
            break
        opening = following.end() - 1
    return end


def _markdown_blocks(text: str) -> Iterator[_Span]:
    """Quotes and callouts, fences of colons; items of lists."""
    for found in _QUOTE.finditer(text):
        yield found.start(), found.end(), Form.BLOCK, found[0].strip("> \t\n[!*")[:30]
        yield from ((start, end, Form.BLOCK, "") for start, end in _inner_quotes(found[0], found.start()))
    for found in _FENCE.finditer(text):
        titles = [title for title in (found["head"], found["info"]) if title and _CALLED_WRONG.search(title)]
        if titles:
            yield found.start("fence"), found.end(), Form.FENCE, titles[0]
    for found in _COLONS.finditer(text):
        yield found.start(), found.end(), Form.BLOCK, found[2]
    items = list(_BULLET.finditer(text))
    ends = _ends([(item.start(), len(item[1])) for item in items], len(text))
    paragraphs = Ahead(_PARAGRAPH_END, text) if items else None
    for item, end in zip(items, ends, strict=True):
        yield item.start(), min(end, paragraphs.find(item.end()) if paragraphs else end), Form.PART, "item"


def _inner_quotes(quote: str, start: int) -> Iterator[tuple[int, int]]:
    """The quotes inside a quote, by the marks > at the beginnings of its lines.

    >>> list(_inner_quotes("> a\\n>> b\\n>> c\\n> d\\n", 10))
    [(14, 24)]
    """
    opened: list[int] = []
    for line in _MARKS.finditer(quote):
        depth, here = line[0].count(">") - 1, start + line.start()
        while len(opened) > depth:
            yield opened.pop(), here
        opened += [here] * (depth - len(opened))
    yield from ((first, start + len(quote)) for first in reversed(opened))


def _link(context: Context) -> None:
    """A solution continues the problem before it, unless its neighbours are solutions too (a list of answers)."""
    before: Context | None = None
    for child in context.children:
        answers = _is_solution(child)
        if answers and before is not None and before.title != child.title and not _is_solution(before):
            child.continues = before
        if child.form in (Form.BLOCK, Form.SECTION, Form.PART) or (child.form is Form.STEP and not answers):
            before = child
