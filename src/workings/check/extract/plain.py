r"""Equations in prose without delimiters: `28 × 28 × 8 = 6272`, `a = 3, b = 4, so a^2 + b^2 = 25`, `12 slices * 1/3 = 4`.

Each line is cut into tokens; words end a run of them, unless they stand behind a number as its unit. What is left must read
like a formula, with a relation and something on both sides of it, and nothing that belongs to it may stand beside it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise, takewhile

from workings.check.extract.spans import Span, covered
from workings.check.extract.traced import Traced
from workings.check.latex.signs import FUNCTIONS, JOINING_WORDS
from workings.check.latex.units import is_measure

GUARD = "\ue000"
"""Stands at both ends of every formula that has delimiters: a number beside it is a part of something else."""
_COMPOUND = r"\d+ ?(?:h|hrs?|hours?|min|minutes?|km|m|kg|ft|lbs?) \d+ ?(?:min|minutes?|sec|seconds?|s|m|cm|g|in|oz)\b"
"""2 h 30 min: one amount in two units."""
_RATIO = r"(?<![\d:.])\d+ ?: ?\d+(?![\d:.]| ?[ap]m\b)"
_NUMBER = (
    r"(?:\\?\$|[€£])?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])|\d{1,3}(?: \d{3})+(?![\d.,])|\d*[¼½¾⅓⅔]"
    r"|(?:\d+(?:\.\d+)?|(?<![\w.])\.\d+)(?:[eE][-+]?\d+(?!\w))?)"
)
_OPERATOR = r"(?:mod|plus|minus|times|divided by|(?<=% )of)(?= [\d(])"
_LETTER = r"[A-Za-zα-ωΑ-Ω]"
_NAME = (
    rf"{_LETTER}(?:_(?:\{{[^{{}}\s]{{1,8}}\}}|[A-Za-z0-9]{{1,5}})|[₀-₉]{{1,2}}|\d{{1,2}}(?![\d.,]\d))?['′]?(?![A-Za-z0-9_])"
)
_CALLED = "|".join(
    sorted((name for name in (*FUNCTIONS, "log2", "log10") if name.isalnum() and len(name) > 1), key=len)[::-1]
)
_TOKEN = re.compile(
    rf"(?P<ratio>{_RATIO})|(?P<number>{_COMPOUND}|{_NUMBER})|(?P<rest>(?<=\d )(?:R|r|rem|remainder)(?= \d))"
    r"|(?P<times>(?:(?<=[\d)%])|(?<=[\d)%] ))(?<!\b0)x(?=[ \t]?[\d($€£])(?!\())"
    r"|(?P<modulus>\(mod \d+\))"
    rf"|(?P<operator>{_OPERATOR}|\*\*(?=[\w(-])|[+−–*/×·∙⋅÷^-])|(?P<relation>[=≈≡≤≥≠]|<=|>=|!=|(?<=\s)[<>](?=\s))"
    rf"|(?P<function>(?<![A-Za-z])(?:{_CALLED})(?=\())|(?P<name>(?<![A-Za-z_.]){_NAME})"
    r"|(?P<word>[A-Za-z][A-Za-z'’-]*)|(?P<open>[(\[])|(?P<close>[)\]])|(?P<comma>,)"
    r"|(?P<after>[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+|[%!])|(?P<root>√)|(?P<space>[ \t]+)|(?P<break>.)"
)
_CODE = re.compile(
    r"==|\b0x|[-+*/]=|:=|;[ \t]*$|\{[ \t]*$|\w\(\)|=>|->|<-|</?\w+|^[ \t]*(?:def|for|if|while|return|import|print)\b.*:?$"
)
"""What a line of a program has."""
_GIVEN = re.compile(r"(?<![A-Za-z])([A-Za-z])[ \t]*=")
"""A letter that is given a value."""
_RELATION = re.compile(r"[=≈≡≤≥<>]")
_LABEL = re.compile(
    r"^[ \t>]*(?:[-*+•☐–—]|\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[ivx]{1,4})[.)])(?=[ \t])|(?<![\w)])\*\*|\*\*(?![\w(])|__|https?://\S+|\]\([^)\s]*\)",
    re.MULTILINE,
)
_TOUCHES_BEFORE = re.compile(rf"[\w\\$#@.,<>!~&_{{}}\[{GUARD}'\"]\Z")
_LETTER_BEFORE_SPACE = re.compile(r"(?:^|[^A-Za-z])[B-HJ-Zb-z][ \t]+\Z")
_TOUCHES_AFTER = re.compile(
    rf"\.?[\w\\$@#<>~&_{{^\[{GUARD}]|,\d|:\d|[ \t]*[<>]"
    rf"|[ \t]+(?:[b-zB-HJ-Z](?![A-Za-z'’])|\\|\$|{GUARD}|million|billion|thousand|percent|dozen)"
)
_RANGE = re.compile(r"(\d+(?:[-–]\d+)+)\s*=\s*[$€£]?\d+(\s*(?:h|hrs?|hours?)\b)?")
"""What may be a range, a date or a code: whole numbers with nothing but hyphens between them."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_BROKEN = re.compile(r"[A-Za-z][ \t]*=[ \t]*\d+\.[ \t]*\n\Z")
"""What may be the first half of a number that a line end breaks: IQR = 26.⏎86 − 23.13."""
_ARTICLES = frozenset("aAI")
"""Letters that are words as well."""
_MOST_WORDS = 3
"""Words of a unit: `32 water type Pokemon`."""


