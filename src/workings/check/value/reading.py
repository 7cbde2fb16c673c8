"""What ambiguous notation may mean.

A reading fixes every choice, and every plausible reading is tried before a line is called wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from workings.check.latex.syntax import (
    Big,
    Function,
    Group,
    Matrix,
    Node,
    Number,
    Postfix,
    Product,
    Quotient,
    Script,
    Sum,
    Symbol,
)
from workings.check.value.units import has_unit

_CHOICES: dict[str, dict[Any, str]] = {
    "log": {"e": "log is the natural logarithm", "2": "log has base 2", "10": "log has base 10"},
    "wide_slash": {False: "a/bc is (a/b)c", True: "a/bc is a/(bc)"},
    "long_reach": {False: "log ab is (log a)b", True: "log ab is log(ab)"},
    "softmax": {"rows": "softmax of each row", "columns": "softmax of each column"},
    "beside": {True: "parts joined side by side", False: "parts joined one below the other"},
    "powers": {"entries": "powers of each entry", "matrix": "powers of the matrix", "dot": "x² is x · x"},
    "spread": {"n": "a variance divides by n", "n-1": "a variance divides by n − 1"},
    "percent": {True: "% is a hundredth", False: "% is a unit", "mod": "% is a remainder"},
    "relative": {False: "% is a part of 1", True: "x + 5 % adds 5 % of x"},
    "units": {"plain": "numbers alone, without units", "worth": "units converted", "binary": "KB is 1024 B"},
    "angle": {"rad": "angles in radians", "deg": "angles in degrees"},
    "congruent": {False: "mod is a remainder", True: "equal modulo n"},
    "turned": {False: "* slides the kernel", True: "* turns the kernel and slides it"},
    "mixed": {False: "1 1/2 is a product", True: "1 1/2 is one and a half"},
    "base": {10: "digits are decimal", 2: "digits are binary", "long": "long numbers of 0 and 1 are binary"},
    "first": {1: "indices count from 1", 0: "indices count from 0"},
    "entrywise": {"last": "A ⊙ B C is A ⊙ (B C)", "first": "A ⊙ B C is (A ⊙ B) C"},
    "bars": {"length": "|x| is the length of x", "entries": "|x| is taken of each entry"},
    "lists": {"free": "a list stands as it fits", "columns": "a list is a column", "arrays": "lists and tables as arrays"},
}


@dataclass(frozen=True, slots=True)
class Reading:
    """One choice for each kind of ambiguous notation; the defaults are the most usual ones."""

    log: str = "e"
    wide_slash: bool = False
    long_reach: bool = False
    softmax: str = "rows"
    beside: bool = True
    powers: str = "entries"
    spread: str = "n"
    percent: bool | str = True
    relative: bool = False
    units: str = "plain"
    angle: str = "rad"
    congruent: bool = False
    turned: bool = False
    mixed: bool = False
    base: int | str = 10
    first: int = 1
    entrywise: str = "last"
    bars: str = "length"
    lists: str = "free"

    def __str__(self) -> str:
        """What differs from the usual reading, in words.

        >>> str(Reading(log="2", wide_slash=True))
        'log has base 2, a/bc is a/(bc)'
        """
        return ", ".join(
            _CHOICES[name][getattr(self, name)] for name in _names() if getattr(self, name) != getattr(USUAL, name)
        )


def _names() -> list[str]:
    """The choices, in the order in which they are tried."""
    return [choice.name for choice in fields(Reading)]


USUAL = Reading()
_SPREADS = {"var", "std"}
TURNS = {"sin", "cos", "tan"}
ANGLES = {"arcsin", "arccos", "arctan", "asin", "acos", "atan"}


def _open_choices(nodes: tuple[Node, ...]) -> dict[str, None]:
    """The choices that make a difference to these formulas."""
    found: dict[str, None] = {}
    has_radians = any(map(_tells_radians, nodes))
    for top in nodes:
        for node in top.walk():
            match node:
                case Function(name="log" | "lg", below=None):
                    found["log"] = None
                case Function(name="softmax" | "softargmax" | "logsoftmax"):
                    found["softmax"] = None
                case Product(factors=factors) if any(sign in ("*", "⋆") for sign, _ in factors) and _may_be_table(node):
                    found["turned"] = None
                case Product(factors=factors) if any(sign == "mod" for sign, _ in factors):
                    found["congruent"] = None
                case Product(factors=factors) if {"⊙", "∘"} & {sign for sign, _ in factors} and len(factors) > 2:
                    found["entrywise"] = None
                case Product(factors=((_, Number(text=whole)), ("", Postfix(body=Quotient(), sign="%")))) if whole.isdigit():
                    found["mixed"] = None
                case Product(factors=((_, Postfix(sign="%")), ("", _))):
                    found["percent"] = None
                case Function(name=name) if name in ANGLES or (name in TURNS and not has_radians):
                    found["angle"] = None
                case Function(name="argmax" | "argmin"):
                    found["first"] = None
                case Product(factors=((_, Number(text=whole)), ("", Quotient(above=Number(), below=Number())))) if (
                    whole.isdigit()
                ):
                    found["mixed"] = None
                case Function(name="concat" | "cat"):
                    found["beside"] = None
                case Function(name=name) if name in _SPREADS:
                    found["spread"] = None
                case Quotient(bar=False):
                    found["wide_slash"] = None
                case Postfix(sign="%") if any(part == Number("100") for other in nodes for part in other.walk()):
                    found["percent"] = None
                case Postfix(body=Number(value=share), sign="%") if share >= 1:
                    found["percent"] = None  # returns in percent, weighted: 0.5 · 7 + 0.5 · 8 = 7.5 %; but not 1/4 = 0.25 %
                case Group(open="|"):
                    found["bars"] = None
                case Group(open="[", items=items) if len(items) > 1:
                    found["beside"] = None
                case Script(above=Number()):
                    found["powers"] = None
                case Script(base=Symbol(), below=Node()):
                    found["first"] = None
            if isinstance(node, Product) and has_unit(node):
                found["units"] = None
            elif isinstance(node, Function) and not node.bracketed:
                found["long_reach"] = None
    if any(_adds_percent(node) for top in nodes for node in top.walk()):
        found["relative"] = None
        if not all(any(isinstance(part, Postfix) and part.sign == "%" for part in top.walk()) for top in nodes):
            found.pop("percent", None)  # 80 + 25 % is not 105
    digits = [[node.text for node in top.walk() if isinstance(node, Number)] for top in nodes]
    every = [text for texts in digits for text in texts]
    all_binary = all(set(text) <= {"0", "1"} for text in every) and any(len(text) > 2 for text in every)
    if all_binary or all(any(map(is_long_binary, texts)) for texts in digits):
        found["base"] = None
    return found


def is_long_binary(text: str) -> bool:
    """1.1001, 110011: a number that hardly anybody would write in tens."""
    return set(text) <= {"0", "1", "."} and len(text) > 4


def _tells_radians(node: Node) -> bool:
    """Whether π or an integral stands in it: then its angles are in radians."""
    return any(part == Symbol("pi") or (isinstance(part, Big) and part.operator == "∫") for part in node.walk())


def _adds_percent(node: Node) -> bool:
    """50 + 10 %: a percentage behind something that is none."""
    return isinstance(node, Sum) and not is_percent(node.terms[0][1]) and any(is_percent(term) for _, term in node.terms[1:])


def is_percent(node: Node) -> bool:
    """A number with the sign of a percentage behind it."""
    return isinstance(node, Postfix) and node.sign == "%" and isinstance(node.body, Number)


def _may_be_table(node: Node) -> bool:
    """Whether a table, a list or a name that may stand for one is written in it."""
    return any(
        isinstance(part, Matrix | Symbol) or (isinstance(part, Group) and len(part.items) > 1) for part in node.walk()
    )


_NAMED = ("log", "softmax", "spread", "mixed", "percent", "relative", "beside", "turned", "angle")


def choices_text(reading: Reading, nodes: tuple[Node, ...]) -> str:
    """The choices that were made in reading these formulas, in words."""
    found = _open_choices(nodes)
    chosen = [
        name for name in _names() if getattr(reading, name) != getattr(USUAL, name) or (name in found and name in _NAMED)
    ]
    return ", ".join(_CHOICES[name][getattr(reading, name)] for name in chosen)


def readings(nodes: tuple[Node, ...]) -> Iterator[Reading]:
    """The usual reading first, then every other choice alone, then the two choices of reach together."""
    yield USUAL
    found = _open_choices(nodes)
    for name in _names():
        if name in found:
            for choice in _CHOICES[name]:
                if choice != getattr(USUAL, name):
                    yield replace(USUAL, **{name: choice})
    if "wide_slash" in found and "long_reach" in found:
        yield replace(USUAL, wide_slash=True, long_reach=True)
    if "log" in found and "long_reach" in found:
        yield replace(USUAL, log="2", long_reach=True)
        yield replace(USUAL, log="10", long_reach=True)
