"""Sizes in letters: Q ∈ ℝ^{n×d}, and what follows for products, sums and transposes.

A size is compared at random values of its letters, so that n·d and d·n are one and n and d are two. A vector in ℝ^d may
stand as a column or as a row: every part of a formula has a set of possible shapes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from flint import arb

from workings.check.latex.one_line import one_line
from workings.check.latex.syntax import (
    Function,
    Group,
    Labelled,
    Node,
    Number,
    Postfix,
    Product,
    Quotient,
    Root,
    Script,
    Sum,
    Symbol,
)
from workings.check.latex.weights import plain
from workings.check.value.evaluate import EvaluationContext, evaluate
from workings.check.value.names import letters_of
from workings.check.value.sample import Sample
from workings.check.value.scope import is_transpose
from workings.check.value.value import Mismatch, Table, Undecided

_ENTRYWISE = frozenset(
    "exp log ln tanh sigmoid relu gelu silu swish softplus softmax softargmax logsoftmax sin cos abs sqrt layernorm dropout"
    "".split()
)


@dataclass(frozen=True)
class Size:
    """One side of a shape: its value at random letters, and how it is written."""

    value: arb
    text: str

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Size):
            return False
        if self.is_number != other.is_number and "1" not in (self.text, other.text):
            return True  # n may well be 3
        return bool(self.value.overlaps(other.value))

    def __hash__(self) -> int:
        return 0

    @property
    def is_number(self) -> bool:
        """Whether it is written without letters."""
        return not any(map(str.isalpha, self.text))


Shape = tuple[Size, Size]
Shapes = tuple[Shape, ...]
"""The shapes that a part of a formula may have; the empty tuple is a number."""
_NUMBER: Shapes = ()
_ONE = Size(arb(1), "1")


def _axes(node: Node) -> list[Node]:
    """The sizes in 2h × (d + 1), which are two."""
    if not isinstance(node, Product):
        return [node]
    groups: list[list[tuple[str, Node]]] = [[]]
    for sign, factor in node.factors:
        if sign == "×":
            groups.append([])
        groups[-1].append(("" if sign == "×" else sign, factor))
    return [group[0][1] if len(group) == 1 else Product(tuple(group)) for group in groups]


class Unfit(Exception):
    """Two parts of a formula cannot stand together; the message says which and why."""


def shapes_text(shapes: Shapes) -> str:
    """Shapes in words: n × d."""
    return " or ".join(f"{n.text} × {m.text}" for n, m in shapes) or "a number"


@dataclass
class Sizes:
    """What is known about the shapes of names."""

    sample: Sample = field(default_factory=lambda: Sample(seed=7))
    declared: dict[Node, Shapes] = field(default_factory=dict)
    tables: dict[Node, tuple[int, int]] = field(default_factory=dict)
    """The shapes of the names that have a matrix for their value."""
    scalars: set[Node] = field(default_factory=set)
    """The letters that stand in sizes: they are numbers."""

    def size(self, node: Node) -> Size | None:
        """A size as it is written: n, d_k, 2n + 1, 512."""
        try:
            value = evaluate(node, EvaluationContext(self.sample))
        except (Undecided, Mismatch):
            return None
        return None if isinstance(value, Table) else Size(value, one_line(node))

    def of_space(self, node: Node) -> Shapes | None:
        """The shapes of ℝ^{n×d} or ℝ^d; none if it is something else."""
        match node:
            case Script(base=Symbol(name="R", style=style), below=None, above=above) if above is not None and "bb" in style:
                factors = _axes(above)
                sizes = [self.size(factor) for factor in factors]
                if len(sizes) > 2 or any(size is None for size in sizes):
                    return None
                self.scalars |= {plain(letter) for factor in factors for letter in letters_of(factor)}
                self.scalars |= {plain(part) for factor in factors for part in factor.walk() if isinstance(part, Script)}
                known = [size for size in sizes if size is not None]
                if len(known) == 2:
                    return ((known[0], known[1]),)
                return ((known[0], _ONE), (_ONE, known[0]))
        return None

    def shapes(self, node: Node) -> Shapes | None:
        """The possible shapes of a formula; none if they are not known."""
        name = plain(node)
        if name in self.declared:
            return self.declared[name]
        if name in self.tables:
            n, m = self.tables[name]
            return ((Size(arb(n), str(n)), Size(arb(m), str(m))),)
        if name in self.scalars:
            return _NUMBER
        match node:
            case Number() | Root() | Postfix(sign="!" | "%"):
                return _NUMBER
            case Script(base=base, below=below, above=above) if above is not None and is_transpose(above):
                inner = self.shapes(base if below is None else Script(base, below))
                return None if inner is None else tuple((m, n) for n, m in inner)
            case Group(open="(" | "[", items=(item,)):
                return self.shapes(item)
            case Labelled(body=body):
                return self.shapes(body)
            case Function(name=function, arguments=(argument,), above=above):
                if function not in _ENTRYWISE:
                    return None
                inner = self.shapes(argument)
                if inner is not None and above is not None and is_transpose(above):
                    return tuple((m, n) for n, m in inner)
                return inner
            case Quotient(above=above, below=below):
                return self.shapes(above) if self.shapes(below) == _NUMBER else None
            case Product(factors=factors):
                return self.product([(sign, factor) for sign, factor in factors])
            case Sum(terms=terms):
                return self.sum([term for _, term in terms])
        return None

    def product(self, factors: list[tuple[str, Node]]) -> Shapes | None:
        """A B C, from left to right; the first pair that does not fit is reported."""
        result: Shapes | None = _NUMBER
        before = ""
        for index, (sign, factor) in enumerate(factors):
            follows = factors[index + 1][1] if index + 1 < len(factors) else None
            called = isinstance(factor, Symbol | Script) and isinstance(follows, Group) and follows.open in ("(", "[")
            if called and self.shapes(factor) is None:
                return None  # it may be a function
            shapes = self.shapes(factor)
            if shapes is None or result is None:
                return None
            text = one_line(factor)
            if result == _NUMBER or shapes == _NUMBER:
                result = shapes if result == _NUMBER else result
            elif sign in ("⊙", "∘"):
                both = tuple(shape for shape in result if shape in shapes)
                if not both:
                    raise Unfit(f"{before} is {shapes_text(result)}, {text} is {shapes_text(shapes)}: ⊙ needs one shape")
                result = both
            elif sign == "⊗":
                return None
            else:
                fitting = tuple((n, m) for n, k in result for j, m in shapes if k == j)
                if not fitting:
                    raise Unfit(
                        f"{before} is {shapes_text(result)} and {text} is {shapes_text(shapes)}: "
                        "the inner sizes of a product must agree"
                    )
                result = fitting
            before = f"{before} {text}".strip()
        return result

    def sum(self, terms: list[Node]) -> Shapes | None:
        """A + B: one shape; a row or a column may be repeated, a number added to each entry."""
        known = [(term, self.shapes(term)) for term in terms]
        if any(shapes is None or shapes == _NUMBER for _, shapes in known):
            return None
        first, result = known[0]
        assert result is not None
        for term, shapes in known[1:]:
            assert shapes is not None
            both = tuple(shape for shape in result if shape in shapes)
            if both:
                result = both
            elif any(_ONE in shape for shape in result + shapes):
                return None
            else:
                a, b = one_line(first), one_line(term)
                raise Unfit(f"{a} is {shapes_text(result)} and {b} is {shapes_text(shapes)}: a sum needs one shape")
        return result
