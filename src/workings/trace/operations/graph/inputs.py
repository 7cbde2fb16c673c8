"""The inputs of a node of autograd's graph while its formula is built, and the values that the node kept.

`#i` is the i-th input; `$name` is a constant that the node kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from workings.trace.formula.tree import Formula, Leaf, Number
from workings.trace.operations.node import Shape, f

Node = Any
"""A node of autograd's graph; PyTorch has no public class for those it makes itself."""
_SIGNED = 1 << 63


@dataclass
class Inputs:
    """The inputs of a node while its formula is built, with the values that it kept."""

    node: Node
    values: dict[str, Any] = field(default_factory=dict)

    def __call__(self, number: int, saved: str = "") -> Formula:
        """The input of this number, whose value the node may have kept under a name; a constant where it does not vary."""
        value = self.saved(saved) if saved else None
        if number < len(self.node.next_functions) and self.node.next_functions[number][0] is not None:
            if isinstance(value, Tensor):
                self.values[f"#{number}"] = value
            return Leaf(f"#{number}")
        if value is None:  # as the c of x + c: no derivative needs it
            self.values[f"${number}"] = unknown(shape_of(self.node, 0))
            return Leaf(f"${number}")
        return self.constant(value, saved)

    def saved(self, name: str) -> Any:
        value = getattr(self.node, f"_saved_{name}", None)
        return value.detach() if isinstance(value, Tensor) else _signed(value)

    def constant(self, value: Any, name: str) -> Formula:
        if isinstance(value, Tensor) and (value.dim() or value.dtype == torch.bool):
            self.values[f"${name}"] = value
            return Leaf(f"${name}")
        return Number(value.item() if isinstance(value, Tensor) else value)

    def kept(self, name: str) -> Formula:
        """A constant by its name."""
        return self.constant(self.saved(name), name)

    def result(self, name: str = "result") -> None:
        """The node kept its own result."""
        value = self.saved(name)
        if isinstance(value, Tensor):
            self.values["result"] = value


def unknown(shape: Shape) -> Tensor:
    """A value of which only the shape is known: a rule that needs more gives no number."""
    return torch.full(shape, torch.nan)


def shape_of(node: Node, number: int) -> Shape:
    """The shape of an output of a node."""
    if hasattr(node, "variable"):
        return tuple(node.variable.shape)
    return tuple(node._input_metadata[number].shape)


def _signed(value: Any) -> Any:
    """PyTorch tells negative axes as numbers without a sign."""
    match value:
        case int() if value >= _SIGNED:
            return value - (1 << 64)
        case tuple():
            return tuple(map(_signed, value))
    return value


def node_name(node: Node) -> str:
    """
    >>> node_name((torch.ones(2, requires_grad=True) * 2).grad_fn)
    'Mul'
    """
    return re.sub(r"Backward\d*$", "", node.name().rpartition("::")[2])


Make = Callable[[Inputs], Formula]
"""How the formula of a node is made."""


def with_result(op: str) -> Make:
    def make(i: Inputs) -> Formula:
        i.result()
        return f(op, i(0))

    return make


def of_self(op: str, **options: str) -> Make:
    """An operation on one input, with options under the names the node keeps them by."""

    def make(i: Inputs) -> Formula:
        i.result()
        found = {name: _single(i.saved(saved)) for name, saved in options.items()}
        return f(op, i(0, "self"), **{name: value for name, value in found.items() if value is not None})

    return make


def _single(value: Any) -> Any:
    """(−1,) as −1; no axes as all of them."""
    if isinstance(value, tuple) and len(value) < 2:
        return value[0] if value else None
    return value


def pair(op: str, a: str = "self", b: str = "other") -> Make:
    return lambda i: f(op, i(0, a), i(1, b))


def one_of(value: Any) -> Any:
    """(2, 2) as 2."""
    return value[0] if isinstance(value, tuple) and len(set(value)) == 1 else value
