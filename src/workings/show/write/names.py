r"""How names are written: W_Q stays W_Q and becomes W_{Q}, alpha α, y_hat ŷ, self.W simply W, ∂L/∂A a fraction.

A name is the author's text. What is an identifier, or a path of them, gets this treatment; anything else
(`x.shape[-1]`, `h[0]`) is shown as it is written.
"""

from __future__ import annotations

import re
import unicodedata

from workings.show.write.escape import GREEK, LATEX_GREEK, latex_code, latex_text

_ACCENTS = {"hat": ("\u0302", r"\hat"), "bar": ("\u0304", r"\bar"), "tilde": ("\u0303", r"\tilde")}
_PATH = re.compile(r"^[^\W\d]\w*(\.\w+)*$")
_DERIVATIVE = re.compile(r"^∂(.+?)/∂(.+)$")
AGAIN = re.compile(r"^([^#∂]+)#(\d+)$")
"""h#2: the second value that was called h."""
_LIBRARY = re.compile(r"^(math|np|numpy|torch)\.(?=(pi|tau|inf)$)")
"""π is the same number whoever has it."""
_UNPACKED = re.compile(r"^(?=.*, )[\w.,*() ]+$")
"""`(c, *d), e`"""
_BETWEEN = frozenset((", ", " = ", "(", ")", "*", ""))
_ENTRY = re.compile(r"^((?:self\.)?[^\W\d]\w*)\[((?:-?\d+|[A-Za-z]\w*)(?:, (?:-?\d+|[A-Za-z]\w*))*)\]$")
"""x[0, t]"""
_GREEK_WORD = re.compile(r"^([A-Za-z]+?)(\d*)$")


def without_self(name: str) -> str:
    """self.W is W on paper."""
    return re.sub(r"\bself\.(?=\w)", "", name)


def without_library(name: str) -> str:
    """math.pi is π on paper."""
    return _LIBRARY.sub("", name)


_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_MARKS = {"\u0302": "hat", "\u0304": "bar", "\u0303": "tilde"}


def spelled_out(name: str) -> str:
    """The signs of a letter as Python code has them: β₁ as β_1, m̂ as m_hat, h′ as h_prime.

    >>> [spelled_out(n) for n in ("β₁", "m̂", "h′", "W_Q")]
    ['β_1', 'm_hat', 'h_prime', 'W_Q']
    """
    name = re.sub(r"(?<=\w)[₀-₉]+", lambda m: "_" + m[0].translate(_SUBSCRIPTS), name)
    name = "".join(f"_{_MARKS[c]}" if c in _MARKS else c for c in unicodedata.normalize("NFD", name))
    return unicodedata.normalize("NFC", re.sub(r"(?<=\w)′", "_prime", name))


def text_name(name: str) -> str:
    """The name in plain text.

    >>> [text_name(n) for n in ("self.W_Q", "y_hat", "alpha_1", "beta2", "∂L/∂y_hat", "x.shape[-1]", "lambda_", "y.mul_")]
    ['W_Q', 'ŷ', 'α_1', 'β2', '∂L/∂ŷ', 'x.shape[-1]', 'λ', 'y.mul_']
    >>> text_name("∂L/∂theta from theta#2"), text_name("math.pi"), text_name("theta.grad")
    ('∂L/∂θ from θ#2', 'π', 'θ.grad')
    """
    found = _DERIVATIVE.match(name)
    if found:
        variable, origin, place = found[2].partition(" from ")
        return f"∂{text_name(found[1])}/∂{text_name(variable)}{origin}{text_name(place)}"
    again = AGAIN.match(name)
    if again:
        return f"{text_name(again[1])}#{again[2]}"
    parts = re.split(r"(, | = )", without_library(without_self(name)))
    return "".join(_text_path(part) if _PATH.match(part) else part for part in parts)


