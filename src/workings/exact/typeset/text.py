"""Values in plain text, as a textbook would write them and as the parser reads them: e^(1/√2)/(1 + e^(1/√2)).

`_WRITERS` has a row for each kind of layout (see `layout.py`). A row gets the layout and its parts, already
written, and returns a piece: the string, and how tightly it holds together. Brackets come from comparing
that with what the place needs; a row never looks into a string to see whether it needs them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from workings.exact.numbers.names import MOST_NAMED, spelling
from workings.exact.numbers.value import Value
from workings.exact.typeset.elision import Elided, elision
from workings.exact.typeset.layout import Layout, fold, number
from workings.exact.typeset.value_layout import lay_out
from workings.precedence import ATOM, LOOSE, POWER, PRODUCT, SUM


class Piece(NamedTuple):
    """Something written, and how tightly it holds together."""

    string: str
    level: int


def text(v: Value, *, most: int = 200, decimals: bool = True) -> str:
    """`v` in one line of plain text; a formula of more than `most` nodes by its certified decimals.

    >>> from flint import fmpq
    >>> from workings.exact.numbers.algebra import power
    >>> from workings.exact.numbers.letter import letter
    >>> from workings.exact.numbers.value import rational
    >>> w = letter("w")
    >>> text(rational(8) * power(w - rational(fmpq(1, 2)), 2))
    '8(w − 1/2)²'

    With `decimals`, radicands are written as short decimals where they are: √9.5, else √(19/2).
    """
    short = elision(v, most)
    return _elision(short) if short is not None else fold(lay_out(v, decimals), _write).string


def _write(layout: Layout, parts: list[Piece]) -> Piece:
    return _WRITERS[layout.kind](layout, parts)


def _bracketed(piece: Piece, least: int) -> str:
    """The piece, in brackets where it holds together less than the place needs."""
    return piece.string if piece.level >= least else f"({piece.string})"


_CONSTANTS = {"e": "e", "pi": "π", "euler": "euler_gamma", "inf": "∞", "nan": "nan"}
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def _power(layout: Layout, parts: list[Piece]) -> Piece:
    base, exponent = parts
    if layout.parts[1].kind == "number":
        return Piece(_bracketed(base, ATOM) + exponent.string.translate(_RAISED), POWER)
    return Piece(f"{_bracketed(base, ATOM)}^{_bracketed(exponent, ATOM)}", POWER)


def _product(layout: Layout, parts: list[Piece]) -> Piece:
    out = _bracketed(parts[0], PRODUCT)
    for left, right, piece in zip(layout.parts, layout.parts[1:], parts[1:], strict=False):
        factor = piece.string if is_bare_at_end(layout, right) else _bracketed(piece, PRODUCT)
        out += ("" if _touch(left, right, out, factor) else "·") + factor
    return Piece(out, LOOSE if parts[-1].level == LOOSE else PRODUCT)


def is_bare_at_end(layout: Layout, factor: Layout) -> bool:
    """Whether log 2 needs no brackets in this product: nothing follows that could belong to its argument."""
    return factor is layout.parts[-1] and factor.kind == "call"


def _touch(left: Layout, right: Layout, before: str, after: str) -> bool:
    """Whether two factors need no dot: 2π, 2√3, 8(w − 1/2)², (w + 1)(x + 1); but w·x, 2·3^(1/3), 2·log 2."""
    if left.kind == "number" and before[-1].isdigit():
        scientific = after[0] in "eE" and after[1:2].isdigit()  # 2e3 would be 2000
        called = right.kind == "call" or (right.kind == "power" and right.parts[0].kind == "call")
        return not (called or after[0].isdigit() or scientific)
    return left.kind == "sum" and before.endswith(")") and after.startswith("(")


def _sum(layout: Layout, parts: list[Piece]) -> Piece:
    out = ""
    for sign, piece in zip(layout.word, parts, strict=True):
        term = _bracketed(piece, LOOSE) if sign == "-" else piece.string
        joint = (" − " if sign == "-" else " + ") if out else ("−" if sign == "-" else "")
        out += joint + term
    return Piece(out, SUM)


def _call(layout: Layout, parts: list[Piece]) -> Piece:
    if layout.word == "log" and layout.parts[0].kind == "number":
        return Piece(f"log {parts[0].string}", LOOSE)
    return Piece(f"{layout.word}({', '.join(piece.string for piece in parts)})", ATOM)


_WRITERS: dict[str, Callable[[Layout, list[Piece]], Piece]] = {
    "number": lambda layout, parts: Piece(layout.word, ATOM),
    "name": lambda layout, parts: Piece(spelling(layout.word), ATOM),
    "constant": lambda layout, parts: Piece(_CONSTANTS[layout.word], ATOM),
    "root": lambda layout, parts: Piece("√" + _bracketed(parts[0], ATOM), POWER),
    "power": _power,
    "fraction": lambda layout, parts: Piece(f"{_bracketed(parts[0], PRODUCT)}/{_bracketed(parts[1], POWER)}", LOOSE),
    "product": _product,
    "sum": _sum,
    "minus": lambda layout, parts: Piece("−" + _bracketed(parts[0], LOOSE), SUM),
    "call": _call,
}


def _elision(short: Elided) -> str:
    """0.669762… (exact formula of 1,234 nodes), or ⟨formula of 1,234 nodes in w; 0.25… at w = 1/2⟩."""
    digits = short.decimals and short.decimals.replace("-", "−") + "…"
    if not short.letters:
        return f"⟨{short.measure}⟩" if digits is None else f"{digits} (exact {short.measure})"
    formula = f"{short.measure} in {', '.join(short.letters)}"
    if digits is None:
        return f"⟨{formula}⟩"
    samples = [f"{spelling(name)} = {fold(number(sample), _write).string}" for name, sample in short.samples]
    return f"⟨{formula}; {digits} at {', '.join(samples + short.letters[MOST_NAMED:])}⟩"


Value.text = text  # errors and notes about a number write it, and writing a long formula needs its decimals
