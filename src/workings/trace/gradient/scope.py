"""The values of a computation and the statements that made and read them.

A tensor that is changed in place (`h.mul_(2)`, `x += y`, `y[0] = v`) is several values, one after the other, and so is a
name that is assigned again. They are numbered in the order they came about: h, h#2, h#3. `self.h` and `h` are one name on
paper, so they are numbered together.

A scope is the inside of one call: the statements that stand there, their loops and branches included. A statement that calls
a function stands in its own scope; what the function does stands in another, where the same tensors may have other names.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor
from torch.autograd.graph import GradientEdge

from workings.trace.formula.tree import Formula
from workings.trace.step import Step
from workings.trace.tensors.difference import largest_difference
from workings.trace.tensors.snapshot import autograd_origin


@dataclass(frozen=True)
class Value:
    """A tensor at one moment: where it then stood in autograd's graph (None: a leaf or a constant), and a copy of it."""

    tensor: Tensor
    edge: GradientEdge | None
    then: Any = None

    @property
    def key(self) -> Hashable:
        return id(self.tensor) if self.edge is None else (self.edge.node, self.edge.output_nr)

    @property
    def place(self) -> Tensor | GradientEdge:
        """What autograd is asked for."""
        return self.tensor if self.edge is None else self.edge

    @property
    def varies(self) -> bool:
        return self.edge is not None or (self.tensor.is_leaf and self.tensor.requires_grad)


def value_of(tensor: Tensor, then: Any = None) -> Value:
    """The value a tensor was when this copy of it was made; without a copy, the value it is.

    A copy that does not tell its place in the graph was made of a constant, if the tensor has other numbers by now.
    """
    copied = isinstance(then, Tensor)
    made = (tensor.grad_fn, tensor.output_nr) if tensor.grad_fn is not None else None
    if copied and (known := autograd_origin(then)) is not None:
        made = known
    elif copied and made is not None and largest_difference(tensor, then) != 0:
        made = None
    return Value(tensor, None if made is None else GradientEdge(*made), then if copied else tensor.detach())


@dataclass(eq=False)
class Statement:
    """A statement as the rules see it: its formula, the values it read by their texts, the values it made by their names."""

    step: Step
    formula: Formula | None
    operands: dict[str, Any] = field(default_factory=dict)
    lives: dict[str, Any] = field(default_factory=dict)
    read: dict[str, Value] = field(default_factory=dict)
    made: list[tuple[str, Value]] = field(default_factory=list)


@dataclass
class Scope:
    """The inside of one call: its statements, its inputs, and for each value its name and the statements that read it."""

    statements: list[Statement] = field(default_factory=list)
    inputs: list[Step] = field(default_factory=list)
    uses: dict[Hashable, list[Statement]] = field(default_factory=dict)
    values: dict[Hashable, Value] = field(default_factory=dict)
    names: dict[Hashable, str] = field(default_factory=dict)
    called: dict[str, list[Hashable]] = field(default_factory=dict)
    makers: dict[Hashable, Statement | None] = field(default_factory=dict)
    """For each value the statement that made it: the first that had it as a result; None if it came from outside."""
    step: Step | None = None
    """The call whose inside it is."""
    flows: dict[Hashable, Tensor] = field(default_factory=dict)
    """For each value that its statements read, what flows back to it through them."""

    def is_new(self, statement: Statement, value: Value) -> bool:
        """Whether a statement made a value, rather than hand on one that was there."""
        return self.makers.get(value.key) is statement

    def number(self, name: str, value: Value) -> int:
        """Which of the values of a name this is, from 1."""
        called = self.called.get(name.removeprefix("self."), [])
        return called.index(value.key) + 1 if value.key in called else 1

    @property
    def constants(self) -> list[Hashable]:
        """The values that do not vary."""
        return [key for key, value in self.values.items() if not value.varies]

    def add(self, value: Value, name: str) -> None:
        """Know a value, by this name unless it has one; a name that was another value's before gets a number."""
        self.values.setdefault(value.key, value)
        if not name:
            return
        called = self.called.setdefault(name.removeprefix("self."), [])
        if value.key not in called:
            called.append(value.key)
        self.names.setdefault(value.key, name if len(called) == 1 else f"{name}#{len(called)}")
