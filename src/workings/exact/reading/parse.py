"""Text → values, by a small parser of our own: nothing is ever run as code.

    sum      = product {("+" | "-") product}
    product  = signed {("*" | "/") signed | power}     a missing sign multiplies: 2w, 3(w + 1)
    signed   = {"+" | "-"} power                       -2^2 = -4
    power    = atom {superscript} ["^" signed]         2^3^2 = 2^(3^2)
    atom     = number | name | function "(" sum {"," sum} ")" | "√" atom | "(" sum ")"

Tokens come from `tokens.py`, those of each entry of a matrix from `rows.py`, meanings from `real.py`.
Text that means nothing, two things, or no real number is refused at the place where that shows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from workings.errors import BudgetError, DomainError, ParseError
from workings.exact.numbers import algebra
from workings.exact.numbers.infinite import opposite
from workings.exact.numbers.letter import letter
from workings.exact.numbers.value import INF, NAN, ONE, Value, constant, rational
from workings.exact.reading import real
from workings.exact.reading.rows import entries
from workings.exact.reading.tokens import OPERAND, Token, letter_name, number, superscript, tokens

DEEPEST = 100
"""Brackets, roots and exponents inside one another."""
_CONSTANTS: dict[str, Callable[[], Value]] = {
    "e": lambda: algebra.exp(ONE),
    "pi": lambda: constant("pi"),
    "π": lambda: constant("pi"),
    "euler_gamma": lambda: constant("euler"),
    "inf": lambda: INF,
    "∞": lambda: INF,
    "nan": lambda: NAN,
}


def parse(text: str) -> Value:
    """The exact value that a text writes.

    >>> parse("0.1 + 0.2") is parse("3/10")
    True
    >>> parse("-2^2") is parse("−4")
    True
    >>> parse("2w + ")
    Traceback (most recent call last):
    workings.errors.ParseError: Expected a number, a letter or a bracket after '+'.
      2w +
           ^
    """
    return _Parser(text, tokens(text)).value()


def parse_matrix(text: str) -> list[list[Value]] | list[Value] | Value:
    """The rows of a matrix, the entries of a single row, or the value of a single entry.

    >>> parse_matrix("1 -1; 2 3") == [[parse("1"), parse("-1")], [parse("2"), parse("3")]]
    True
    >>> parse_matrix("1 - 1") is parse("0")
    True
    """
    rows, brackets = entries(text)
    matrix = [[_Parser(text, entry).value() for entry in row] for row in rows]
    if brackets == 2 or len(matrix) > 1:
        return matrix
    return matrix[0] if brackets or len(matrix[0]) > 1 else matrix[0][0]


class _Parser:
    """Reads one expression from tokens, the last of which is of kind `end`."""

    def __init__(self, text: str, found: Sequence[Token]) -> None:
        self.text = text
        self.tokens = found
        self.at = 0
        self.depth = 0

    @property
    def now(self) -> Token:
        return self.tokens[self.at]

    def next(self) -> Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def fail(self, reason: str, token: Token) -> NoReturn:
        raise ParseError(reason, self.text, token.position)

    def work(self, token: Token, operation: Callable[..., Value], *operands: Any) -> Value:
        """The operation done, or refused at this token."""
        try:
            return operation(*operands)
        except (DomainError, BudgetError) as error:
            self.fail(str(error), token)

    @contextlib.contextmanager
    def deeper(self, token: Token) -> Iterator[None]:
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(f"Expected at most {DEEPEST} brackets, roots and exponents inside one another.", token)
        yield
        self.depth -= 1

    def value(self) -> Value:
        v = self.sum()
        if self.now.kind != "end":
            self.fail(f"Expected a sign or the end, found '{self.now.text}'.", self.now)
        return v

    def sum(self) -> Value:
        first, terms = self.now, [self.product()]
        while self.now.kind in ("+", "-"):
            minus = self.next().kind == "-"
            term = self.product()
            terms.append(opposite(term) if minus else term)
        return self.work(first, real.total, terms)

    def product(self) -> Value:
        first, factors = self.now, [self.signed()]
        divided = False
        while True:
            if self.now.kind in ("*", "/"):
                divided = self.next().kind == "/"
                token, factor = self.now, self.signed()
                factors.append(self.work(token, real.inverse, factor) if divided else factor)
            elif self.now.kind in OPERAND:
                self.check_missing_sign(divided)
                factors.append(self.power())
            else:
                return self.work(first, real.product, factors)

    def check_missing_sign(self, divided: bool) -> None:
        """Refuse a product without a sign where it could be read otherwise."""
        before, token = self.tokens[self.at - 1], self.now
        if token.kind == "number":
            self.fail(f"Expected a sign between '{before.text}' and '{token.text}'.", token)
        if divided and not token.spaced:
            b, c = before.text, token.text
            self.fail(f"Expected brackets: a/{b}{c} can mean (a/{b})·{c} or a/({b}·{c}).", token)
        if token.kind == "(" and before.kind == "name" and not token.spaced and before.text not in _CONSTANTS:
            w = before.text
            self.fail(f"Expected a function before '(', but {w} is a letter: for a product write {w}*(…).", token)

    def signed(self) -> Value:
        minus = False
        while self.now.kind in ("+", "-"):
            minus ^= self.next().kind == "-"
        v = self.power()
        return opposite(v) if minus else v

    def power(self) -> Value:
        first, base = self.now, self.atom()
        while self.now.kind == "power":
            base = self.work(first, real.power, base, rational(superscript(self.next())))
        if self.now.kind == "^":
            with self.deeper(self.next()):
                base = self.work(first, real.power, base, self.signed())
        return base

    def atom(self) -> Value:
        before, token = self.tokens[self.at - 1] if self.at else None, self.next()
        if token.kind == "number":
            return rational(number(token, self.text))
        if token.kind == "name":
            return self.named(token)
        if token.kind in ("(", "√"):
            with self.deeper(token):
                if token.kind == "√":
                    return self.work(token, real.square_root, self.atom())
                v = self.sum()
                self.close(token)
                return v
        after = f" after '{before.text}'" if before else ""
        found = f", found '{token.text}'" if token.kind != "end" else ""
        self.fail(f"Expected a number, a letter or a bracket{after}{found}.", token)

    def close(self, opening: Token) -> None:
        if self.now.kind != ")":
            found = f", found '{self.now.text}'" if self.now.kind != "end" else ""
            self.fail(f"Expected ')' to close the '(' at character {opening.position + 1}{found}.", self.now)
        self.next()

    def named(self, token: Token) -> Value:
        if token.text in _CONSTANTS:
            return _CONSTANTS[token.text]()
        if token.text not in real.NAMES:
            return letter(letter_name(token))
        if self.now.kind == "number":
            return self.bare_call(token)
        if self.now.kind != "(":
            self.fail(f"Expected '(' after the function {token.text}.", self.now)
        with self.deeper(token):
            opening, arguments = self.next(), [self.sum()]
            while self.now.kind == ",":
                self.next()
                arguments.append(self.sum())
            self.close(opening)
        return self.work(token, real.call, token.text, arguments)

    def bare_call(self, token: Token) -> Value:
        """log 2, without brackets: only where nothing follows that could belong to the argument."""
        argument = rational(number(self.next(), self.text))
        if self.now.kind in OPERAND | {"^", "power", "*", "/"}:
            read = f"{token.text} {self.tokens[self.at - 1].text}{self.now.text}"
            self.fail(f"Expected brackets: {read} can mean two things.", self.now)
        return self.work(token, real.call, token.text, [argument])
