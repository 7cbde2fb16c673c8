r"""Mends what copying and recognition do to formulas, where there is no doubt about what was meant; the rest stays as it is.

Full-width characters, `&lt;`, stray spaces (`\begin {bmatrix}`), doubled or missing backslashes (`frac{1}{2}`,
`3 approx 4`), misspelt environments (`\end{bmatrx}`), `\left` without `\right`. Each rule is one pass over the text.
"""

from __future__ import annotations

import re

from workings.check.extract.environments import EDGE, alike, is_math
from workings.check.extract.traced import Traced

_WITH_GROUP = (
    "frac dfrac tfrac sqrt mathbf mathbb mathcal mathrm mathsf boldsymbol operatorname text textbf textit overline "
    "underline hat bar tilde vec widehat widetilde underbrace overbrace binom"
)
_SIGNS = (
    "approx times cdot leq geq neq infty rightarrow leftarrow Rightarrow ldots cdots vdots ddots quad qquad odot otimes "
    "oplus partial nabla alpha beta gamma delta epsilon varepsilon theta lambda sigma omega phi varphi forall exists propto"
)
_FUNCTIONS = "log ln exp sin cos tan tanh sinh cosh max min arg det lim sum prod"

_SUSPECT = re.compile(
    r"[！-～ \u00a0\u200b\u200c\u2060\ufeff]|&(?:lt|gt|amp);|\\\\[A-Za-z{}]|\\ [A-Za-z]|begin|end|\\left|\\right"
    rf"|(?<![\\A-Za-z])(?:{'|'.join(f'{_WITH_GROUP} {_SIGNS} {_FUNCTIONS}'.split())})(?![A-Za-z])"
)
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_WIDE |= {0x00A0: 0x20, 0x3000: 0x20, 0x200B: 0x20, 0x200C: 0x20, 0x2060: 0x20, 0xFEFF: 0x20}
_ENTITY = re.compile(r"&(lt|gt|amp);")
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&"}
_DOUBLED = re.compile(rf"\\\\(?=(?:begin|end|{'|'.join(_WITH_GROUP.split())})[ \t]*[{{\[])")
_EVERY_DOUBLED = re.compile(r"\\\\\\\\|\\\\(?=[A-Za-z{},;!|])")
_SINGLE = re.compile(r"(?<!\\)(?:\\\\)*\\[A-Za-z]")
_BRACE = re.compile(r"\\\\[{}]|\\.|[{}]", re.DOTALL)
_APART = re.compile(rf"\\ (?=(?:begin|end|{'|'.join(_WITH_GROUP.split())})[ \t]*\{{)")
_BARE = re.compile(
    r"(?P<text>\\(?:text\w*|mathrm|mathsf|mathit|operatorname\*?|mbox|label|tag|ref|color|begin|end)\s{0,9}\{[^{}]*\}|\\[A-Za-z]+)"
    rf"|(?<![\\A-Za-z])(?:(?P<group>{'|'.join(_WITH_GROUP.split())})(?=[ \t]*\{{)|(?P<root>sqrt)(?=[ \t]*\[)"
    rf"|(?P<sign>{'|'.join(_SIGNS.split())})(?![A-Za-z])"
    rf"|(?<!_)(?<![_^]\{{)(?P<function>{'|'.join(_FUNCTIONS.split())})(?=[ \t]*[(\[{{\\_^]))"
)
_APART_DIGITS = re.compile(r"\d +\.? *\d|\d *\. +\d")
_COMMAND = re.compile(r"\\[A-Za-z]+|\{ *[a-z]+ *\}")
_CLOSE = re.compile(r"\d\d|\d\.\d|[A-Za-z]{2}")
_SPACED_NAME = re.compile(r"(\\(?:operatorname\*?|mathrm|text)\s*\{) *((?:[A-Za-z] )+[A-Za-z]) *\}")
_BETWEEN = re.compile(r"((?<![_^])\d)( *\. *| +)(?=\d)")
_TOUCHING = re.compile(r"\S\S")
_SET_APART = re.compile(r"\{ |\d(?: +\. *| *\. +)\d")
_RELATION = r"&\s*(?:=|\\approx|\\leq?|\\geq?|<|>)"
_SECOND_SIDE = re.compile(rf"({_RELATION}(?:(?!\\\\|&|\\begin|\\end)[\s\S])*?)(\n[^&\n\\]*{_RELATION})")
"""A relation at its `&`, and on the next line of the same row another one."""
_APART_SLASH = re.compile(r"(/\d{1,9})(?:\s*(?:\\[ ,;:]|~)\s*/\s*(?:\\[ ,;:]|~)| / )(?=\s*\d{1,9}/\d)")
"""A slash with spaces between two fractions that have none."""
_SIDE = re.compile(r"\\(left|right)(?![A-Za-z])[ \t]{0,9}(\.?)")


