r"""Values in LaTeX, for pdflatex with amsmath and for KaTeX: \frac{e^{1/\sqrt{2}}}{1 + e^{1/\sqrt{2}}}.

Each layout is written twice: wide, with bars, and flat, with slashes, as exponents are. `_WIDE` and `_FLAT`
have a row for each kind of layout (see `layout.py`); they differ in the row for fractions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from workings.exact.numbers.names import MOST_NAMED
from workings.exact.numbers.value import Value
from workings.exact.typeset.elision import Elided, elision
from workings.exact.typeset.layout import Layout, fold, number
from workings.exact.typeset.text import Piece, is_bare_at_end
from workings.exact.typeset.value_layout import lay_out
from workings.precedence import ATOM, LOOSE, POWER, PRODUCT, SUM


class _Both(NamedTuple):
    """One layout, with bars and with slashes."""

    wide: Piece
    flat: Piece


def latex(v: Value, *, most: int = 200, decimals: bool = True) -> str:
    r"""`v` in LaTeX; a formula of more than `most` nodes by its certified decimals.

    >>> from flint import fmpq
    >>> from workings.exact.numbers.algebra import power
    >>> from workings.exact.numbers.value import rational
    >>> print(latex(power(rational(2), fmpq(-1, 2))))
    \frac{1}{\sqrt{2}}
    """
    short = elision(v, most)
    return _elision(short) if short is not None else fold(lay_out(v, decimals), _write).wide.string


def matrix_latex(rows: Sequence[Any]) -> str:
    r"""A matrix of values (or of LaTeX) in brackets; a vector becomes one row.

    >>> print(matrix_latex([["1", "0"], ["0", "1"]]))
    \begin{bmatrix} 1 & 0 \\ 0 & 1 \end{bmatrix}
    """
    if not rows or not isinstance(rows[0], list | tuple):
        rows = [rows]
    lines = [" & ".join(cell if isinstance(cell, str) else latex(cell) for cell in row) for row in rows]
    return r"\begin{bmatrix} " + r" \\ ".join(lines) + r" \end{bmatrix}"


def tensor_latex(nested: Any) -> str:
    """A value, a vector or a matrix of values; with more axes, a column of matrices."""
    if isinstance(nested, Value | str):
        return nested if isinstance(nested, str) else latex(nested)
    deep = nested and isinstance(nested[0], list | tuple) and nested[0] and isinstance(nested[0][0], list | tuple)
    return matrix_latex([[tensor_latex(part)] for part in nested]) if deep else matrix_latex(nested)


def _write(layout: Layout, parts: list[_Both]) -> _Both:
    wide, flat = [part.wide for part in parts], [part.flat for part in parts]
    if layout.kind == "power":
        wide[1] = flat[1]
    return _Both(_WIDE[layout.kind](layout, wide), _FLAT[layout.kind](layout, flat))


def _bracketed(piece: Piece, least: int) -> str:
    """The piece, in brackets where it holds together less than the place needs."""
    return piece.string if piece.level >= least else rf"\left({piece.string}\right)"


_CONSTANTS = {"e": "e", "pi": r"\pi", "euler": r"\gamma", "inf": r"\infty", "nan": r"\mathrm{NaN}"}
_FUNCTIONS = {name: rf"\{name}" for name in ("log", "sin", "cos", "tan", "sinh", "cosh", "tanh")} | {
    "asin": r"\arcsin",
    "acos": r"\arccos",
    "atan": r"\arctan",
    "digamma": r"\psi",
    "airy_ai": r"\operatorname{Ai}",
    "zeta": r"\zeta",
    "gamma_lower": "P",
    "root_of": r"\operatorname{root}",
}
"""How functions are called; the others by their name in upright letters."""
_INDEXED = {"bessel_j": "J", "bessel_y": "Y", "bessel_i": "I", "bessel_k": "K"}
"""Functions whose first argument is an index."""

_GREEK = {
    **{"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta", "η": "eta"},
    **{"θ": "theta", "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi"},
    **{"ρ": "rho", "σ": "sigma", "τ": "tau", "υ": "upsilon", "φ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega"},
    **{"Γ": "Gamma", "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma"},
    **{"Φ": "Phi", "Ψ": "Psi", "Ω": "Omega"},
}
_COMMANDS = frozenset(_GREEK.values())


def name(word: str) -> str:
    r"""A letter's name: w_{h} for w_h, w_{1} for w1, \alpha for alpha and α.

    >>> print(name("w_h"), name("w1"), name("alpha"), name("weight_0"))
    w_{h} w_{1} \alpha \mathrm{weight}_{0}
    """
    first, *below = [part for part in re.split(r"[_,]|(?<=[^\d_,])(?=\d+$)", word) if part] or ["_"]
    return _plain(first) + (f"_{{{','.join(map(_plain, below))}}}" if below else "")


def _plain(word: str) -> str:
    word = _GREEK.get(word, word)
    if word in _COMMANDS:
        return rf"\{word}"
    safe = re.sub(r"[^A-Za-z0-9]", " ", word)
    return safe if len(safe) == 1 or safe.isdigit() else rf"\mathrm{{{safe}}}"


def _product(layout: Layout, parts: list[Piece]) -> Piece:
    out = _bracketed(parts[0], PRODUCT)
    for right, piece in zip(layout.parts[1:], parts[1:], strict=True):
        factor = piece.string if is_bare_at_end(layout, right) else _bracketed(piece, PRODUCT)
        out += (r" \cdot " if factor[0].isdigit() else " ") + factor
    return Piece(out, LOOSE if parts[-1].level == LOOSE else PRODUCT)


def _sum(layout: Layout, parts: list[Piece]) -> Piece:
    out = ""
    for sign, piece in zip(layout.word, parts, strict=True):
        term = _bracketed(piece, LOOSE) if sign == "-" else piece.string
        out += (f" {sign} " if out else sign.strip("+")) + term
    return Piece(out, SUM)


def _call(layout: Layout, parts: list[Piece]) -> Piece:
    word, arguments = layout.word, [piece.string for piece in parts]
    if word == "abs":
        return Piece(rf"\left|{arguments[0]}\right|", ATOM)
    if word == "log" and layout.parts[0].kind == "number":
        return Piece(rf"\log {arguments[0]}", LOOSE)
    if word in _INDEXED:
        return Piece(rf"{_INDEXED[word]}_{{{arguments[0]}}}\left({arguments[1]}\right)", ATOM)
    function = _FUNCTIONS.get(word) or rf"\operatorname{{{word}}}"
    return Piece(rf"{function}\left({', '.join(arguments)}\right)", ATOM)


_FLAT: dict[str, Callable[[Layout, list[Piece]], Piece]] = {
    "number": lambda layout, parts: Piece(_digits(layout.word), ATOM),
    "name": lambda layout, parts: Piece(name(layout.word), ATOM),
    "constant": lambda layout, parts: Piece(_CONSTANTS[layout.word], ATOM),
    "root": lambda layout, parts: Piece(rf"\sqrt{{{parts[0].string}}}", POWER),
    "power": lambda layout, parts: Piece(f"{_bracketed(parts[0], ATOM)}^{{{parts[1].string}}}", POWER),
    "fraction": lambda layout, parts: Piece(f"{_bracketed(parts[0], PRODUCT)}/{_bracketed(parts[1], POWER)}", LOOSE),
    "product": _product,
    "sum": _sum,
    "minus": lambda layout, parts: Piece("-" + _bracketed(parts[0], LOOSE), SUM),
    "call": _call,
}
_WIDE = _FLAT | {
    "fraction": lambda layout, parts: Piece(rf"\frac{{{parts[0].string}}}{{{parts[1].string}}}", LOOSE),
}


def _elision(short: Elided) -> str:
    r"""0.669762\ldots, or \langle\text{formula of 1,234 nodes in }w\rangle."""
    digits = short.decimals and _decimals(short.decimals) + r"\ldots"
    if not short.letters:
        return digits or rf"\langle\text{{{short.measure}}}\rangle"
    formula = rf"\text{{{short.measure} in }}{', '.join(map(_letter_or_dots, short.letters))}"
    if digits is None:
        return rf"\langle {formula}\rangle"
    samples = [f"{name(letter)} = {fold(number(at), _write).flat.string}" for letter, at in short.samples]
    samples += map(_letter_or_dots, short.letters[MOST_NAMED:])
    return rf"\langle {formula};\ {digits}\text{{ at }}{', '.join(samples)}\rangle"


def _letter_or_dots(word: str) -> str:
    """A letter, or the … after the last that is named."""
    return r"\ldots" if word == "…" else name(word)


def _digits(word: str) -> str:
    r"""A whole number; 1234567890\ldots\langle\text{401 digits}\rangle for one that is not written out."""
    first, cut, count = word.partition("…⟨")
    return rf"{first}\ldots\langle\text{{{count[:-1]}}}\rangle" if cut else word


def _decimals(digits: str) -> str:
    mantissa, e, exponent = digits.partition("e")
    return rf"{mantissa} \cdot 10^{{{exponent}}}" if e else mantissa.replace("∞", r"\infty").replace("−", "-")
