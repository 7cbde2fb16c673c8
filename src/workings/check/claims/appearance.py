"""What a formula looks like to someone who asks whether it can be an identity."""

from __future__ import annotations

from workings.check.latex.calls import called_letters, uncalled_letters
from workings.check.latex.syntax import (
    Big,
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
    Quotient,
    Root,
    Script,
    Sum,
    Symbol,
    Words,
)
from workings.check.latex.weights import plain
from workings.check.value.names import is_closed, is_name, letters_of, running_letter
from workings.check.value.scope import is_transpose

OPAQUE = (Words, Dots, Given, Cases, Matrix, Nothing)
"""Notation that has no value at random letters."""
_MINUS_ONE = Sum((("-", Number("1")),))


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
    return capitals and any(
        is_transpose(part.above) or part.above == _MINUS_ONE for part in turned if part.above is not None
    )


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


_ELEMENTARY = frozenset("exp log ln sin cos tan sinh cosh tanh arctan sqrt".split())


def indexed_names(node: Node, running: set[Node]) -> set[Node]:
    """The names with an index in letters that no sum runs over: x_n, but not x_1, and not the x_i of Σ_i x_i."""
    return {
        plain(part)
        for part in node.walk()
        if isinstance(part, Script)
        and is_name(part)
        and (_is_marked(part) or (part.below is not None and letters_of(part.below) - running))
    }


def is_algebra(node: Node) -> bool:
    """Whether nothing but numbers, small letters, the four operations, powers and elementary functions stand in it."""
    factors = uncalled_letters(node)
    for part in node.walk():
        match part:
            case Number() | Sum() | Product() | Quotient() | Group(open="(" | "[" | "{") | Root():
                if isinstance(part, Product) and any(plain(name) not in factors for name in called_letters(part)):
                    return False
            case Script(base=base, above=above):
                if above is not None and not is_closed(above) and base != Symbol("e"):
                    return False
            case Function(name=name):
                if name not in _ELEMENTARY:
                    return False
            case Symbol(name=name):
                if name[:1].isupper():
                    return False
            case _:
                return False
    return True


def sums_silently(product: Product) -> bool:
    """x_i a_{ij} x_j: an index that stands twice in a product is summed over, by a common convention."""
    below = [f.below for _, f in product.factors if isinstance(f, Script) and f.below is not None]
    letters = [letter for index in below for letter in letters_of(index)]
    return len(letters) > len(set(letters)) and len(below) > 1 and any(len(letters_of(index)) > 1 for index in below)


def _is_marked(name: Script) -> bool:
    """x^*, S^+, A^c: a name of its own beside x, S, A."""
    return name.above is not None and not is_transpose(name.above)


def running_letters(nodes: tuple[Node, ...]) -> set[Node]:
    """The letters that sums run over."""
    found = {running_letter(part) for node in nodes for part in node.walk() if isinstance(part, Big)}
    return {letter for letter in found if letter is not None}
