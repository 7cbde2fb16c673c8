"""Arithmetic of remainders: sums, products, powers and inverses modulo n, of numbers and of residue classes [3], 3̄.

A formula is computed part by part modulo n, so that 3⁻¹ is the number by which 3 gives 1, and not a third.
"""

from __future__ import annotations

from math import gcd

from flint import arb

from workings.check.latex.syntax import Function, Group, Node, Number, Product, Quotient, Script, Sum
from workings.check.value.evaluation.context import EvaluationContext, value
from workings.check.value.value import Undecided, scalar


def remainder(node: Node, n: int, context: EvaluationContext) -> int:
    """The remainder of a formula modulo n, or `Undecided`."""

    def inner(part: Node) -> int:
        return remainder(part, n, context)

    match node:
        case Sum(terms=terms) if all(sign in "+-" for sign, _ in terms):
            return sum(inner(term) if sign == "+" else -inner(term) for sign, term in terms) % n
        case Product(factors=((_, body), ("mod", number))) if _whole(number, context) == n:
            return inner(body)
        case Product(factors=factors) if all(sign in ("", "·", "×", "*") for sign, _ in factors):
            result = 1
            for _, factor in factors:
                result = result * inner(factor) % n
            return result
        case Quotient(above=above, below=below):
            return inner(above) * _inverse(inner(below), n) % n
        case Script(base=base, below=None, above=Node() as power):
            exponent = _whole(power, context)
            return pow(inner(base) if exponent >= 0 else _inverse(inner(base), n), abs(exponent), n)
        case Script(base=Group(open="[", items=(only,)), below=Number(text=text), above=None) if text == str(n):
            return inner(only)
        case Group(open="(" | "[", items=(only,)) | Function(name="overline" | "bar", arguments=(only,)):
            return inner(only)
    return _whole(node, context) % n


def _inverse(x: int, n: int) -> int:
    if gcd(x, n) != 1:
        raise Undecided(f"{x} has no inverse modulo {n}")
    return pow(x, -1, n)


def _whole(node: Node, context: EvaluationContext) -> int:
    """A whole number as it is written."""
    found: arb = scalar(value(node, context))
    whole = found.unique_fmpz()
    if whole is None or not found.is_integer():
        raise Undecided("a remainder of what is no whole number")
    return int(whole)


def modulo(node: Node, n: int) -> Node:
    """The formula modulo n."""
    return Product((("", node), ("mod", Number(str(n)))), span=node.span)


def has_class(node: Node) -> bool:
    """Whether a residue class such as [3] or 3̄ stands in it."""
    for part in node.walk():
        match part:
            case Group(open="[", items=(Number(),)) | Function(name="overline" | "bar", arguments=(Number(),)):
                return True
    return False
