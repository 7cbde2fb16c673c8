"""How an operation is written, in no script in particular: a sum, a fraction, a sign with its axis below it.

A notation gets the script, the operation and its operands, already written, and returns a piece: the string, and how tightly
it holds together. Brackets come from comparing that with what the place needs; a notation never looks into a string to see
whether it needs them. What a fraction or a root looks like is for the script to say (`workings.show.formula`).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from workings.precedence import ATOM, LOOSE, POWER, PRODUCT, RELATION, SUM
from workings.trace.formula import tree
from workings.trace.formula.tree import Apply, Options


class Piece(NamedTuple):
    """Something written, and how tightly it holds together."""

    string: str
    level: int = ATOM


Notation = Callable[["Script", Apply, list[Piece]], Piece]


class Script(ABC):
    """One way of writing formulas: plain text, where a script does not say otherwise.

    Signs are given as Unicode has them: ⊙, −, ≤; the empty one is a matrix product's.
    """

    times = "×"
    raises = True
    """Whether the number of a value that was changed in place, h#2, stands above: h⁽²⁾."""

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
            return self.raised(base, exponent.string)
        return Piece(f"{self.bracketed(base, ATOM)}^{self.bracketed(exponent, ATOM)}", POWER)

    def exponential(self, exponent: Piece) -> Piece:
        return Piece(f"e^{self.bracketed(exponent, ATOM)}", POWER)

    def raised(self, base: Piece, sign: str) -> Piece:
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
        sign = f"{sign}_{{{bound.replace(' ', '')}}}" if bound else sign
        if details:
            return Piece(self.call(sign, [over.string], details))
        return Piece(f"{sign} {self.bracketed(over, POWER)}", LOOSE)

    def filled(self, digit: str, size: str) -> str:
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
        return [self.detail(n, v) for n, v in options if (with_none or v is not None) and n not in UNREAD]

    def detail(self, name: str, value: object) -> str:
        plain = self.plain
        if name == "dim" and value is not None:
            axes = axes_of(value)
            return f"{plain.words('axis ' if len(axes) == 1 else 'axes ')}{', '.join(map(plain.option, axes))}"
        return f"{plain.words(name)}={plain.option(value)}"

    def option(self, value: object) -> str:
        return self.decimal(value) if isinstance(value, int | float) else self.code(str(value))

    def size(self, shape: object) -> str:
        """2×3 for the shape (2, 3)."""
        sizes = [*shape] if isinstance(shape, tuple | list) else [shape]
        return self.plain.times.join(map(self.plain.option, sizes)) or self.plain.decimal(1)


