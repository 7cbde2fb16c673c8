"""Exact real numbers and expressions in letters: the elements of an exact tensor.

A `Value` is a node of a shared graph. Equal nodes are one object (hash-consing), so `is` means the same
formula, and whatever is computed for a node (its enclosure, its size) is computed once.

    kind      args                                   meaning
    q         int | fmpq                             a rational number
    letter    name                                   an unknown real number
    const     name                                   π or Euler's γ
    add       ((coefficient, term), …)               Σ cᵢ tᵢ; the term `ONE` carries the constant
    mul       ((base, exponent), …)                  Π bᵢ^rᵢ with rational exponents
    dot       (row, column)                          Σ xᵢ yᵢ, kept unexpanded because it is large
    inf -inf nan                                     what PyTorch means by them
    exp …     values                                 a function of `functions.py`

`algebra.py` builds nodes in normal form; nothing else calls `node`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from flint import arb, fmpq

Rational = int | fmpq
HALF = fmpq(1, 2)
LARGE = 64
"""Formulas of more nodes than this are not normalised any further; they stay exact as shared nodes."""

BITS_PER_NODE = 1024
"""A rational this long counts as one node more, so that long rationals are large formulas too."""

LOCK = threading.RLock()
"""Held while values are made: one thread at a time builds the graph."""


class Value:
    """One exact number or expression. Compare with `is`; arithmetic operators give new values in normal form."""

    __slots__ = ("__weakref__", "args", "ball", "bits", "free", "kind", "sample", "serial", "size")

    kind: str
    args: tuple[Any, ...]
    serial: int
    size: int
    """Nodes of the formula written out as a tree, capped; decides what is still normalised and printed."""
    free: bool
    """Whether letters occur."""
    ball: arb
    bits: int
    sample: Rational | None

    # What needs more than the graph is set by the files that have it: `algebra.py` and `typeset/text.py`.
    __add__: ClassVar[Callable[[Value, Value], Value]]
    __sub__: ClassVar[Callable[[Value, Value], Value]]
    __mul__: ClassVar[Callable[[Value, Value], Value]]
    __truediv__: ClassVar[Callable[[Value, Value], Value]]
    __neg__: ClassVar[Callable[[Value], Value]]
    text: ClassVar[Callable[..., str]]

    def __repr__(self) -> str:
        return f"Value({self.text()})"

    @property
    def rational(self) -> Rational | None:
        """The number itself where it is rational."""
        return self.args[0] if self.kind == "q" else None

    @property
    def special(self) -> bool:
        """Whether this is ∞, −∞ or NaN."""
        return self.kind in SPECIAL


class _Graph:
    """The nodes in use, by their formula, and the counter that numbers them."""

    def __init__(self) -> None:
        self.nodes: dict[Any, Value] = {}
        self.next_serial = 0


GRAPH = _Graph()
_UNKNOWN = arb.nan()
SPECIAL = frozenset({"inf", "-inf", "nan"})
CAP = 10**9


def node(key: Any, kind: str, args: tuple[Any, ...], operands: Iterable[Value], digits: int = 0) -> Value:
    """The node of this formula: the one that exists, or a new one. `digits` are the bits of the rationals in it."""
    found = GRAPH.nodes.get(key)
    if found is not None:
        return found
    new = Value()
    new.kind, new.args, new.ball, new.bits, new.sample = kind, args, _UNKNOWN, 0, None
    operands = list(operands)
    size = sum([v.size for v in operands], 1 + digits // BITS_PER_NODE)
    new.size = size if size < CAP else CAP
    new.free = kind == "letter" or any([v.free for v in operands])
    new.serial = GRAPH.next_serial
    GRAPH.next_serial += 1
    GRAPH.nodes[key] = new
    return new


def whole(c: Rational) -> Rational:
    """`c` as an int where it is one: ints hash and compare much faster than `fmpq`."""
    if isinstance(c, int):
        return c
    return int(c.p) if c.q == 1 else c


def key_of(c: Rational) -> Any:
    """A hashable stand-in for a rational (hashing an `fmpq` takes microseconds)."""
    return c if isinstance(c, int) else (int(c.p), int(c.q))


def height(c: Rational) -> int:
    """The bits of a rational's numerator or denominator, whichever is longer."""
    return c.bit_length() if isinstance(c, int) else c.height_bits()


def rational(c: Rational) -> Value:
    """The value of a rational number."""
    c = whole(c)
    key = key_of(c)
    found = GRAPH.nodes.get(key)
    return found if found is not None else node(key, "q", (c,), (), height(c))


def constant(name: str) -> Value:
    """π (`pi`) or Euler's γ (`euler`)."""
    return node(("const", name), "const", (name,), ())


def special(name: str) -> Value:
    """∞ (`inf`), −∞ (`-inf`) or not-a-number (`nan`)."""
    return node((name,), name, (), ())


def operands(v: Value) -> list[Value]:
    """The values a node is made of."""
    if v.kind == "add":
        return [term for _, term in v.args]
    if v.kind == "mul":
        return [base for base, _ in v.args]
    if v.kind == "dot":
        return [*v.args[0], *v.args[1]]
    if v.kind in ("q", "letter", "const"):
        return []
    return list(v.args)


def bottom_up(*vs: Value) -> list[Value]:
    """Every value that these are made of, each once, operands first: a node is numbered after its operands."""
    seen = set(vs)
    todo = [*seen]
    while todo:
        for x in operands(todo.pop()):
            if x not in seen:
                seen.add(x)
                todo.append(x)
    return sorted(seen, key=lambda x: x.serial)


def letter_nodes(v: Value) -> set[Value]:
    """The letters that occur in `v`."""
    found: set[Value] = set()
    seen: set[Value] = set()
    todo = [v]
    while todo:
        x = todo.pop()
        if not x.free or x in seen:
            continue
        seen.add(x)
        if x.kind == "letter":
            found.add(x)
        else:
            todo.extend(operands(x))
    return found


def letters(v: Value) -> set[str]:
    """The names of the letters that occur in `v`."""
    return {x.args[0] for x in letter_nodes(v)}


ZERO, ONE = rational(0), rational(1)
"""Serial 0 and 1, so that a payload of handles 0 and 1 is the numbers 0 and 1."""
INF, NEG_INF, NAN = special("inf"), special("-inf"), special("nan")