@dataclass(frozen=True)
class _Token:
    """A piece of a line: what it is, its text, where it stands, whether blanks stand before it."""

    kind: str
    text: str
    start: int
    end: int
    spaced: bool = False


def equations(
    text: str, unread: list[Span] | None = None, letters: bool = True, ranges: list[Span] | None = None
) -> Iterator[Span]:
    """Where equations stand; `unread` gets those that are a part of something else, `ranges` what is no calculation.

    Without `letters`, of numbers alone.

    >>> text = "so 3 × 3 × 16 = 144 weights; with x = 3 we get x + 2 = 5, and 6 birds * 2/3 = 4 birds; 1.2.3 = 4"
    >>> [text[a:b] for a, b in equations(text)]
    ['3 × 3 × 16 = 144', 'x = 3', 'x + 2 = 5', '6 birds * 2/3 = 4 birds']
    """
    if not _RELATION.search(text):
        return
    shown = without_labels(text)
    position = 0
    given = frozenset(_GIVEN.findall(text)) if letters else frozenset()
    for line in shown.splitlines(keepends=True):
        if _RELATION.search(line):
            named = given if letters and not is_code(line) else None
            for run in _runs(_tokens(shown, position, position + len(line.rstrip()), named)):
                for part, alone in _parts(run):
                    yield from _equation(shown, part, alone, unread, ranges)
        position += len(line)


def without_labels(text: str) -> str:
    """The text with the marks of items and of emphasis and with addresses blanked."""
    return covered(text, (match.span() for match in _LABEL.finditer(text)))


def is_code(line: str) -> bool:
    """Whether a line looks like one of a program."""
    return _CODE.search(line.rstrip()) is not None


def plain_equations(text: str) -> Iterator[Span]:
    """Those of a block without a language: only what its line begins with, but for a few words; the rest may be code."""
    for start, end in equations(text, letters=False):
        if _ALONE.search(text, text.rfind("\n", 0, start) + 1, start):
            yield start, end


_ALONE = re.compile(r"^[A-Za-z \t]*[=:]?[ \t]*\Z", re.MULTILINE)


def _tokens(text: str, start: int, end: int, letters: frozenset[str] | None) -> Iterator[_Token]:
    """The tokens of a line; without `letters` a name is a word, and a word of such letters is a product of names."""
    spaced = False
    for match in _TOKEN.finditer(text, start, end):
        kind = match.lastgroup or "break"
        if kind == "space":
            spaced = True
            continue
        if kind in ("times", "rest"):
            kind = "operator"
        elif kind in ("name", "function") and letters is None:
            kind = "word"
        elif kind == "word" and letters is not None and len(match[0]) == 2 and letters.issuperset(match[0]):
            kind = "word" if match[0] in JOINING_WORDS else "name"
        yield _Token(kind, match[0], *match.span(), spaced)
        spaced = False


