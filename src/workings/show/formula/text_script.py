"""Plain text: Q Kᵀ / √d, Σ(x, axis 0)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from workings.precedence import ATOM, LOOSE, POWER, PRODUCT, RELATION, SUM
from workings.show.formula.script import FormulaScript, valued
from workings.show.write.decimals import decimal
from workings.show.write.names import text_name
from workings.trace.formula.notation import Piece

_RAISED = str.maketrans("0123456789−⊤", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᵀ")
_TIGHT = {"": " ", "·": "·"}
"""Signs without blanks around them; a matrix product is the blank."""


class TextScript(FormulaScript):
    raises = False

    def name(self, text: str) -> str:
        return text_name(text)

    def number(self, digits: str) -> Piece:
        return valued(digits)

    def decimal(self, value: float) -> str:
        return decimal(value)

    def code(self, text: str) -> str:
        return text

    source = words = code

    def function(self, word: str) -> str:
        return word

    def infix(self, left: str, sign: str, right: str) -> str:
        return f"{left}{_TIGHT.get(sign) or f' {sign} '}{right}"

    def prefix(self, sign: str, right: str) -> str:
        return sign + right

    def fence(self, inside: str, left: str, right: str) -> str:
        return f"{left}{inside}{right}"

    def fraction(self, top: Piece, bottom: Piece) -> Piece:
        return Piece(self.infix(self.bracketed(top, PRODUCT), "/", self.bracketed(bottom, POWER)), LOOSE)

    def power(self, base: Piece, exponent: Piece) -> Piece:
        if re.fullmatch(r"−?\d+", exponent.string):
            return self.raised(base, exponent.string)
        return Piece(f"{self.bracketed(base, ATOM)}^{self.bracketed(exponent, ATOM)}", POWER)

    def exponential(self, exponent: Piece) -> Piece:
        return Piece(f"e^{self.bracketed(exponent, ATOM)}", POWER)

    def raised(self, base: Piece, sign: str) -> Piece:
        return Piece(self.bracketed(base, ATOM) + sign.translate(_RAISED), POWER)

    def root(self, inside: Piece) -> Piece:
        return Piece(f"√{self.bracketed(inside, ATOM)}", POWER)

    def subscript(self, base: Piece, below: Piece) -> Piece:
        return Piece(f"{self.bracketed(base, ATOM)}_{self.bracketed(below, ATOM)}")

    def cases(self, value: Piece, condition: Piece, other: Piece) -> Piece:
        a, b, c = (self.bracketed(piece, SUM) for piece in (value, condition, other))
        return Piece(f"{a} where {b}, else {c}", RELATION)

    def big(self, sign: str, over: Piece, details: list[str], bound: str = "") -> Piece:
        sign = f"{sign}_{{{bound.replace(' ', '')}}}" if bound else sign
        if details:
            return Piece(self.call(sign, [over.string], details))
        return Piece(f"{sign} {self.bracketed(over, POWER)}", LOOSE)

    def filled(self, digit: str, size: str) -> str:
        return f"{ {'0': 'zeros', '1': 'ones'}[digit] }({size})"

    def call(self, function: str, parts: Sequence[str], details: list[str]) -> str:
        return f"{function}({', '.join([*parts, *details])})"

    def aside(self, details: list[str]) -> str:
        return f" ({', '.join(details)})"


TEXT = TextScript()
