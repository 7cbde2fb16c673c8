r"""What in LaTeX is code, a comment (`%`, `\iffalse`) or a heading."""

from __future__ import annotations

import re

from workings.check.document.document import Heading, Listing
from workings.check.document.finding import Unread
from workings.check.extract.markdown import PROBLEM, Layout, heading_text
from workings.check.extract.spans import Ahead, Span, covered

_LISTINGS = {"verbatim": "", "Verbatim": "", "lstlisting": "", "minted": "", "alltt": "", "pythoncode": "python"}
_HIDDEN = re.compile(
    r"\\verb\*?(?P<bar>[^A-Za-z\s*])|\\lstinline(?:\[[^\]\n]{0,200}\])?(?P<bar2>[^A-Za-z\s\[])"
    r"|\\mintinline\{\w*\}(?P<bar3>[^A-Za-z\s])"
    r"|\\begin\{(?P<name>verbatim|Verbatim|lstlisting|minted|alltt|pythoncode|comment|filecontents)\*?\}"
    r"|(?P<if>\\iffalse\b)|(?P<end>\\end\{document\})|\\[^A-Za-z]|(?P<comment>%[^\n]*)",
    re.DOTALL,
)
_OPTIONS = re.compile(r"[ \t]*(?:\[(?P<options>[^\]]{0,500})\])?[ \t]*(?:\{(?P<language>[\w+#-]{1,30})\})?[^\n]{0,200}\n?")
_LANGUAGE = re.compile(r"language\s*=\s*\{?\[?([\w+#]+)")
_CONDITION = re.compile(r"\\(?:if(?!thenelse\b|f\b)[A-Za-z]*|fi)\b")

_SECTION = re.compile(
    r"\\(part|chapter|section|subsection|subsubsection|paragraph)\*?[ \t]*(?:\[[^\]\n]{0,200}\])?[ \t]*\{([^\n]*)"
)
_DEPTH = {"part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5}
_BOLD = re.compile(r"\\textbf\{((?:Problem|Question|Exercise|Task|Assignment)[ \t~]+[\w.]{1,9}[^{}\n]{0,100})\}")
_ENUMERATE = re.compile(r"\\(begin|end)\{(enumerate|itemize)\}|\\item\b[^\n]*")
_BODY = re.compile(r"\\begin\{document\}")


def layout(text: str) -> Layout:
    """Find the code, the comments and the headings."""
    found = Layout(text, strict=True)
    hidden = _hidden_parts(text, found)
    found.blocks = covered(text, hidden)
    found.clean = found.blocks
    found.headings = _headings(found.blocks)
    return found


def _hidden_parts(text: str, found: Layout) -> list[Span]:
    """Everything that is not typeset as text; blocks of code go to the listings of `found`."""
    spans: list[Span] = []
    ends: dict[str, Ahead] = {}
    skipped: dict[int, int] | None = None
    position = 0
    while match := _HIDDEN.search(text, position):
        position = match.end()
        if match["comment"] is not None:
            spans.append(match.span())
        elif bar := match["bar"] or match["bar2"] or match["bar3"]:
            line = text.find("\n", position)
            close = text.find({"{": "}"}.get(bar, bar), position, line if line >= 0 else len(text))
            if close >= 0:
                position = close + 1
                spans.append((match.start(), position))
        elif name := match["name"]:
            ahead = ends.get(name) or ends.setdefault(name, Ahead(rf"\\end\{{{name}\*?\}}", text))
            position = _block(text, found, spans, match, ahead.span(position))
        elif match["if"]:
            skipped = _conditions(text) if skipped is None else skipped
            position = skipped.get(match.start(), position)
            spans.append((match.start(), position))
        elif match["end"]:
            spans.append((position, len(text)))
            break
    return spans


def _block(text: str, found: Layout, spans: list[Span], begin: re.Match[str], end: Span | None) -> int:
    """Hide an environment of code; what follows it begins at the position returned."""
    name = begin["name"]
    if end is None:
        found.unread.append(Unread(*begin.span(), f"\\begin{{{name}}} has no \\end{{{name}}}."))
        return begin.end()
    options = _OPTIONS.match(text, begin.end(), end[0])
    start = options.end() if options and name not in {"alltt", "comment"} else begin.end()
    spans.append((begin.start(), end[1]))
    if name in _LISTINGS:
        named = _LANGUAGE.search(options["options"] or "") if options else None
        language = named[1] if named else (options["language"] if options else None) or _LISTINGS[name]
        found.listings.append(Listing(language.lower(), text[start : end[0]], start))
    return end[1]


def _conditions(text: str) -> dict[int, int]:
    r"""For each condition (`\iffalse`, `\ifmmode` …): where the `\fi` that belongs to it ends."""
    found: dict[int, int] = {}
    waiting: list[int] = []
    for match in _CONDITION.finditer(text):
        if match[0] != r"\fi":
            waiting.append(match.start())
        elif waiting:
            found[waiting.pop()] = match.end()
    return found


def _headings(text: str) -> list[Heading]:
    """Sections, lines that begin a problem, and the items of enumerations (depth 6 for the outermost)."""
    body = _BODY.search(text)
    start = body.end() if body else 0
    found: dict[int, Heading] = {}
    for match in _SECTION.finditer(text, start):
        found[match.start()] = Heading(match[2].rsplit("}", 1)[0].strip(), match.start(), _DEPTH[match[1]])
    for match in _BOLD.finditer(text, start):
        found.setdefault(match.start(), Heading(heading_text(match[1]), match.start(1), 5))
    for match in PROBLEM.finditer(text, start):
        found.setdefault(match.start(), Heading(heading_text(match[1]), match.start(1), 5 if match[2] else 4))
    level: list[str] = []
    for match in _ENUMERATE.finditer(text, start):
        if match[1] == "begin":
            level.append(match[2])
        elif match[1] == "end":
            del level[-1:]
        elif level and level[-1] == "enumerate":
            depth = 5 + min(2, level.count("enumerate"))
            found.setdefault(match.start(), Heading(heading_text(match[0]), match.start(), depth))
    return sorted(found.values(), key=lambda heading: heading.start)
