"""What is computed of listed distributions.

H(p) = −Σ p log p,  H(p, q) = −Σ p log q,  KL(p ‖ q) = Σ p log(p / q)
"""

from __future__ import annotations

import re

from flint import arb

from workings.check.argument.argument import Argument
from workings.check.argument.lines import Line
from workings.check.argument.words import decimal
from workings.check.knowledge.distributions import SHARES
from workings.check.knowledge.nearby import agrees, definition_before, unit_at, value_at
from workings.check.latex.syntax import Given, Group, Node, Product, Script, Symbol
from workings.check.latex.weights import plain
from workings.check.value.scope import Decimals, Scope
from workings.check.value.value import Table, Value

_BITS = re.compile(r"\bbits?\b|\blog_2|\bbase 2")
_BASES = {"": arb(1), "base 2": arb(2).log(), "base 10": arb(10).log()}


def is_divergence(node: Node) -> Given | None:
    """KL(p ‖ q), D_KL(p ‖ q): what stands in its brackets."""
    match node:
        case Product(factors=((_, name), ("", Group(open="(" | "[" | "{", items=(Given(sign="‖") as given,))))):
            return given if letters(name) in ("KL", "DKL") else None
    return None


def letters(node: Node | None) -> str:
    """The letters of a name, in the order of writing: DKL of D_{KL}."""
    match node:
        case Symbol(name=name):
            return name
        case Script(base=base, below=below, above=None):
            return letters(base) + letters(below)
        case Product(factors=factors):
            return "".join(letters(factor) for _, factor in factors)
    return ""


def _quantity_of(node: Node) -> tuple[str, tuple[Node, ...]] | None:
    """What is computed of which distributions."""
    given = is_divergence(node)
    if given is not None:
        return "KL", (given.body, given.condition)
    match node:
        case Product(factors=((_, name), ("", Group(open="(" | "[", items=items)))) if len(items) in (1, 2):
            if letters(name) == "H" and not any(isinstance(item, Given) for item in items):
                return "H", items
    return None


def _divergence(what: str, p: list[arb], q: list[arb]) -> arb | None:
    """Σ p log(p / q), or −Σ p log q; none if it is infinite."""
    total = arb(0)
    for x, y in zip(p, q, strict=True):
        if x.is_zero():
            continue
        if not x > 0 or not y > 0:
            return None
        total += x * (x / y).log() if what == "KL" else -x * y.log()
    return total


def check_divergence(line: Line, argument: Argument, scope: Scope) -> None:
    """A printed entropy or divergence of distributions that the document lists."""
    found = _quantity_of(line.sides[0])
    if found is None:
        return
    index = next(line.closed_sides(), None)
    if index is None or argument.is_doubtful(line) or argument.has_finding(line, index):
        return
    printed = value_at(line, index, Decimals.ROUNDED)
    what, names = found
    if printed is None or isinstance(printed, Table):
        return
    if what == "KL" and printed < 0 and printed.mid() + sum(unit_at(line, index), arb(0)) < 0:
        why = "A divergence is never negative: Σ p log(p/q) ≥ 0, and 0 only for p = q."
        argument.add(line, 0, index, "likely", "divergence", "a number ≥ 0", why)
        return
    given = [definition_before(argument, scope, name, line) for name in names]
    lists = [_shares_of(d.rounded) for d in given if d is not None]
    exact = [_shares_of(d.value) for d in given if d is not None]
    if len(lists) != len(names) or any(x is None for x in lists + exact):
        return
    if what == "H" and plain(names[0]) not in SHARES and not re.search("entrop", argument.window(line, 600), re.I):
        return
    _compare_divergence(line, index, argument, what, printed, [x for x in lists if x], [x for x in exact if x])


def _shares_of(value: Value) -> list[arb] | None:
    """The entries of a distribution."""
    if not isinstance(value, Table) or not value.is_vector or any(x < 0 for x in value.entries):
        return None
    return value.entries if abs(sum(value.entries, arb(0)) - 1).abs_lower() < 0.02 else None


def _compare_divergence(
    line: Line, index: int, argument: Argument, what: str, printed: arb, lists: list[list[arb]], exact: list[list[arb]]
) -> None:
    """The printed number against the true one, for each base of the logarithm."""
    if len({len(x) for x in lists}) != 1:
        return
    p, q = lists[0], lists[-1]
    shown = unit_at(line, index)
    for log in _BASES.values():
        for a, b in ((p, q), (exact[0], exact[-1])):
            true = _divergence(what, a, b)
            if true is None or agrees(true / log, printed, shown):
                return
    base = "base 2" if _BITS.search(line.words) else ""
    log = _BASES[base]
    true = _divergence(what, exact[0], exact[-1])
    assert true is not None
    name = {"KL": "Σ p log(p/q)", "H": "−Σ p log q" if len(lists) == 2 else "−Σ p log p"}[what]
    swapped = _divergence(what, q, p) if len(lists) == 2 else None
    is_swapped = swapped is not None and any(agrees(swapped / v, printed, shown) for v in _BASES.values())
    more = " The printed number has the two distributions swapped." if is_swapped else ""
    truth = decimal(true / log, shown[0] if shown else None)
    why = f"{name} of the listed distributions is {truth}.{more}"
    argument.add(
        line, 0, index, "likely", "divergence" if what == "KL" else "entropy", truth, why, base and f"log has {base}"
    )
