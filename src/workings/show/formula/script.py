"""What a notation is made of: pieces with levels, and the kinds of rows its table may have.

A row gets the operation and its operands, already written, and returns a piece: the string, and how tightly it holds
together. Brackets come from comparing that with what the place needs; a row never looks into a string to see whether it
needs them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from workings.show.write.decimals import decimal
from workings.trace.formula.tree import Apply, Code, Formula, Number, Options, Sequence

RELATION, SUM, LOOSE, PRODUCT, MATMUL, POWER, ATOM = range(7)
"""How tightly a piece holds together: a < b, a + b, a / b and Σ a, a ⊙ b, A B, a² and √a, a and f(a)."""


class Piece(NamedTuple):
    """Something written, and how tightly it holds together."""

    string: str
    level: int


Rule = Callable[["Script", Apply, list[Piece]], Piece]


@dataclass(frozen=True)
class Script:
    """One way of writing formulas: how names, numbers, source, words and operations are written.

    `call` writes name(a, b) with its options; `brackets` puts brackets around a string; `below` says whether options of
    a sum stand below its sign.
    """

    name: Callable[[str], str]
    number: Callable[[str], str]
    code: Callable[[str], str]
    words: Callable[[str], str]
    operator: Callable[[str], str]
    brackets: Callable[[str], str]
    call: Callable[[str, list[str], list[str]], str]
    rules: Mapping[str, Rule]
    relations: Mapping[str, str]
    below: bool = False
    times: str = "×"

    def bracketed(self, piece: Piece, least: int) -> str:
        """The piece, in brackets where it holds together less than the place needs."""
        return piece.string if piece.level >= least else self.brackets(piece.string)

    def details(self, options: Options, with_none: bool = False) -> list[str]:
        """Options worth reading: dim=0 as «axis 0»; `keepdim` is left to the shape, a device to the code."""
        return [self._detail(n, v) for n, v in options if (with_none or v is not None) and n not in UNREAD]

    def _detail(self, name: str, value: object) -> str:
        if name == "dim" and value is not None:
            axes = axes_of(value)
            return f"{self.words('axis ' if len(axes) == 1 else 'axes ')}{', '.join(map(self._option, axes))}"
        return f"{self.words(name)}={self._option(value)}"

    def _option(self, value: object) -> str:
        return self.number(decimal(value)) if isinstance(value, int | float) else self.code(str(value))

    def size(self, shape: object) -> str:
        """2×3 for the shape (2, 3)."""
        sizes = [*shape] if isinstance(shape, tuple | list) else [shape]
        return self.times.join(self._option(n) for n in sizes) or self.number("1")


UNREAD = ("keepdim", "relation", "device")
"""Options that the shape, the sign or nothing in the mathematics tells of."""


def axes_of(dim: object) -> list[object]:
    """The axes an option names: numbers, or what was written for them.

    >>> axes_of(-1), axes_of((1, 2)), axes_of(Sequence((Number(1), Number(-2)))), axes_of(Leaf("d"))
    ([-1], [1, 2], [1, -2], [Leaf(text='d')])
    """
    if isinstance(dim, tuple | list):
        return [*dim]
    parts = dim.items if isinstance(dim, Sequence) else [dim]
    return [part.value if isinstance(part, Number) else part for part in parts]


_WHOLE = re.compile(r"\d[\d.]*e−?\d+|[\w.\ue000-\uf8ff]+|∞|\\[a-z]+|[\[⟨].*[\]⟩]|\\begin{bmatrix}.*", re.DOTALL)

_FRACTION = re.compile(r"\d+/\d+|\\frac{\d+}{\d+}")


def valued(string: str) -> Piece:
    """A value put in for a name: numbers and matrices hold together, anything else gets brackets where it matters.

    >>> valued("2").level == ATOM, valued("1/2").level == LOOSE, valued("−2").level == SUM
    (True, True, True)
    """
    return Piece(string, ATOM if _WHOLE.fullmatch(string) else LOOSE if _FRACTION.fullmatch(string) else SUM)


def infix(pattern: str, level: int, *needs: int) -> Rule:
    """A row that puts its operands into the pattern, in brackets where they hold together less than `needs`."""

    def rule(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        if len(parts) != len(needs):
            return call(script, formula, parts)
        strings = [script.bracketed(piece, least) for piece, least in zip(parts, needs, strict=True)]
        return Piece(re.sub(r"#(\d)", lambda m: strings[int(m[1]) - 1], pattern), level)

    return rule


def function(word: str, hidden: Options = ()) -> Rule:
    """A row for name(a, b); options that need no mention are `hidden`."""

    def rule(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        shown = tuple(option for option in formula.options if option not in hidden)
        return Piece(script.call(word, [piece.string for piece in parts], script.details(shown)), ATOM)

    return rule


def call(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """What an operation without a row is: a call of its own name."""
    return function(script.operator(formula.op))(script, formula, parts)


def big(sign: str) -> Rule:
    """Σ x, or Σ(x, axis 1), or the axis below the sign."""

    def rule(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        details = script.details(formula.options)
        if len(parts) != 1 or (details and not script.below):
            return function(sign)(script, formula, parts)
        below = f"_{{{', '.join(details)}}}" if details else ""
        return Piece(f"{sign}{below} {script.bracketed(parts[0], POWER)}", LOOSE)

    return rule


def operands(formula: Apply) -> tuple[Formula, ...]:
    """cat(a, b, axis 1): the items of a sequence as arguments."""
    first = formula.args[0] if formula.args else None
    joins = formula.op in ("cat", "stack") and isinstance(first, Sequence)
    return (*first.items, *formula.args[1:]) if joins and isinstance(first, Sequence) else formula.args


def is_whole(code: Code) -> bool:
    """Whether Python without a formula needs no brackets: a word in quotes, and what has brackets of its own.

    >>> is_whole(Code("[]", ast.List([]))), is_whole(Code("f()()", ast.Call(ast.Name("f"))))
    (True, False)
    """
    return isinstance(code.node, _WHOLE_CODE)


_WHOLE_CODE = (ast.Constant, ast.GeneratorExp, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


def einsum(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """einsum('ij,jk->ik', a, b)"""
    options = dict(formula.options)
    pattern = [script.code(repr(str(options.pop("text"))))] if "text" in options else []
    details = script.details(tuple(options.items()))
    return Piece(script.call(script.operator("einsum"), [*pattern, *(piece.string for piece in parts)], details), ATOM)


def sized(word: str, preposition: str = "") -> Rule:
    """repeat(a, 2×3): a function that makes a tensor of the shape in its options; in a script with subscripts, below it."""

    def rule(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        size = script.size(dict(formula.options).get("shape", ()))
        option = f"{script.words(preposition + ' ')}{size}" if preposition else size
        return Piece(script.call(word, [piece.string for piece in parts], [option]), ATOM)

    return rule


def constant(pattern: str, digit: str) -> Rule:
    """ones(2×3): a tensor of one number; without axes, the number."""

    def rule(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        shape = dict(formula.options).get("shape", ())
        if parts:
            return call(script, formula, parts)
        return Piece(pattern % script.size(shape) if shape else digit, ATOM)

    return rule


def unsqueezed(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """a[…, None]: the new axes of length 1, by their place from the right or the left."""
    if len(parts) != 1:
        return call(script, formula, parts)
    index = new_axes(dict(formula.options).get("dim", (-1,)))
    return Piece(f"{script.bracketed(parts[0], ATOM)}[{script.code(index)}]", ATOM)


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


def scattered(zeros: str, arrow: str) -> Rule:
    """0[1, :] ← a: zeros of a shape (or so many rows) that hold a at an index."""

    def rule(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        options = dict(formula.options)
        if not parts:
            return call(script, formula, parts)
        if "rows" in options and len(parts) > 1:
            size, index = f"{script.size(options['rows'])}{script.words(' rows')}", parts[1].string
        else:
            size, index = script.size(options.get("shape", ())), script.code(str(options.get("at", "")).replace("-", "−"))
        return Piece(f"{zeros % size}[{index}] {arrow} {script.bracketed(parts[0], SUM)}", RELATION)

    return rule


MADE = ("shape", "rank")
"""Options that only say how large what is made is: its shape stands beside it."""


def made(rule: Rule) -> Rule:
    """A row for what makes a tensor of a shape that needs no mention; with other options it is a call."""

    def unsized(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        formula = replace(formula, options=tuple(option for option in formula.options if option[0] not in MADE))
        return call(script, formula, parts) if formula.options else rule(script, formula, parts)

    return unsized


def worded(pattern: str) -> Rule:
    """A row in words, such as `#1 summed over the copies`; options that matter stand after them in brackets."""
    count = len(set(re.findall(r"#\d", pattern)))

    def rule(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        details = script.details(tuple(option for option in formula.options if option[0] not in (*MADE, "at")))
        if len(parts) != count:
            return Piece(script.call(script.operator(formula.op), [piece.string for piece in parts], details), ATOM)
        pieces = [script.bracketed(piece, SUM) for piece in parts]
        written = [
            pieces[int(part[1]) - 1] if part.startswith("#") else script.words(part)
            for part in re.split(r"(#\d)", pattern)
            if part
        ]
        return Piece("".join(written) + (f"{script.words(' ')}({', '.join(details)})" if details else ""), RELATION)

    return rule


def put(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """a with b at [0, :]"""
    index = str(dict(formula.options).get("at", "..."))
    found = worded("#1 with #2 everywhere" if index == "..." else "#1 with #2 at ")(script, formula, parts)
    return found if index == "..." else Piece(f"{found.string}[{script.code(index.replace('-', '−'))}]", RELATION)


def argsort(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """argsort(x, axis 0, descending, first 3): where the entries of sorted x stood."""
    options = dict(formula.options)
    details = script.details((("dim", options.get("dim")),))
    details += [script.words("descending")] if options.get("descending") else []
    details += [f"{script.words('first ')}{script.size(options['k'])}"] if options.get("k") is not None else []
    return Piece(script.call(script.operator("argsort"), [piece.string for piece in parts], details), ATOM)


def onwards(sign: str) -> Rule:
    """Σ_{j≥i} x: for each i the sum of the entries from i on; the axis stands beside the sign or below it."""

    def rule(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        details = script.details(formula.options)
        if len(parts) != 1:
            return call(script, formula, parts)
        if script.below or not details:
            return Piece(f"{sign % ', '.join(['', *details])} {script.bracketed(parts[0], POWER)}", LOOSE)
        return Piece(script.call(sign % "", [parts[0].string], details), ATOM)

    return rule


def letter(name: str) -> Rule:
    """A constant that has a letter of its own: I."""
    return lambda script, formula, parts: call(script, formula, parts) if parts else Piece(name, ATOM)


def indicator(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """[a < b]: 1 where it holds, 0 elsewhere."""
    return Piece(f"[{compare(script, formula, parts).string}]", ATOM)


def onehot(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """onehot(y, 3 classes)"""
    classes = f"{script.size(dict(formula.options).get('classes', '?'))}{script.words(' classes')}"
    return Piece(script.call(script.operator("onehot"), [piece.string for piece in parts], [classes]), ATOM)


def compare(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """a ≤ b, by the relation in the options."""
    relation = str(dict(formula.options).get("relation", "="))
    return infix(f"#1 {script.relations.get(relation, relation)} #2", RELATION, SUM, SUM)(script, formula, parts)


def reshape(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """x.view(2, −1): a change of shape has no letters, it stays as it is written."""
    source = dict(formula.options).get("by", formula.op)
    return Piece(f"{script.bracketed(parts[0], ATOM)}{script.code(f'.{source}')}", ATOM)
