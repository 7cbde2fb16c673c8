"""Which side of an equation is a name that gets a value."""

from __future__ import annotations

from workings.check.latex.syntax import (
    Big,
    Chain,
    Derivative,
    Dots,
    Function,
    Group,
    Items,
    Node,
    Number,
    Postfix,
    Product,
    Root,
    Script,
    Sum,
    Symbol,
    Words,
)
from workings.check.value.scope import is_transpose
from workings.check.value.units import has_units, without_units


def is_name(node: Node) -> bool:
    """Whether `node = 3` gives a name its value: x, x_1, x', x^{(2)}, K^T, f(2), P(A | B), log p — but not x², 2x, x + 1."""
    match node:
        case Symbol(name="True" | "False", style=("text",)) | Symbol(name="emptyset" | "varnothing"):
            return False
        case Symbol() | Function():
            return True
        case Derivative(body=Symbol() | Script() as body, by=(Symbol() | Script() as by,)):
            return is_name(body) and is_name(by)
        case Script(base=base, above=above):
            return is_name(base) and (above is None or _is_mark(above))
        case Postfix(body=body, sign="'"):
            return is_name(body)
        case Product(factors=((_, name), ("", Group(open="(" | "[")))):
            return is_name(name)
        case Product(factors=((_, Symbol(name="Delta" | "nabla")), ("", name))):
            return is_name(name)
        case Root(body=Symbol() | Script() as body, degree=None):
            return is_name(body)
    return False


def _is_mark(above: Node) -> bool:
    """Whether a superscript belongs to the name: (t), T, *, +, words; not a power."""
    if is_transpose(above):
        return True
    match above:
        case Group(open="(" | "[" | "⟨") | Words() | Postfix():
            return True
        case Symbol(name=name):
            return name in ("ast", "star", "dagger", "prime", "circ", "*", "+", "-") or len(name) > 2
    return False


def is_matrix_product(node: Node) -> bool:
    """Q K^T: nothing but capital names side by side."""
    return isinstance(node, Product) and all(sign == "" and is_capital(factor) for sign, factor in node.factors)


def is_acronym(node: Node) -> bool:
    """TP, FN: two or three plain capitals side by side."""
    return (
        isinstance(node, Product)
        and len(node.factors) < 4
        and all(
            sign == "" and isinstance(part, Symbol) and len(part.name) == 1 and part.name.isupper()
            for sign, part in node.factors
        )
    )


def is_capital(node: Node) -> bool:
    """A capital letter, with or without marks."""
    while isinstance(node, Script | Postfix):
        if isinstance(node, Script) and not is_name(node):
            return False
        node = node.base if isinstance(node, Script) else node.body
    return isinstance(node, Symbol) and node.name[:1].isupper()


DIFFERENTIALS = {Symbol("d"), Symbol("d", ("rm",))}
"""The d of dx."""
CONSTANTS = {Symbol("e"), Symbol("pi"), Symbol("infty")}


def letters_of(node: Node) -> set[Node]:
    """The free letters of a formula: without e and π, and without the letters that a sum runs over."""
    if isinstance(node, Symbol):
        return {node} if node not in CONSTANTS and _is_letter(node) else set()
    if isinstance(node, Big):
        running = running_letter(node)
        outside = [part for part in (node.below, node.above) if part is not None]
        bound = {running} if running else set()
        if running and node.operator == "∫":
            bound |= DIFFERENTIALS
        return set().union(*(letters_of(part) for part in (*outside, node.body))) - bound
    return set().union(*(letters_of(part) for part in node.children()))


def _is_letter(symbol: Symbol) -> bool:
    """A letter, a word; code in typewriter, whatever it begins with."""
    if symbol.name in ("True", "False", "emptyset", "varnothing"):
        return False
    return symbol.name.lstrip("\\")[:1].isalpha() or "tt" in symbol.style


def variable(big: Big) -> Node | None:
    """The x of ∫ … dx."""
    match big.body:
        case Product(factors=(*_, (_, Symbol(name="d")), (_, Symbol() as letter))) if big.operator == "∫":
            return letter
    return None


def running_letter(big: Big) -> Node | None:
    """The letter that a sum runs over: i in Σ_{i=1}; x in ∫ … dx."""
    if big.operator == "∫":
        return variable(big)
    match big.below:
        case Symbol():
            return big.below
        case Chain(items=(Symbol() as letter, *_)):
            return letter
    return None


def is_closed(node: Node) -> bool:
    """Whether nothing but numbers, units and known functions is written: no letters, no dots, no other words."""
    return _is_closed_as_written(node) or (has_units(node) and _is_closed_as_written(without_units(node)))


def _is_closed_as_written(node: Node) -> bool:
    """Whether nothing but numbers and known functions is written, not even units."""
    if node in CONSTANTS:
        return node == Symbol("infty")  # a lone e or π is a name: an error, an epoch, a policy
    running: set[Node] = set()
    letters: set[Node] = set()
    marks: set[int] = set()
    for part in node.walk():
        match part:
            case Symbol():
                if id(part) not in marks and part not in CONSTANTS and _is_letter(part):
                    letters.add(part)
            case Script(base=base, below=below, above=above) if base in CONSTANTS and (below or isinstance(above, Group)):
                return False  # e₁ and π⁽⁰⁾ are names
            case Script(base=Symbol(name=name), below=Number() | Symbol()) if name.isdigit():
                return False  # a bold 1 with an index is a name
            case Script(above=above) if above is not None and is_transpose(above):
                marks.add(id(above))
            case Big(operator=operator) if (letter := running_letter(part)) is not None:
                running |= {letter, *DIFFERENTIALS} if operator == "∫" else {letter}
            case Dots() | Words() | Function(arguments=()):
                return False
    letters -= running
    return not letters or (letters == {Symbol("sigma")} and all(map(_is_sigmoid, _sigmas(node))))


def _sigmas(node: Node) -> list[Node]:
    """The places at which σ stands, each with what follows it."""
    calls = [
        part for part in node.walk() if isinstance(part, Product) and any(f == Symbol("sigma") for _, f in part.factors)
    ]
    return list(calls) or [node]


def _is_sigmoid(node: Node) -> bool:
    """Whether σ stands before brackets, as the function does."""
    return isinstance(node, Product) and all(
        index + 1 < len(node.factors) and isinstance(node.factors[index + 1][1], Group)
        for index, (_, factor) in enumerate(node.factors)
        if factor == Symbol("sigma")
    )


def is_number(node: Node) -> bool:
    """A printed number, with its sign."""
    match node:
        case Number() | Sum(terms=((_, Number()),)):
            return True
    return False


def unpacked_names(node: Node) -> tuple[Node, ...]:
    """(a, b, c) on the left: its names; none for anything else."""
    items: tuple[Node, ...] = ()
    match node:
        case Group(open="(" | "[", items=found) | Items(parts=found):
            items = found
    return items if len(items) > 1 and all(is_name(item) for item in items) else ()
