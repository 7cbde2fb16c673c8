"""What a formula looks like to someone who asks whether it can be an identity."""

from __future__ import annotations

from workings.check.latex.calls import called_letters
from workings.check.latex.syntax import (
    Cases,
    Derivative,
    Dots,
    Function,
    Given,
    Group,
    Matrix,
    Node,
    Nothing,
    Number,
    Postfix,
    Product,
    Script,
    Sum,
    Symbol,
    Words,
)
from workings.check.value.names import is_closed, is_name, letters_of
from workings.check.value.scope import is_transpose

OPAQUE = (Words, Dots, Given, Cases, Matrix, Nothing)
"""Notation that has no value at random letters."""
MINUS_ONE = Sum((("-", Number("1")),))


def vector_entries(node: Node) -> tuple[Node, ...]:
    """The entries of a vector, written as a list, a row or a column."""
    match node:
        case Group(items=items):
            return items
        case Matrix(rows=rows):
            return tuple(cell for row in rows for cell in row)
        case Script(base=Group() | Matrix() as base):
            return vector_entries(base)
    return ()


def both_call(one: Node, other: Node) -> bool:
    """Whether both sides apply a function such as σ, exp or tanh: such equations are identities, not to be solved."""
    return all(
        any(
            isinstance(part, Function)
            or (isinstance(part, Script) and part.base == Symbol("e") and part.above is not None)
            or (isinstance(part, Product) and Symbol("sigma") in called_letters(part))
            for part in side.walk()
        )
        for side in (one, other)
    )


def is_of_matrices(one: Node, other: Node) -> bool:
    """(AB)ᵀ, (AB)⁻¹: a product of capitals, transposed or inverted, set equal to another one."""
    turned = [
        part for part in one.walk() if isinstance(part, Script) and isinstance(part.base, Group) and part.above is not None
    ]
    marks = {Symbol("T"), Symbol("top")}
    letters = (letters_of(one) | letters_of(other)) - marks
    capitals = all(isinstance(letter, Symbol) and len(letter.name) == 1 and letter.name.isupper() for letter in letters)
    return capitals and any(is_transpose(part.above) or part.above == MINUS_ONE for part in turned if part.above is not None)


def is_letter(node: Node) -> bool:
    """A name alone, which the line defines."""
    return isinstance(node, Symbol | Script | Postfix) and is_name(node)


def has_transpose(node: Node) -> bool:
    """Whether something in it is transposed."""
    return any(isinstance(part, Script) and part.above is not None and is_transpose(part.above) for part in node.walk())


def is_derivative(node: Node) -> bool:
    """∂f/∂x alone, with what it is taken of."""
    return isinstance(node, Derivative) and node.body is not None and len(node.by) == 1


def is_formula(node: Node) -> bool:
    """Something that can be computed from its letters."""
    return not is_closed(node) and not any(isinstance(part, OPAQUE) for part in node.walk())
