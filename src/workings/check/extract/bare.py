r"""LaTeX in prose whose dollars were lost: `\mathbf{x} \in \mathbb{R}^4`, or a matrix that stands alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workings.check.extract.environments import EDGE, MATRICES
from workings.check.extract.spans import Span, braces

_COMMANDS = frozenset(
    """frac dfrac tfrac sqrt sum prod int mathbf mathbb mathcal mathrm mathsf boldsymbol bm hat bar tilde vec dot widehat
    overline underline text operatorname times cdot in notin subset leq geq le ge neq ne approx sim equiv to rightarrow
    leftarrow Rightarrow mapsto top infty partial nabla forall exists ldots cdots dots odot otimes oplus circ mid left right
    big Big bigl bigr log ln exp sin cos tan tanh max min arg det langle rangle lVert rVert lvert rvert pm mp quad
    alpha beta gamma delta epsilon varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau phi varphi chi psi
    omega Gamma Delta Theta Lambda Sigma Phi Psi Omega ell prime star ast""".split()
)
_PIECE = re.compile(
    r"\\(?P<command>[A-Za-z]+)|(?P<begin>\\begin[ \t]*\{)"
    r"|(?P<word>[A-Za-z]{2,}(?:[ \t,.;]+[A-Za-z]{2,}(?![A-Za-z]))*)"
    r"|(?P<letter>[A-Za-z])|(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<group>\{)|(?P<space>[ \t]+)|(?P<operator>[-+−*/=<>≈≤≥×·∈:])|(?P<script>[\^_'])|(?P<bracket>[()\[\]|])"
    r"|(?P<comma>,)|(?P<escaped>\\[|{},;!:%])|(?P<other>.)",
    re.DOTALL,
)
_START = re.compile(r"\\[A-Za-z]{2,}|(?<![A-Za-z\\])begin[ \t]*\{")
_JOINS = frozenset(
    "times cdot in notin subset leq geq le ge neq ne approx sim equiv to rightarrow leftarrow Rightarrow mapsto odot otimes "
    "oplus circ pm mp".split()
)
_WIDEST = 500
"""Characters of a group in braces."""
_OPEN, _CLOSE = "([", ")]"


def bare_formulas(text: str, ends: dict[int, Span], start: int, end: int) -> Iterator[Span]:
    """Runs of LaTeX between `start` and `end`, each on one line but for its environments."""
    position = start
    closes = braces(text)
    while position < end and (match := _START.search(text, position, end)):
        line = max(text.rfind("\n", start, match.start()) + 1, position)
        stop = text.find("\n", match.start(), end)
        position = max(match.end(), stop if stop >= 0 else end)
        run: list[tuple[str, int, int]] = []
        at = line
        while at < position:
            kind, after = _piece(text, at, ends, closes, end)
            if kind == "matrix" and after > position:
                stop = text.find("\n", after, end)
                position = stop if stop >= 0 else end
            if kind == "stop":
                if run:
                    yield from _formula_spans(text, run)
                    run = []
            else:
                run.append((kind, at, after))
            at = after
        yield from _formula_spans(text, run)


def _piece(text: str, at: int, ends: dict[int, Span], closes: dict[int, int], end: int) -> tuple[str, int]:
    """What stands at `at` (`operand`, `joins`, `letter`, `space` …, or `stop` for prose) and where it ends."""
    edge = EDGE.match(text, at) if text[at] in "\\b" else None
    if edge and edge[1] == "begin" and edge[2].rstrip("*") in MATRICES:
        return ("matrix", ends[at][1]) if at in ends and ends[at][1] <= end else ("stop", edge.end())
    found = _PIECE.match(text, at)
    if found is None:
        return "stop", at + 1
    kind = found.lastgroup or "other"
    if kind == "command":
        if found["command"] not in _COMMANDS:
            return "stop", found.end()
        return ("joins" if found["command"] in _JOINS else "operand"), _arguments(closes, found.end())
    if kind == "group":
        close = closes.get(at, -1)
        return ("operand", close + 1) if 0 < close - at < _WIDEST else ("stop", at + 1)
    if kind in {"word", "other", "begin"}:
        return "stop", found.end()
    return {"operator": "joins", "escaped": "operand", "number": "number"}.get(kind, kind), found.end()


def _arguments(closes: dict[int, int], at: int) -> int:
    """After the groups that follow a command."""
    while 0 < (close := closes.get(at, -1)) < at + _WIDEST:
        at = close + 1
    return at


def _formula_spans(text: str, run: list[tuple[str, int, int]]) -> Iterator[Span]:
    """The run without what cannot begin or end a formula, if brackets match and a command or matrix is left in it."""
    run = _trimmed(run)
    for part in _parts(text, run):
        part = _trimmed(part)
        commands = any(kind == "matrix" or (text[start] == "\\" and text[start + 1].isalpha()) for kind, start, _ in part)
        if commands and _is_balanced(text, part) and any(kind in {"operand", "matrix"} for kind, *_ in part):
            yield part[0][1], part[-1][2]


def _trimmed(run: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Without operators, commas, spaces and scripts at the ends."""
    first, last = 0, len(run)
    while first < last and run[first][0] in {"space", "joins", "comma", "script"}:
        first += 1
    while last > first and run[last - 1][0] in {"space", "joins", "comma"}:
        last -= 1
    return run[first:last]


def _parts(text: str, run: list[tuple[str, int, int]]) -> Iterator[list[tuple[str, int, int]]]:
    """Cut where a lone letter stands beside a formula without an operator between them: “a”, “I”, an item's mark."""
    part: list[tuple[str, int, int]] = []
    solid = [entry for entry in run if entry[0] != "space"]
    for index, entry in enumerate(solid):
        kind, start, end = entry
        if kind in {"letter", "number"}:
            left = index > 0 and (solid[index - 1][2] == start or solid[index - 1][0] in {"joins", "comma"})
            right = index + 1 < len(solid) and (solid[index + 1][1] == end or solid[index + 1][0] in _goes_on(kind))
            if not left and part:
                yield part
                part = []
            if not left and not right:
                continue
        part.append(entry)
    yield part


def _goes_on(kind: str) -> set[str]:
    """What may follow with a space between: an operator; behind a number also what it multiplies."""
    return {"joins", "operand", "matrix"} if kind == "number" else {"joins"}


def _is_balanced(text: str, run: list[tuple[str, int, int]]) -> bool:
    """Do the brackets of the run match?"""
    depth = 0
    for kind, start, _ in run:
        if kind == "bracket":
            depth += (text[start] in _OPEN) - (text[start] in _CLOSE)
            if depth < 0:
                return False
    return depth == 0
