"""The mathematics of a statement as a tree.

A formula is data: printers write it as text, LaTeX or MathML, `evaluate` computes it again, `backward.py` differentiates it.

    Leaf("Q")                          a value the statement read, by the text it was read with (Q, self.W, x.shape[-1])
    Number(2)                          a literal
    Apply("matmul", (Q, K), options)   an operation, by the name of its row in `OPERATIONS`; dim=-1 is an option
    Call("self.attn", (x,), options)   a call with no mathematics of its own here (a module, the author's function)
    Code("x if x > 0 else y")          Python with no formula: shown as it is written

What stands in brackets is an `Index`: x[0, :, i] is Apply("index", (x,), (("at", Index((Number(0), Slice(), Leaf("i")))),)).
`str` of a part that is an argument (an index, a size, an option) is the Python it was read from.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Options = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Leaf:
    """A value that was read: its text is its key in `Step.operands`. `size` says how a size is read off a tensor: of
    `x.shape[-1]` the entry, of `x.size(0)` the call."""

    text: str
    size: Formula | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Number:
    """A literal: a number, or a constant such as `True`, `None`, `...` or `'mean'`."""

    value: Any

    def __str__(self) -> str:
        return "..." if self.value is Ellipsis else repr(self.value)


@dataclass(frozen=True)
class Apply:
    """An operation on formulas."""

    op: str
    args: tuple[Formula, ...]
    options: Options = ()


@dataclass(frozen=True)
class Call:
    """A call of something that has a name but no notation."""

    name: str
    args: tuple[Formula, ...]
    options: Options = ()

    def __str__(self) -> str:
        given = [*map(str, self.args), *(f"{name}={value}" for name, value in self.options)]
        return f"{self.name}({', '.join(given)})"


@dataclass(frozen=True)
class Sequence:
    """A tuple of formulas, or a list of them."""

    items: tuple[Formula, ...]
    is_list: bool = False

    def __str__(self) -> str:
        inside = ", ".join(map(str, self.items))
        return f"[{inside}]" if self.is_list else f"({inside},)" if len(self.items) == 1 else f"({inside})"


@dataclass(frozen=True)
class Code:
    """Python without a formula: as it is written, and as Python's parser read it (None where the text is no Python)."""

    text: str
    node: ast.expr | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return self.text


Formula = Leaf | Number | Apply | Call | Sequence | Code


@dataclass(frozen=True)
class Slice:
    """start:stop:step in the brackets of an index; None where nothing is written."""

    start: Formula | None = None
    stop: Formula | None = None
    step: Formula | None = None

    def __str__(self) -> str:
        start, stop = ("" if end is None else str(end) for end in (self.start, self.stop))
        return f"{start}:{stop}" if self.step is None else f"{start}:{stop}:{self.step}"


@dataclass(frozen=True)
class Index:
    """What stands in the brackets of x[0, :, i], part by part."""

    parts: tuple[Formula | Slice, ...]

    def __str__(self) -> str:
        return ", ".join(map(str, self.parts))

    @property
    def numbers(self) -> tuple[int, ...] | None:
        """The parts if all of them are whole numbers."""
        found = tuple(part.value for part in self.parts if isinstance(part, Number) and type(part.value) is int)
        return found if len(found) == len(self.parts) else None

    @property
    def is_plain(self) -> bool:
        """Whether it has only names and whole numbers."""
        return all(isinstance(p, Leaf) or (isinstance(p, Number) and type(p.value) is int) for p in self.parts)


def entry(whole: Formula, at: Index) -> Apply:
    """whole[at]"""
    return Apply("index", (whole,), (("at", at),))


def place_of(formula: Formula | None) -> tuple[Formula, Index] | None:
    """The whole and the index of whole[at]; None for any other formula."""
    match formula:
        case Apply("index", (whole,), (("at", Index() as at),)):
            return whole, at
    return None


def walk(formula: Formula) -> Iterator[Formula]:
    """The formula and everything in it, outside in, left to right."""
    yield formula
    parts = formula.args if isinstance(formula, (Apply, Call)) else formula.items if isinstance(formula, Sequence) else ()
    for part in parts:
        yield from walk(part)


def map_parts(formula: Formula, change: Callable[[Formula], Formula]) -> Formula:
    """The same formula of changed parts.

    >>> map_parts(Apply("add", (Leaf("a"), Number(1))), lambda part: Number(2))
    Apply(op='add', args=(Number(value=2), Number(value=2)), options=())
    """
    match formula:
        case Apply(op=op, args=args, options=options):
            return Apply(op, tuple(map(change, args)), options)
        case Call(name=name, args=args, options=options):
            return Call(name, tuple(map(change, args)), options)
        case Sequence(items=items, is_list=is_list):
            return Sequence(tuple(map(change, items)), is_list)
    return formula


def substitute(formula: Formula, letters: Mapping[str, Formula]) -> Formula:
    """The formula with letters replaced by what they stand for, which may have letters too."""
    if isinstance(formula, Leaf) and formula.text in letters:
        return substitute(letters[formula.text], letters)
    return map_parts(formula, lambda part: substitute(part, letters))


def rename(formula: Formula, names: Mapping[str, str]) -> Formula:
    """The formula with other names for some of its leaves."""
    if isinstance(formula, Leaf):
        return Leaf(names[formula.text]) if formula.text in names else formula
    return map_parts(formula, lambda part: rename(part, names))


def leaves(formula: Formula) -> list[str]:
    """The texts of the leaves, each once, in reading order."""
    return list(dict.fromkeys(part.text for part in walk(formula) if isinstance(part, Leaf)))
