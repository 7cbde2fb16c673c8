r"""LaTeX's math mode: \frac{Q \, K^{\top}}{\sqrt{d}}, \sum_{\text{axis }0} x."""

from __future__ import annotations

import re

from workings.precedence import ATOM, LOOSE, POWER, RELATION
from workings.show.formula.script import TextScript, value_piece
from workings.show.write.decimals import decimal, latex_decimal
from workings.show.write.escape import latex_code, latex_text
from workings.show.write.names import latex_name, without_library, without_self
from workings.trace.formula.script import Piece
from workings.trace.formula.tree import Options

_SIGNS = {
    **{"−": "-", "·": r"\cdot", "⊙": r"\odot", "": r"\,", "∗": "*", "∗ᵀ": r"*^{\top}", "⋆": r"\star", "mod": r"\bmod"},
    **{"¬": r"\lnot ", "∧": r"\land", "∨": r"\lor", "≤": r"\le", "≥": r"\ge", "≠": r"\ne", "←": r"\leftarrow"},
    **{"⊤": r"\top", "−1": "-1", "at": r"\text{ at }", "Σ": r"\sum", "j ≥ i": r"j \ge i"},
}
_FUNCTIONS = {
    **{name: rf"\{name}" for name in ("log", "exp", "sin", "cos", "tanh", "max", "min", "det")},
    **{"σ": r"\sigma", "Φ": r"\Phi", "φ": r"\varphi", "arg max": r"\arg\max", "arg min": r"\arg\min", "Σ": r"\sum"},
}
_FENCES = {
    "|": (r"\left|", r"\right|"),
    "‖": (r"\left\|", r"\right\|"),
    "⌊": (r"\left\lfloor ", r" \right\rfloor"),
    "⌈": (r"\left\lceil ", r" \right\rceil"),
    "[": ("[", "]"),
}
_SUBSCRIPT = re.compile(r"(?<!\\)_")
_TALL = re.compile(r"\\(frac|begin|sum|sqrt)")


class _LatexScript(TextScript):
    raises = True
    times = r" \times "

    def name(self, text: str) -> str:
        return latex_name(text)

    def number(self, digits: str) -> Piece:
        return value_piece(latex_decimal(digits))

    def decimal(self, value: float) -> str:
        return latex_decimal(decimal(value))

    def code(self, text: str) -> str:
        return latex_code(text)

    def words(self, text: str) -> str:
        return rf"\text{{{latex_text(text)}}}"

    def function(self, word: str) -> str:
        return _FUNCTIONS.get(word) or rf"\operatorname{{{latex_text(word)}}}"

    def named_call(self, name: str, parts: list[str], options: Options) -> str:
        """A program's own function is set as code, a letter that stands for one as a letter."""
        written = self.name(name)
        written = self.code(without_library(without_self(name))) if written.startswith((r"\mathrm", r"\text")) else written
        return self.call(written, parts, self.details(options, with_none=True))

    def infix(self, left: str, sign: str, right: str) -> str:
        return f"{left} {_SIGNS.get(sign, sign)} {right}"

    def prefix(self, sign: str, right: str) -> str:
        return _SIGNS.get(sign, sign) + right

    def fence(self, inside: str, left: str, right: str) -> str:
        if left == "(":
            return rf"\left({inside}\right)" if _TALL.search(inside) else f"({inside})"
        opening, closing = _FENCES[left]
        return f"{opening}{inside}{closing}"

    def sequence(self, parts: list[str], is_list: bool) -> str:
        left, right = "[]" if is_list else "()"
        inside = r",\ ".join(parts)
        if not parts:
            return left + right
        return rf"\left{left}{inside}{',' * (len(parts) == 1 and not is_list)}\right{right}"

    def fraction(self, top: Piece, bottom: Piece) -> Piece:
        return Piece(rf"\frac{{{top.string}}}{{{bottom.string}}}", POWER)

    def power(self, base: Piece, exponent: Piece) -> Piece:
        return Piece(f"{self.bracketed(base, ATOM)}^{{{exponent.string}}}", POWER)

    def exponential(self, exponent: Piece) -> Piece:
        return self.power(Piece("e"), exponent)

    def superscript(self, base: Piece, sign: str) -> Piece:
        return self.power(base, Piece(_SIGNS[sign]))

    def root(self, inside: Piece) -> Piece:
        return Piece(rf"\sqrt{{{inside.string}}}")

    def subscript(self, base: Piece, below: Piece) -> Piece:
        return Piece(f"{{{self.bracketed(base, ATOM)}}}_{{{below.string}}}")

    def cases(self, value: Piece, condition: Piece, other: Piece) -> Piece:
        lines = rf"{value.string} & \text{{where }} {condition.string} \\ {other.string} & \text{{elsewhere}}"
        return Piece(rf"\begin{{cases}} {lines} \end{{cases}}", RELATION)

    def big(self, sign: str, over: Piece, details: list[str], bound: str = "") -> Piece:
        said = [_SIGNS[bound], *details] if bound else details
        below = f"_{{{', '.join(said)}}}" if said else ""
        return Piece(f"{_SIGNS[sign]}{below} {self.bracketed(over, POWER)}", LOOSE)

    def constant_tensor(self, digit: str, size: str) -> str:
        return rf"\mathbf{{{digit}}}_{{{size}}}"

    def call(self, function: str, parts: list[str], details: list[str]) -> str:
        below = f"_{{{', '.join(details)}}}" if details else ""
        function = f"{{{function}}}" if below and _SUBSCRIPT.search(function) else function  # f_1 has a subscript already
        return f"{function}{below}{self.fence(', '.join(parts), '(', ')')}"


LATEX = _LatexScript()
