"""What is written, as a tree: `value_layout.py` makes it of a value, `text.py` and `latex.py` write it.

    kind       parts                word
    number                          its digits
    name                            a letter
    constant                        e, pi, euler, inf, nan
    root       radicand
    power      base, exponent
    fraction   top, bottom
    product    factors
    sum        terms                one sign for each, such as "+-+"
    minus      the positive
    call       arguments            the function

A new kind of layout needs a row in both writers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from flint import fmpq

from workings.exact.numbers.digits import whole_digits
from workings.exact.numbers.value import Rational

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Layout:
    """One node of the tree; `key` orders terms and factors that are otherwise alike."""

    kind: str
    parts: tuple[Layout, ...] = ()
    word: str = ""
    key: str = field(init=False)

    def __post_init__(self) -> None:
        atoms = {"number": f"{len(self.word):04}{self.word}", "name": self.word}
        inner = ",".join([part.key for part in self.parts])
        key = atoms.get(self.kind, f"{inner} {self.kind}{len(self.parts)}{self.word}")
        object.__setattr__(self, "key", key)


def fold(root: Layout, rule: Callable[[Layout, list[Result]], Result]) -> Result:
    """`rule` applied to every node, parts first; no recursion, so depth is no matter."""
    done: dict[Layout, Result] = {}
    todo = [root]
    while todo:
        x = todo[-1]
        missing = [part for part in x.parts if part not in done]
        if missing:
            todo.extend(missing)
            continue
        todo.pop()
        if x not in done:
            done[x] = rule(x, [done[part] for part in x.parts])
    return done[root]


def number(n: Rational, decimals: str | None = None) -> Layout:
    """A rational number, as decimals where given."""
    if decimals is not None:
        return Layout("number", word=decimals)
    if n < 0:
        return Layout("minus", (number(-n),))
    if type(n) is int:
        return Layout("number", word=_shorten(whole_digits(n)))
    return fraction(number(int(fmpq(n).p)), number(int(fmpq(n).q)))


_LONGEST = 60
"""Digits of the longest whole number that is written out."""


def _shorten(digits: str) -> str:
    """The digits, or the first ten and how many there are."""
    return digits if len(digits) <= _LONGEST else f"{digits[:10]}…⟨{len(digits):,} digits⟩"


def product(factors: Iterable[Layout]) -> Layout:
    parts = tuple(factors)
    return parts[0] if len(parts) == 1 else Layout("product", parts) if parts else number(1)


def fraction(top: Layout, bottom: Layout) -> Layout:
    return top if bottom.word == "1" else Layout("fraction", (top, bottom))


def root(radicands: list[Layout]) -> list[Layout]:
    """The square root of a product; none of no radicands."""
    return [Layout("root", (product(radicands),))] if radicands else []
