r"""What authors mean by macros that they do not define in the document, because their style file does."""

from __future__ import annotations

import re
from functools import lru_cache

from workings.check.extract.macros import Macro

_SETS = {letter * times: letter for letter in "RNZQC" for times in (1, 2)}
_OPERATORS = (
    "argmax argmin softmax softmin ReLU relu sigmoid softplus GELU GeLU gelu SiLU Attention MultiHead Concat concat "
    "LayerNorm BatchNorm MLP FFN CE MSE KL Var Cov var cov diag Diag rank tr Tr trace sign sgn erf Bern Unif ELBO onehot"
).split()
_WORDS = {
    "eps": r"\epsilon", "E": r"\mathbb{E}", "EE": r"\mathbb{E}", "ones": r"\mathbf{1}", "zeros": r"\mathbf{0}",
    "reals": r"\mathbb{R}", "half": r"\frac{1}{2}", "ip": r"\langle #1, #2 \rangle", "norm": r"\left\lVert #1 \right\rVert",
    "abs": r"\left\lvert #1 \right\rvert", "floor": r"\left\lfloor #1 \right\rfloor",
    "ceil": r"\left\lceil #1 \right\rceil", "pdv": r"\frac{\partial #1}{\partial #2}", "dv": r"\frac{d #1}{d #2}",
    "li": r"\left", "ri": r"\right", "fr": r"\frac{#1}{#2}", "mat": r"\begin{bmatrix} #1 \end{bmatrix}",
    "bmat": r"\begin{bmatrix}", "emat": r"\end{bmatrix}",
    **{f"b{kind}mat": rf"\begin{{{kind}matrix}}" for kind in "pbvVB"},
    **{f"e{kind}mat": rf"\end{{{kind}matrix}}" for kind in "pbvVB"},
}  # fmt: skip
_GREEK = dict(al="alpha", be="beta", ga="gamma", gm="gamma", de="delta", ep="epsilon", la="lambda", si="sigma", om="omega")
_BOLD = re.compile(r"b([a-zA-Z])|f([a-zA-Z])|v([a-dg-z])|m([A-Z])")
_HAT = re.compile(r"h([a-su-z])")
_CALLIGRAPHIC = re.compile(r"(?:mc|cal)([A-Z])")
_NOT_BOLD = frozenset("be bf bg bm bs vs fi ff fr".split())


def _table() -> dict[str, Macro]:
    """Every shorthand with a body of its own."""
    found = {name: Macro(rf"\mathbb{{{letter}}}") for name, letter in _SETS.items()}
    found |= {name: Macro(rf"\operatorname{{{name}}}") for name in _OPERATORS}
    found |= {name: Macro(rf"\{letter}") for name, letter in _GREEK.items()}
    for name, body in _WORDS.items():
        found[name] = Macro(body, 2 if "#2" in body else int("#1" in body), star="#1" in body)
    return found


_TABLE = _table()


@lru_cache(maxsize=4096)
def shorthand(name: str) -> Macro | None:
    r"""What `\name` usually means, if that is clear.

    >>> shorthand("R").body, shorthand("bx").body, shorthand("mcL").body, shorthand("foo")
    ('\\mathbb{R}', '\\mathbf{x}', '\\mathcal{L}', None)
    """
    if found := _TABLE.get(name):
        return found
    if name not in _NOT_BOLD and (match := _BOLD.fullmatch(name)):
        return Macro(rf"\mathbf{{{match[match.lastindex or 0]}}}")
    if match := _HAT.fullmatch(name):
        return Macro(rf"\hat{{{match[1]}}}")
    if match := _CALLIGRAPHIC.fullmatch(name):
        return Macro(rf"\mathcal{{{match[1]}}}")
    return None
