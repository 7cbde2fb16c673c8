"""What a fraction, a root or a bracket looks like in one way of writing formulas, and how tightly it holds together.

This is plain text; `workings.show.formula` has the scripts of LaTeX and MathML, which say where they differ.
"""

from __future__ import annotations

import copy
import re
from abc import ABC, abstractmethod
from typing import NamedTuple

from workings.precedence import ATOM, LOOSE, POWER, PRODUCT, RELATION, SUM
from workings.trace.formula import tree
from workings.trace.formula.tree import Options


class Piece(NamedTuple):
    """Something written, and how tightly it holds together."""

    string: str
    level: int = ATOM


class Script(ABC):
    """One way of writing formulas: plain text, where a script does not say otherwise.

    Signs are given as Unicode has them: ⊙, −, ≤; the empty one is a matrix product's.
    """

    times = "×"
    raises = True
    """Whether the number of a value that was changed in place, h#2, stands above: h⁽²⁾."""
    taken: frozenset[str] = frozenset()
    """Letters that are the author's names: no sign of a notation may look like them."""

    def avoiding(self, taken: frozenset[str]) -> Script:
        """The same script where these letters are names."""
        if taken == self.taken:
            return self
        found = copy.copy(self)
        found.taken = taken
        return found

    def sign(self, letter: str) -> str:
        """A letter that stands for a function or a constant; its word where the author has a name like it."""
        return _WORDS.get(letter, letter) if letter in self.taken else letter

    @abstractmethod
    def name(self, text: str) -> str:
        """A variable: W_q, x̂, ∂L/∂A."""

    @abstractmethod
    def number(self, digits: str) -> Piece:
        """A decimal number, as `decimal` writes it."""

    @abstractmethod
    def literal(self, value: complex) -> Piece:
        """A number that stands in the source."""

    @abstractmethod
    def decimal(self, value: float) -> str:
        """A number among the details."""

    @property
    def plain(self) -> Script:
        """The script of details: small text has fewer signs in some scripts."""
        return self

    def code(self, text: str) -> str:
        """A bit of Python inside a formula: the 1:3 of x[1:3]."""
        return text

    def source(self, text: str) -> str:
        """Python without a formula."""
        return self.code(text)

    def words(self, text: str) -> str:
        """Text inside a formula."""
        return text

    def function(self, word: str) -> str:
        """The name of a function: softmax, σ, arg max."""
        return word

    # ---- signs and brackets

    def row(self, *parts: str) -> str:
        """Parts one after the other."""
        return "".join(parts)

    def infix(self, left: str, sign: str, right: str) -> str:
        return f"{left}{_TIGHT.get(sign) or f' {sign} '}{right}"

    def prefix(self, sign: str, right: str) -> str:
        return sign + right

    def fence(self, inside: str, left: str, right: str) -> str:
        return f"{left}{inside}{right}"

    def bracketed(self, piece: Piece, least: int) -> str:
        """The piece, in brackets where it holds together less than the place needs."""
        return piece.string if piece.level >= least else self.fence(piece.string, "(", ")")

    # ---- shapes on the page

    def fraction(self, top: Piece, bottom: Piece) -> Piece:
        return Piece(self.infix(self.bracketed(top, PRODUCT), "/", self.bracketed(bottom, POWER)), LOOSE)

    def power(self, base: Piece, exponent: Piece) -> Piece:
        if re.fullmatch(r"−?\d+", exponent.string):
            return self.superscript(base, exponent.string)
        return Piece(f"{self.bracketed(base, ATOM)}^{self.bracketed(exponent, ATOM)}", POWER)

    def exponential(self, exponent: Piece) -> Piece:
        return Piece(f"e^{self.bracketed(exponent, ATOM)}", POWER)

    def superscript(self, base: Piece, sign: str) -> Piece:
        """aᵀ, a⁻¹: a sign above."""
        return Piece(self.bracketed(base, ATOM) + sign.translate(_RAISED), POWER)

    def root(self, inside: Piece) -> Piece:
        return Piece(f"√{self.bracketed(inside, ATOM)}", POWER)

    def subscript(self, base: Piece, below: Piece) -> Piece:
        return Piece(f"{self.bracketed(base, ATOM)}_{self.bracketed(below, ATOM)}")

    def cases(self, value: Piece, condition: Piece, other: Piece) -> Piece:
        """A value where a condition holds, another one elsewhere."""
        a, b, c = (self.bracketed(piece, SUM) for piece in (value, condition, other))
        return Piece(f"{a} where {b}, else {c}", RELATION)

    def big(self, sign: str, over: Piece, details: list[str], bound: str = "") -> Piece:
        """Σ a, with what it goes over (`bound`, an axis) where the script has room for it."""
        sign = self.sign(sign)
        sign = f"{sign}_{{{bound.replace(' ', '')}}}" if bound else sign
        if details:
            return Piece(self.call(sign, [over.string], details))
        return Piece(f"{sign} {self.bracketed(over, POWER)}", LOOSE)

    def constant_tensor(self, digit: str, size: str) -> str:
        """A tensor of zeros or ones."""
        return f"{'ones' if digit == '1' else 'zeros'}({size})"

    def entry(self, whole: str, inside: str) -> str:
        """x[i], where i is written already."""
        return self.row(whole, self.fence(inside, "[", "]"))

    def index(self, base: str, inside: list[str]) -> str:
        """x[i, j]"""
        return f"{base}[{', '.join(inside)}]"

    def sequence(self, parts: list[str], is_list: bool) -> str:
        inside = ", ".join(parts) + "," * (len(parts) == 1 and not is_list)
        return f"[{inside}]" if is_list else f"({inside})"

    # ---- calls and their details

    def call(self, function: str, parts: list[str], details: list[str]) -> str:
        """f(a, b), with details beside the operands or below the name."""
        return f"{function}({', '.join([*parts, *details])})"

    def named_call(self, name: str, parts: list[str], options: Options) -> str:
        """A call of something with a name and no notation."""
        return self.call(self.name(name), parts, self.details(options, with_none=True))

    def aside(self, details: list[str]) -> str:
        """Details after words, in brackets."""
        return f"{self.words(' ')}({', '.join(details)})"

    def details(self, options: Options, with_none: bool = False) -> list[str]:
        """Options worth reading: dim=0 as «axis 0»; `keepdim` is left to the shape, a device to the code."""
        return [self.detail(n, v) for n, v in options if (with_none or v is not None) and n not in _UNREAD]

    def detail(self, name: str, value: object) -> str:
        plain = self.plain
        if name in ("dim", "axis") and value is not None:
            axes = axes_of(value)
            return f"{plain.words('axis ' if len(axes) == 1 else 'axes ')}{', '.join(map(plain.option, axes))}"
        if (name, value) in _DIVISORS:
            less = _DIVISORS[name, value]
            n = plain.infix(plain.name("n"), "−", plain.decimal(less)) if less else plain.name("n")
            return f"{plain.words('over ')}{n}"
        return f"{plain.words(name)}={plain.option(value)}"

    def option(self, value: object) -> str:
        return self.decimal(value) if isinstance(value, int | float) else self.code(str(value))

    def size(self, shape: object) -> str:
        """2×3 for the shape (2, 3)."""
        sizes = [*shape] if isinstance(shape, tuple | list) else [shape]
        return self.plain.times.join(map(self.plain.option, sizes)) or self.plain.decimal(1)


_WORDS = {"σ": "sigmoid", "Φ": "normal cdf", "φ": "normal pdf", "Σ": "sum", "I": "identity", "M": "mask"}
_RAISED = str.maketrans("0123456789−⊤", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᵀ")
_TIGHT = {"": " ", "·": "·"}
"""Signs without blanks around them; a matrix product is the blank."""
_DIVISORS: dict[tuple[str, object], int] = {(name, value): value for name in ("correction", "unbiased") for value in (0, 1)}
"""Of a variance that divides by n − c, the c."""
_UNREAD = ("keepdim", "keepdims", "relation", "device")
"""Options that the shape, the sign or nothing in the mathematics tells of."""


def axes_of(dim: object) -> list[object]:
    """The axes an option names: numbers, or what was written for them.

    >>> axes_of(-1), axes_of((1, 2)), axes_of(tree.Sequence((tree.Number(1), tree.Leaf("d"))))
    ([-1], [1, 2], [1, Leaf(text='d')])
    """
    if isinstance(dim, tuple | list):
        return [*dim]
    parts = dim.items if isinstance(dim, tree.Sequence) else [dim]
    return [part.value if isinstance(part, tree.Number) else part for part in parts]
