"""The evidence lower bound and its signs.

log p(x) = ELBO + KL(q(z|x) ‖ p(z|x)),   ELBO = E[log p(x|z)] − KL(q(z|x) ‖ p(z)) ≤ log p(x)
KL(N(μ, σ²) ‖ N(0, 1)) = ½ Σ (μ² + σ² − 1 − log σ²)
"""

from __future__ import annotations

import re

from flint import arb

from workings.check.argument.argument import Argument
from workings.check.argument.lines import EQUAL, Line
from workings.check.argument.words import decimal
from workings.check.knowledge.divergence import is_divergence, letters
from workings.check.knowledge.nearby import MOST_NAMES, last_before, unit_at, value_at
from workings.check.latex.syntax import (
    Big,
    Function,
    Given,
    Group,
    Matrix,
    Node,
    Number,
    Product,
    Quotient,
    Script,
    Sum,
    Symbol,
)
from workings.check.value.scope import Scope
from workings.check.value.value import Table

_BOUND = re.compile(r"\bELBO\b|lower bound", re.I)
_LOSS = re.compile(r"\bloss|negative|minimi[sz]|\bfree energy", re.I)
_SIGNS = {"1": -1, "log": -1, "mu": 1, "sigma": 1}
"""The sign of each term of the divergence of a Gaussian from the standard one."""


def check_evidence(line: Line, argument: Argument, scope: Scope) -> None:
    """The signs of a bound, of a divergence in letters, and the order of printed numbers."""
    left = line.sides[0]
    if isinstance(left, Number | Matrix) or argument.is_doubtful(line):
        return
    if _is_bound(left, line) or _is_evidence(left):
        _check_below_evidence(line, argument, scope, left)
    parts = [term for _, term in left.terms] if isinstance(left, Sum) else [left]
    for index in range(1, len(line.sides)):
        if line.relations[index - 1] not in EQUAL:
            return
        side = line.sides[index]
        if isinstance(side, Sum) and len(side.terms) == 2:
            _check_bound(line, index, side, argument)
        if any(map(is_divergence, parts)):
            _check_gaussian(line, index, argument)


def _is_bound(node: Node, line: Line) -> bool:
    """ELBO, or a letter that the words around call so."""
    name = letters(node.factors[0][1] if isinstance(node, Product) and len(node.factors) == 2 else node)
    if name.upper().startswith("ELBO"):
        return True
    base = node.factors[0][1] if isinstance(node, Product) else node
    base = base.base if isinstance(base, Script) else base
    curly = isinstance(base, Symbol) and base.name == "L" and "cal" in base.style
    return curly and _BOUND.search(line.words) is not None and _LOSS.search(line.words) is None


def _is_evidence(node: Node) -> bool:
    """log p(x): of one name, without a condition."""
    match node:
        case Function(name="log" | "ln", arguments=(inner,), above=None):
            match inner:
                case Group(items=(Product() as inner,)):
                    pass
            match inner:
                case Product(factors=((_, name), ("", Group(open="(", items=(Symbol() | Script(),))))):
                    return letters(name)[:1] == "p"
    return False


def _is_expectation(node: Node) -> bool:
    """E[… log p(x|z) …]."""
    match node:
        case Product(factors=((_, name), ("", Group(items=(inside,))))):
            name = name.base if isinstance(name, Script) else name
            if isinstance(name, Symbol) and name.name == "E":
                return isinstance(inside, Function) and inside.name in ("log", "ln") and _has_condition(inside)
        case Big(operator="E", body=body):
            return any(
                isinstance(part, Function) and part.name in ("log", "ln") and _has_condition(part) for part in body.walk()
            )
    return False


def _has_condition(node: Node) -> bool:
    """p(x | z)."""
    return any(isinstance(part, Given) and part.sign == "|" for part in node.walk())


def _check_bound(line: Line, index: int, side: Sum, argument: Argument) -> None:
    """ELBO = log p(x) + KL, ELBO = E[log p(x|z)] + KL, log p(x) = ELBO − KL: each with the wrong sign."""
    (first, one), (second, other) = side.terms
    if is_divergence(one) is not None:
        (second, other), (first, one) = side.terms
    if is_divergence(other) is None or first != "+":
        return
    left = line.sides[0]
    if _is_bound(left, line) and second == "+" and (_is_evidence(one) or _is_expectation(one)):
        truth = "log p(x) − KL" if _is_evidence(one) else "E[log p(x|z)] − KL"
        why = "The divergence is subtracted: the bound lies below log p(x), and KL ≥ 0."
    elif _is_evidence(left) and second == "-" and _is_bound(one, line):
        truth, why = "ELBO + KL", "log p(x) lies above its lower bound, and KL ≥ 0 is what is missing."
    else:
        return
    argument.add(line, 0, index, "likely", "bound", truth, why)


