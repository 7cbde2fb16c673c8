"""What else two sides may mean that are not equal as they stand: another unit, another size, a step of an elimination."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from flint import arb

from workings.check.argument.align import Alignment
from workings.check.argument.roles import is_literal
from workings.check.claims.claim import Claim
from workings.check.latex.calls import called_letters
from workings.check.latex.parse import ParseError, parse
from workings.check.latex.syntax import Group, Matrix, Node, Number, Product, Words
from workings.check.latex.weights import plain
from workings.check.value.compare import Side, Verdict
from workings.check.value.rounding import Judgement
from workings.check.value.units import are_comparable, unit_texts
from workings.check.value.value import entries

_SCALES = [*(10**k for k in (2, 3, 6, 9, 12)), *(1024**k for k in (1, 2, 3)), 60, 3600, 24, 86400]
"""How many of a smaller unit make a larger one."""


_OTHER_MARKS = (
    (re.compile(r"(?<=\d)(?:\{,\}|,)(?=\d{3}(?!\d|\{?,))"), "."),
    (re.compile(r"(?<![\d.,])([1-9]\d{0,2})((?:\.\d{3})+)(?![\d.,])"), ""),
)
"""1,177 as a decimal, and 1.000 as a thousand: what many languages mean by comma and point."""


def with_other_marks(one: Side, other: Side) -> Iterator[tuple[Side, Side]]:
    """The sides with commas as decimal points, or points between thousands, on one side or on both."""
    for marks, sign in _OTHER_MARKS:
        read = [_with_marks(side, marks, sign) for side in (one, other)]
        for left, right in ((read[0], other), (one, read[1]), (read[0], read[1])):
            if left is not None and right is not None:
                yield left, right


def _with_marks(side: Side, marks: re.Pattern[str], sign: str) -> Side | None:
    text = marks.sub(lambda found: sign or found.group().replace(".", ""), side.text)
    if text == side.text:
        return None
    try:
        return Side(parse(text), text)
    except ParseError:
        return None


def has_comparable_units(claim: Claim) -> bool:
    """Whether it is known what the units of the two sides, in them and behind them, are to each other."""
    behind = claim.line.units
    ours, theirs = (
        unit_texts(known.side.node) | ({behind[known.index]} if known.index in behind else set())
        for known in (claim.one, claim.other)
    )
    return are_comparable(ours, theirs)


def is_rescaled(judgement: Judgement) -> bool:
    """Whether two numbers differ by the step from one unit to another: 2408448 ≈ 2.4 million."""
    pairs = list(zip(entries(judgement.left), entries(judgement.right), strict=True))
    return any(
        all(abs(a - s * b) <= abs(a) / 20 or abs(s * a - b) <= abs(b) / 20 for a, b in pairs) for s in map(arb, _SCALES)
    )


def is_loose(claim: Claim, verdict: Verdict) -> bool:
    """Whether two printed numbers are said to be about equal, and are within a hundredth."""
    judgement = verdict.judgement
    if judgement is None or judgement.shapes or not claim.about:
        return False
    if not (is_literal(claim.one.side.node) and is_literal(claim.other.side.node)):
        return False
    return all(abs(x - y) <= abs(x) / 100 for x, y in zip(entries(judgement.left), entries(judgement.right), strict=True))


def is_rearranged(claim: Claim) -> bool:
    """Whether words behind a comma say what was done with a side: W, axis 1 split into 2 × 2."""
    parts = [part for known in (claim.one, claim.other) for part in known.side.node.walk()]
    return any(isinstance(part, Words) and part.text.lstrip().startswith(",") for part in parts)


def has_same_entries(verdict: Verdict) -> bool:
    """Whether the sides have the same entries in the same order, whatever their shapes."""
    judgement = verdict.judgement
    if judgement is None:
        return False
    one, other = entries(judgement.left), entries(judgement.right)
    return len(one) == len(other) and all(abs(x - y) <= abs(x) / 1000 for x, y in zip(one, other, strict=True))


def is_step_of_elimination(claim: Claim, verdict: Verdict) -> bool:
    """Two printed tables that hardly agree, or one beside a number: rows were reduced, or a determinant is meant."""
    judgement, one, other = verdict.judgement, claim.one.side.node, claim.other.side.node
    if judgement is None or not (is_literal(one) and is_literal(other)):
        return False
    if _is_list(one) != _is_list(other):
        return True
    return isinstance(one, Matrix) and not judgement.shapes and 3 * judgement.off > len(entries(judgement.left))


def _is_list(node: Node) -> bool:
    """A table, or a list of several numbers: (0, 1.5) = 0 says what is found at that point."""
    return isinstance(node, Matrix) or (isinstance(node, Group) and len(node.items) > 1)


def is_partly_computed(one: Node, other: Node) -> bool:
    """Whether one side is the other with some of its parts computed: e^{−0.01} (p a + q b) and 0.99 × 24.9."""
    found = Alignment()
    return found.fit(one, other) and not found.letters and bool(found.computed) and found.computed[0][0] is not one


def called_names(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """The letters that stand right before brackets, as functions do."""
    for node in nodes:
        for part in node.walk():
            if isinstance(part, Product):
                yield from map(plain, called_letters(part))


def has_sliding_kernel(claim: Claim) -> bool:
    """Whether a kernel is slid over a table: X * K."""
    return any(
        isinstance(part, Product) and any(sign in ("*", "⋆") for sign, _ in part.factors)
        for known in (claim.one, claim.other)
        for part in known.side.node.walk()
    )


def sizes_agree(left: Node, right: Node) -> bool:
    """(2 × 3)(3 × 4) = 2 × 4: sizes of a product of matrices, not numbers."""
    shapes = [_size_of(factor) for _, factor in left.factors] if isinstance(left, Product) else []
    result = _size_of(right)
    if len(shapes) < 2 or result is None or any(shape is None for shape in shapes):
        return False
    known = [shape for shape in shapes if shape is not None]
    return all(a[1] == b[0] for a, b in pairwise(known)) and (known[0][0], known[-1][1]) == result


def _size_of(node: Node) -> tuple[str, str] | None:
    """The two numbers of 2 × 3."""
    match node:
        case Group(open="(" | "[", items=(item,)):
            return _size_of(item)
        case Product(factors=((_, Number(text=n)), ("×", Number(text=m)))):
            return n, m
    return None
