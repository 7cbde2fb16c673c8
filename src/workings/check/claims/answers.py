r"""Final answers without a name: `Answer: 0.58`, `\boxed{0.58}`, «Therefore the probability is 0.58», a bold number alone.

An answer states again what its part has computed. It is doubted only where the last calculation of its part came out as
something else, and the number that is answered is no other result of that part and is not told in the words since then: an
answer may also be read off, or counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from flint import arb

from workings.check.argument.argument import Argument
from workings.check.argument.contexts import Context
from workings.check.argument.lines import EQUAL, Line
from workings.check.argument.roles import is_literal
from workings.check.argument.words import value_text
from workings.check.claims.claim import side_at
from workings.check.document.relation import Outcome
from workings.check.latex.parse import ParseError, parse
from workings.check.value.compare import Side, Verdict, compare, value_of
from workings.check.value.names import is_closed
from workings.check.value.rounding import Grade
from workings.check.value.scope import Scope
from workings.check.value.value import Table

_AMOUNT = (
    r"(?P<{name}>[-−]?(?:\\?\$|[€£])?(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?(?:/\d+)?(?:\s?\\?%)?"
    r"|\\d?frac\{{\d+\}}\{{\d+\}})"
)
_OPENS, _END = r"[$\\(\[]*", r"[*_$\\)\]}]*(?: [A-Za-z]+){0,3}[.!]?[*_]*[ \t]*(?=\n|\Z)"
_STOP = r"(?<=[.!])|(?<=[.!][*_])|(?=\s*(?:\n[ \t]*\n|\Z))"
"""The end of a sentence, or of a paragraph."""
_LABEL = (
    r"(?:^[ \t>*_#]*|(?<=[.!?;$])[ \t]+[*_]*)(?:(?:the )?(?:final )?(?:answer|ans|result)|antwort|ergebnis|réponse|答案?)\b"
    r"[.:)*_ \t=$\\(\[]*(?:is )?"
)
_SENTENCE = (
    r"(?:therefore|thus|hence|so|daher|also|donc)\b[^.\n=$]{0,80}?\b(?:is|are|equals|ist|est)\b[ \t]*"
    r"(?:about |approximately )?"
)
_FORMS = re.compile(
    "|".join(
        (
            _LABEL + _OPENS + _AMOUNT.format(name="label") + _END,
            r"\\boxed\s*\{\s*" + _AMOUNT.format(name="box") + r"\s*\}(?=[\s$.\\\])]*(?:\n|\Z))",
            _SENTENCE + _OPENS + _AMOUNT.format(name="sentence") + _END + f"(?:{_STOP})",
            r"^[ \t>]*(?:\*\*|__|\\textbf\{)[=$ ]*"
            + _AMOUNT.format(name="bold")
            + r"[$ ]*(?:\*\*|__|\})[.]?[ \t]*(?=\n|\Z)",
        )
    ),
    re.IGNORECASE | re.MULTILINE,
)
"""An answer behind its label, in a box, at the end of a sentence that concludes, and in bold on a line of its own."""
_NUMBER = re.compile(r"\d{1,3}(?:[, ]\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?")
_SCALES = (1, 100)
"""An answer may be told in percent."""


@dataclass(frozen=True)
class _Answer:
    """A number that is answered, and where it stands."""

    text: str
    start: int
    end: int


def check_answers(argument: Argument) -> None:
    """Compare every answer with what its part has computed before it."""
    for answer in _answers(argument.document.text):
        context = argument.contexts.at(answer.start)
        line = _last_result(argument, context.home, answer.start)
        if line is not None:
            _compare(argument, context.home, answer, line)


def _answers(text: str) -> Iterator[_Answer]:
    for found in _FORMS.finditer(text):
        name = found.lastgroup or ""
        yield _Answer(found[name], *found.span(name))


def _last_result(argument: Argument, home: Context, position: int) -> Line | None:
    """The last calculation of a context before a position, if it comes out as a number and holds."""
    for line in reversed(argument.lines):
        if line.start >= position or line.context.home is not home or not line.relations:
            continue
        last = len(line.relations) - 1
        ends = is_literal(line.sides[-1]) and line.relations[-1] in EQUAL
        outcome = argument.reading(line, last).outcome
        return line if ends and outcome in (Outcome.RIGHT, Outcome.FOLLOWS) else None
    return None


def _compare(argument: Argument, home: Context, answer: _Answer, line: Line) -> None:
    try:
        node = parse(answer.text.replace("$", ""))
    except ParseError:
        return
    result = side_at(line, len(line.sides) - 1)
    value, other = value_of(Side(node, answer.text), Scope()), value_of(result, Scope())
    if not is_closed(node) or value is None or other is None or isinstance(value, Table) or isinstance(other, Table):
        return
    said = [arb(re.sub("[, ]", "", found)) for found in _NUMBER.findall(argument.document.text[line.start : answer.start])]
    numbers = [other, *said, *_results(argument, home, answer.start)]
    if any(_agree(value, number) for number in numbers) or _rounds(result, Side(node, answer.text)):
        return
    place = argument.document.place(line.start).line
    truth = value_text(other)
    why = f"You answer {answer.text.strip()}; the last calculation before it gives {truth} (line {place})."
    argument.add_at(answer.start, answer.end, "likely", "answer", truth, why, basis="answer")


def _results(argument: Argument, home: Context, position: int) -> Iterator[arb]:
    """What the calculations of a context came out as before a position."""
    for line in argument.lines:
        if line.start < position and line.context.home is home:
            values = [value_of(side_at(line, index), Scope()) for index in range(1, len(line.sides))]
            yield from (value for value in values if isinstance(value, arb))


def _agree(answer: arb, number: arb) -> bool:
    """Whether two numbers are one, up to their sign, the last digits or percent."""
    x, y = abs(answer), abs(number)
    near = arb(0) if x.is_integer() and y.is_integer() else x / 100
    return any(abs(x - y * s) <= near or abs(x * s - y) <= near * s for s in map(arb, _SCALES))


def _rounds(result: Side, answer: Side) -> bool:
    verdict: Verdict | None = compare(result, answer, Scope(), about=True)
    return verdict is not None and verdict.grade is not Grade.WRONG
