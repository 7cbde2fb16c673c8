"""Perplexity and cross-entropy in one paragraph: PP = eᴴ with H in nats, 2ᴴ with H in bits."""

from __future__ import annotations

import math
import re

from flint import arb

from workings.check.argument.argument import Argument
from workings.check.argument.lines import Line
from workings.check.argument.words import decimal
from workings.check.document.document import Prose
from workings.check.knowledge.nearby import agrees, definition_before, unit_at, value_at
from workings.check.latex.syntax import Symbol
from workings.check.value.scope import Scope
from workings.check.value.value import Table

_NUMBER = r"(\d+(?:\.\d+)?)(?![\d.]*\d|\s?%|\^|/|\\|e)"
_EQUALS = r"\s{0,2}(?:=|≈|\\approx)\s{0,2}"
_LINK = (
    r"\s?(?:\([^()]{0,30}\)\s?)?(?:per (?:token|word|character)\s)?(?:loss\s)?"
    r"(?:is|of|was|equals|=|:|≈|becomes|comes to|are|then|thus|therefore|about|approximately|only|\\approx|,|\s){0,8}\$?\s?"
    rf"(?:\\?[A-Za-z]{{1,12}}(?:_\{{?\w{{1,9}}\}}?)?(?:\([^()$]{{0,10}}\))?{_EQUALS}"
    rf"|\\(?:mathrm|text|operatorname)\{{\w{{1,12}}\}}{_EQUALS})?"
)
_PERPLEXITY = re.compile(r"\bperplexity\b" + _LINK + _NUMBER, re.I)
_ENTROPY = re.compile(
    r"\b(?:cross[-\s]?entropy|negative log[-\s]?likelihood|NLL)\b" + _LINK + _NUMBER + r"\s?\$?\s?(nats?|bits?)?", re.I
)
_DOUBT = re.compile(
    r"\b(?:from|would|suppose|if|not|wrong|another|other|baseline|each|respectively|than|test|valid\w*|train\w*)\b", re.I
)


def check_perplexity(argument: Argument, scope: Scope) -> None:
    """Every paragraph that names both, once."""
    for prose in argument.document.prose:
        if "erplexity" in prose.text:
            _check_paragraph(argument, prose)


def _check_paragraph(argument: Argument, prose: Prose) -> None:
    """One cross-entropy, one perplexity, and neither eᴴ nor 2ᴴ is it."""
    claims, losses = list(_PERPLEXITY.finditer(prose.text)), list(_ENTROPY.finditer(prose.text))
    if len(claims) != 1 or len(losses) != 1:
        return
    claim, loss = claims[0], losses[0]
    stated, H, unit = claim[1], loss[1], (loss[2] or "").lower()[:3]
    if float(H) > 50 or float(stated) < 1 or "." not in H:
        return
    bases = {"nat": [math.e], "bit": [2.0]}.get(unit, [math.e, 2.0, 10.0])
    if any(_fits(base, H, stated) for base in bases):
        return
    base = bases[0]
    first, last = sorted((claim.span(), loss.span()))
    doubted = _DOUBT.search(prose.text[max(0, first[0] - 60) : last[1] + 30])
    swapped = len(bases) == 1 and _fits(2.0 if base == math.e else math.e, H, stated)
    truth = f"{'e' if base == math.e else '2'}^{H} = {base ** float(H):.4g}"
    why = f"Perplexity is {'e' if base == math.e else '2'} to the power of the cross-entropy"
    why += " in bits." if base == 2 else " in nats."
    why += f" {stated} would be right with the cross-entropy in {'bits' if base == math.e else 'nats'}." if swapped else ""
    reading = "" if unit else "the cross-entropy is in nats; bits do not fit either"
    start = prose.start + claim.start(1)
    argument.add_at(start, start + len(stated), "possible" if doubted else "likely", "perplexity", truth, why, reading)


_NAMES = {"PP", "PPL", "Perplexity", "perplexity", "ppl"}
_LOSSES = (Symbol("H"), Symbol("CE", ("text",)), Symbol("L"), Symbol("L", ("cal",)), Symbol("ell"))


def check_named(line: Line, argument: Argument, scope: Scope) -> None:
    """PP = 4.47 where the one cross-entropy of the part was given before."""
    left = line.sides[0]
    index = next(line.closed_sides(), None)
    if not isinstance(left, Symbol) or left.name not in _NAMES or index is None or argument.is_doubtful(line):
        return
    given = [found for name in _LOSSES if (found := definition_before(argument, scope, name, line)) is not None]
    near = argument.window(line)
    shown, printed = unit_at(line, index), value_at(line, index)
    if len(given) != 1 or argument.has_finding(line, index) or not re.search("entropy|log-likelihood", near, re.I):
        return
    H = given[0].rounded
    if len(shown) != 1 or printed is None or isinstance(printed, Table) or isinstance(H, Table) or not (H > 0 and H < 50):
        return
    if any(agrees(base**H, printed, shown) for base in (arb.const_e(), arb(2), arb(10))):
        return
    place = argument.document.place(given[0].start).line
    truth = decimal(given[0].value.exp(), shown[0]) if not isinstance(given[0].value, Table) else ""
    why = f"Perplexity is e (or 2, or 10) to the power of the cross-entropy of line {place}."
    argument.add(line, 0, index, "likely", "perplexity", f"e^H = {truth}", why, "the cross-entropy is in nats")


def _step(text: str) -> float:
    """The unit of the last printed place."""
    return 10.0 ** -len(text.partition(".")[2])


def _fits(base: float, H: str, stated: str) -> bool:
    """Whether base^H is what is stated, when H is rounded as printed and the last digit may be off by one."""
    low, high = (base ** (float(H) + side * _step(H) / 2) for side in (-1, 1))
    return low - _step(stated) <= float(stated) <= high + _step(stated)
