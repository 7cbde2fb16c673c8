"""Names, numbers, exact values and matrices in MathML Core, which browsers draw without help.

`_WIDE` and `_FLAT` have a row for each kind of layout (see `exact/typeset/layout.py`), as the text and LaTeX writers
have: a row gets
the layout and its parts, already written, and returns a piece: the markup, and how tightly it holds together. Exponents are
written flat, with slashes for bars. `mathml_script.py` writes formulas with the same pieces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from weakref import WeakKeyDictionary

from workings.exact.numbers.simplest import simplest
from workings.exact.numbers.value import Value
from workings.exact.tensor.arena import ARENA
from workings.exact.typeset.elision import Elided, elision
from workings.exact.typeset.layout import Layout, fold
from workings.exact.typeset.text import is_bare_at_end
from workings.exact.typeset.value_layout import lay_out
from workings.precedence import ATOM, LOOSE, POWER, PRODUCT, SUM
from workings.show.formula.repeated import MOST_NODES, NamedTerm
from workings.show.write.escape import GREEK
from workings.show.write.markup import element, escaped
from workings.show.write.names import AGAIN, as_letter, spelled_out, without_library, without_self
from workings.trace.formula.script import Piece

_ACCENTS = {"hat": "^", "bar": "¯", "tilde": "~", "dot": "˙", "vec": "→"}
_PRIMES = {"prime": "′"}
THIN = '<mspace width="0.17em"></mspace>'
_TIMES = "<mo>·</mo>"
_PARTIAL = "<mo>∂</mo>"
_SLASH = '<mo lspace="0" rspace="0">/</mo>'
_TALL = re.compile("<m(frac|table|under|sqrt)")
_FENCE = 'fence="true" lspace="0" rspace="0"'
_DERIVATIVE = re.compile(r"^∂([^/]+)/∂(.+)$")


def math(*parts: str) -> str:
    """A formula as an element of its own, its fractions in full size."""
    return f'<math displaystyle="true">{"".join(parts)}</math>'


def row(*parts: str) -> str:
    return parts[0] if len(parts) == 1 else f"<mrow>{''.join(parts)}</mrow>"


def operator(sign: str) -> str:
    return element("mo", escaped(sign))


def relation(sign: str) -> str:
    """= or ≈ at the start of a piece of an equation."""
    return f'<mo form="infix" lspace="0" rspace="0.28em">{sign}</mo>'


def words(text: str) -> str:
    """Text inside a formula."""
    return element("mtext", escaped(text))


def fenced(markup: str, left: str = "(", right: str = ")") -> str:
    """`markup` between brackets that grow with it; around what is low, growing ones would stand too far off."""
    grows = "" if _TALL.search(markup) else ' stretchy="false"'
    return (
        f'<mrow><mo {_FENCE} form="prefix"{grows}>{left}</mo>{markup}<mo {_FENCE} form="postfix"{grows}>{right}</mo></mrow>'
    )


def _bracketed(piece: Piece, least: int) -> str:
    """The piece, in brackets where it holds together less than the place needs."""
    return piece.string if piece.level >= least else fenced(piece.string)


def name(word: str) -> str:
    """A variable: W_q with a subscript, x1 too, alpha as α, x_hat with its hat; code stays code.

    >>> name("W_q")
    '<msub><mi>W</mi><mi>q</mi></msub>'
    >>> name("x_hat")
    '<mover accent="true"><mi>x</mi><mo>^</mo></mover>'
    >>> name("∂L/∂A")
    '<mfrac><mrow><mo>∂</mo><mi>L</mi></mrow><mrow><mo>∂</mo><mi>A</mi></mrow></mfrac>'
    """
    found = _DERIVATIVE.match(word)
    if found:
        variable, origin, place = found[2].partition(" from ")
        fraction = f"<mfrac>{row(_PARTIAL, name(found[1]))}{row(_PARTIAL, name(variable))}</mfrac>"
        return row(fraction, element("mtext", origin, class_="words"), name(place)) if origin else fraction
    again = AGAIN.match(word)
    if again:
        return f"<msup>{name(again[1])}{row('<mo>(</mo>', element('mn', again[2]), '<mo>)</mo>')}</msup>"
    if ", " in word:
        return row(*with_commas([name(part) for part in word.split(", ")]))
    word = spelled_out(without_library(without_self(word)))
    if word.endswith(".grad"):
        return row(name(word.removesuffix(".grad")), words(".grad"))
    return _identifier(word) if word.isidentifier() else words(word)


_FRACTION = re.compile(r"<mfrac>(<mrow><mo>∂</mo>.*?</mrow>)(<mrow><mo>∂</mo>.*?</mrow>)</mfrac>")


def on_the_line(markup: str) -> str:
    """Gradients as ∂L/∂S, for the inside of a fraction: a bar over a bar is hard to read."""
    tight = _PARTIAL.replace("<mo>", '<mo lspace="0" rspace="0">')
    return _FRACTION.sub(lambda found: row(found[1], _SLASH, found[2]).replace(_PARTIAL, tight), markup)


def _identifier(word: str) -> str:
    first, *below = [part for part in re.split(r"_|(?<=[^\d_])(?=\d+$)", word) if part] or ["_"]
    if not set(below) & {*_ACCENTS, *_PRIMES} and not as_letter([part for part in word.split("_") if part] or ["_"]):
        return element("mi", escaped(word))
    base = _letters(first)
    while below and below[0] in _ACCENTS:
        base = f'<mover accent="true">{base}<mo>{_ACCENTS[below.pop(0)]}</mo></mover>'
    raised = [_PRIMES[part] for part in below if part in _PRIMES]
    below = [part for part in below if part not in _PRIMES]
    if raised:
        base = f"<msup>{base}<mo>{''.join(raised)}</mo></msup>"
    return f"<msub>{base}{row(*with_commas([_letters(part) for part in below]))}</msub>" if below else base


def _letters(word: str) -> str:
    return element("mn", word) if word.isdigit() and word.isascii() else element("mi", escaped(GREEK.get(word, word)))


def with_commas(parts: Sequence[str]) -> list[str]:
    """The parts with a comma between each two."""
    return [piece for part in parts for piece in ("<mo>,</mo>", part)][1:]


def commas(parts: Sequence[str]) -> str:
    return "".join(with_commas(parts))


def number(digits: str) -> Piece:
    """Decimal digits as Python or `decimal` writes them: −0.5, 1.5e-07, ∞, NaN."""
    digits = digits.replace("−", "-").replace("∞", "inf")
    if digits.startswith("-"):
        return Piece(row("<mo>−</mo>", number(digits[1:]).string), SUM)
    mantissa, e, exponent = digits.partition("e")
    if digits.lower() in ("inf", "nan"):
        return Piece("<mi>∞</mi>" if digits == "inf" else '<mtext class="nan">NaN</mtext>')
    if not e or not mantissa:
        return Piece(element("mn", escaped(digits)))
    power = f"<msup><mn>10</mn>{number(exponent.lstrip('+').replace('-0', '-')).string}</msup>"
    return Piece(power if mantissa == "1" else row(element("mn", escaped(mantissa)), _TIMES, power), PRODUCT)


def matrix(rows: Sequence[Sequence[str]], kind: str = "") -> str:
    """A table of cells, markup already, between square brackets."""
    lines = ["<mtr>" + "".join(f"<mtd>{cell}</mtd>" for cell in cells) + "</mtr>" for cells in rows]
    attributes = {"class_": kind} if kind else {}
    return fenced(element("mtable", "".join(lines), **attributes), "[", "]")


# ------------------------------------------------------------------------------------------- exact values

_WRITTEN: WeakKeyDictionary[Value, Piece] = WeakKeyDictionary()
"""Values are shared between steps: each is settled and written once."""


def value(v: Value, named: NamedTerm | None = None) -> Piece:
    """An exact value in textbook form, a term in it by its name; one too long to write by its certified decimals."""
    found = _WRITTEN.get(v) if named is None else None
    if found is None:
        found = _value(v, named)
        if named is None:
            _WRITTEN[v] = found
    return found


def _value(v: Value, named: NamedTerm | None) -> Piece:
    with ARENA.working():
        shown = simplest(v)
        short = elision(shown, MOST_NODES)
        return _elision(short) if short is not None else fold(lay_out(shown), _writer(named))[0]


def _writer(named: NamedTerm | None) -> Callable[[Layout, list[tuple[Piece, Piece]]], tuple[Piece, Piece]]:
    if named is None:
        return _write
    letter = Piece(named_letter(named))
    return lambda layout, parts: (letter, letter) if layout.key == named.key else _write(layout, parts)


def named_letter(named: NamedTerm) -> str:
    return f'<mi class="named">{named.letter}</mi>'


def definition(named: NamedTerm) -> str:
    """u = e^{1/√2} ≈ 2.028"""
    written = fold(named.layout, _write)[0].string
    rounded = [operator("≈"), number(named.decimals).string] if named.decimals else []
    return math(named_letter(named), operator("="), written, *rounded)


def _elision(short: Elided) -> Piece:
    """0.669762…, or ⟨formula of 1,234 nodes in w⟩."""
    if short.decimals is not None and not short.letters:
        return Piece(row(number(short.decimals).string, "<mo>…</mo>"))
    return Piece(fenced(words(f"{short.measure} in {', '.join(short.letters)}"), "⟨", "⟩"))


def _write(layout: Layout, parts: list[tuple[Piece, Piece]]) -> tuple[Piece, Piece]:
    """The layout with bars, and with slashes."""
    wide, flat = [part[0] for part in parts], [part[1] for part in parts]
    if layout.kind == "power":
        wide[1] = flat[1]
    return _WIDE[layout.kind](layout, wide), _FLAT[layout.kind](layout, flat)


_CONSTANTS = {"e": "<mi>e</mi>", "pi": "<mi>π</mi>", "euler": "<mi>γ</mi>", "inf": "<mi>∞</mi>", "nan": words("NaN")}
_FUNCTIONS = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "digamma": "ψ", "airy_ai": "Ai", "gamma_lower": "P"}


def _power(layout: Layout, parts: list[Piece]) -> Piece:
    return Piece(f"<msup>{row(_bracketed(parts[0], ATOM))}{parts[1].string}</msup>", POWER)


def _bar(layout: Layout, parts: list[Piece]) -> Piece:
    return Piece(f"<mfrac>{parts[0].string}{parts[1].string}</mfrac>", LOOSE)


def _slash(layout: Layout, parts: list[Piece]) -> Piece:
    return Piece(row(_bracketed(parts[0], PRODUCT), _SLASH, _bracketed(parts[1], POWER)), LOOSE)


def _product(layout: Layout, parts: list[Piece]) -> Piece:
    out = [_bracketed(parts[0], PRODUCT)]
    for right, term in zip(layout.parts[1:], parts[1:], strict=True):
        digits = right.kind == "number" or (right.kind == "power" and right.parts[0].kind == "number")
        out += [_TIMES if digits else THIN, term.string if is_bare_at_end(layout, right) else _bracketed(term, PRODUCT)]
    return Piece(row(*out), LOOSE if parts[-1].level == LOOSE else PRODUCT)


def _sum(layout: Layout, parts: list[Piece]) -> Piece:
    out: list[str] = []
    for sign, term in zip(layout.word, parts, strict=True):
        joint = ["<mo>−</mo>"] if sign == "-" else ["<mo>+</mo>"] if out else []
        out += [*joint, _bracketed(term, LOOSE) if sign == "-" else term.string]
    return Piece(row(*out), SUM)


def _minus(layout: Layout, parts: list[Piece]) -> Piece:
    return Piece(row("<mo>−</mo>", _bracketed(parts[0], LOOSE)), SUM)


def _call(layout: Layout, parts: list[Piece]) -> Piece:
    if layout.word == "abs":
        return Piece(fenced(parts[0].string, "|", "|"))
    function = element("mi", escaped(_FUNCTIONS.get(layout.word, layout.word)))
    if layout.word == "log" and layout.parts[0].kind == "number":
        return Piece(row(function, THIN, parts[0].string), LOOSE)
    return Piece(row(function, fenced(commas([term.string for term in parts]))))


_FLAT: dict[str, Callable[[Layout, list[Piece]], Piece]] = {
    "number": lambda layout, parts: Piece(element("mn", escaped(layout.word))),
    "name": lambda layout, parts: Piece(name(layout.word)),
    "constant": lambda layout, parts: Piece(_CONSTANTS[layout.word]),
    "root": lambda layout, parts: Piece(f"<msqrt>{parts[0].string}</msqrt>", POWER),
    "power": _power,
    "fraction": _slash,
    "product": _product,
    "sum": _sum,
    "minus": _minus,
    "call": _call,
}
_WIDE = _FLAT | {"fraction": _bar}
