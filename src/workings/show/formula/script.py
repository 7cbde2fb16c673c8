"""Plain text: Q Kᵀ / √d, Σ(x, axis 0). It is what a script writes where it does not say otherwise."""

from __future__ import annotations

import re

from workings.precedence import ATOM, LOOSE, SUM
from workings.show.write.decimals import decimal
from workings.show.write.names import text_name
from workings.trace.formula.script import Piece, Script

_WHOLE = re.compile(r"\d[\d.]*e−?\d+|[\w.\ue000-\uf8ff]+|∞|\\[a-z]+|[\[⟨].*[\]⟩]|\\begin{bmatrix}.*|\\left\[.*", re.DOTALL)
_FRACTION = re.compile(r"\d+/\d+|\\frac{\d+}{\d+}")


def value_piece(string: str) -> Piece:
    """A value put in for a name: numbers and matrices hold together, anything else gets brackets where it matters.

    >>> value_piece("2").level == ATOM, value_piece("1/2").level == LOOSE, value_piece("−2").level == SUM
    (True, True, True)
    """
    return Piece(string, ATOM if _WHOLE.fullmatch(string) else LOOSE if _FRACTION.fullmatch(string) else SUM)


class TextScript(Script):
    raises = False

    def name(self, text: str) -> str:
        return text_name(text)

    def number(self, digits: str) -> Piece:
        return value_piece(digits)

    def literal(self, value: complex) -> Piece:
        return self.number(decimal(value, 12))

    def decimal(self, value: float) -> str:
        return decimal(value)


TEXT = TextScript()
