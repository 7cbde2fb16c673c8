"""What is known of an operation, in one row: how PyTorch calls it, what it computes, how it is written, its gradient.

The rows stand in `workings.trace.operations`, one file for each family, and fill `OPERATIONS` when `workings.trace` is
imported. Whoever needs to know something of an operation asks this table when it runs: capture, the rules of
differentiation, shapes, the printers. Nobody else keeps a list of operations.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, partial
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import nn

from workings.trace.formula.notation import Notation
from workings.trace.formula.tree import Apply, Formula, Options

Args = tuple[Formula, ...]
Rewrite = Callable[[Args, Options], Formula | None]
"""The operation by simpler ones, from its arguments and options; None where these are not covered."""
Index = tuple[Any, ...]
Cells = list[Index | None]
"""For each operand the cells that are needed; None is all of them."""
Reach = Callable[[Apply, Index, Mapping[str, Any]], Cells | None]
"""From some cells of the result to the cells of the operands; None where that is not known."""
EVERY = slice(None)
"""All cells along an axis."""
FORMULA: Literal["formula"] = "formula"
CALL: Literal["call"] = "call"


@dataclass(frozen=True, kw_only=True)
class Layer:
    """Module classes that are an operation with parameters of their own: nn.Linear is linear(x, weight, bias)."""

    classes: tuple[type[nn.Module], ...]
    parameters: str | None = None
    """Attributes that follow the input as operands; None: the layer is not read as a formula."""
    options: str = ""
    """Attributes that are options of the operation."""
    definition: Callable[..., Any] | None = None
    """The written-out definition of a call, from the module and its arguments."""
    misfit: Callable[..., Any] | None = None
    """Why shapes do not fit, from the module and its arguments."""
    size: Callable[..., Any] | None = None
    """The arithmetic of the output's size, from the module and both shapes."""
    count: Callable[[Any], str] | None = None
    """The arithmetic of the number of parameters."""
    arguments: str | None = None
    """Arguments of the constructor that matter to shapes, by position; None: the class alone says it."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Arguments by name, left out where they have these values."""


@dataclass(frozen=True)
class Operation:
    """One row; a column that is empty says that nothing is known there, and every reader copes with that."""

    declaration: str
    """The name, PyTorch's parameters in order where they matter, and the meaning:

        cross_entropy(input target | weight reduction): cross-entropy of logits and targets

    Parameters before the bar are operands when a statement is captured, those after it options that the notation allows;
    without a bar all are operands, and options change what it means. An operand with a ? may be None.
    """
    _: KW_ONLY

    read: Literal["formula", "call", ""] = ""
    """How PyTorch's function or method of this name is read: as a formula when a statement is captured; as a call, which
    only the rules of differentiation understand; or not at all."""
    also: str = ""
    """Other functions, methods and properties that are read in the same way."""
    calls: str = ""
    """Further ones that are read as calls."""
    others: str = ""
    """Further names in PyTorch, which are never read."""
    operator: str = ""
    """The names between the underscores of Python's special methods: «truediv» for a / b."""
    gives: Literal["value", "pair", "parts"] = "value"
    """Whether PyTorch returns one value, values and where they stood (the formula means the values), or several parts."""

    compute: Callable[..., Any] | None = None
    """The value, from the values of the operands and the options; where it is not given, Python's operator
    or PyTorch's function of this name."""
    compute_in_scope: Callable[..., Any] | None = None
    """The same, where it needs the values of all names at hand first: for the kind of numbers, for the names in an index."""
    means: Rewrite | None = None
    """The simpler operations that the rules of differentiation read in its place: addmm(b, x, W) is b + x W."""

    notation: Notation | None = None
    """How it is written; without one it is a call of its name."""
    spelled: Rewrite | None = None
    """The simpler operations it is written as: linear is x Wᵀ + b, in every script."""
    of_vectors: Callable[[Args, Options, list[int | None]], Formula | None] | None = None
    """How it is written where operands are vectors, which are columns: from the arguments, the options and how many axes
    each argument has; None where it is written as usual."""
    written_call: int = 0
    """The number of operands with which a mere call, x.floor(), is written like the operation, ⌊x⌋."""

    gradient: Callable[[Any], tuple[Formula | None, ...]] | None = None
    """The rule of differentiation: from a `Node` to the gradient of each argument."""
    constant: bool = False
    """Whether its derivative is zero wherever it exists."""
    elementwise: bool = False
    """Whether an entry of the result needs the same entry of each operand, and nothing else."""
    reduces: bool = False
    """Whether the result is one number, unless an axis is given."""
    moves: bool = False
    """Whether it moves data only: no number is changed."""
    knows_complex: bool = False
    """Whether its gradient rule holds for complex numbers as it is; in others the factors are conjugated for them."""
    linear: bool = False
    """Whether it is linear in each operand (or the one with a gradient), with no negative coefficient."""
    reach: Reach | None = None
    """Which cells of its operands a cell needs."""

    window: Callable[..., tuple[Formula, dict[str, Any]] | None] | None = None
    """Of an operation on windows, its first entry: a formula in `window` and `kernel`, with their values, from the values
    of the operands by their names; None where a window is too large to be read, or reaches over the edge."""

    definitions: Mapping[Any, Callable[..., Any]] = field(default_factory=dict)
    """PyTorch's functions, each with what gives its written-out definition or refuses an option."""
    misfit: Callable[..., Any] | None = None
    """Why operands do not fit, from the arguments of a call that failed."""
    misfits: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """The same for names that need another explanation."""
    one_dtype: bool = False
    """Whether PyTorch refuses operands of different dtypes."""
    layers: Layer | tuple[Layer, ...] = ()
    """Module classes that are this operation."""

    def __post_init__(self) -> None:
        if self.compute is None and self.compute_in_scope is None:
            own = (
                getattr(operator, self.operator or "-", None),
                getattr(F, self.name, None),
                getattr(torch, self.name, None),
            )
            object.__setattr__(self, "compute", next(filter(callable, own), None))

    @cached_property
    def _declaration_parts(self) -> tuple[str, ...]:
        found = re.fullmatch(r"(\w+)(?:\((.*?)\))?: (.+)", self.declaration)
        assert found is not None, f"«{self.declaration}» is not a name, parameters and a meaning"
        return found.groups("input")

    @cached_property
    def name(self) -> str:
        return self._declaration_parts[0]

    @cached_property
    def meaning(self) -> str:
        return self._declaration_parts[2]

    @cached_property
    def parameters(self) -> list[str]:
        """PyTorch's parameters, in order."""
        return re.findall(r"\w+", self._declaration_parts[1])

    @cached_property
    def operands(self) -> int:
        """How many of the first arguments are operands when a statement is captured."""
        return len(self._declaration_parts[1].partition("|")[0].split())

    @cached_property
    def optional(self) -> list[str]:
        """Operands, the last ones, that may be None."""
        return re.findall(r"(\w+)\?", self._declaration_parts[1])

    @cached_property
    def keeps_options(self) -> bool:
        """Whether the notation still holds when there are options: softmax(x, dim=0), but not add(x, y, alpha=2)."""
        return "|" in self._declaration_parts[1] or self.operands > 2

    @cached_property
    def joins(self) -> bool:
        """Whether the first operand is a list of tensors."""
        return self.parameters[0] == "tensors"


