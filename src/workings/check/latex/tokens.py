"""Tokens of a formula: one pass of one regular expression, then a table that says what each piece is.

A token is `(kind, value, start, end)`: `\\leq`, `\\le` and `≤` are all `("relation", "≤", …)`. Spaces, sizes of
brackets, labels and other things without meaning are dropped. What no table knows has the kind `unknown`, which the parser
refuses when it gets there.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from workings.check.latex.signs import FUNCTIONS, KINDS, OPERATOR_WORDS, SPELLED
from workings.errors import ParseError

Token = tuple[str, Any, int, int]

_LONGEST = 100_000
"""Characters in one formula; longer ones are refused."""
_PROSE = 12
"""A run of more letters than this is prose that strayed into a formula."""

_WIDE_SPACE = re.compile(
    r"\\hspace\*?\s*\{\s*(?:[1-9]\d(?:\.\d+)?\s*(?:pt|mm|ex|mu)|[1-9]\d*(?:\.\d+)?\s*(?:cm|em|in))\s*\}"
)
"""A space as wide as a \\quad, which parts formulas."""
_ARGUMENT = r"\s*\{[^{}]*\}"
_NESTED = r"(?:[^{}$]|\$[^$]*\$|\{(?:[^{}]|\{[^{}]*\})*\})"
_WORDS = r"text(?:rm|it|tt|sf|normal|bf|md|up)?|operatorname\*?|mathop|mathrm|mathtt|mathsf|mathit|mathbf|mbox|hbox|textsc"
_PATTERN = rf"""
      (?P<skip>(?:\s|[~\u200b\u2060-\u2064\ufeff])+|\\[,;:!>/ \n]|\\-
         |\\(?:label|tag\*?|vspace\*?|hspace\*?|vskip|hskip|color|ref|eqref|cite|mspace){_ARGUMENT}
         |\\textcolor\s*(?:\[\w*\]\s*)?{_ARGUMENT}|\\[hv]skip\s*-?[\d.]+\s*(?:pt|em|ex|mm|cm|in|mu)
         |\\(?:left|right|middle)(?=\s*\\?[Vv]ert|\s*\\[lr][Vv]ert|\s*[()\[\]]|\s*\\[{{}}]|\s*\\[lr](?:angle|floor|ceil|brack|brace))
         |\\[bB]igg?[lrm]?(?![a-zA-Z]))
    | (?P<number>(?:[1-9]\d*(?:(?:\{{,\}}|\\,)\d{{3}})+(?!\d)(?:\.\d+)?|\d+\{{,\}}\d+|\d+(?:\.(?:[ \t]*\n[ \t]*)?\d+)?
         |\.\d+)(?:[eE][+\-−]?\d+(?![\d.]))?)
    | (?P<run>[A-Za-z]{{2,}})
    | (?P<word>\\(?P<font>{_WORDS})\s*\{{(?P<inner>(?:[^{{}}$]|\$[^$]*\$)*)\}}|\{{\s*\\rm\s+(?P<roman>[A-Za-z]{{2,}})\s*\}})
    | (?P<nested>\\(?:text(?:rm|it|tt|sf|normal|bf|md|up|sc)?|mbox|hbox)\s*\{{{_NESTED}*\}})
    | (?P<env>\\begin\s*\{{(?:array|alignat\*?|alignedat|xalignat\*?|tabular)\}}\s*(?:\[\w\])?
            \s*\{{(?:[^{{}}]|\{{[^{{}}]*\}})*\}}
         |\\begin\s*\{{[a-zA-Z]*\*?\}}(?:\[[lrctb]\])?|\\end\s*\{{[a-zA-Z]*\*?\}})
    | (?P<row>\\\\\*?(?:\s*\[\s*-?[\d.]+\s*(?:pt|em|ex|mm|cm|in|mu|\\jot|\\baselineskip)\s*\])?
         |\\(?:newline|cr)(?![a-zA-Z]))
    | (?P<raised>[⁰¹²³⁴-⁹⁺⁻⁼⁽⁾ⁿⁱᵀᵗ]+|[₀-₉₊₋ₐₑᵢⱼₖₗₘₙₒₚₛₜₓ]+)
    | (?P<sign>\\(?:arg\s*\\(?:max|min)(?![a-zA-Z])|not\s*(?:\\[a-zA-Z]+|[=<>∈])|(?:left|right|middle)\s*(?:\\\||[.|/<>‖])
         |[a-zA-Z]+\*?|.)|\.\.\.?|"[^"\n]*"|:=|<=>|<=|>=|<<|>>|->|=>|<-(?=\s)|.)
    """
_RARE = r"(?P<part>(?:\d+[ ]?)?[¼½¾⅐-⅞])|(?P<repeating>\d*\.\d*\\(?:overline|bar|dot)\s*(?:\{\d+\}|\d))"
_MASTER = re.compile(_PATTERN, re.VERBOSE | re.DOTALL)
_MASTER_WITH_RARE = re.compile(f"{_RARE}|{_PATTERN}", re.VERBOSE | re.DOTALL)
_HAS_RARE = re.compile(r"[¼½¾⅐-⅞]|\.\d*\\(?:overline|bar|dot)")
_BRACKET = re.compile(r"\s*(?:\\left|\\[bB]igg?l?)?\s*[(\[_^]")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9\-]*(?:(?:\\_|\.)[A-Za-z0-9]+)*")
_COMMAND = re.compile(r"\\[A-Za-z]+\*?|[{}]")
_OWN = re.compile(r"\\[A-Za-z]+")
_AFTER_NUMBER = re.compile(r"\d(?:\s|~|\\[,;: ])*\Z")
_FOLLOWED = re.compile(r"\s*[{\[]")
_NUMBER = re.compile(r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+")
_ESCAPED = re.compile(r"\\[^A-Za-z&]")
_INDEX = re.compile(r"[_^]\s*\{\s*\Z")
_SPACING = re.compile(r"\\[,;:! ]|[\s~]+")
_KEEP = frozenset("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱᵀᵗ₀₁₂₃₄₅₆₇₈₉₊₋ₐₑᵢⱼₖₗₘₙₒₚₛₜₓ")
_APART = frozenset(("", " ", "\n", "\t", "}", "{"))
_BEFORE_MOD = _APART | {"("}
"""(mod 5)"""
_CAMEL = re.compile(r"[A-Za-z]?[a-z]*(?:[A-Z]+[a-z]*){2,}")
_STYLES = {"textbf": ("bold",), "mathbf": ("bold",), "texttt": ("tt",)}
_CODE = re.compile(r"[\\_.(\[=:*]")
"""What a program writes, and no name has."""


def tokens(text: str) -> list[Token]:
    r"""The tokens of a formula; the last one has the kind `end of text`.

    >>> [token[:2] for token in tokens(r"x \le 0.50")]
    [('symbol', ('x', ())), ('relation', '≤'), ('number', '0.50'), ('end of text', '')]
    """
    if len(text) > _LONGEST:
        raise ParseError(f"A formula has at most {_LONGEST} characters, but this one has {len(text)}.", text[:_LONGEST], 0)
    plain = text if text.isascii() else "".join(map(_plain, text))
    plain = _WIDE_SPACE.sub(lambda found: r"\quad".ljust(len(found.group())), plain) if "hspace" in plain else plain
    found: list[Token] = []
    master = _MASTER_WITH_RARE if _HAS_RARE.search(plain) else _MASTER
    for match in master.finditer(plain):
        group = match.lastgroup
        if group == "skip":
            continue
        piece = match.group()
        known = KINDS.get(piece)
        if known is not None:
            if known[0] != "nothing":
                found.append((known[0], known[1], match.start(), match.end()))
        elif group == "number":
            found.append(("number", _number(piece), match.start(), match.end()))
        else:
            found += _RULES[group or ""](match, text)
    found.append(("end of text", "", len(text), len(text)))
    return found


def _number(piece: str) -> str:
    """The digits of a number as a decimal: `1{,}000` is `1000`, `0{,}5` is `0.5`; a line may end after the point."""
    if "\n" in piece:
        piece = "".join(piece.split())
    if "{" not in piece and "\\" not in piece and "−" not in piece:
        return piece
    decimal = piece[0] == "0" or any(len(digits.partition(".")[0]) != 3 for digits in piece.split("{,}")[1:])
    return piece.replace("{,}", "." if decimal else "").replace("\\,", "").replace("−", "-")


def _plain(character: str) -> str:
    """A character's ordinary form if it is one character: full-width brackets, 𝐱, µ."""
    if character < "\x80" or character in KINDS or character in _KEEP:
        return character
    form = unicodedata.normalize("NFKC", character)
    return form if len(form) == 1 else character


