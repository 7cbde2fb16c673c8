"""The syntax tree of a formula: what is written, before anybody decides what it means.

A node knows where it stands in the formula's source (`span`, character positions), so that a verdict can point at it. Where
notation is ambiguous the tree keeps what is written (`Product` with no sign between its factors, `Script`), and `reading.py`
lists what it may mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any

Span = tuple[int, int]
_PARTS: dict[type, tuple[str, ...]] = {}  # `functools.cache` would do, but mypy takes no class with a hash for its key


def _parts(kind: type) -> tuple[str, ...]:
    """The fields of a kind of node that can hold other nodes."""
    if kind not in _PARTS:
        _PARTS[kind] = tuple(part.name for part in fields(kind) if part.name != "span" and "Node" in str(part.type))
    return _PARTS[kind]


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a formula. Two nodes are equal if they read the same, wherever they stand."""

    span: Span = field(default=(0, 0), compare=False, kw_only=True)

    def children(self) -> list[Node]:
        """The parts of this part, in the order of writing."""
        found: list[Node] = []
        for name in _parts(type(self)):
            value = getattr(self, name)
            if isinstance(value, Node):
                found.append(value)
            elif isinstance(value, tuple):
                for item in value:
                    if isinstance(item, Node):
                        found.append(item)
                    elif isinstance(item, tuple):
                        found += [part for part in item if isinstance(part, Node)]
        return found

    def rebuilt(self, change: Callable[[Node], Node]) -> Node:
        """This node with `change` made to each of its parts; itself where nothing changes."""
        changed: dict[str, Any] = {}
        for name in _parts(type(self)):
            value = getattr(self, name)
            new = _changed(value, change)
            if new is not value:
                changed[name] = new
        return replace(self, **changed) if changed else self

    def walk(self) -> Iterator[Node]:
        """This node and everything below it, without recursion."""
        waiting: list[Node] = [self]
        while waiting:
            node = waiting.pop()
            yield node
            if _parts(type(node)):
                waiting.extend(reversed(node.children()))


def _changed(value: Any, change: Callable[[Node], Node]) -> Any:
    if isinstance(value, Node):
        return change(value)
    if isinstance(value, tuple):
        new = tuple(_changed(item, change) for item in value)
        return new if any(a is not b for a, b in zip(new, value, strict=True)) else value
    return value


@dataclass(frozen=True, slots=True)
class Number(Node):
    """A decimal as it is printed: `0.70` is not `0.7`, because its last digit claims more."""

    text: str

    @property
    def value(self) -> Fraction:
        return Fraction(self.text)

    @property
    def places(self) -> int | None:
        """Digits after the point; none for a whole number, which claims no rounding."""
        mantissa, _, exponent = self.text.lower().partition("e")
        if "." not in mantissa:
            return None
        return len(mantissa.partition(".")[2]) - int(exponent or 0)


@dataclass(frozen=True, slots=True)
class Symbol(Node):
    """A letter or a word used as a name: `x`, `alpha`, `W`; `style` keeps `bold`, `cal`, `hat` … outermost last."""

    name: str
    style: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Script(Node):
    """A base with what is written below and above it: an index, a power, a prime, a transpose — not decided here."""

    base: Node
    below: Node | None = None
    above: Node | None = None


@dataclass(frozen=True, slots=True)
class Sum(Node):
    """Terms with their signs: `+`, `-`, `±`, `∓`. The first sign is `+` where none is written."""

    terms: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Product(Node):
    """Factors with the sign that is written before each: `` (nothing), `*`, `·`, `×`, `⊙`, `∘`, `⊗`, `@`."""

    factors: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Quotient(Node):
    """`above / below`; `bar` for a fraction bar, otherwise a slash, whose reach may be read in more than one way."""

    above: Node
    below: Node
    bar: bool = True


@dataclass(frozen=True, slots=True)
class Group(Node):
    """Brackets: `(`, `[`, `{`, `|`, `‖`, `⌊`, `⌈`, `⟨`; several items are a tuple, a vector or arguments."""

    open: str
    items: tuple[Node, ...]
    close: str


@dataclass(frozen=True, slots=True)
class Function(Node):
    """A named function with its arguments: `log`, `softmax`, `max`; `below` its base or index, `above` its power."""

    name: str
    arguments: tuple[Node, ...]
    below: Node | None = None
    above: Node | None = None
    bracketed: bool = True
    """Whether its argument stands in brackets; otherwise its reach may be read in more than one way."""


@dataclass(frozen=True, slots=True)
class Root(Node):
    """`√x`, or the n-th root."""

    body: Node
    degree: Node | None = None


@dataclass(frozen=True, slots=True)
class Matrix(Node):
    """Rows of entries; ragged rows are kept as they are written. `kind` is the environment or the bracket."""

    rows: tuple[tuple[Node, ...], ...]
    kind: str = "bmatrix"


@dataclass(frozen=True, slots=True)
class Cases(Node):
    """Values with their conditions."""

    rows: tuple[tuple[Node, ...], ...]


@dataclass(frozen=True, slots=True)
class Big(Node):
    """`Σ`, `Π`, `∫`, `lim`, `max`, `argmax`, `E` over something: operator, what is below and above, the body."""

    operator: str
    below: Node | None
    above: Node | None
    body: Node


@dataclass(frozen=True, slots=True)
class Derivative(Node):
    """`∂f/∂x`, `df/dx`, `∇_x f`: what is differentiated (if written) by what."""

    body: Node | None
    by: tuple[Node, ...]
    sign: str = "∂"


@dataclass(frozen=True, slots=True)
class Postfix(Node):
    """`!`, `%`, `'` after something; `|` in `\\left. f \\right|_{x=1}`, which is a script below `f` with this sign."""

    body: Node
    sign: str


@dataclass(frozen=True, slots=True)
class Given(Node):
    """`a | b`: a condition, as in p(x | z); the sign is `‖` in KL(p ‖ q)."""

    body: Node
    condition: Node
    sign: str = "|"


@dataclass(frozen=True, slots=True)
class Labelled(Node):
    """`underbrace{body}_{label}`: a body that carries a label; `sign` is `under` or `over`."""

    body: Node
    label: Node
    sign: str = "under"


@dataclass(frozen=True, slots=True)
class Nothing(Node):
    """Nothing is written: the left side of a row that goes on with `= …`, an empty cell of a matrix."""


@dataclass(frozen=True, slots=True)
class Dots(Node):
    """`…`: something left out."""


@dataclass(frozen=True, slots=True)
class Words(Node):
    """Text inside a formula."""

    text: str


@dataclass(frozen=True, slots=True)
class Axes(Node):
    """`\\text{axis }-1` below a function: the axes of a table that it works along."""

    numbers: tuple[int, ...]

    @property
    def text(self) -> str:
        """axis -1, axes 0, 1"""
        return f"{'axis' if len(self.numbers) == 1 else 'axes'} {', '.join(map(str, self.numbers))}"


@dataclass(frozen=True, slots=True)
class Chain(Node):
    """`a = b ≈ c ≤ d`: items and the relations between them (one fewer)."""

    items: tuple[Node, ...]
    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Items(Node):
    """Several formulas side by side, with commas, semicolons, `\\quad` or line breaks between them."""

    parts: tuple[Node, ...]
