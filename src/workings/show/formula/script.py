"""What a script needs beyond the notation of operations: calls of the author's, sequences, indices, source text."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence

from workings.precedence import ATOM, LOOSE, SUM
from workings.show.write.decimals import decimal
from workings.trace.formula.notation import Piece, Script
from workings.trace.formula.tree import Options


class FormulaScript(Script):
    """A script in which whole formulas are written."""

    raises = True
    """Whether the number of a value that was changed in place, h#2, stands above: h⁽²⁾."""

    @abstractmethod
    def source(self, text: str) -> str:
        """Python without a formula."""

    def literal(self, value: complex) -> Piece:
        """A number that stands in the source."""
        return self.number(decimal(value, 12))

    def named_call(self, name: str, parts: list[str], options: Options) -> str:
        """A call of something with a name and no notation."""
        return self.call(self.name(name), parts, self.details(options, with_none=True))

    def sequence(self, parts: Sequence[str], is_list: bool) -> str:
        inside = ", ".join(parts) + "," * (len(parts) == 1 and not is_list)
        return f"[{inside}]" if is_list else f"({inside})"

    def index(self, base: str, inside: list[str]) -> str:
        """x[i, j]"""
        return f"{base}[{', '.join(inside)}]"


_WHOLE = re.compile(r"\d[\d.]*e−?\d+|[\w.\ue000-\uf8ff]+|∞|\\[a-z]+|[\[⟨].*[\]⟩]|\\begin{bmatrix}.*", re.DOTALL)
_FRACTION = re.compile(r"\d+/\d+|\\frac{\d+}{\d+}")


def valued(string: str) -> Piece:
    """A value put in for a name: numbers and matrices hold together, anything else gets brackets where it matters.

    >>> valued("2").level == ATOM, valued("1/2").level == LOOSE, valued("−2").level == SUM
    (True, True, True)
    """
    return Piece(string, ATOM if _WHOLE.fullmatch(string) else LOOSE if _FRACTION.fullmatch(string) else SUM)