def _run(match: re.Match[str], text: str) -> list[Token]:
    """Letters without spaces: a function before a bracket, otherwise a letter each."""
    run, start = match.group(), match.start()
    if run.lower() in FUNCTIONS and _BRACKET.match(match.string, match.end()):
        return [(*FUNCTIONS[run.lower()], start, match.end())]
    operator = OPERATOR_WORDS.get(run)
    if (
        operator
        and match.string[max(0, start - 1) : start] in (_BEFORE_MOD if operator[1] == "mod" else _APART)
        and match.string[match.end() : match.end() + 1] in _APART
    ):
        return [(*operator, start, match.end())]
    if len(run) > _PROSE and _CAMEL.fullmatch(run):
        return [("symbol", (run, ("text",)), start, match.end())]
    if len(run) > _PROSE:
        raise ParseError(f"Expected a formula, found the word {run!r}: this is prose.", text, start)
    if run in SPELLED and not _INDEX.search(match.string, 0, start):
        raise ParseError(f"The word {run!r} may be the command \\{run} without its backslash.", text, start)
    return [("symbol", (letter, ()), start + i, start + i + 1) for i, letter in enumerate(run)]


def _word(match: re.Match[str], _: str) -> list[Token]:
    """`\\text{…}` and its like: a function, a name, a number, or words."""
    font, span = match["font"] or "mathrm", match.span()
    inner = match["inner"] if match["roman"] is None else match["roman"]
    name = _SPACING.sub("", inner)
    if font == "texttt" and _CODE.search(inner) and not _NUMBER.fullmatch(name):
        return [("symbol", (inner, ("text", "tt")), *span)]
    function = FUNCTIONS.get(name.replace("-", "").lower())
    if function and len(name) > 1:
        unit = _AFTER_NUMBER.search(match.string, max(0, span[0] - 12), span[0]) and not _BRACKET.match(
            match.string, span[1]
        )
        return [("words", inner, *span)] if unit else [(*function, *span)]
    spaced = name != inner if font.startswith(("text", "mbox", "hbox")) else not name
    operator = OPERATOR_WORDS.get(" ".join(inner.split()).lower())
    if operator is not None and operator[1] == "mod":
        return [(*operator, *span)]
    named = _NAME.fullmatch(name) and not spaced
    if named and font != "mathbf" and (len(name) > 1 or font in ("text", "mbox", "hbox")):
        return [("symbol", (name, ("text", *_STYLES.get(font, ()))), *span)]
    if not font.startswith(("text", "mbox", "hbox")) or (named and font != "mathbf"):
        return _reread(match, font)
    if _NUMBER.fullmatch(inner.strip()):
        return [("number", inner.strip().replace(",", ""), *span)]
    if operator:
        return [(*operator, *span)]
    return [("words", inner, *span)] if inner.strip() else []