def repaired(formula: Traced) -> Traced:
    r"""The formula with what is clearly damaged mended.

    >>> repaired(Traced(r"begin {bmatrix} frac{1}{2} \end{bmatrx}", 0)).text
    '\\begin{bmatrix} \\frac{1}{2} \\end{bmatrix}'
    """
    formula = _rows_and_slashes(formula)
    if not _SUSPECT.search(formula.text):
        return formula
    text = formula.text.translate(_WIDE)
    formula = Traced(text, formula.start, formula.origins)
    formula = formula.sub(_ENTITY, lambda found: _ENTITIES[found[1]])
    formula = _together(formula)
    formula = _doubled_braces(_backslashes(formula))
    formula = _environments(formula)
    return _sides(formula)


def _rows_and_slashes(formula: Traced) -> Traced:
    r"""A row break that was forgotten before a second `… &=` in one row, and a slash set apart by spaces between fractions.

    >>> _rows_and_slashes(Traced("a &= 1\nb &= 2", 0)).text.splitlines()
    ['a &= 1\\\\', 'b &= 2']
    >>> _rows_and_slashes(Traced("10/27 / 17/27", 0)).text
    '10/27 ÷ 17/27'
    """
    if formula.text.count("&") > 1 and _SECOND_SIDE.search(formula.text):
        formula = formula.sub(_SECOND_SIDE, lambda found: found[1] + "\\\\" + found[2])
    if "/" in formula.text and _APART_SLASH.search(formula.text):
        formula = formula.sub(_APART_SLASH, lambda found: f"{found[1]} ÷ ")
    return formula


def _together(formula: Traced) -> Traced:
    r"""Numbers and names whose characters recognition set apart: `0 . 5 5`, `\operatorname { t a n h }`.

    Only in a formula where everything is set apart: no two digits and no two letters stand together, and no other signs
    either, or braces or a decimal point have spaces.
    """
    if (
        not _APART_DIGITS.search(formula.text)
        or _CLOSE.search(_COMMAND.sub(" ", formula.text))
        or (_TOUCHING.search(_COMMAND.sub(" ", formula.text)) and not _SET_APART.search(formula.text))
    ):
        return formula
    formula = formula.sub(_SPACED_NAME, lambda found: found[1] + found[2].replace(" ", "") + "}")
    return formula.sub(_BETWEEN, lambda found: found[1] + found[2].strip())


def _backslashes(formula: Traced) -> Traced:
    """One backslash before each command: not two, not none."""
    if _DOUBLED.search(formula.text):
        every = not _SINGLE.search(formula.text)
        formula = formula.sub(_EVERY_DOUBLED if every else _DOUBLED, lambda found: found[0][::2])
    formula = formula.sub(_APART, lambda found: "\\")
    return formula.sub(_BARE, lambda found: found[0] if found["text"] else "\\" + found[0])


def _doubled_braces(formula: Traced) -> Traced:
    r"""`\\{ 1, 2 \\}` is `\{ 1, 2 \}`, as some Markdown needs it: a pair of braces with two backslashes before both."""
    if "\\\\{" not in formula.text:
        return formula
    waiting: list[re.Match[str]] = []
    doubled: set[int] = set()
    for brace in _BRACE.finditer(formula.text):
        if brace[0][-1] == "{" and brace[0] != r"\{":
            waiting.append(brace)
        elif brace[0][-1] == "}" and brace[0] != r"\}" and waiting:
            opened = waiting.pop()
            if len(opened[0]) == len(brace[0]) == 3:
                doubled |= {opened.start(), brace.start()}
    return formula.sub(_BRACE, lambda found: found[0][1:] if found.start() in doubled else found[0]) if doubled else formula


def _environments(formula: Traced) -> Traced:
    """`begin` and `end` with their backslash, without stray spaces, and with one name for both."""
    edges = list(EDGE.finditer(formula.text))
    names = {edge.start(): edge[2] for edge in edges}
    waiting: list[re.Match[str]] = []
    for edge in edges:
        if edge[1] == "begin":
            waiting.append(edge)
        elif waiting:
            begin = waiting.pop()
            if begin[2] != edge[2] and alike(edge[2], begin[2]) and is_math(begin[2]):
                names[edge.start()] = begin[2]
            elif begin[2] != edge[2] and alike(begin[2], edge[2]) and is_math(edge[2]):
                names[begin.start()] = edge[2]

    def clean(edge: re.Match[str]) -> str:
        name = names[edge.start()]
        return rf"\{edge[1]}{{{name}}}" if edge[0][0] == "\\" or is_math(name) else edge[0]

    return formula.sub(EDGE, clean)


def _sides(formula: Traced) -> Traced:
    r"""`\left` and `\right` that do not come in pairs are dropped; the brackets after them stay."""
    found = [match[1] for match in _SIDE.finditer(formula.text)]
    if found.count("left") == found.count("right"):
        return formula
    return formula.sub(_SIDE, lambda side: "")
