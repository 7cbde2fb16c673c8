"""Parameters that no recorded statement reads, as those of the layers inside `nn.Sequential`: their rules, at their layers.

A parameter is followed to the operation that uses it, in autograd's graph; what that gives is called by the layer's path:

    y = self.net(x)      ∂L/∂net.0.weight = (∂L/∂net.0)ᵀ x       ∂L/∂net.2.weight = (∂L/∂net.2)ᵀ net.2.input
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from torch.autograd.graph import GradientEdge

from workings.trace.formula.tree import Leaf
from workings.trace.gradient.graph import Edge, GraphRule, Names, graph_rule, inputs_of, key_of
from workings.trace.gradient.loss import Loss, gradients
from workings.trace.gradient.scope import Scope, Value
from workings.trace.operations.graph_nodes import Node, node_name, unknown
from workings.trace.operations.node import RuleError

_LIGHT = frozenset(
    """
    T Transpose Permute View UnsafeView ReshapeAlias Unsqueeze Squeeze Expand Clone ToCopy Slice Select Split SplitWithSizes
    UnsafeSplit Unbind Alias
    """.split()
)
"""Nodes that only move numbers: the operation that uses a parameter is behind them."""
_MOST_USES = 6


class HiddenParameters:
    """Where in the graph the parameters are used that no statement reads."""

    def __init__(self, loss: Loss, hidden: Mapping[str, Value]) -> None:
        self.loss = loss
        self.users = _users(loss.value)
        self.uses: dict[Hashable, list[Edge]] = {}
        for name, value in hidden.items():
            self.uses[value.key] = uses = sorted(dict.fromkeys(self._uses(value.key)), key=_when)
            owner = name.rpartition(".")[0] or name
            for number, edge in enumerate(uses, start=1):
                loss.paths.setdefault(key_of(edge), owner if len(uses) == 1 else f"{owner} ({number})")
        places = {key_of(edge): edge for uses in self.uses.values() for edge in uses}
        asked = [Value(unknown(()), GradientEdge(*edge)) for key, edge in places.items() if key not in loss.totals]
        loss.totals |= gradients(loss, asked)

    def _uses(self, key: Hashable) -> list[Edge]:
        """The outputs of the operations that use a value, behind those that only move it."""
        found: list[Edge] = []
        for node in self.users.get(key, ()):
            outputs = [(node, i) for i in range(len(node._input_metadata))]
            behind = [edge for output in outputs for edge in self._uses(output)] if node_name(node) in _LIGHT else []
            found += behind or outputs[:1]
        return found

    def rule(self, name: str, value: Value, scope: Scope | None) -> GraphRule:
        """The rule of a parameter, in the names of the frame where it is shown."""
        uses = [edge for edge in self.uses.get(value.key, ()) if self.loss.totals.get(key_of(edge)) is not None]
        if not uses:
            raise LookupError("no operation of PyTorch's uses it")
        if len(uses) > _MOST_USES:
            raise RuleError(f"it is used {len(uses)} times")
        known = scope.names if scope is not None else {}
        values = {key: v.then for key, v in scope.values.items()} if scope is not None else {}
        names = Names({**self.loss.paths, **known, value.key: name}, values, first=f"{name.rpartition('.')[0]}.input")
        starts: dict[Hashable, tuple[Edge, Any]] = {}
        given = {}
        for edge in uses:
            symbol = self.loss.symbol(names[key_of(edge)])
            starts[key_of(edge)] = edge, Leaf(symbol)
            given[symbol] = self.loss.totals[key_of(edge)]
        return graph_rule(starts, value.key, lambda key: False, names, self.loss.symbol, given)


def _when(edge: Edge) -> int:
    """The operations in the order they ran."""
    return int(edge[0]._sequence_nr())


def _users(value: Value) -> dict[Hashable, list[Node]]:
    """For each value in the graph of the loss, the nodes that use it."""
    users: dict[Hashable, list[Node]] = {}
    queue = [value.edge.node] if value.edge is not None else []
    seen = set(queue)
    while queue:
        node = queue.pop()
        for edge in inputs_of(node):
            users.setdefault(key_of(edge), []).append(node)
            if edge[0] not in seen and not hasattr(edge[0], "variable"):
                seen.add(edge[0])
                queue.append(edge[0])
    return users
