"""The slip that explains a wrong claim: one small change that makes it right, and that does so hardly by accident.

A family of slips is a way to change a formula in one place: a sign, a bracket, a power, a factor, a digit. Small numbers are
hit by some change whatever the truth is, so a slip counts only if it was unlikely to be hit: `chance` is how many changes of
its family come to the printed value by accident, on average.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, islice

from flint import arb

from workings.check.claims.number_slips import another_digit, lost_digit, moved_point, swapped_digits
from workings.check.latex.one_line import one_line
from workings.check.latex.rewrite import rewrites
from workings.check.latex.syntax import Big, Group, Node, Number, Product, Quotient, Root, Script, Sum, Symbol
from workings.check.value.brackets import with_brackets
from workings.check.value.names import letters_of
from workings.check.value.rounding import units

_MOST = 240
"""Changes of one family that are tried."""
_FEW = 20
"""Changes that are tried of sums, which take long to compute."""
_SLOW = {"∫", "lim"}
"""What takes so long that no change is tried."""
_UNLIKELY = 0.1
"""The chance up to which a slip supports a finding."""
_TOLD = 0.75
"""The chance up to which it is told."""
_TWO = Number("2")
_ANOTHER_DIGIT = "another digit"

_Change = Callable[[Node], Iterable[Node]]


@dataclass(frozen=True)
class Slip:
    """A change that makes a claim right."""

    family: str
    """What was changed: `a sign`, `a digit` …"""
    node: Node
    """The side as it would be right."""
    chance: float
    """How many changes of the family would have done so by accident."""
    is_printed: bool = False
    """Whether the printed value was changed, not the calculation."""

    @property
    def is_support(self) -> bool:
        """Whether it is hardly an accident."""
        return self.chance <= _UNLIKELY

    @property
    def sentence(self) -> str:
        """What is told to the author: not the true value once more, nor another question than the one that was asked."""
        if self.is_printed and isinstance(self.node, Number):
            return "" if self.family == _ANOTHER_DIGIT else f"It would be right with {self.family}."
        if not self.is_printed and self.family in _OF_NUMBERS and letters_of(self.node):
            return ""
        return f"It would be right with {self.family}: {one_line(self.node)}."


def _signs(node: Node) -> Iterator[Node]:
    if isinstance(node, Sum):
        for index, (sign, term) in enumerate(node.terms):
            turned = {"+": "-", "-": "+"}.get(sign)
            if turned is not None:
                yield Sum((*node.terms[:index], (turned, term), *node.terms[index + 1 :]))


def other_signs(node: Node) -> Iterator[Node]:
    """The formula with one of its signs turned, anywhere in it."""
    return rewrites(node, _signs)


def _powers(node: Node) -> Iterator[Node]:
    """x² for x · 2, x², x³ for x; √x for x."""
    match node:
        case Script(base=base, below=below, above=Number(text=text)) if text.isdigit() and len(text) < 4:
            plain = base if below is None else Script(base, below)
            yield plain
            yield Product((("", Number(text)), ("·", plain)))
            yield from (Script(base, below, Number(str(int(text) + step))) for step in (-1, 1) if int(text) + step > 1)
        case Script(base=base, below=below, above=Sum(terms=(("-", power),))):
            yield Script(base, below, power)
        case Script(base=base, below=below, above=above) if isinstance(above, Symbol | Product | Quotient | Group):
            yield Script(base, below, Sum((("-", above),)))
        case Root(body=body):
            yield body
        case Quotient(above=above, below=below) if isinstance(below, Number | Script | Group):
            yield Quotient(above, Script(below, None, _TWO))
            yield Quotient(above, Root(below))


def _factors(node: Node) -> Iterator[Node]:
    """A factor, a term or a divisor left out; a fraction upside down; + for ·."""
    match node:
        case Product(factors=factors) if len(factors) > 1:
            for index in range(len(factors)):
                rest = factors[:index] + factors[index + 1 :]
                yield rest[0][1] if len(rest) == 1 else Product((("", rest[0][1]), *rest[1:]))
            if len(factors) == 2:
                yield Sum(tuple(("+", factor) for _, factor in factors))
        case Sum(terms=terms) if len(terms) > 1:
            for index in range(len(terms)):
                rest_terms = terms[:index] + terms[index + 1 :]
                yield rest_terms[0][1] if len(rest_terms) == 1 and rest_terms[0][0] == "+" else Sum(rest_terms)
            if len(terms) == 2 and all(sign == "+" for sign, _ in terms):
                yield Product(tuple(("·", term) for _, term in terms))
        case Quotient(above=above, below=below):
            yield above
            yield Quotient(below, above)
            yield Product((("", above), ("·", below)))


def _negative(node: Node) -> Iterator[Node]:
    yield Sum((("-", node),))


def _twice_or_half(node: Node) -> Iterator[Node]:
    yield Product((("", _TWO), ("·", node)))
    yield Quotient(node, _TWO)


def _of_numbers(change: Callable[[Number], Iterable[Number]]) -> _Change:
    return lambda node: change(node) if isinstance(node, Number) else ()


def _brackets(node: Node) -> Iterator[Node]:
    yield from with_brackets(node)
    match node:
        case Script(base=Group(open="(", items=(inner,)), below=None, above=above) if above is not None:
            yield Script(inner, None, above)
        case Sum(terms=(("-", Script(base=base, below=None, above=above)),)) if above is not None:
            yield Script(Group("(", (Sum((("-", base),)),), ")"), None, above)


_FAMILIES: tuple[tuple[str, _Change], ...] = (
    ("another sign", _signs),
    ("brackets", _brackets),
    ("another power", _powers),
    ("one operation changed", _factors),
)
"""Slips of a calculation, in the order of how much they explain."""
_IN_PRINTED: tuple[tuple[str, _Change], ...] = (
    ("another sign", lambda node: _negative(node) if isinstance(node, Number) else _signs(node)),
)
_IN_NUMBERS: tuple[tuple[str, _Change], ...] = (
    ("two digits swapped", _of_numbers(swapped_digits)),
    ("the point moved", _of_numbers(moved_point)),
    ("a digit more or less", _of_numbers(lost_digit)),
    (_ANOTHER_DIGIT, _of_numbers(another_digit)),
)
"""Slips of a printed number, or of a number in a calculation."""
_OF_NUMBERS = {family for family, _ in _IN_NUMBERS}
_DIGITS = (_IN_NUMBERS[0], _IN_NUMBERS[-1])
"""Slips of a number in a formula of letters."""
_WHOLE: dict[str, _Change] = {"another sign": _negative, "one operation changed": _twice_or_half}
"""Slips that concern a calculation as a whole."""


def _changed(node: Node, families: Iterable[tuple[str, _Change]]) -> Iterator[tuple[str, list[Node]]]:
    """For each family the formula with one change of it."""
    operators = {part.operator for part in node.walk() if isinstance(part, Big)}
    most = 0 if _SLOW & operators else _FEW if operators else _MOST
    for family, change in families:
        whole = _WHOLE[family](node) if family in _WHOLE else ()
        listed = list(islice(chain(whole, rewrites(node, change)), most))
        if listed:
            yield family, listed


def explain(calculation: Node, printed: Node, density: float, agrees: Callable[[Node, Node], bool]) -> Slip | None:
    """The slip that explains best why a calculation is not what is printed; none if every one may be an accident.

    `agrees` says whether two sides are equal; `density` is how likely any number is to agree with what is printed.
    """
    best: Slip | None = None
    attempts = chain(
        ((family, nodes, True) for family, nodes in _changed(printed, (*_IN_PRINTED, *_IN_NUMBERS))),
        ((family, nodes, False) for family, nodes in _changed(calculation, (*_FAMILIES, *_IN_NUMBERS))),
    )
    for family, nodes, is_printed in attempts:
        chance = len(nodes) * density
        if chance > _TOLD or (best is not None and chance >= best.chance):
            continue
        found = next((node for node in nodes if agrees(*((calculation, node) if is_printed else (node, printed)))), None)
        if found is not None:
            best = Slip(family, found, chance, is_printed)
    return best


def explain_in_letters(one: Node, other: Node, agrees: Callable[[Node, Node], bool]) -> Slip | None:
    """The slip that makes an identity of two formulas, which is never an accident."""
    for changed, kept in ((other, one), (one, other)):
        for family, nodes in _changed(changed, (*_FAMILIES, *_DIGITS)):
            found = next((node for node in nodes if node != kept and agrees(kept, node)), None)
            if found is not None:
                return Slip(family, found, 0.0)
    return None


def density(printed: Node, value: arb) -> float:
    """How likely any number of that size is to agree with a printed one: 1 in 5 for 5, 1 in 1234 for 12.34 and for 1234.

    >>> density(Number("12.5"), arb("12.5"))
    0.008
    """
    if not value.is_finite() or value.contains(0):
        return 1.0
    shown = units(printed)
    unit = max((float(step) for step in shown), default=0.0) if shown else 0.0
    size = abs(float(value.mid()))
    if size > 1e15:
        return 0.0
    if unit == 0:
        ratio = Fraction(size).limit_denominator(1000)
        return 1 / max(1, ratio.numerator * ratio.denominator)
    return min(1.0, unit / size)
