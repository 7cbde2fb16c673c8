"""Numbers and letters, and the formulas with remarks around them.

`Decimals` says what a printed decimal stands for: itself, all that rounds to it, or the number that was rounded to it.
"""

from __future__ import annotations

from functools import lru_cache

from flint import arb, fmpq

from workings.check.latex.syntax import Items, Labelled, Nothing, Number, Symbol, Words
from workings.check.value.evaluation.context import EvaluationContext, rule, value
from workings.check.value.reading import is_long_binary
from workings.check.value.scope import EVERY, Decimals
from workings.check.value.value import Reason, Undecided, Value


@lru_cache(maxsize=50_000)
def _number(text: str) -> arb:
    """A printed decimal, taken at its word."""
    printed = Number(text).value
    return arb(fmpq(printed.numerator, printed.denominator))


@lru_cache(maxsize=50_000)
def _rounded_number(text: str, even_short: bool) -> arb:
    """Everything that a printed decimal may stand for: half a unit of its last place to either side."""
    printed = Number(text)
    if printed.places is None or not (looks_rounded(printed) or (even_short and _digits(printed) > 1)):
        return _number(text)
    return arb(_number(text), arb(fmpq(1, 2)) * arb(10) ** -printed.places)


def looks_rounded(printed: Number) -> bool:
    """Three digits or more, or two after the point: `0.1`, `0.001` and `1.5` are taken at their word.

    >>> [looks_rounded(Number(text)) for text in ("1.5", "0.001", "0.33", "15.2")]
    [False, False, True, True]
    """
    digits = _digits(printed)
    return printed.places is not None and (digits > 2 or (digits == 2 and printed.places > 1))


def _digits(printed: Number) -> int:
    return len(printed.text.lower().partition("e")[0].replace(".", "").lstrip("0"))


@rule(Number)
def printed_number(node: Number, context: EvaluationContext) -> Value:
    """0.33 in the sense that is asked for; 101 in base two if it is read so."""
    base = context.reading.base
    if (base == 2 and set(node.text) <= {"0", "1"}) or (base == "long" and is_long_binary(node.text)):
        whole, _, part = node.text.partition(".")
        return arb(int(whole + part, 2)) / arb(2) ** len(part)
    if context.decimals is Decimals.PRINTED or node.places is None:
        return _number(node.text)
    if context.decimals is Decimals.BEHIND:
        return context.scope.behind.get(node.text) or _number(node.text)
    if context.places is not None and node.places < context.places:
        return _number(node.text)
    return _rounded_number(node.text, context.places == EVERY)


@rule(Symbol)
def constant(node: Symbol, context: EvaluationContext) -> Value:
    """π, e and ∞; any other letter would have been known."""
    constants = {"pi": arb.pi, "e": arb.const_e, "infty": arb.pos_inf}
    if node.style == ("text",) and node.name in ("True", "False"):
        return arb(int(node.name == "True"))
    if node.style or node.name not in constants:
        raise Undecided(f"{node.name} is not known", Reason.LETTERS)
    return constants[node.name]()


@rule(Labelled)
def labelled(node: Labelled, context: EvaluationContext) -> Value:
    """What stands above a brace; if it has no value, what is written below it: H(p) with its number."""
    try:
        return value(node.body, context)
    except Undecided:
        return value(node.label, context)


@rule(Items)
def only_item(node: Items, context: EvaluationContext) -> Value:
    """One formula with remarks beside it."""
    written = [part for part in node.parts if not isinstance(part, Words | Nothing)]
    if len(written) == 1:
        return value(written[0], context)
    raise Undecided("several formulas")
