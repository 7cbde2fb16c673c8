r"""The environments of mathematics: which ones are a formula, which ones are a part of one, and where each one ends."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

EQUATIONS = frozenset(
    "equation align alignat xalignat gather multline eqnarray flalign displaymath math split aligned alignedat gathered "
    "multlined dmath IEEEeqnarray".split()
)
"""Their content is the formula."""

MATRICES = frozenset(
    "matrix pmatrix bmatrix Bmatrix vmatrix Vmatrix smallmatrix psmallmatrix bsmallmatrix cases dcases rcases array".split()
)
"""They are an operand: the formula keeps their `\\begin` and `\\end`."""

_WITH_ARGUMENT = frozenset("alignat xalignat alignedat IEEEeqnarray".split())

EDGE = re.compile(r"(?:\\|(?<![A-Za-z\\]))(begin|end)[ \t]{0,9}\{[ \t]{0,9}([A-Za-z]{1,30}\*?)[ \t]{0,9}\}")
r"""A `\begin{…}` or `\end{…}`, also with stray spaces or without its backslash."""

_OPTIONS = re.compile(r"[ \t]{0,9}\[[^\]\n]{0,40}\]")
_ARGUMENT = re.compile(r"[ \t]{0,9}\{[^{}\n]{0,40}\}")


def is_math(name: str) -> bool:
    """Is this the name of an environment of mathematics?"""
    return name.rstrip("*") in EQUATIONS or name.rstrip("*") in MATRICES


def alike(written: str, meant: str) -> bool:
    """Is `written` no environment, but a misspelling of `meant`?

    >>> alike("bmatrx", "bmatrix"), alike("pmatrix", "bmatrix"), alike("table", "bmatrix")
    (True, False, False)
    """
    return not is_math(written) and SequenceMatcher(None, written, meant).ratio() > 0.75


def pairs(text: str) -> dict[int, tuple[int, int]]:
    r"""For each `begin` that is closed: where its `end` begins and where that ends. A misspelt `end` may close, too.

    >>> pairs(r"\begin{align}a\end{align}")
    {0: (14, 25)}
    """
    found: dict[int, tuple[int, int]] = {}
    waiting: dict[str, list[int]] = {}
    latest: list[tuple[str, int]] = []
    for match in EDGE.finditer(text):
        name = match[2]
        if match[1] == "begin":
            waiting.setdefault(name, []).append(match.start())
            latest.append((name, match.start()))
            continue
        while latest and latest[-1][1] in found:
            latest.pop()
        if not waiting.get(name) and latest and alike(name, latest[-1][0]):
            name = latest[-1][0]
        if waiting.get(name):
            found[waiting[name].pop()] = match.span()
    return found


def content_start(text: str, name: str, position: int) -> int:
    """Where the content of environment `name` begins, after its options and argument."""
    plain = name.rstrip("*")
    if plain in _WITH_ARGUMENT and (match := _ARGUMENT.match(text, position)):
        return match.end()
    if plain in {"aligned", "gathered", "split"} and (match := _OPTIONS.match(text, position)):
        return match.end()
    return position