def _check_below_evidence(line: Line, argument: Argument, scope: Scope, left: Node) -> None:
    """A printed ELBO is not above a printed log p(x)."""
    index = next(line.closed_sides(), None)
    value = value_at(line, index) if index is not None else None
    if index is None or value is None or isinstance(value, Table) or len(scope.definitions) > MOST_NAMES:
        return
    sign = 1 if _is_bound(left, line) else -1
    for name, given in scope.definitions.items():
        fits = _is_evidence(name) if sign > 0 else letters(name).upper().startswith("ELBO")
        last = last_before(given, line.start, argument.part(line)) if fits else None
        if last is None or isinstance(last.value, Table):
            continue
        if sign * (value - last.value) > abs(value) / 200 + sum(unit_at(line, index), arb(0)):
            place = argument.document.place(last.start).line
            limit = decimal(last.value)
            why = f"The bound lies below log p(x): ELBO = log p(x) − KL, and KL ≥ 0 (line {place} has {limit})."
            truth = f"{'at most' if sign > 0 else 'at least'} {limit}"
            argument.add(line, 0, index, "likely", "bound", truth, why)
        return


def _check_gaussian(line: Line, index: int, argument: Argument) -> None:
    """KL = ½ Σ (μ² + σ² − 1 − log σ²), in whatever order."""
    left = line.sides[0]
    sign = 1
    if isinstance(left, Sum):
        if len(left.terms) != 1:
            return
        sign = -1 if left.terms[0][0] == "-" else 1
    found = _gaussian_terms(line.sides[index], sign)
    if found is None or found == _SIGNS:
        return
    right = {name: -sign for name, sign in found.items()} == _SIGNS
    truth = "½ Σ (μ² + σ² − 1 − log σ²)"
    why = "The sign in front is lost: this would be −KL, which is never positive." if right else "A sign in it is wrong."
    argument.add(line, 0, index, "likely", "divergence", truth, f"{why} KL = {truth}, which is 0 at μ = 0, σ = 1.")


def _gaussian_terms(node: Node, sign: int) -> dict[str, int] | None:
    """The sign of each of the four terms; none if the formula is another one."""
    while True:
        match node:
            case Sum(terms=((outer, inner),)):
                sign, node = -sign if outer == "-" else sign, inner
            case (
                Group(open="(" | "[" | "{", items=(inner,))
                | Big(operator="∑", body=inner)
                | Quotient(above=inner, below=Number(text="2"))
            ):
                node = inner
            case Product(factors=((_, half), ("" | "·" | "*", inner))) if _is_half(half):
                sign, node = sign * _is_half(half), inner
            case Sum(terms=terms) if len(terms) == 4:
                break
            case _:
                return None
    found = {kind: sign * (-1 if s == "-" else 1) for s, term in terms if (kind := _kind_of(term)) and s in "+-"}
    return found if len(found) == 4 else None


def _is_half(node: Node) -> int:
    """1 for ½, −1 for −½, otherwise 0."""
    match node:
        case Quotient(above=Number(text="1"), below=Number(text="2")) | Number(text="0.5"):
            return 1
        case Quotient(above=Sum(terms=(("-", Number(text="1")),)), below=Number(text="2")):
            return -1
        case Sum(terms=((outer, inner),)):
            return -_is_half(inner) if outer == "-" else _is_half(inner)
        case Group(items=(inner,)):
            return _is_half(inner)
    return 0


def _kind_of(term: Node) -> str:
    """Which of the four terms it is."""
    match term:
        case Number(text="1"):
            return "1"
        case Function(name="log" | "ln", arguments=(inner,)):
            return "log" if _squared_letter(inner) == "sigma" else ""
        case Product(factors=((_, Number(text="2")), (_, Function(name="log" | "ln", arguments=(inner,))))):
            return "log" if isinstance(_base_of(inner), Symbol) and letters(_base_of(inner)) == "sigma" else ""
    name = _squared_letter(term)
    return name if name in _SIGNS else ""


def _base_of(node: Node) -> Node:
    """A name without its index."""
    while isinstance(node, Script | Group):
        if isinstance(node, Group) and len(node.items) != 1:
            return node
        node = node.base if isinstance(node, Script) else node.items[0]
    return node


def _squared_letter(node: Node) -> str:
    """The letter of x², x_j², (x_j)²."""
    if isinstance(node, Group) and len(node.items) == 1:
        node = node.items[0]
    match node:
        case Script(base=base, above=Number(text="2")):
            return letters(_base_of(base))
    return ""