def _runs(tokens: Iterator[_Token]) -> Iterator[list[_Token]]:
    """The tokens between words and other breaks; words behind a number that an operator follows are its unit.

    A word behind an operator is an operand itself, and what follows it is a part of that calculation.
    """
    run: list[_Token] = []
    words: list[_Token] = []
    depth = 0
    for token in tokens:
        if token.kind == "word" and (words or (run and run[-1].kind in ("number", "after"))) and len(words) < _MOST_WORDS:
            words.append(token)
            continue
        if words:
            if token.kind in ("operator", "relation", "close") and token.text != "^" and _is_unit(words, run, token):
                run.append(_Token("unit", words[-1].text.rstrip("s"), words[0].start, words[-1].end, words[0].spaced))
            else:
                yield [*run, *_measure(words, run)]
                run, depth = [], 0
            words = []
        if token.kind in ("open", "close"):
            depth = max(0, depth + (1 if token.kind == "open" else -1))
        if token.kind in ("word", "break") or (token.kind == "comma" and depth == 0):
            yield run
            is_operand = token.kind == "word" and bool(run) and run[-1].kind in ("operator", "operand")
            run, depth = [_Token("operand", "", token.start, token.end)] if is_operand else [], 0
        else:
            run.append(token)
    yield [*run, *_measure(words, run)]


def _is_unit(words: list[_Token], run: list[_Token], following: _Token) -> bool:
    """Whether words between a number and a sign say what it counts; before a relation, the number must be computed with."""
    if any(word.text.lower() in JOINING_WORDS for word in words):
        return False
    side = takewhile(lambda token: token.kind != "relation", reversed(run))
    return following.kind != "relation" or is_measure(words[0].text) or any(token.kind == "operator" for token in side)


def _measure(words: list[_Token], run: list[_Token]) -> list[_Token]:
    """A unit at the end of a run that has units: of measure, 3.6 km = 3700 m, or what is counted before it, too."""
    counted = {
        token.text
        for before, token in pairwise(run)
        if token.kind == "unit" or (token.kind == "name" and before.kind == "number" and is_measure(token.text))
    }
    if any(token.kind == "number" and token.text[-1].isalpha() for token in run):
        counted.add("")
    if not words or not counted or not (is_measure(words[0].text) or words[0].text.rstrip("s") in counted):
        return []
    return [_Token("unit", "", words[0].start, words[0].end, True)]


def _parts(tokens: list[_Token]) -> Iterator[tuple[list[_Token], bool]]:
    """Cut at brackets that do not match, at those with a relation inside, and where one operand follows another.

    Each part with the answer whether it stands alone: a number beside another, as in `1/2 (68) + 10`, belongs to it.
    """
    partner = _partners(tokens)
    part: list[_Token] = []
    alone = True
    for index, token in enumerate(tokens):
        if token.kind in ("open", "close") and index not in partner:
            yield part, alone
            part, alone = [], True
            continue
        if part and _is_apart_from(part[-1], tokens, index):
            touches = token.kind != "name"
            yield part, alone and not touches
            part, alone = [], not touches
        part.append(token)
    yield part, alone


def _partners(tokens: list[_Token]) -> dict[int, int]:
    """For each bracket that has one the bracket it belongs to, with no relation between them."""
    partner: dict[int, int] = {}
    waiting: list[int] = []
    for index, token in enumerate(tokens):
        if token.kind == "open":
            waiting.append(index)
        elif token.kind == "close" and waiting:
            start = waiting.pop()
            partner[start], partner[index] = index, start
        elif token.kind == "relation":
            waiting.clear()
    return partner


_OPERANDS = ("number", "ratio", "name", "function", "open", "root")
_ENDS = ("number", "ratio", "name", "close", "after", "unit")
_GOES_ON = ("operator", "relation", "after", "close")


def _is_apart_from(before: _Token, tokens: list[_Token], index: int) -> bool:
    """Whether a token begins something new: an operand behind another, unless the two are one, as 2x, m v² and 1 1/2."""
    token = tokens[index]
    if token.kind not in _OPERANDS or before.kind not in _ENDS:
        return False
    if not token.spaced:
        return (before.kind, token.kind) in (("number", "number"), ("unit", "name"))
    if token.kind == "number" and before.kind == "number":
        return [other.text for other in tokens[index + 1 : index + 2]] != ["/"]
    if token.kind != "name" or before.kind == "unit":
        return True
    if before.kind in ("number", "after") and is_measure(token.text) and index + 1 == len(tokens):
        return not any(other.kind == "unit" or is_measure(other.text) for other in tokens[:index])
    following = next((other for other in tokens[index + 1 :] if other.kind != "name" or not other.spaced), None)
    return token.text in _ARTICLES or following is None or following.kind not in _GOES_ON


