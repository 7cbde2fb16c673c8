r"""The macros that a document defines: `\newcommand`, `\def`, `\let`, `\DeclareMathOperator` and their kin."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from workings.check.extract.spans import Span, braces

_DEFINITION = re.compile(
    r"\\(?:(?P<new>(?:re|provide)?newcommand|providecommand|DeclareRobustCommand)\*?"
    r"|(?P<def>[egx]?def)(?![A-Za-z])|(?P<let>let)(?![A-Za-z])"
    r"|(?P<operator>DeclareMathOperator)(?P<star>\*?)|(?P<paired>DeclarePairedDelimiter)(?![A-Za-z])"
    r"|(?P<environment>(?:re)?newenvironment)\*?)"
)
_NAME = re.compile(r"[ \t]*(?:\{[ \t]*\\([A-Za-z]+|[^A-Za-z\s])[ \t]*\}|\\([A-Za-z]+|[^A-Za-z\s]))")
_COUNT = re.compile(r"\s*\[[ \t]*(\d)[ \t]*\]")
_DEFAULT = re.compile(r"\s*\[([^\[\]\n]{0,200})\]")
_PARAMETERS = re.compile(r"([^{}\n\\]{0,100})(?=\{)")
_LONGEST = 5_000
"""Characters of a macro's body."""
_OPENING = re.compile(r"\s*\{")
_LET = re.compile(r"[ \t]*=?[ \t]?(\\[A-Za-z]+|\\.|[^\s\\])")
_EDGE = re.compile(r"\s*\\(begin|end)\{([A-Za-z]+\*?)\}\s*")
_SETTING = re.compile(
    r"""["']?\\{1,2}([A-Za-z]+)["']?\s*:\s*(?:"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)'|\[\s*"((?:[^"\\\n]|\\.)*)"\s*,\s*(\d)\s*\]|([^\n]+))"""
)


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro's body with `#1` … `#9` for its arguments."""

    body: str
    count: int = 0
    default: str | None = None
    """What the first argument is if it is not given in square brackets."""
    delimiters: tuple[str, ...] = ()
    r"""For `\def\f(#1,#2)`: what stands before the first argument and after each, `("(", ",", ")")`."""
    star: bool = False
    """May a star or square brackets follow the name, without meaning for the value?"""


@dataclass(frozen=True, slots=True)
class _Source:
    """A text, and where each of its braces closes."""

    text: str
    braces: dict[int, int]


@dataclass
class Macros:
    """Every definition of a document, with the position from which it holds."""

    known: dict[str, list[tuple[int, Macro]]] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)
    endless: list[frozenset[str]] = field(default_factory=list)
    """The names in formulas whose expansion did not stop."""

    def add(self, name: str, position: int, macro: Macro) -> None:
        """Note a definition; they are met in the order of the document."""
        self.known.setdefault(name, []).append((position, macro))

    def at(self, name: str, position: int) -> Macro | None:
        """The latest definition before `position`; if all come later, the first."""
        if (found := self.known.get(name)) is None:
            return None
        index = bisect_right(found, position, key=lambda pair: pair[0])
        return found[max(0, index - 1)][1]

    def shortcuts(self) -> dict[str, tuple[str, str]]:
        r"""Macros that do nothing but begin or end an environment."""
        found = {}
        for name, definitions in self.known.items():
            macro = definitions[-1][1]
            if macro.count == 0 and (match := _EDGE.fullmatch(macro.body)) and name.isalpha():
                found[name] = (match[1], match[2])
        return found


def definitions(text: str) -> Macros:
    r"""Every definition in `text`, and the spans they take up.

    >>> definitions(r"\newcommand{\R}[1]{\mathbb{R}^{#1}}").known["R"]
    [(0, Macro(body='\\mathbb{R}^{#1}', count=1, default=None, delimiters=(), star=False))]
    """
    macros = Macros()
    if not _DEFINITION.search(text):
        return macros
    source = _Source(text, braces(text))
    position = 0
    while match := _DEFINITION.search(text, position):
        position = match.end()
        end = _define(source, match, macros)
        if end > 0:
            macros.spans.append((match.start(), end))
            position = end
    return macros


