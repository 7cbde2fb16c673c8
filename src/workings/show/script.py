"""What a notation is made of: pieces with levels, and the kinds of rows its table may have.

A row gets the operation and its operands, already written, and returns a piece: the string, and how tightly it holds
together. Brackets come from comparing that with what the place needs; a row never looks into a string to see whether it
needs them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from workings.show.decimals import decimal
from workings.trace.formula import Apply, Options

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

    def bracketed(self, piece: Piece, least: int) -> str:
        """The piece, in brackets where it holds together less than the place needs."""
        return piece.string if piece.level >= least else self.brackets(piece.string)

    def details(self, options: Options) -> list[str]:
        """Options worth reading: dim=0 as «axis 0»; `keepdim` and what is None are left to the shape."""
        return [self._detail(n, v) for n, v in options if v is not None and n not in ("keepdim", "relation")]

    def _detail(self, name: str, value: object) -> str:
        shown = self.number(decimal(value)) if isinstance(value, int | float) else self.code(str(value))
        return f"{self.words('axis ')}{shown}" if name == "dim" else f"{self.words(name)}={shown}"


_WHOLE = re.compile(r"[\w.]+|∞|\\[a-z]+|[\[⟨].*[\]⟩]|\\begin{bmatrix}.*", re.DOTALL)


def valued(string: str) -> Piece:
    """A value put in for a name: numbers and matrices hold together, anything else gets brackets where it matters."""
    return Piece(string, ATOM if _WHOLE.fullmatch(string) else SUM)


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


def items(word: str) -> Rule:
    """cat(a, b, axis 1): the items of a sequence as arguments."""

    def rule(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
        inner = [re.sub(r"^\((.*)\)$", r"\1", piece.string, flags=re.DOTALL) for piece in parts]
        return Piece(script.call(word, inner, script.details(formula.options)), ATOM)

    return rule


def compare(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """a ≤ b, by the relation in the options."""
    relation = str(dict(formula.options).get("relation", "="))
    return infix(f"#1 {script.relations.get(relation, relation)} #2", RELATION, SUM, SUM)(script, formula, parts)


def reshape(script: Script, formula: Apply, parts: list[Piece]) -> Piece:
    """x.view(2, −1): a change of shape has no letters, it stays as it is written."""
    source = str(dict(formula.options).get("text", formula.op))
    if "." in source.partition("(")[0]:
        return Piece(script.code(source), ATOM)
    return Piece(f"{script.bracketed(parts[0], ATOM)}{script.code('.' + source)}", ATOM)