captured = partial(Operation, read="formula")
called = partial(Operation, read="call")


class _Table(dict[str, Operation]):
    """The operations by name, and by everything they are called."""

    def __init__(self) -> None:
        super().__init__()
        self.spellings: dict[str, str] = {}
        self.calls: dict[str, str] = {}
        self.operators: dict[str, str] = {}
        self.definitions: dict[Any, Callable[..., Any]] = {}
        self.names: dict[str, Operation] = {}
        self.layers: dict[type[nn.Module], tuple[Operation, Layer]] = {}

    def add(self, *rows: Operation) -> None:
        """Take rows in."""
        for row in rows:
            assert row.name not in self, f"{row.name} stands in the table already"
            self[row.name] = row
            self._enter(row)

    def remove(self, name: str) -> Operation:
        """Take a row out, with everything it is called."""
        row = self.pop(name)
        for names in (self.spellings, self.calls, self.operators, self.definitions, self.names, self.layers):
            names.clear()
        for other in self.values():
            self._enter(other)
        return row

    def _enter(self, row: Operation) -> None:
        read = dict.fromkeys([*([row.name] if row.read else []), *row.also.split()], row.name)
        self.spellings |= read if row.read == "formula" else {}
        self.calls |= read | dict.fromkeys(row.calls.split(), row.name)
        self.operators |= dict.fromkeys(row.operator.split(), row.name)
        self.definitions |= row.definitions
        self.names |= dict.fromkeys(names_of(row), row)
        layers = row.layers if isinstance(row.layers, tuple) else (row.layers,)
        self.layers |= {cls: (row, layer) for layer in layers for cls in layer.classes}

    def signature(self, name: str) -> list[str]:
        """The parameters of an operation in PyTorch's order."""
        return self[name].parameters if name in self else ["input"]


def names_of(row: Operation) -> list[str]:
    """Every name by which PyTorch calls an operation, Python's special methods too."""
    special = [f"__{r}{own}__" for own in row.operator.split() for r in ("", "r")]
    names = [*([row.name] if row.read else []), *f"{row.also} {row.calls} {row.others}".split(), *special]
    return list(dict.fromkeys(names))


OPERATIONS = _Table()
"""The one table. It is filled by `workings.trace.operations`."""

TENSORS = frozenset(
    """
    input other end weight bias target mask value mat1 mat2 mat vec batch1 batch2 tensor1 tensor2 query key attn_mask index
    running_mean running_var pos_weight x1 x2
    """.split()
)
"""Parameters that are operands, wherever they stand."""