def _equation(
    text: str, part: list[_Token], alone: bool, unread: list[Span] | None, ranges: list[Span] | None
) -> Iterator[Span]:
    """The equation of a part, if it is one and stands apart."""
    first, last = 0, len(part)
    while first < last and part[first].kind in ("relation", "comma"):
        first += 1
    while first < last and part[last - 1].kind in ("relation", "comma"):
        last -= 1
    part = part[first:last]
    if not part or not _is_equation(part):
        return
    span = part[0].start, part[-1].end
    if _is_range(text, part[0].start):
        if ranges is not None:
            ranges.append(span)
    elif alone and _is_apart(text, part):
        yield span
    elif unread is not None and not any(token.kind == "name" for token in part):
        unread.append(span)


def _is_range(text: str, start: int) -> bool:
    """Is what looks like a subtraction a range, a date or a code: `Digits 0-9 = 10`, `2024-01-05 = …`?

    It is, if the difference would be negative and the result is not, if a part has a zero before it, or from hour to hour.
    """
    found = _RANGE.match(text, start)
    if found is None:
        return False
    first, *others = re.split("[-–]", found[1])
    is_code = any(len(part) > 1 and part.startswith("0") for part in (first, *others)) or _DATE.fullmatch(found[1])
    is_shift = found[2] is not None and len(others) == 1 and int(first) <= 24 and int(others[0]) <= 12
    return bool(is_code) or is_shift or int(first) < sum(map(int, others))


def _is_equation(part: list[_Token]) -> bool:
    """Do operands and operators alternate, with a relation, and with a name or something to compute on one side of it?"""
    operand = relation = computes = False
    kinds = {token.kind for token in part}
    for token in part:
        match token.kind:
            case "number" | "ratio" | "name" | "function" | "operand":
                operand = token.kind != "function"
                computes |= token.kind == "ratio" or (
                    token.kind == "number" and not token.text.isalpha() and _computes(token.text)
                )
            case "relation" | "comma" if not operand:
                return False
            case "relation" | "comma":
                operand, relation = False, relation or token.kind == "relation"
            case "operator" if not operand and token.text not in "-−–+":
                return False
            case "operator":
                computes |= operand
                operand = False
            case "open" if operand:
                computes, operand = True, False
            case "close" | "after" | "unit" if not operand:
                return False
            case "after" | "root":
                if token.kind == "root" and operand:
                    return False
                computes = True
    if "ratio" in kinds and kinds - {"ratio", "relation"}:
        return False  # 10:30 is a time, unless ratios alone are compared
    if "comma" in kinds and not _is_called(part):
        return False
    measured = sum(token.kind == "unit" for token in part) > 1
    has_order = any(token.kind == "relation" and token.text in "<>" for token in part)
    named = "name" in kinds and ("number" in kinds or computes)
    return (
        operand
        and relation
        and (computes or named or "function" in kinds or "modulus" in kinds or (measured and not has_order))
    )


def _computes(number: str) -> bool:
    """Whether something is computed in what is written as one number: 1e3, 2 h 30 min."""
    return "e" in number.lower() or (" " in number and number[-1].isalpha())


def _is_called(part: list[_Token]) -> bool:
    """Whether all brackets with a comma in them hold the arguments of a function: f(1, 2), not (1, 2)."""
    opened: list[bool] = []
    for index, token in enumerate(part):
        if token.kind == "open":
            opened.append(index > 0 and not token.spaced and part[index - 1].kind in ("name", "function"))
        elif token.kind == "close" and opened:
            opened.pop()
        elif token.kind == "comma" and not (opened and opened[-1]):
            return False
    return True


def _is_apart(text: str, part: list[_Token]) -> bool:
    """Does nothing that belongs to it, a letter or a sign, stand beside the equation?"""
    if any(token.kind == "operand" for token in part):
        return False
    start, end = part[0].start, part[-1].end
    before = text[max(0, start - 12) : start]
    after = text[end : end + 12]
    if _TOUCHES_BEFORE.search(before) or _TOUCHES_AFTER.match(after) or _BROKEN.search(before):
        return False
    neighbour = before.rstrip(" \t")[-1:]
    if neighbour and neighbour in f"{GUARD}*/×·÷^)]":
        return False
    if neighbour in {"+", "-", "−", "–"} or (part[0].kind == "operator" and not _is_sign(text, part)):
        rest = before.rstrip(" \t+-−–")[-1:]
        return not (rest.isalnum() or (rest and rest in ")]}%"))
    return neighbour in {"=", "≈"} or part[0].kind == "name" or not _LETTER_BEFORE_SPACE.search(before)


