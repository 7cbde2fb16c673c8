"""What a document has defined so far: values of names, and functions.

A name is any piece of notation that a document gives a value: `Q`, `d_k`, `W_Q^{(1)}`, `K^\\top`, `QK^\\top`, `P(y = 1)`. It
is kept as its syntax tree, which is equal to another if both are written alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from flint import arb

from workings.check.latex.syntax import (
    Derivative,
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
)
from workings.check.latex.weights import plain
from workings.check.value.value import Table, Value

_NAMES = (Symbol, Script, Postfix, Product, Function, Root, Derivative)
"""The kinds of notation that can be a name."""


def is_transpose(above: Node) -> bool:
    """Whether a superscript means the transpose."""
    return isinstance(above, Symbol) and above.name in ("T", "top", "intercal", "tr", "transpose")


class Decimals(Enum):
    """What a printed decimal stands for: itself, all that rounds to it, or the number that the document rounded to it."""

    PRINTED = "printed"
    ROUNDED = "rounded"
    BEHIND = "behind"


EVERY = -1
"""Places from which on decimals count as rounded: all, even `2.3`, which is otherwise taken at its word."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A name's value in each sense of its decimals, and where it was given."""

    value: Value
    rounded: Value
    behind: Value
    start: int
    """Where it was given, as a position in the document's text."""
    part: int = 0
    """The part of the document (problem, section) in which it was given."""


@dataclass(frozen=True, slots=True)
class Rule:
    """f(x, y) = body."""

    names: tuple[Node, ...]
    body: Node
    start: int
    part: int = 0


def indexed(node: Node, letters: Mapping[Node, Value]) -> Node:
    """A name with the letters in its index replaced by their whole numbers: x_i is x_3 where i = 3."""
    if isinstance(node, Script):
        below = _whole_index(node.below, letters) if node.below else None
        above = _whole_index(node.above, letters) if node.above else None
        return Script(node.base, below, above)
    return node


def _whole_index(node: Node, letters: Mapping[Node, Value]) -> Node:
    """An index with its letters replaced: i, t − 1, (t + 1), {i, j}; otherwise as it is."""
    match node:
        case Symbol():
            value = letters.get(node)
            if value is not None and not isinstance(value, Table) and value.is_integer():
                return Number(str(int(float(value))))
        case Sum(terms=terms):
            parts = [(sign, _whole_index(term, letters)) for sign, term in terms]
            if all(sign in "+-" and isinstance(term, Number) and term.text.isdigit() for sign, term in parts):
                total = sum(int(f"{sign}{term.text}") for sign, term in parts if isinstance(term, Number))
                return Number(str(total)) if total >= 0 else node
        case Group(open=opened, items=items, close=closed):
            return Group(opened, tuple(_whole_index(item, letters) for item in items), closed)
        case Items(parts=found):
            return Items(tuple(_whole_index(item, letters) for item in found))
        case Product(factors=factors):
            return Product(tuple((sign, _whole_index(factor, letters)) for sign, factor in factors))
    return node


@dataclass
class Scope:
    """The definitions that hold at a place of a document. `letters` are bound by a sum or a function around it."""

    definitions: Mapping[Node, list[Definition]] = field(default_factory=dict)
    functions: Mapping[Node, Rule] = field(default_factory=dict)
    notations: Mapping[Node, Rule] = field(default_factory=dict)
    """The author's own meanings of forms such as ⟨ , ⟩ and ∗."""
    letters: dict[Node, Value] = field(default_factory=dict)
    one_weight: bool = True
    """Whether a bold and a plain letter are one name in this document."""
    behind: dict[str, arb | None] = field(default_factory=dict)
    """For a printed decimal the number that was rounded to it; none if there were two."""
    imaginary: Symbol | None = None
    """The letter that is √−1 in this problem."""
    used: set[Node] | None = None
    """If given, every name whose value was asked for and known is noted here."""
    called: set[Node] | None = None
    """Likewise every function."""

    def name(self, node: Node) -> Node:
        """The form under which a name is kept."""
        return plain(node) if self.one_weight else node

    def definition(self, node: Node) -> Definition | None:
        """The last definition of a name."""
        if not self.definitions or not isinstance(node, _NAMES):
            return None
        if self.letters and isinstance(node, Script) and node.base in self.letters:
            return None  # an entry of what is bound here
        name = self.name(node)
        found = self.definitions.get(name)
        if found is None and self.letters and isinstance(name, Script):
            name = indexed(name, self.letters)
            found = self.definitions.get(name)
        if found is None:
            return None
        if self.used is not None:
            self.used.add(name)
        return found[-1]

    def value(self, node: Node, decimals: Decimals = Decimals.PRINTED) -> Value | None:
        """The value of a name, if it is known."""
        if self.letters and isinstance(node, Symbol):
            bound = self.letters.get(node)
            if bound is not None:
                return bound
        known = self.definition(node)
        if known is None:
            return None
        if decimals is Decimals.PRINTED:
            return known.value
        return known.rounded if decimals is Decimals.ROUNDED else known.behind

    def function(self, name: Node) -> Rule | None:
        """The definition of a function, if it has one."""
        found = self.functions.get(self.name(name)) if self.functions else None
        if found is not None and self.called is not None:
            self.called.add(self.name(name))
        return found

    def notation(self, form: Node) -> Rule | None:
        """The author's own meaning of a form, if it has one."""
        found = self.notations.get(form) if self.notations else None
        if found is not None and self.called is not None:
            self.called.add(form)
        return found

    def bound(self, letters: Mapping[Node, Value]) -> Scope:
        """The same scope inside a sum or a function, where these letters have these values."""
        return replace(self, letters={**self.letters, **letters})

    def define(self, node: Node, definition: Definition) -> None:
        """Give a name a value."""
        assert isinstance(self.definitions, dict)
        self.definitions.setdefault(self.name(node), []).append(definition)
