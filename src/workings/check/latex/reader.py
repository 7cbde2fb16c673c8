"""The tokens of a formula and how far they are read: what every rule of the grammar is handed.

The rules for single things (`parse_atoms.py`, `parse_groups.py`, …) read formulas inside formulas, and `parse.py` uses those
rules. Both know only this class; `parse.Parser` fills in its four abstract methods. What is read is put
together by `side_by_side` and `product`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from workings.check.latex.syntax import Items, Node, Product, Symbol
from workings.check.latex.tokens import Token, tokens
from workings.errors import ParseError

_NAMES = {"&": "an alignment mark &", "row": "a new row", "end of text": "the end", "words": "text"}


class Reader(ABC):
    """The tokens, how far they are read, and what the place that is being read in allows."""

    def __init__(self, text: str, wide_slash: bool = False, long_reach: bool = False) -> None:
        self.text = text
        self.tokens = _with_angles(tokens(text)) if "<" in text else tokens(text)
        self.at = 0
        self.wide_slash = wide_slash
        self.long_reach = long_reach
        self.depth = 0
        self.style: tuple[str, ...] = ()
        self.bar = ""
        """The sign `|` or `‖` if that is the innermost open bracket."""
        self.thousands = True
        """Whether `1,000` is one number here: not in brackets and scripts, where commas separate."""
        self.bars: dict[int, int] | None = None

    @property
    def kind(self) -> str:
        return self.tokens[self.at][0]

    def take(self, kind: str, needed: str) -> Token:
        """The next token, which must be of this kind."""
        token = self.tokens[self.at]
        if token[0] != kind:
            raise self.refuse(needed)
        self.at += 1
        return token

    def refuse(self, needed: str) -> ParseError:
        """The error that says what was expected here and what was found."""
        kind, _, start, end = self.tokens[self.at]
        came = _NAMES.get(kind) or f"'{self.text[start:end][:30]}'"
        if kind == "unknown":
            return ParseError(f"{came} is not known here.", self.text, start)
        return ParseError(f"Expected {needed[0].lower()}{needed[1:]}, found {came}.", self.text, start)

    def span(self, start: int) -> tuple[int, int]:
        """From `start` to the end of what was read last."""
        return (start, self.tokens[self.at - 1][3]) if self.at else (start, start)

    def sign(self, rows: bool) -> str:
        """The sign of a term; a row may end after it."""
        sign = str(self.tokens[self.at][1])
        self.at += 1
        while rows and self.kind in ("row", "&"):
            self.at += 1
        return sign

    @abstractmethod
    def formulas(self, rows: bool = False) -> Node:
        """One formula or several, up to the end of the bracket or of the text."""

    @abstractmethod
    def parts(self, rows: bool = False) -> list[tuple[str, Node]]:
        """Formulas with the separator before each."""

    @abstractmethod
    def term(self, rows: bool = False, reach: bool = False) -> Node | None:
        """Factors with the signs between them; with `reach`, up to the next function only."""

    @abstractmethod
    def factor(self, scripts: bool = True) -> Node:
        """One thing with its scripts, or without."""


_EXPECTS = frozenset(("relation", "open", "separator", "sign", "times", "slash", "{", "row", "&", "quad", "mid", "words"))
"""After these an operand comes, so that < is no relation there."""


def _with_angles(found: list[Token]) -> list[Token]:
    """`<M, w>` where an operand is expected: < and > are brackets there."""
    for at, (kind, value, start, end) in enumerate(found):
        if kind == "relation" and value == "<" and (at == 0 or found[at - 1][0] in _EXPECTS):
            close = _closing_angle(found, at + 1)
            if close:
                found[at] = ("open", "⟨", start, end)
                found[close] = ("close", "⟩", *found[close][2:])
    return found


def _closing_angle(found: list[Token], at: int) -> int:
    """Where the > stands that closes a bracket opened before `at`; 0 if there is none."""
    depth = 0
    for place in range(at, len(found)):
        kind, value, *_ = found[place]
        depth += (kind in ("open", "{")) - (kind in ("close", "}"))
        if depth < 0 or kind in ("row", "&", "begin", "end") or (kind == "relation" and value != ">"):
            return 0
        if kind == "relation" and depth == 0:
            return place if place > at else 0
    return 0


def side_by_side(parts: Sequence[Node]) -> Node:
    """One formula, or several as `Items`."""
    if len(parts) == 1:
        return parts[0]
    flat = tuple(inner for part in parts for inner in (part.parts if isinstance(part, Items) else (part,)))
    return Items(flat, span=(parts[0].span[0], parts[-1].span[1]))


def product(factors: Sequence[tuple[str, Node]]) -> Node:
    """One factor, or several as `Product`; a star between two of them is the sign between them."""
    factors = _with_stars(factors)
    if len(factors) == 1:
        return factors[0][1]
    first = factors[0][1]
    return Product((("", first), *factors[1:]), span=(first.span[0], factors[-1][1].span[1]))


def _with_stars(factors: Sequence[tuple[str, Node]]) -> Sequence[tuple[str, Node]]:
    """a ⋆ b, where ⋆ was read as a letter."""
    if len(factors) < 3 or all(factor not in _STARS for _, factor in factors):
        return factors
    found: list[tuple[str, Node]] = []
    for sign, factor in factors:
        if found and not sign and found[-1][1] in _STARS and not found[-1][0] and len(found) > 1:
            star = found.pop()[1]
            found.append((_STARS[star], factor))
        else:
            found.append((sign, factor))
    return found


_STARS: dict[Node, str] = {Symbol("star"): "⋆", Symbol("#"): "#", Symbol("bullet"): "•", Symbol("diamond"): "◇"}
"""Letters that are signs where they stand between two operands."""