def _is_sign(text: str, part: list[_Token]) -> bool:
    """Whether a minus belongs to the number behind it, and not to what stands before it: `So -5 · 2`, but not `a - 5`."""
    return not part[1].spaced and text[part[0].start - 1 : part[0].start] in ("", " ", "\t", "\n")


_UNIT = re.compile(
    rf"(?P<number>{_NUMBER}%?(?:\^\{{-?\d+\}})?)(?P<space>[ \t]*)"
    rf"(?P<word>(?!(?:mod|plus|minus|times|of)\b){_LETTER}+(?:[ \t/-]+[A-Za-z'’]{{2,}})*)"
    r"(?=[ \t]*(?:[-+−–*/×·∙⋅÷=≈≡≤≥<>)\]]|$))"
)
_TYPESET: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (
        re.compile(r"(?P<divided>(?:/|÷|divided by) ?(?P<by>\d+) ?= ?)(?P<whole>\d+) (?:R|r|rem|remainder) (?P<rest>\d+)"),
        lambda found: rf"{found['divided']}({found['whole']}+\frac{{{found['rest']}}}{{{found['by']}}})",
    ),
    (re.compile(_RATIO), lambda found: found[0].replace(":", "÷")),
    (
        re.compile(rf"{_COMPOUND}"),
        lambda found: re.sub(r"(\d+) ?([a-z]+) (\d+) ?([a-z]+)", r"(\1\\text{ \2}+\3\\text{ \4})", found[0]),
    ),
    (re.compile(r"(?<![A-Za-z])log(2|10)(?=\()"), lambda found: rf"\log_{{{found[1]}}}"),
    (re.compile(r"(?<=[\w)])\*\*(?=[\w(-])"), lambda _: "^"),
    (re.compile(r"\*\*|__"), lambda _: "  "),
    (re.compile(r"!="), lambda _: "≠"),
    (re.compile(r"[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+"), lambda found: f"^{{{unicodedata.normalize('NFKC', found[0]).replace('−', '-')}}}"),
    (re.compile(r"(?<=\d) / (?=\d+/\d)"), lambda _: " ÷ "),
    (
        re.compile(r"(?<![\d.,/])(\d+)[ \t]+(\d+)/(\d+)(?![\d.,])"),
        lambda found: rf"({found[1]}+\frac{{{found[2]}}}{{{found[3]}}})",
    ),
    (re.compile(r"(?<=\d) (?=\d{3}(?!\d))"), lambda _: ""),
    (re.compile(r"(?<![\w^_}])\{([^{}]*)\}"), lambda found: rf"\{{{found[1]}\}}"),
    (re.compile(r"(?<=\d)[ ]?[€£]"), lambda _: r"\text{ euro}"),
    (re.compile(r"(?<![A-Za-z\\])([A-Z][a-z]{1,3})(?=\()"), lambda found: rf"\operatorname{{{found[1]}}}"),
)
"""What is typed → what LaTeX has."""


_DECIMAL_COMMA = re.compile(r"\d,\d{1,2}(?!\d)")
_POINT_OR_BRACKET = re.compile(r"\d\.\d|[(\[{]")
_COMMA = re.compile(r"(?<=\d),(?=\d)")


def typeset(written: Traced) -> Traced:
    r"""An equation as LaTeX has it: units as words, `**` as a power, log2 as a logarithm to a base, 1 1/2 as a sum.

    >>> typeset(Traced("12 slices * 2**3 = log2(8) km", 0)).text
    '12\\text{ slices} * 2^3 = \\log_{2}(8) km'
    """
    if _DECIMAL_COMMA.search(written.text) and not _POINT_OR_BRACKET.search(written.text):
        written = written.sub(_COMMA, lambda _: ".")
    for pattern, change in _TYPESET:
        written = written.sub(pattern, change)
    return written.sub(_UNIT, _unit_as_text)


def _unit_as_text(found: re.Match[str]) -> str:
    word = found["word"]
    is_factor = len(word) == 1 and not (found["space"] and is_measure(word))
    if is_factor or (word.lower() in FUNCTIONS and not is_measure(word)) or (not found["space"] and not is_measure(word)):
        return found[0]
    return rf"{found['number']}\text{{{found['space']}{word}}}"
