"""Parameters that no recorded statement reads, as those of the layers inside `nn.Sequential`: their rules, at their layers.

A parameter is followed to the operation that uses it, in autograd's graph; what that gives is called by the layer's path:

    y = self.net(x)      ∂L/∂net.0.weight = (∂L/∂net.0)ᵀ x       ∂L/∂net.2.weight = (∂L/∂net.2)ᵀ net.2.input
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from functools import partial
from typing import Any

from torch.autograd.graph import GradientEdge

from workings.trace.formula.tree import Apply, Formula, Leaf, leaves, rename
from workings.trace.gradient.graph import Edge, Names, graph_rule, inputs_of, key_of
from workings.trace.gradient.loss import Loss, gradients
from workings.trace.gradient.rule import Rule
from workings.trace.gradient.scope import Scope, Value
from workings.trace.operations.graph.inputs import Node, node_name, unknown
from workings.trace.operations.node import RuleError

_LIGHT = frozenset(
    """
    T Transpose Permute View UnsafeView ReshapeAlias Unsqueeze Squeeze Expand Clone ToCopy Slice Select Split SplitWithSizes
    UnsafeSplit Unbind Alias
    """.split()
)
"""Nodes that only move numbers: the operation that uses a parameter is behind them."""
_PARAMETRIZATIONS = ".parametrizations."
"""In the path of the parameter that a tensor is computed from: lin.weight from lin.parametrizations.weight.original0."""
_MOST_USES = 6
_MOST_STEPS = 60
"""Operations between a layer and the next value that has a name."""


class HiddenParameters:
    """Where in the graph the parameters are used that no statement reads."""

    def __init__(self, loss: Loss, hidden: Mapping[str, Value]) -> None:
        self.loss = loss
        self.users = _users(loss.value)
        self.uses: dict[Hashable, list[Edge]] = {}
        self.named = {*loss.paths.values(), *loss.names.values()}
        for name, value in hidden.items():
            self.uses[value.key] = uses = sorted(dict.fromkeys(self._uses(value.key)), key=_when)
            owner = name.rpartition(".")[0].replace(_PARAMETRIZATIONS, ".") or name
            nodes = list(dict.fromkeys(node for node, _ in uses))
            for edge in uses:
                is_whole = len(nodes) == 1 or (_PARAMETRIZATIONS in name and edge[0] is nodes[-1])
                label = owner if is_whole else f"{owner} ({nodes.index(edge[0]) + 1})"
                self._name(key_of(edge), f"{label}[{edge[1]}]" if edge[1] else label)
                for given in _data_inputs(edge[0], value):
                    self._name(key_of(given), f"{label}.input")
        places = {key_of(edge): edge for uses in self.uses.values() for edge in uses}
        asked = [Value(unknown(()), GradientEdge(*edge)) for key, edge in places.items() if key not in loss.totals]
        loss.totals |= gradients(loss, asked)

    def _name(self, key: Hashable, name: str) -> None:
        """Call a value so, unless it has a name; no two values have one name."""
        if key not in self.loss.paths:
            while name in self.named:
                name += "′"
            self.named.add(name)
            self.loss.paths[key] = name

    def _uses(self, key: Hashable) -> list[Edge]:
        """The outputs of the operations that use a value, behind those that only move it."""
        found: list[Edge] = []
        for node in self.users.get(key, ()):
            outputs = [(node, i) for i in range(len(node._input_metadata))]
            behind = [edge for output in outputs for edge in self._uses(output)] if node_name(node) in _LIGHT else []
            found += behind or [edge for edge in outputs if edge in self.users] or outputs[:1]
        return found

    def from_the_last(self, values: Mapping[str, Value]) -> list[tuple[str, Value]]:
        """Parameters in the order of the backward pass: those of the last layer first."""
        when = {name: -max(map(_when, self.uses.get(value.key, ())), default=0) for name, value in values.items()}
        return sorted(values.items(), key=lambda pair: when[pair[0]])

    def rule(self, name: str, value: Value, scope: Scope | None) -> Rule:
        """The rule of a parameter, in the names of the frame where it is shown."""
        uses = [edge for edge in self.uses.get(value.key, ()) if self.loss.totals.get(key_of(edge)) is not None]
        if not uses:
            raise LookupError("no operation of PyTorch's uses it")
        if len(uses) > _MOST_USES:
            return self._sum_of_uses(name, value, uses, scope)
        first = f"{name.rpartition('.')[0]}.input"
        names = self._names(scope, {value.key: name}, "" if first in self.loss.paths.values() else first)
        return self._rule(uses, value.key, names)

    def _sum_of_uses(self, name: str, value: Value, uses: list[Edge], scope: Scope | None) -> Rule:
        """Of a parameter that is used many times, as a recurrent layer's at each step: the sum of the rules of its uses."""
        known: dict[str, Any] = {}
        formulas: list[Formula] = []
        for number, edge in enumerate(uses, start=1):
            part = self._rule([edge], value.key, self._names(scope, {value.key: name}), {*map(key_of, uses)}.__contains__)
            if not part.letters.keys() <= part.known.keys():
                raise RuleError(f"it is used {len(uses)} times")
            texts = [text for text in leaves(part.formula) if text in part.known]
            again = {text: f"{text} ({number})" for text in texts if text in known and known[text] is not part.known[text]}
            known |= {again.get(text, text): part.known[text] for text in texts}
            formulas.append(rename(part.formula, again))
        return Rule(Apply("sum_of", tuple(formulas)), known, {})

    def layers(self, value: Value, scope: Scope | None) -> Iterator[tuple[str, Any, Callable[[], Rule]]]:
        """The layers that use a parameter, from the last: the name and gradient of what each gave, and its rule."""
        for edge in reversed(self.uses.get(value.key, ())):
            key, names = key_of(edge), self._names(scope)
            gradient = self.loss.totals.get(key)
            if gradient is not None and (scope is None or key not in scope.names):
                yield names[key], gradient, partial(self._layer_rule, key, names)

    def _layer_rule(self, key: Hashable, names: Names) -> Rule:
        return self._rule(self._next_names(key, names), key, names)

    def rule_from(
        self, key: Hashable, scope: Scope, inside: Collection[Node], is_closed: Callable[[Hashable], bool]
    ) -> Rule:
        """The rule of a value that a statement reads, from the first layers that it reaches in there."""
        names = self._names(scope)
        starts = self._next_names(key, names, inside)
        if not starts:
            raise RuleError("it reaches no layer")
        return self._rule(starts, key, names, is_closed)

    def _next_names(self, key: Hashable, names: Names, inside: Collection[Node] | None = None) -> list[Edge]:
        """The nearest values after this one that have a name and a gradient; `inside` are the nodes that are looked at."""
        found: list[Edge] = []
        queue, seen = [key], {key}
        while queue:
            for node in self.users.get(queue.pop(), ()):
                if inside is not None and node not in inside:
                    continue
                for edge in ((node, i) for i in range(len(node._input_metadata))):
                    if edge in seen:
                        continue
                    seen.add(edge)
                    if self.loss.totals.get(edge) is not None and edge in names.names:
                        found.append(edge)
                    elif len(seen) > _MOST_STEPS:
                        raise RuleError("too many operations lead to the next value with a name")
                    else:
                        queue.append(edge)
        return found

    def _names(self, scope: Scope | None, more: Mapping[Hashable, str] | None = None, first: str = "") -> Names:
        known = scope.names if scope is not None else {}
        values = {key: v.then for key, v in scope.values.items()} if scope is not None else {}
        return Names(
            {**self.loss.paths, **known, **(more or {})}, values, scope.constants if scope is not None else (), first
        )

    def _rule(
        self, starts: list[Edge], wanted: Hashable, names: Names, is_closed: Callable[[Hashable], bool] = lambda key: False
    ) -> Rule:
        given = {self.loss.symbol(names[key_of(edge)]): self.loss.totals[key_of(edge)] for edge in starts}
        begin = {key_of(edge): (edge, Leaf(self.loss.symbol(names[key_of(edge)]))) for edge in starts}
        return graph_rule(begin, wanted, is_closed, names, self.loss.symbol, given)


def _data_inputs(node: Node, parameter: Value) -> list[Edge]:
    """What a layer is applied to: its one input that is neither a parameter nor made of nothing else."""
    if parameter.tensor.dim() < 2:  # a bias may be added to anything
        return []
    others = [edge for edge in inputs_of(node) if not _is_parameter(edge)]
    return others if len(others) == 1 else []


def _is_parameter(edge: Edge) -> bool:
    node = edge[0]
    while node is not None and not hasattr(node, "variable") and node_name(node) in _LIGHT:
        node = node.next_functions[0][0]
    return node is None or hasattr(node, "variable")


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
