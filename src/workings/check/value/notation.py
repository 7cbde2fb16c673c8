"""Notation that an author may give a meaning of their own: ⟨x, y⟩, ‖x‖ and a ∗ b, with or without an index.

What they have in common is a form with places for operands. The form with its places empty is the key under which the
author's rule is kept: ⟨ , ⟩, ‖ ‖_∗, ∗.
"""

from __future__ import annotations

from workings.check.latex.syntax import Group, Node, Nothing, Product, Script, Symbol

_HOLE = Nothing()
_USUAL_SIGNS = ("", "·", "×", "÷", "mod", "unit", "∪", "∩", "∖")
"""Signs between two operands that nobody gives a meaning of their own."""
_USUAL_NORMS = ("1", "2", "F", "infty")


def form_of(node: Node) -> tuple[Node, tuple[Node, ...]] | None:
    """The form of ⟨x, y⟩ or ‖x‖, and what stands in its places; none for anything else.

    >>> from workings.check.latex.parse import parse
    >>> form_of(parse(r"\\langle a, b \\rangle_M")) is not None, form_of(parse("(a, b)"))
    (True, None)
    """
    match node:
        case Group(open="⟨" | "‖" | "‖‖" as opened, items=items, close=closed) if 1 <= len(items) <= 2:
            return Group(opened, (_HOLE,) * len(items), closed), items
        case Script(base=Group() as base, below=Node() as below, above=None):
            inner = form_of(base)
            return None if inner is None else (Script(inner[0], below), inner[1])
    return None


def form_of_sign(sign: str) -> Node:
    """The form of a ∗ b, by its sign."""
    return Product((("", _HOLE), (sign, _HOLE)))


def own_notation(left: Node, right: Node, is_defined: bool) -> tuple[Node, tuple[Node, ...]] | None:
    """The form that an equation gives a meaning, and its operands; `is_defined` says that the words or := introduce it.

    A sign between two letters explained by a formula in them speaks for itself; brackets and bars need to be introduced, as
    ‖x‖ = … is often a calculation.
    """
    match left:
        case Product(factors=((_, Symbol() as a), (sign, Symbol() as b))) if sign not in _USUAL_SIGNS:
            return (form_of_sign(sign), (a, b)) if a != b and _explains(right, (a, b)) else None
    found = form_of(left) if is_defined else None
    if found is None or not all(isinstance(letter, Symbol) for letter in found[1]) or len(set(found[1])) < len(found[1]):
        return None
    match left:
        case Script(base=Group(open="‖"), below=below) if getattr(below, "text", getattr(below, "name", "")) in _USUAL_NORMS:
            return None
    by_itself = any((inner := form_of(part)) is not None and inner[0] == found[0] for part in right.walk())
    return found if _explains(right, found[1]) and not by_itself else None


def _explains(formula: Node, letters: tuple[Node, ...]) -> bool:
    """Whether a formula says something of all these letters."""
    parts = set(formula.walk())
    return all(letter in parts for letter in letters) and formula not in letters
