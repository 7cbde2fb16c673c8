"""The numbers that a document prints, and which of its letters vary: what a claim can be held against."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field

from workings.check.argument.lines import Line
from workings.check.latex.syntax import Big, Derivative, Group, Matrix, Node, Number, Sum
from workings.check.latex.weights import plain
from workings.check.value.names import letters_of, running_letter

_TELLING = 3
"""Digits that matter from which on a number is hardly met by accident."""


def digits(node: Node) -> int:
    """How many digits of a printed number matter, or of the numbers of a table; 0 for anything else.

    >>> digits(Number("0.0250")), digits(Number("1200"))
    (3, 2)
    """
    match node:
        case Sum(terms=((_, term),)):
            return digits(term)
        case Matrix(rows=rows):
            return sum(digits(entry) for row in rows for entry in row)
        case Group(open="(" | "[", items=items) if len(items) > 1:
            return sum(map(digits, items))
    if not isinstance(node, Number):
        return 0
    mantissa = node.text.lower().partition("e")[0]
    text = mantissa.replace(".", "").lstrip("0")
    return len(text if "." in mantissa else text.rstrip("0"))


def is_telling(node: Node) -> bool:
    """Whether a printed number is hardly met by accident."""
    return digits(node) >= _TELLING


@dataclass
class Printed:
    """The telling numbers of a document, each with the unit of its last place and the line it stands in."""

    numbers: list[tuple[float, float, int]] = field(default_factory=list)
    varying: set[Node] = field(default_factory=set)
    """The letters that something lets vary: a derivative, an integral, a limit, the head of a function."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.numbers, self.varying = [], set()
        for line in lines:
            for side in line.sides:
                for part in side.walk():
                    if isinstance(part, Number) and is_telling(part):
                        unit = 10.0 ** -(part.places or 0) if part.places is not None else 0.0
                        self.numbers.append((float(part.value), unit, line.number))
                    elif isinstance(part, Derivative):
                        self.varying |= {plain(letter) for by in part.by for letter in letters_of(by)}
                    elif isinstance(part, Big) and (letter := running_letter(part)) is not None:
                        self.varying.add(plain(letter))
        self.numbers.sort()

    def is_elsewhere(self, value: float, line: int) -> bool:
        """Whether a value is printed, rounded or not, in another line."""
        size = abs(value)
        first = bisect_left(self.numbers, (size * 0.98,))
        for number, unit, at in self.numbers[first:]:
            if number > size * 1.02:
                return False
            if at != line and abs(number - size) <= max(0.505 * unit, 1e-9 * size):
                return True
        return False
