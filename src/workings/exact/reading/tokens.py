"""Text → tokens: numbers, names and signs, each with its place in the text.

number   12  0.1  .5  1e-3  ½          exact: 0.1 is 1/10
name     w  x1  w_h  W_{1,2}  α  x₁    a letter, a constant or a function
power    ²  ⁻¹                         a superscript exponent
sign     + - * / ^ ( ) [ ] , ; √
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from flint import fmpq

from workings.errors import ParseError
from workings.exact.numbers.value import Rational, whole

LONGEST = 100_000
"""Characters of the longest text that is read."""
_MOST_BITS = 100_000
"""Numbers written in digits with more bits than this are refused; a power may be longer (`real.py`)."""


class Token(NamedTuple):
    """`kind` is number, name, power, end, or the sign itself."""

    kind: str
    text: str
    position: int
    spaced: bool = False
    """Whether white space comes before it."""
    newline: bool = False
    """Whether a new line comes before it."""


OPERAND = frozenset({"number", "name", "(", "√"})
"""What an operand starts with."""
_LETTER = "A-Za-zÀ-ÖØ-öø-ɏΑ-Ωα-ορ-ωϑϕϱϵℓ"  # π is no letter: it is the constant
_MORE = f"[{_LETTER}0-9]"
_LIST = rf"\s* {_MORE}+ (?: \s* , \s* {_MORE}+ )* \s*"
_SUPERSCRIPT, _SUBSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹", "₀₁₂₃₄₅₆₇₈₉"
_FRACTION = "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑⅒"
_TOKEN = re.compile(
    rf"""
    (?P<space>   \s+ )
  | (?P<number>  (?: [0-9]+ (?: \. [0-9]* )? | \. [0-9]+ ) (?: [eE] [+-]? [0-9]+ )? | [{_FRACTION}] )
  | (?P<name>    [{_LETTER}] {_MORE}* [{_SUBSCRIPT}]* (?: _ (?: {_MORE}+ | \{{ {_LIST} \}} ) )* | [π∞] )
  | (?P<power>   ⁻? [{_SUPERSCRIPT}]+ )
  | (?P<sign>    \*\* | [-−+*·×/÷^()\[\],;√] )
    """,
    re.VERBOSE,
)
_SAME = {"**": "^", "−": "-", "·": "*", "×": "*", "÷": "/"}
_DIGITS = str.maketrans(_SUPERSCRIPT + "⁻" + _SUBSCRIPT, "0123456789-0123456789")
_SUBSCRIPTS = re.compile(f"[{_SUBSCRIPT}]+")


def tokens(text: str) -> list[Token]:
    """The tokens of a text, closed by one of kind `end`.

    >>> [token.text for token in tokens("2w_h² − ½")]
    ['2', 'w_h', '²', '−', '½', '']
    """
    if len(text) > LONGEST:
        start = text[:40] + " …"
        raise ParseError(f"Expected at most {LONGEST:,} characters, found {len(text):,}.", start, len(start))
    found: list[Token] = []
    position, space = 0, ""
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ParseError(_strange(text[position]), text, position)
        position = match.end()
        if match.lastgroup == "space":
            space = match.group()
            continue
        kind = _SAME.get(match.group(), match.group()) if match.lastgroup == "sign" else str(match.lastgroup)
        if kind == "number":
            _check_number_end(text, match.start(), position)
        found.append(Token(kind, match.group(), match.start(), bool(space), "\n" in space))
        space = ""
    return [*found, Token("end", "", len(text), bool(space))]


_OTHER_BASE = re.compile("0[xX][0-9A-Fa-f]|0[bB][01]|0[oO][0-7]")
_DANGLING = re.compile(rf"[eE](?!{_MORE}|_)")


def _check_number_end(text: str, start: int, end: int) -> None:
    """Refuse 0x10, and 1e or 2.5e: numbers of other notations, cut short. (2e is twice the constant e.)"""
    if _OTHER_BASE.match(text, start) and text[start:end] == "0":
        raise ParseError(f"Expected a decimal number, found '{text[start : end + 2]}': for a product write 0*…", text, start)
    if _DANGLING.match(text, end) and (text[start:end] == "1" or "." in text[start:end]):
        number, e = text[start:end], text[end]
        raise ParseError(
            f"Expected digits after '{number}{e}': write {number}e3, or for a product {number}*e.", text, end + 1
        )


def _strange(character: str) -> str:
    if character in "'′":
        return "Expected a letter without primes: write w_1 for w′."
    if character == "_":
        return "Expected a subscript of letters or digits: w_h, or W_{1,2}."
    if character in "{}":
        return "Expected round brackets; curly ones belong to subscripts: W_{1,2}."
    shown = f"'{character}'" if character.isprintable() else f"U+{ord(character):04X}"
    return f"Expected a number, a letter or a sign, found {shown}."


def number(token: Token, text: str) -> Rational:
    """The exact number of a token: 0.1 is 1/10. Bounded before it is computed."""
    if token.text in _FRACTION:
        top, _, bottom = unicodedata.normalize("NFKC", token.text).partition("⁄")
        return fmpq(int(top), int(bottom))
    mantissa, _, exponent = token.text.lower().partition("e")
    digits, _, places = mantissa.partition(".")
    if len(exponent) > 9 or (abs(int(exponent or 0)) + len(mantissa)) * 3.33 > _MOST_BITS:
        raise ParseError(
            f"Expected digits for at most {_MOST_BITS:,} bits. A longer number is written 10^n.", text, token.position
        )
    power = int(exponent or 0) - len(places)
    return whole(fmpq(_integer(digits + places)) * fmpq(10) ** power)


def _integer(digits: str) -> int:
    """`int(digits)`, by pieces: Python refuses more than 4,300 digits at once."""
    out = 0
    for start in range(0, len(digits), 4000):
        piece = digits[start : start + 4000]
        out = out * 10 ** len(piece) + int(piece)
    return out


def superscript(token: Token) -> int:
    """The exponent a superscript writes: −1 for ⁻¹."""
    digits = token.text.translate(_DIGITS)
    return -_integer(digits[1:]) if digits[0] == "-" else _integer(digits)


def letter_name(token: Token) -> str:
    """The canonical spelling of a letter: `W_{1,2}` is `W_1,2` and `x₁` is `x_1`."""
    name = _SUBSCRIPTS.sub(lambda match: "_" + match.group().translate(_DIGITS), token.text)
    return re.sub(r"[{}\s]", "", name)
