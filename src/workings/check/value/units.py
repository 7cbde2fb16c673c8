"""Units behind numbers in a formula: left out, or put in with what they are worth.

168 − 126 = 52 minutes compares numbers; 3 km = 3000 m compares what they are worth. Both are readings of one formula.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import prod

from workings.check.latex.syntax import Function, Node, Number, Product, Quotient, Script, Symbol, Words
from workings.check.latex.units import worth

UNIT = "unit"
"""The sign before a factor that is what a unit is worth."""


def _unit_text(factor: Node) -> str | None:
    """The unit that a factor behind a number is; none if it is something else. Words are always a unit, or a remark."""
    match factor:
        case Words(text=text):
            return text
        case Script(base=Words() | Symbol() as base, below=None, above=Number(text=power)):
            unit = _unit_text(base)
            return None if unit is None else f"{unit.strip()}{power}"
        case Symbol(name=name, style=style) if ("text" in style or "rm" in style) and worth(name) is not None:
            return name
        case Function(name=name, arguments=()) if worth(name) is not None:
            return name
    return None


def _is_unit(product: Product, index: int) -> bool:
    """Whether factor `index` of a product is a unit: it stands without a sign behind something else."""
    sign, factor = product.factors[index]
    return index > 0 and not sign and _unit_text(factor) is not None


_KINDS = (Words, Script, Symbol, Function)


def has_unit(product: Product) -> bool:
    """Whether one of the factors is a unit."""
    return any(
        not sign and isinstance(factor, _KINDS) and _unit_text(factor) is not None for sign, factor in product.factors[1:]
    )


def has_units(node: Node) -> bool:
    """Whether a unit stands behind a number somewhere in a formula."""
    return any(has_unit(part) for part in node.walk() if isinstance(part, Product))


def unit_texts(node: Node) -> set[str]:
    """The units that stand behind numbers in a formula."""
    products = [part for part in node.walk() if isinstance(part, Product)]
    found = [_unit_text(part.factors[i][1]) for part in products for i in range(len(part.factors)) if _is_unit(part, i)]
    return {text.strip(" .,~\\") for text in found if text is not None}


def are_comparable(ours: set[str], theirs: set[str]) -> bool:
    """Whether it is known what the units of two sides are to each other: the same, worth something, or only on the right."""
    return ours == theirs or not ours or all(worth(text) is not None for text in ours | theirs)


def without_units(node: Node) -> Node:
    """The formula with its numbers alone."""
    node = node.rebuilt(without_units)
    if not isinstance(node, Product):
        return node
    kept = tuple(factor for index, factor in enumerate(node.factors) if not _is_unit(node, index))
    if len(kept) == len(node.factors):
        return node
    return kept[0][1] if len(kept) == 1 else replace(node, factors=kept)


def unit_behind(node: Node, binary: bool = False) -> tuple[Fraction, str]:
    """The unit in which an amount is written, what it is worth, and its name: 90 min is in (60, "min"); (1, "") for none.

    A unit of which nothing is known is worth 1, as in `with_worth`.
    """
    if not isinstance(node, Product):
        return Fraction(1), ""
    texts = [_unit_text(node.factors[index][1]) or "" for index in range(len(node.factors)) if _is_unit(node, index)]
    values = [worth(text, binary) for text in texts]
    return prod((value for value in values if value is not None), start=Fraction(1)), " ".join(
        text.strip() for text in texts
    )


def with_worth(node: Node, binary: bool = False) -> Node:
    """The formula with what each unit is worth in its place; a unit that is not known is left out."""
    node = node.rebuilt(lambda part: with_worth(part, binary))
    if not isinstance(node, Product):
        return node
    factors: list[tuple[str, Node]] = []
    for index, (sign, factor) in enumerate(node.factors):
        text = _unit_text(factor) if _is_unit(node, index) else None
        if text is None:
            factors.append((sign, factor))
        elif (value := worth(text, binary)) is not None and value != 1:
            above, below = Number(str(value.numerator)), Number(str(value.denominator))
            factors.append((UNIT, above if value.denominator == 1 else Quotient(above, below)))
    return factors[0][1] if len(factors) == 1 else replace(node, factors=tuple(factors))