def _nested(match: re.Match[str], _: str) -> list[Token]:
    r"""`\text{result = \resp{died}}`: words with braces in them; their commands are dropped."""
    brace = match.group().index("{")
    return [("words", _COMMAND.sub("", match.group()[brace + 1 : -1]), *match.span())]


def _reread(match: re.Match[str], font: str) -> list[Token]:
    """`\\mathrm{Q K^T}`: the font, then its argument as any other text."""
    brace = match.string.index("{", match.start())
    kind = KINDS["\\" + font.rstrip("*")]
    before: list[Token] = [] if kind[0] == "nothing" else [(*kind, match.start(), brace)]
    inside = tokens(match.string[brace : match.end()])[:-1]
    return before + [(kind, value, start + brace, end + brace) for kind, value, start, end in inside]


def _environment(match: re.Match[str], _: str) -> list[Token]:
    piece = match.group()
    name = piece[piece.index("{") + 1 : piece.index("}")].removesuffix("*")
    return [("begin" if piece[1] == "b" else "end", name, *match.span())]


def _row(match: re.Match[str], _: str) -> list[Token]:
    return [("row", "\\\\", *match.span())]


def _raised(match: re.Match[str], _: str) -> list[Token]:
    """Unicode's small digits and letters: `x²` is `x^{2}`."""
    start, end = match.span()
    plain = unicodedata.normalize("NFKC", match.group()).replace("−", "-")
    script = "_" if match.group()[0] in "₀₁₂₃₄₅₆₇₈₉₊₋ₐₑᵢⱼₖₗₘₙₒₚₛₜₓ" else "^"
    inside = [(kind, value, start + first, start + last) for kind, value, first, last in tokens(plain)[:-1]]
    return [(script, script, start, start), ("{", "{", start, start), *inside, ("}", "}", end, end)]