def _text_path(path: str) -> str:
    *owners, last = path.split(".")
    if owners and last == "grad":
        return f"{_text_path('.'.join(owners))}.grad"
    bare = last.rstrip("_")
    if bare != last and bare not in GREEK:
        return path  # y.mul_ changes y, y.mul does not; lambda_ has its underscore only because Python takes the word
    first, *below = bare.split("_")
    if not first:
        return path
    letter = _text_word(first)
    for word in [w for w in below if w in _ACCENTS and len(letter) == 1]:
        letter = unicodedata.normalize("NFC", letter + _ACCENTS[word][0])
        below.remove(word)
    return ".".join([*owners, "_".join([letter, *map(_text_word, below)])])


def _text_word(word: str) -> str:
    found = _GREEK_WORD.match(word)
    return GREEK[found[1]] + found[2] if found and found[1] in GREEK else word


def latex_name(name: str) -> str:
    r"""The name in LaTeX's math mode.

    >>> print(*[latex_name(n) for n in ("W_Q", "y_hat", "alpha_1", "d_model", "h1", "attn.scores", "∂L/∂A", "h#2")])
    W_{Q} \hat{y} \alpha_{1} d_{\mathrm{model}} h_{1} \mathrm{attn.scores} \frac{\partial L}{\partial A} h^{(2)}

    h#2 is the second value that was called h, and y[0, t] an entry of y.

    >>> print(latex_name("y_hat[0, t]"))
    \hat{y}[0, t]
    """
    again = AGAIN.match(name)
    if again:
        return f"{latex_name(again[1])}^{{({again[2]})}}"
    found = _DERIVATIVE.match(name)
    if found:
        variable, origin, place = found[2].partition(" from ")
        fraction = rf"\frac{{\partial {latex_name(found[1])}}}{{\partial {latex_name(variable)}}}"
        return rf"{{{fraction}}}_{{\text{{from }}{latex_name(place)}}}" if origin else fraction
    entry = _ENTRY.match(name)
    if entry:
        return f"{latex_name(entry[1])}[{', '.join(map(_latex_index, entry[2].split(', ')))}]"
    spelled = spelled_out(without_library(without_self(name)))
    parts = re.split(r"(, | = )" if not _UNPACKED.match(spelled) else r"(, |[(*)])", spelled)
    return "".join(
        _latex_path(part) if _PATH.match(part) else part if part in _BETWEEN else latex_code(part) for part in parts
    )


def _latex_index(text: str) -> str:
    return text if re.fullmatch(r"-?\d+", text) else latex_name(text)


def _latex_path(path: str) -> str:
    *owners, last = path.split(".")
    words = [w for w in last.split("_") if w]
    if owners and last == "grad":
        return f"{_latex_path('.'.join(owners))}\\mathrm{{.grad}}"
    if owners or not words or last.startswith("_") or not as_letter(words):
        return _upright(path)
    first, below = words[0].rstrip("0123456789"), words[1:]
    letter = _latex_word(first)
    for word in [w for w in below if w in _ACCENTS]:
        letter = rf"{_ACCENTS[word][1]}{{{letter}}}"
        below.remove(word)
    primes = "'" * below.count("prime")
    below = [part for part in (words[0][len(first) :], *below) if part and part != "prime"]
    return letter + primes + (f"_{{{', '.join(map(_latex_word, below))}}}" if below else "")


def as_letter(words: list[str]) -> bool:
    """Whether the first word is a letter of a formula (W, α1, dk) or the rest are short indices of it."""
    first = words[0].rstrip("0123456789")
    letter = len(first) == 1 or first in GREEK or first in LATEX_GREEK
    return letter or (len(words) > 1 and all(len(w) == 1 or w.isdigit() or w == "prime" for w in words[1:]))


def _latex_word(word: str) -> str:
    word = LATEX_GREEK.get(GREEK.get(word, word), word)
    return word if word.startswith("\\") or (len(word) == 1 and word.isascii()) or word.isdigit() else _upright(word)


def _upright(word: str) -> str:
    return rf"\mathrm{{{word}}}" if re.fullmatch(r"[A-Za-z0-9.]+", word) else rf"\text{{{latex_text(word)}}}"