def _define(source: _Source, match: re.Match[str], macros: Macros) -> int:
    """Read one definition; where it ends, or -1 if it is none."""
    if match["environment"]:
        return _define_environment(source, match, macros)
    name = _NAME.match(source.text, match.end())
    if not name:
        return -1
    kind, end = match.lastgroup if match.lastgroup != "star" else "operator", name.end()
    word = name[1] or name[2]
    if kind == "let":
        meant = _LET.match(source.text, end)
        if not meant:
            return -1
        macros.add(word, match.start(), Macro(meant[1]))
        return meant.end()
    macro, end = _READ[kind or ""](source, end)
    if macro is None:
        return -1
    if kind == "operator":
        macro = Macro(rf"\operatorname{match['star']}{{{macro.body}}}")
    macros.add(word, match.start(), macro)
    return end


def _group(source: _Source, position: int) -> tuple[str | None, int]:
    """The content of the braces at `position`, and where they end."""
    opening = _OPENING.match(source.text, position)
    close = source.braces.get(opening.end() - 1, -1) if opening else -1
    if opening is None or not 0 <= close - position < _LONGEST:
        return None, position
    return source.text[opening.end() : close], close + 1


def _read_new(source: _Source, position: int) -> tuple[Macro | None, int]:
    r"""`[2][default]{body}`."""
    count, default = 0, None
    if found := _COUNT.match(source.text, position):
        count, position = int(found[1]), found.end()
        if found := _DEFAULT.match(source.text, position):
            default, position = found[1], found.end()
    body, end = _group(source, position)
    return (None if body is None else Macro(body, count, default)), end


def _read_def(source: _Source, position: int) -> tuple[Macro | None, int]:
    r"""`#1#2{body}`, `(#1,#2){body}`."""
    parameters = _PARAMETERS.match(source.text, position)
    if not parameters:
        return None, position
    parts = re.split(r"#\d", parameters[1])
    body, end = _group(source, parameters.end())
    plain = not any(part.strip() for part in parts)
    return (None if body is None else Macro(body, len(parts) - 1, None, () if plain else tuple(parts))), end


def _read_operator(source: _Source, position: int) -> tuple[Macro | None, int]:
    r"""`{name}`."""
    body, end = _group(source, position)
    return (None if body is None else Macro(body.replace(r"\,", "").strip())), end


def _read_paired(source: _Source, position: int) -> tuple[Macro | None, int]:
    r"""`{\lVert}{\rVert}`: the argument between the two."""
    left, middle = _group(source, position)
    right, end = _group(source, middle)
    if left is None or right is None:
        return None, position
    return Macro(rf"\left{left} #1 \right{right}", 1, star=True), end


_READ = {"new": _read_new, "def": _read_def, "operator": _read_operator, "paired": _read_paired}

_ENVIRONMENT_NAME = re.compile(r"\s*\{([A-Za-z]+\*?)\}(?!\s*\[)")


def _define_environment(source: _Source, match: re.Match[str], macros: Macros) -> int:
    r"""`\newenvironment{name}{before}{after}` without arguments: kept as macros `begin name` and `end name`."""
    name = _ENVIRONMENT_NAME.match(source.text, match.end())
    if not name:
        return -1
    before, middle = _group(source, name.end())
    after, end = _group(source, middle)
    if before is None or after is None:
        return -1
    macros.add(f"begin {name[1]}", match.start(), Macro(before))
    macros.add(f"end {name[1]}", match.start(), Macro(after))
    return end


def settings(front: str, macros: Macros) -> None:
    r"""Macros of KaTeX or MathJax in front matter: `macros: {"\\R": "\\mathbb{R}"}`, or one on each line."""
    _, found, block = front.partition("macros:")
    if not found:
        return
    for match in _SETTING.finditer(block[:5_000]):
        quoted = match[2] or match[4]
        body = quoted.replace("\\\\", "\\") if quoted else (match[3] or match[6] or "").strip(" \r,}").strip("'\"")
        if match[6] and body.count("{") > body.count("}"):
            body += "}" * (body.count("{") - body.count("}"))
        count = max((int(digit) for digit in re.findall(r"#(\d)", body)), default=0)
        macros.add(match[1], 0, Macro(body, count))