def _part(match: re.Match[str], _: str) -> list[Token]:
    """`½` is a fraction, and `2½` is the mixed number (2 + ½)."""
    start, end = match.span()
    above, _, below = unicodedata.normalize("NFKC", match.group()[-1]).partition("⁄")
    whole = match.group()[:-1].strip()
    if not whole:
        return _fraction(above, below, start, end)
    before: list[Token] = [("open", "(", start, start), ("number", whole, start, end), ("sign", "+", end, end)]
    return [*before, *_fraction(above, below, start, end), ("close", ")", end, end)]


def _fraction(above: str, below: str, start: int, end: int) -> list[Token]:
    """The tokens of a fraction of two whole numbers."""
    braced = [(("{", "{", start, start), ("number", digits, start, end), ("}", "}", end, end)) for digits in (above, below)]
    return [("{", "{", start, start), ("frac", "", start, start), *braced[0], *braced[1], ("}", "}", end, end)]


def _repeating(match: re.Match[str], _: str) -> list[Token]:
    r"""`0.1\overline{6}` is the fraction 15/90."""
    once, _, again = match.group().partition("\\")
    whole, _, before = once.partition(".")
    period = "".join(filter(str.isdigit, again))
    above = int(whole + before + period) - int((whole + before) or "0")
    return _fraction(str(above), "9" * len(period) + "0" * len(before), *match.span())


def _sign(match: re.Match[str], text: str) -> list[Token]:
    piece = "".join(match.group().split())
    known = KINDS.get(piece)
    if known is None:
        if _OWN.fullmatch(piece) and not _FOLLOWED.match(text, match.end()):
            return [("symbol", (piece, ()), *match.span())]  # a name of the document's own
        if _ESCAPED.fullmatch(piece) and piece[1] in KINDS:
            return [(*KINDS[piece[1]], *match.span())]  # Markdown's own escapes
        if piece[0] == '"' or (piece[0].isalpha() and not piece.isascii()):
            return [("words", piece.strip('"'), *match.span())]
        return [("unknown", match.group(), *match.span())]
    return [] if known[0] == "nothing" else [(*known, *match.span())]


_RULES = {
    "run": _run, "word": _word, "env": _environment, "row": _row, "raised": _raised, "part": _part,
    "repeating": _repeating, "nested": _nested, "sign": _sign,
}  # fmt: skip
