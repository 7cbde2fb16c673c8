r"""Names, notes and source are the author's text: each output gets them as text, never as markup.

latex_text("50% of W_Q")        50\% of W\_Q
markdown_text("a*b <script>")   a\*b &lt;script>
"""

from __future__ import annotations

import re
import unicodedata

from workings.control import plain

_LATEX = {
    **{c: f"\\{c}" for c in "#$%&_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    '"': "''",
    "`": "'",
    "−": "$-$",
    "·": r"$\cdot$",
    "×": r"$\times$",
    "√": r"$\surd$",
    "∂": r"$\partial$",
    "Σ": r"$\Sigma$",
    "⊙": r"$\odot$",
    "≈": r"$\approx$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "≠": r"$\ne$",
    "∞": r"$\infty$",
    "→": r"$\to$",
    "⌊": r"$\lfloor$",
    "⌋": r"$\rfloor$",
    "⌈": r"$\lceil$",
    "⌉": r"$\rceil$",
    "¬": r"$\lnot$",
    "ᵀ": r"$^{\top}$",
    "′": "$'$",
    "←": r"$\leftarrow$",
    "…": "...",
    "–": "--",
    "—": "--",
    "’": "'",
    "‘": "'",
    "“": "''",
    "”": "''",
    "«": "''",
    "»": "''",
}
_ACCENTS = dict(zip("\u0300\u0301\u0302\u0303\u0304\u0308\u030c\u0327", "`'^~=\"vc", strict=True))
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_GREEK = dict(
    zip(
        "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩ",
        """alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi
        omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega""".split(),
        strict=True,
    )
)
GREEK = {name: letter for letter, name in _GREEK.items()}
"""The letters by the names that Python code gives them."""
LATEX_GREEK = {letter: f"\\{name}" for letter, name in _GREEK.items()}


def latex_text(words: str) -> str:
    r"""The words in LaTeX's text mode, for pdflatex and for KaTeX's \text; a character neither knows by its code point."""
    return "".join(map(_latex_character, unicodedata.normalize("NFC", words)))


def _latex_character(c: str) -> str:
    if c in _LATEX:
        return _LATEX[c]
    if c in _SUPERSCRIPTS:
        return f"$^{_SUPERSCRIPTS.index(c)}$"
    if c in LATEX_GREEK:
        return f"${LATEX_GREEK[c]}$"
    if c.isspace():
        return " "
    if c.isascii() and c.isprintable():
        return c
    letter, *marks = list(unicodedata.normalize("NFD", c))
    accented = letter.isascii() and letter.isalpha() and len(marks) == 1 and marks[0] in _ACCENTS
    return f"\\{_ACCENTS[marks[0]]}{{{letter}}}" if accented else f"(U+{ord(c):04X})"


def latex_code(source: str) -> str:
    r"""Source text in monospace, in math mode: \texttt{x.view(2, $-$1)}."""
    return rf"\texttt{{{latex_text(source)}}}"


_MARKDOWN = re.compile(r"([\\`*_{}\[\]#|$~!])")


def markdown_text(words: str) -> str:
    r"""The words as they are: no emphasis, link, table cell, formula or HTML comes of them.

    >>> print(markdown_text("a_b <b> [x](y)"))
    a\_b &lt;b&gt; \[x\](y)
    """
    words = _MARKDOWN.sub(r"\\\1", plain(words).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))
    return re.sub(r"^(\d*)([-+.)])(?=\s)", r"\1\\\2", " ".join(words.split()))


def markdown_code(source: str) -> str:
    """Source text in backticks, one more than stand in it.

    >>> markdown_code("a`b")
    '``a`b``'
    """
    source = " ".join(plain(source).split()) or " "
    ticks = "`" * (1 + max(map(len, re.findall(r"`+", source)), default=0))
    space = " " if source.startswith("`") or source.endswith("`") else ""
    return f"{ticks}{space}{source}{space}{ticks}"
