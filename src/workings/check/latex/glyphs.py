"""The characters of a formula: Greek letters, letters of another alphabet, accents, brackets of a matrix."""

from __future__ import annotations

import unicodedata

from workings.check.latex.signs import KINDS

_LETTERS: dict[str, str] = {}
"""The character of each named symbol: `alpha` is α."""
for _character, _kind in KINDS.items():
    if len(_character) == 1 and not _character.isascii() and _kind[0] == "symbol" and not _kind[1][1]:
        _LETTERS.setdefault(_kind[1][0], _character)

ACCENTS = {
    "hat": ("^", "\u0302"), "bar": ("¯", "\u0304"), "tilde": ("~", "\u0303"), "vec": ("→", "\u20d7"),
    "dot": ("˙", "\u0307"), "ddot": ("¨", "\u0308"), "check": ("ˇ", "\u030c"), "breve": ("˘", "\u0306"),
    "mathring": ("˚", "\u030a"), "acute": ("´", "\u0301"), "grave": ("`", "\u0300"), "underline": ("_", "\u0332"),
}  # fmt: skip
"""Each accent alone, and as a mark on the letter before it."""
WIDE_ACCENTS = {"widehat": "^", "overline": "¯", "widetilde": "~", "overrightarrow": "→", "underline": "_"}
"""The accents over more than one letter, which the tree has as functions."""
SQUARE = ("[", "]")
FENCES = {
    "bmatrix": SQUARE,
    "[;]": SQUARE,
    "pmatrix": ("(", ")"),
    "Bmatrix": ("{", "}"),
    "vmatrix": ("|", "|"),
    "Vmatrix": ("‖", "‖"),
}
"""The brackets of each kind of matrix; an array has none of its own."""
_ALPHABETS = {"bb": "DOUBLE-STRUCK", "cal": "SCRIPT", "scr": "SCRIPT", "frak": "FRAKTUR"}
_SUPERSCRIPTS = str.maketrans("0123456789+-−=()niTt⊤", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱᵀᵗᵀ")
_SUBSCRIPTS = str.maketrans("0123456789+-−=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")


def letter(name: str, style: tuple[str, ...] = ()) -> str:
    """A symbol without its accents.

    >>> letter("alpha"), letter("R", ("bb",)), letter("L", ("cal",)), letter("SE", ("text",))
    ('α', 'ℝ', 'ℒ', 'SE')
    """
    found = _LETTERS.get(name, name)
    alphabet = next((_ALPHABETS[font] for font in style if font in _ALPHABETS), "")
    return _in_alphabet(found, alphabet) if alphabet and len(found) == 1 else found


def _in_alphabet(character: str, alphabet: str) -> str:
    """A Latin letter of another alphabet; those that Unicode had first have names of their own."""
    size = "CAPITAL" if character.isupper() else "SMALL"
    old = "BLACK-LETTER" if alphabet == "FRAKTUR" else alphabet
    for name in (f"{old} {size} {character.upper()}", f"MATHEMATICAL {alphabet} {size} {character.upper()}"):
        try:
            return unicodedata.lookup(name)
        except KeyError:
            continue
    return character


def raised(text: str) -> str:
    """In superscript characters, or nothing if there are none for it.

    >>> raised("n+1"), raised("x/2")
    ('ⁿ⁺¹', '')
    """
    return _moved(text, _SUPERSCRIPTS)


def lowered(text: str) -> str:
    """In subscript characters, or nothing if there are none for it."""
    return _moved(text, _SUBSCRIPTS)


def _moved(text: str, table: dict[int, int]) -> str:
    text = text.replace(" ", "")
    return text.translate(table) if text and all(ord(c) in table for c in text) else ""