_RAISED = str.maketrans("0123456789−⊤", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᵀ")
_TIGHT = {"": " ", "·": "·"}
"""Signs without blanks around them; a matrix product is the blank."""
UNREAD = ("keepdim", "relation", "device")
"""Options that the shape, the sign or nothing in the mathematics tells of."""
MADE = ("shape", "rank")
"""Options that only say how large what is made is: its shape stands beside it."""


def axes_of(dim: object) -> list[object]:
    """The axes an option names: numbers, or what was written for them.

    >>> axes_of(-1), axes_of((1, 2)), axes_of(tree.Sequence((tree.Number(1), tree.Leaf("d"))))
    ([-1], [1, 2], [1, Leaf(text='d')])
    """
    if isinstance(dim, tuple | list):
        return [*dim]
    parts = dim.items if isinstance(dim, tree.Sequence) else [dim]
    return [part.value if isinstance(part, tree.Number) else part for part in parts]


# ---- kinds of notation


def written_call(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """What an operation without a notation is: a call of its own name."""
    return function(formula.op)(script, formula, parts)


def function(word: str, hidden: Options = ()) -> Notation:
    """word(a, b); options that need no mention are `hidden`."""

    def write(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        shown = tuple(option for option in formula.options if option not in hidden)
        return Piece(script.call(script.function(word), [piece.string for piece in parts], script.details(shown)))

    return write


def _with(count: int, make: Callable[..., Piece]) -> Notation:
    """A notation for so many operands; with others it is a call."""

    def write(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        return make(script, *parts) if len(parts) == count else written_call(script, formula, parts)

    return write


def infix(sign: str, level: int, left: int, right: int) -> Notation:
    """a ∘ b; `left` and `right` are how tightly the operands must hold together."""
    return _with(2, lambda s, a, b: Piece(s.infix(s.bracketed(a, left), sign, s.bracketed(b, right)), level))


def prefix(sign: str, level: int, right: int) -> Notation:
    """∘a"""
    return _with(1, lambda s, a: Piece(s.prefix(sign, s.bracketed(a, right)), level))


def fenced(left: str, right: str) -> Notation:
    """|a|"""
    return _with(1, lambda s, a: Piece(s.fence(a.string, left, right)))


fraction = _with(2, lambda s, a, b: s.fraction(a, b))
power = _with(2, lambda s, a, b: s.power(a, b))
exponential = _with(1, lambda s, a: s.exponential(a))
root = _with(1, lambda s, a: s.root(a))
transposed = _with(1, lambda s, a: s.raised(a, "⊤"))
subscript = _with(2, lambda s, a, b: s.subscript(a, b))
entry = _with(2, lambda s, a, b: Piece(s.entry(s.bracketed(a, ATOM), b.string)))
"""a[b]"""
where = _with(3, lambda s, condition, a, b: s.cases(a, condition, b))
masked = _with(3, lambda s, a, mask, value: s.cases(value, mask, a))


def letter(name: str) -> Notation:
    """A constant that has a letter of its own: I."""
    return _with(0, lambda s: Piece(s.name(name)))


def big(sign: str, bound: str = "") -> Notation:
    """Σ a, over an axis or all entries."""

    def write(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        if len(parts) != 1:
            return function(sign)(script, formula, parts)
        return script.big(sign, parts[0], script.details(formula.options), bound)

    return write


def compare(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """a ≤ b, by the relation in the options."""
    return infix(str(dict(formula.options).get("relation", "=")), RELATION, SUM, SUM)(script, formula, parts)


def indicator(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """[a < b]: 1 where it holds, 0 elsewhere."""
    return Piece(script.fence(compare(script, formula, parts).string, "[", "]"))


def constant(digit: str) -> Notation:
    """A tensor of one number; without axes, the number."""

    def write(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        shape = dict(formula.options).get("shape", ())
        if parts:
            return written_call(script, formula, parts)
        return Piece(script.filled(digit, script.size(shape))) if shape else script.number(digit)

    return write


def sized(word: str, preposition: str = "") -> Notation:
    """repeat(a, 2×3): a function that makes a tensor of the shape in its options."""

    def write(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        size = script.size(dict(formula.options).get("shape", ()))
        detail = f"{script.plain.words(preposition + ' ')}{size}" if preposition else size
        return Piece(script.call(script.function(word), [piece.string for piece in parts], [detail]))

    return write


def onehot(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """onehot(y, 3 classes)"""
    classes = f"{script.size(dict(formula.options).get('classes', '?'))}{script.plain.words(' classes')}"
    return Piece(script.call(script.function("onehot"), [piece.string for piece in parts], [classes]))


def argsort(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """argsort(x, axis 0, descending, first 3): where the entries of sorted x stood."""
    options, plain = dict(formula.options), script.plain
    details = script.details((("dim", options.get("dim")),))
    details += [plain.words("descending")] if options.get("descending") else []
    details += [f"{plain.words('first ')}{script.size(options['k'])}"] if options.get("k") is not None else []
    return Piece(script.call(script.function("argsort"), [piece.string for piece in parts], details))


def einsum(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """einsum('ij,jk->ik', a, b)"""
    options = dict(formula.options)
    pattern = [script.code(repr(str(options.pop("text"))))] if "text" in options else []
    details = script.details(tuple(options.items()))
    return Piece(script.call(script.function("einsum"), [*pattern, *(piece.string for piece in parts)], details))


def unsized(notation: Notation) -> Notation:
    """The notation of what makes a tensor of a shape that needs no mention; with other options it is a call."""

    def write(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        formula = replace(formula, options=tuple(option for option in formula.options if option[0] not in MADE))
        return (written_call if formula.options else notation)(script, formula, parts)

    return write


def worded(pattern: str) -> Notation:
    """In words, such as `#1 summed over the copies`; options that matter stand after them in brackets."""
    count = len(set(re.findall(r"#\d", pattern)))

    def write(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        details = script.details(tuple(option for option in formula.options if option[0] not in (*MADE, "at")))
        if len(parts) != count:
            return Piece(script.call(script.function(formula.op), [piece.string for piece in parts], details))
        pieces = [script.bracketed(piece, SUM) for piece in parts]
        said = [pieces[int(part[1]) - 1] if part[0] == "#" else script.words(part) for part in _split(pattern)]
        return Piece(script.row(*said, *([script.aside(details)] if details else [])), RELATION)

    return write


def _split(pattern: str) -> list[str]:
    return [part for part in re.split(r"(#\d)", pattern) if part]


def put(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """a with b at [0, :]"""
    index = str(dict(formula.options).get("at", "..."))
    found = worded("#1 with #2 everywhere" if index == "..." else "#1 with #2 at ")(script, formula, parts)
    return found if index == "..." else Piece(script.entry(found.string, _as_written(script, index)), RELATION)


def _as_written(script: Script, index: str) -> str:
    return script.code(index.replace("-", "−"))


def unsorted(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """a at π⁻¹: entries put back where they stood."""
    back = [script.raised(part, "−1") if i == 1 else part for i, part in enumerate(parts)]
    return infix("at", RELATION, SUM, SUM)(script, formula, back)


def scattered(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """0[1, :] ← a: zeros of a shape (or so many rows) that hold a at an index."""
    options = dict(formula.options)
    if not parts:
        return written_call(script, formula, parts)
    if "rows" in options and len(parts) > 1:
        size, index = f"{script.size(options['rows'])}{script.plain.words(' rows')}", parts[1].string
    else:
        size, index = script.size(options.get("shape", ())), _as_written(script, str(options.get("at", "")))
    zeros = script.filled("0", size) + script.fence(index, "[", "]")
    return Piece(script.infix(zeros, "←", script.bracketed(parts[0], SUM)), RELATION)


def unsqueezed(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """a[…, None]: the new axes of length 1, by their place from the right or the left."""
    if len(parts) != 1:
        return written_call(script, formula, parts)
    return Piece(
        script.entry(script.bracketed(parts[0], ATOM), script.code(new_axes(dict(formula.options).get("dim", (-1,)))))
    )


def new_axes(dim: object) -> str:
    """What stands in the brackets of an index that adds axes of length 1.

    >>> new_axes((-1,)), new_axes((-2,)), new_axes((0,)), new_axes((1, 2))
    ('…, None', '…, None, :', 'None', ':, None, None')
    """
    dims = [d for d in axes_of(dim) if isinstance(d, int) and -9 < d < 9]
    if dims != axes_of(dim):
        return f"new axis {dim}"
    if min(dims, default=0) < 0:
        return ", ".join(["…", *("None" if d in dims else ":" for d in range(min(dims), 0))])
    return ", ".join("None" if d in dims else ":" for d in range(max(dims, default=0) + 1))


def reshaped(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """x.view(2, −1): a change of shape has no letters, it stays as it is written."""
    source = dict(formula.options).get("by", formula.op)
    return Piece(script.row(script.bracketed(parts[0], ATOM), script.code(f".{source}")))
