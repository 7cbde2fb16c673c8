"""The mathematics of a statement as a tree.

A formula is data: printers write it as text, LaTeX or MathML, `evaluate` computes it again, `backward.py` differentiates it.

    Leaf("Q")                          a value the statement read, by the text it was read with (Q, self.W, x.shape[-1])
    Number(2)                          a literal
    Apply("matmul", (Q, K), options)   an operation, by the name of its row in `OPERATIONS`; dim=-1 is an option
    Call("self.attn", (x,), options)   a call with no mathematics of its own here (a module, the author's function)
    Code("x if x > 0 else y")          Python with no formula: shown as it is written
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Options = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Leaf:
    """A value that was read: its text is its key in `Step.operands`."""

    text: str


@dataclass(frozen=True)
class Number:
    """A literal number or constant such as `True` or `None`."""

    value: Any


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


@dataclass(frozen=True)
class Sequence:
    """A tuple of formulas, or a list of them."""

    items: tuple[Formula, ...]
    is_list: bool = False


@dataclass(frozen=True)
class Code:
    """Source text without a formula."""

    text: str


Formula = Leaf | Number | Apply | Call | Sequence | Code


def walk(formula: Formula) -> Iterator[Formula]:
    """The formula and everything in it, outside in, left to right."""
    yield formula
    parts = formula.args if isinstance(formula, (Apply, Call)) else formula.items if isinstance(formula, Sequence) else ()
    for part in parts:
        yield from walk(part)


def rebuilt(formula: Formula, change: Callable[[Formula], Formula]) -> Formula:
    """The same formula of changed parts.

    >>> rebuilt(Apply("add", (Leaf("a"), Number(1))), lambda part: Number(2))
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


def spelled_out(formula: Formula, letters: Mapping[str, Formula]) -> Formula:
    """The formula with letters replaced by what they stand for, which may have letters too."""
    if isinstance(formula, Leaf) and formula.text in letters:
        return spelled_out(letters[formula.text], letters)
    return rebuilt(formula, lambda part: spelled_out(part, letters))


def leaves(formula: Formula) -> list[str]:
    """The texts of the leaves, each once, in reading order."""
    return list(dict.fromkeys(part.text for part in walk(formula) if isinstance(part, Leaf)))
