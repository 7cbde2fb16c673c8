"""MathML Core: Q Kᵀ over √d, Σ with its axis under it."""

from __future__ import annotations

from typing import Any

from workings.precedence import ATOM, LOOSE, POWER, SUM
from workings.show.formula import mathml
from workings.show.formula.mathml import THIN, commas, fenced, operator, row, with_commas, words
from workings.show.formula.script import TEXT, TextScript
from workings.show.write.markup import element, escaped
from workings.trace.formula.script import Piece, Script
from workings.trace.formula.tree import Options

_SIGNS = {"": THIN, "∗ᵀ": "<msup><mo>∗</mo><mo>⊤</mo></msup>", "−1": mathml.number("−1").string, "at": words(" at ")}
_BIG = {"Σ": "<mo>∑</mo>"}
_BOUNDS = {"j ≥ i": "<mi>j</mi><mo>≥</mo><mi>i</mi>"}


class _MathmlScript(TextScript):
    number = staticmethod(mathml.number)
    code = words = staticmethod(mathml.words)
    row = staticmethod(mathml.row)

    @property
    def plain(self) -> Script:
        """Under a sign and beside words there is text only."""
        return TEXT

    def literal(self, value: complex) -> Piece:
        """A number as Python has it, 10⁻⁵ for 1e-05."""
        return mathml.number(repr(value)) if isinstance(value, int | float) else Piece(words(str(value)))

    def source(self, text: str) -> str:
        return element("mtext", escaped(text), class_="code")

    def function(self, word: str) -> str:
        return element("mi", escaped(word))

    def name(self, text: str) -> str:
        return mathml.name(text)

    def fence(self, inside: str, left: str, right: str) -> str:
        return fenced(inside, left, right)

    def infix(self, left: str, sign: str, right: str) -> str:
        return row(left, _SIGNS.get(sign) or operator(sign), right)

    def prefix(self, sign: str, right: str) -> str:
        return row(operator(sign), right)

    def fraction(self, top: Piece, bottom: Piece) -> Piece:
        return Piece(f"<mfrac>{mathml.on_the_line(top.string)}{mathml.on_the_line(bottom.string)}</mfrac>", POWER)

    def power(self, base: Piece, exponent: Piece) -> Piece:
        return Piece(f"<msup>{self.bracketed(base, ATOM)}{exponent.string}</msup>", POWER)

    def exponential(self, exponent: Piece) -> Piece:
        return self.power(Piece("<mi>e</mi>"), exponent)

    def superscript(self, base: Piece, sign: str) -> Piece:
        return self.power(base, Piece(_SIGNS.get(sign) or operator(sign)))

    def root(self, inside: Piece) -> Piece:
        return Piece(f"<msqrt>{inside.string}</msqrt>", POWER)

    def subscript(self, base: Piece, below: Piece) -> Piece:
        return Piece(f"<msub>{self.bracketed(base, ATOM)}{below.string}</msub>")

    def cases(self, value: Piece, condition: Piece, other: Piece) -> Piece:
        lines = ((value.string, words("where ") + condition.string), (other.string, words("elsewhere")))
        table = "".join(f"<mtr><mtd>{what}</mtd><mtd>{when}</mtd></mtr>" for what, when in lines)
        return Piece(row('<mo fence="true">{</mo>', f'<mtable class="cases">{table}</mtable>'), SUM)

    def big(self, sign: str, over: Piece, details: list[str], bound: str = "") -> Piece:
        said = f"{', ' if bound else ''}{', '.join(details)}" if details else ""
        below = row(_BOUNDS[bound], words(said) if said else "") if bound else words(said) if said else ""
        mark = f"<munder>{_BIG[sign]}{below}</munder>" if below else _BIG[sign]
        return Piece(row(mark, THIN + self.bracketed(over, POWER)), LOOSE)

    def constant_tensor(self, digit: str, size: str) -> str:
        return f"<msub><mn>{digit}</mn>{words(size)}</msub>"

    def call(self, function: str, parts: list[str], details: list[str]) -> str:
        name = f"<munder>{function}{words(', '.join(details))}</munder>" if details else function
        return row(name, fenced(commas(parts)))

    def aside(self, details: list[str]) -> str:
        return words(f" ({', '.join(details)})")

    def named_call(self, name: str, parts: list[str], options: Options) -> str:
        given = [row(words(str(key)), operator("="), _option(value)) for key, value in options if key != "device"]
        return row(mathml.name(name), fenced(commas([*parts, *given])))

    def sequence(self, parts: list[str], is_list: bool) -> str:
        return fenced(commas(parts), "[", "]") if is_list else fenced(commas(parts))

    def index(self, base: str, inside: list[str]) -> str:
        return f"<msub>{base}{row(*with_commas(inside))}</msub>"


def _option(given: Any) -> str:
    return mathml.number(repr(given)).string if type(given) in (int, float) else words(str(given))


MATHML = _MathmlScript()
