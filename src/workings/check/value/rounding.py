"""Is a = b under the rounding that is shown? Each printed decimal claims half a unit of its last place to either side.

right                       the values agree to the printed digits
right with rounded inputs   they agree if the decimals in the formula are themselves rounded
last digit off              the printed digits are cut off instead of rounded, or one unit too far
imprecise                   off by a few units, in a calculation with rounded decimals
wrong
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from flint import arb

from workings.check.latex.syntax import (
    Group,
    Matrix,
    Node,
    Number,
    Postfix,
    Product,
    Quotient,
    Root,
    Script,
    Sum,
    Symbol,
    Words,
)
from workings.check.value.scope import EVERY, Decimals, is_transpose
from workings.check.value.value import Mismatch, Table, Undecided, Value, entries


class Grade(IntEnum):
    """From right to wrong."""

    RIGHT = 0
    ROUNDED = 1
    LAST_DIGIT = 2
    IMPRECISE = 3
    WRONG = 4

    def __str__(self) -> str:
        return ("right", "right with rounded inputs", "last digit off", "imprecise", "wrong")[self]


@dataclass(frozen=True, slots=True)
class Judgement:
    """How well two sides agree, and at which entry they agree least."""

    grade: Grade
    left: Value
    right: Value
    entry: int = 0
    """The worst entry, counted row by row from 0."""
    shapes: bool = False
    """Whether already the shapes differ."""
    off: int = 0
    """How many entries are not right."""
    coarse: bool = False
    """Whether the decimals that would have to be rounded have two places at most."""
    wide: bool = False
    """Whether rounded inputs could explain the difference, and nearly any other."""


_ZERO = arb(0)
TINY = arb(10) ** -20


def units(node: Node) -> list[arb] | None:
    """For printed numbers (a decimal, a list or a matrix of them) the unit of each last place; 0 for what is exact."""
    match node:
        case Number(places=places):
            return [_ZERO if places is None else arb(10) ** -places]
        case Script(base=Number(text=text), below=Number(text=base), above=None) if base.isdigit() and "." in text:
            return [arb(int(base)) ** -len(text.partition(".")[2])]
        case Sum(terms=((_, term),)):
            return units(term)
        case Postfix(body=Number(places=places), sign="%"):
            return [(arb(1) if places is None else arb(10) ** -places) / 100]
        case Postfix(body=Number() as body, sign="°") | Script(base=Number() as body, below=None, above=Symbol(name="circ")):
            return [(units(body) or [_ZERO])[0] * arb.pi() / 180]
        case Product(factors=((_, number), ("unit", worth))) if (printed := units(number)) and len(printed) == 1:
            return [printed[0] * _ratio(worth)]
        case Product(factors=factors) if isinstance(factors[-1][1], Words) and len(factors) == 2:
            return units(factors[0][1])
        case Product(factors=((_, Number(places=places)), ("×" | "·" | "*", Script(base=Number(text="10"), above=above)))):
            exponent = _whole(above)
            return None if exponent is None else [arb(10) ** (exponent - (places or 0))]
        case Matrix(rows=rows):
            return _all([entry for row in rows for entry in row])
        case Group(open="(" | "[", items=items):
            return _all(list(items))
        case Script(base=Matrix(rows=rows), below=None, above=above) if above is not None and is_transpose(above):
            return _all([entry for column in zip(*rows, strict=False) for entry in column])
        case Script(base=Group() as base, below=None, above=above) if above is not None and is_transpose(above):
            return units(base)
        case Quotient(above=above, below=below):
            return [_ZERO] if units(above) == [_ZERO] and units(below) == [_ZERO] else None
    return None


def _ratio(node: Node) -> arb:
    """A whole number or a fraction of two: what a unit is worth."""
    match node:
        case Quotient(above=Number(value=above), below=Number(value=below)):
            return arb(int(above)) / arb(int(below))
        case Number(value=value):
            return arb(int(value))
    return arb(1)


def _whole(node: Node | None) -> int | None:
    """A small whole number, with its sign."""
    match node:
        case Number(text=text) if text.isdigit() and len(text) < 4:
            return int(text)
        case Sum(terms=(("-", Number(text=text)),)) if text.isdigit() and len(text) < 4:
            return -int(text)
    return None


def _all(nodes: list[Node]) -> list[arb] | None:
    found: list[arb] = []
    for node in nodes:
        unit = units(node)
        if unit is None:
            if _places_in(node):
                return None
            unit = [_ZERO]
        found += unit
    return found


def _places_in(*nodes: Node) -> list[int]:
    """The places of every decimal that is printed in these formulas."""
    return [part.places for node in nodes for part in node.walk() if isinstance(part, Number) and part.places is not None]


def one_shape(left: Value, right: Value) -> tuple[Value, Value] | None:
    """Both sides in one shape, if they can have one: a table of one entry is a number, a list stands either way."""
    if isinstance(left, Table) and left.shape == (1, 1):
        left = left.rows[0][0]
    if isinstance(right, Table) and right.shape == (1, 1):
        right = right.rows[0][0]
    if not isinstance(left, Table) or not isinstance(right, Table):
        return None if isinstance(left, Table) or isinstance(right, Table) else (left, right)
    if left.shape == right.shape:
        return left, right
    if left.T.shape == right.shape and left.is_vector and (left.free or right.free):
        return left.T, right
    return None


def _with_zero(left: Value, right: Value) -> tuple[Value, Value] | None:
    """A table beside a plain 0, which stands for a table full of it."""
    if isinstance(left, Table) and not isinstance(right, Table) and right.is_zero():
        return left, Table(tuple(tuple(right for _ in row) for row in left.rows))
    if isinstance(right, Table) and not isinstance(left, Table) and left.is_zero():
        return Table(tuple(tuple(left for _ in row) for row in right.rows)), right
    return None


Again = Callable[[Decimals, int | None], tuple[Value, Value]]


def judge(
    sides: tuple[Node, Node], values: tuple[Value, Value], again: Again, about: bool = False, settled: bool = False
) -> Judgement:
    """Compare two sides.

    `again` gives both values with another sense of their decimals, `about` is for ≈, and `settled` says that the document
    shows what every decimal was rounded from.
    """
    pair = one_shape(*values) or _with_zero(*values)
    if pair is None:
        return Judgement(Grade.WRONG, *values, shapes=True)
    left, right = entries(pair[0]), entries(pair[1])
    shown = [units(side) for side in sides]
    shown = [part if part is None or len(part) == len(left) else None for part in shown]
    steps = [max_unit(shown, i) for i in range(len(left))]
    grades = [_grade(x, y, u, about, sides) for x, y, u in zip(left, right, steps, strict=True)]
    if max(grades) > Grade.RIGHT and any(units(side) is None for side in sides):
        grades = _explained(grades, steps, sides, again, about, settled)
    worst = max(grades)
    places = _places_in(*sides)
    off = sum(grade > Grade.ROUNDED for grade in grades)
    entry = grades.index(worst)
    wide = worst is Grade.WRONG and _is_wide(_pairs(again, Decimals.ROUNDED, None, len(grades)), entry)
    return Judgement(worst, *pair, entry=entry, off=off, coarse=bool(places) and max(places) < 3, wide=wide)


def _is_wide(balls: list[tuple[arb, arb]] | None, entry: int) -> bool:
    """Whether the worst entry agrees with itself once all decimals are taken as rounded."""
    return balls is not None and balls[entry][0].overlaps(balls[entry][1])


def _explained(
    grades: list[Grade], steps: list[arb], sides: tuple[Node, Node], again: Again, about: bool, settled: bool
) -> list[Grade]:
    """The grades, where the decimals of a calculation may be rounded."""
    behind = _pairs(again, Decimals.BEHIND, None, len(grades))
    if behind is not None:
        exact = [_grade(x, y, u, about, sides) for (x, y), u in zip(behind, steps, strict=True)]
        grades = [min(g, e) if e is Grade.RIGHT else g for g, e in zip(grades, exact, strict=True)]
    fine = Grade.LAST_DIGIT if settled else Grade.ROUNDED
    finest = max(_places_in(*sides), default=None)  # coarser decimals beside it are taken at their word
    for places, better in ((finest, fine), (_places(steps), fine), (None, Grade.IMPRECISE), (EVERY, Grade.IMPRECISE)):
        balls = _pairs(again, Decimals.ROUNDED, places, len(grades)) if max(grades) > better else None
        if balls is not None:
            grades = [
                better if grade > better and _reaches(ball, unit) else grade
                for grade, ball, unit in zip(grades, balls, steps, strict=True)
            ]
    return grades


def _coarsest_input(sides: tuple[Node, Node]) -> arb:
    """The largest unit of a decimal that may be rounded, in a calculation; 0 if there is none."""
    inputs = [part for side in sides if units(side) is None for part in side.walk() if isinstance(part, Number)]
    places = [part.places for part in inputs if part.places is not None and part.places > 1]
    return arb(10) ** -min(places) if places else _ZERO


def _pairs(again: Again, decimals: Decimals, places: int | None, count: int) -> list[tuple[arb, arb]] | None:
    """Both sides entry by entry in another sense of their decimals."""
    try:
        seen = again(decimals, places)
        pair = one_shape(*seen) or _with_zero(*seen)
    except (Undecided, Mismatch):
        return None
    if pair is None:
        return None
    found = list(zip(entries(pair[0]), entries(pair[1]), strict=True))
    return found if len(found) == count else None


def _places(steps: list[arb]) -> int | None:
    """The places of the coarsest printed unit; none if nothing is printed in decimals."""
    coarsest = max((float(step) for step in steps), default=0.0)
    return None if coarsest == 0 else max(0, round(-math.log10(coarsest)))


def max_unit(shown: list[list[arb] | None], index: int) -> arb:
    """The coarser of the printed units of an entry."""
    found = [part[index] for part in shown if part is not None and index < len(part)]
    return found[0].max(found[1]) if len(found) == 2 else found[0] if found else _ZERO


def _grade(x: arb, y: arb, unit: arb, about: bool, sides: tuple[Node, Node]) -> Grade:
    """One entry, with its decimals taken at their word."""
    if not x.is_finite() or not y.is_finite():
        return Grade.RIGHT if x == y else Grade.WRONG
    distance, scale = abs(x - y), abs(x).max(abs(y)) + TINY
    slack = scale * TINY
    if distance.contains(0) or distance <= unit / 2 + slack:
        return Grade.RIGHT
    if about and any(map(_is_whole, sides)) and distance <= arb(1) / 2:
        return Grade.RIGHT
    if about and any(map(_is_round, sides)) and distance <= scale / 20:
        return Grade.RIGHT  # ≈ with a whole number
    if about and unit.is_zero() and distance <= scale / 200:
        return Grade.RIGHT  # ≈ with a fraction or a formula
    both = all(any(place > 0 for place in units(side) or ()) for side in sides)  # they may stand for what is between them
    if _is_multiple(x, y):
        return Grade.WRONG
    if unit > 0 and distance < (unit + slack if both else unit - slack):
        return Grade.LAST_DIGIT
    if unit > 0 and 2 * distance <= 3 * unit and unit < scale / 1000:
        return Grade.LAST_DIGIT  # one unit of a place that hardly matters: 0.57734 for 1/√3
    if unit > 0 and distance <= 10 * unit and distance < scale / 200 and any(map(_calculates_with_decimals, sides)):
        return Grade.IMPRECISE
    if about and distance < scale / 200 and any(map(_calculates_with_decimals, sides)):
        return Grade.IMPRECISE
    if 0 < unit < _coarsest_input(sides) and distance < scale / 100:
        return Grade.IMPRECISE  # more digits than its inputs have: it was computed with more of them
    return Grade.WRONG


def _is_multiple(x: arb, y: arb) -> bool:
    """Whether one number is the double of the other or more: no rounding explains 0.2 · 0.2 = 0.1."""
    small, large = abs(x).min(abs(y)), abs(x).max(abs(y))
    return bool(small > 0) and bool(large >= 2 * small)


def _is_whole(node: Node) -> bool:
    """A whole number, or a table of them."""
    match node:
        case Number(places=None):
            return True
        case Sum(terms=((_, term),)):
            return _is_whole(term)
        case Matrix(rows=rows):
            return all(_is_whole(entry) for row in rows for entry in row)
    return False


def _is_round(node: Node) -> bool:
    """A number that ≈ rounds to roughly: 10³, 5 · 10⁸, 1500, 7."""
    match node:
        case Number(text=text, places=None):
            return len(text.rstrip("0")) < 3
        case Sum(terms=((_, term),)):
            return _is_round(term)
        case Script(base=Number(text="10"), below=None, above=above):
            return above is not None
        case Product(factors=((_, Number(places=None)), ("×" | "·" | "*", Script(base=Number(text="10"))))):
            return True
    return False


def _calculates_with_decimals(node: Node) -> bool:
    """Whether a side is a calculation (not just printed numbers) with decimals in it."""
    return units(node) is None and not isinstance(node, Root) and bool(_places_in(node))


def _reaches(ball: tuple[arb, arb], unit: arb) -> bool:
    """Whether rounded decimals went into it, and can explain the difference."""
    x, y = ball
    rounded = any(part.rad() > (abs(part.mid()) + 1) * TINY for part in ball)
    if not rounded or any(part.rad() > 5 * unit + abs(part.mid()) / 50 for part in ball):
        return False  # exact, or so wide that it would explain anything
    return bool(abs(x - y).abs_lower() <= unit / 2 + abs(x.mid()) * TINY)
