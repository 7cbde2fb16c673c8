"""The rule of what PyTorch ran in a statement, where its source has no formula.

A short way through autograd's graph is written out. A long one is cut: at the calls whose statements are recorded, else at
layers inside, whose own lines lead on from there; where there are none, its many lines are folded under the gradient.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from torch import Tensor

from workings.trace.formula.simplify import plus
from workings.trace.formula.tree import Formula, Leaf
from workings.trace.gradient.flow import STATEMENTS
from workings.trace.gradient.graph import MOST_FOLDED, MOST_NODES, Names, graph_rule, inputs_of, key_of
from workings.trace.gradient.loss import Loss
from workings.trace.gradient.request import GradientRequest
from workings.trace.gradient.rule import Rule, gradient_of
from workings.trace.gradient.scope import Scope
from workings.trace.operations.node import RuleError
from workings.trace.step import Step

_Starts = dict[Hashable, tuple[Any, Formula]]
"""Places in the graph with the formulas of their gradients."""
_MOST_INSIDE = 20_000
"""Nodes of a statement that are looked at."""


def rule_of_calls(asked: GradientRequest) -> Rule:
    """The insides of calls are taken from the statements recorded there."""
    calls = list(_calls_in(asked.statement.step, asked.loss.inner))
    if not calls:
        raise RuleError("no statement was recorded inside")
    return _read_graph(asked, calls, MOST_NODES)


def rule_of_operations(asked: GradientRequest) -> Rule:
    """Operation by operation."""
    return _read_graph(asked, [], MOST_NODES)


def rule_of_layers(asked: GradientRequest) -> Rule:
    """From the first layers that the value reaches inside the statement; these have lines of their own."""
    return asked.layers.rule_from(asked.value.key, asked.scope, _nodes_inside(asked), _Closed(asked, set()))


def rule_of_many_operations(asked: GradientRequest) -> Rule:
    """Operation by operation, however many: their lines are folded."""
    return _read_graph(asked, [], MOST_FOLDED)


class _Closed:
    """The values at which the way through a statement ends: others that it read, what other statements made."""

    def __init__(self, asked: GradientRequest, inside: set[Hashable]) -> None:
        self.asked, self.inside = asked, inside
        self.read = {value.key for value in asked.statement.read.values()}

    def __call__(self, key: Hashable) -> bool:
        if key == self.asked.value.key:
            return False
        made_elsewhere = self.asked.scope.makers.get(key) not in (None, self.asked.statement)
        return key in self.inside or key in self.read or made_elsewhere


def _nodes_inside(asked: GradientRequest) -> set[Any]:
    """The nodes between the results of a statement and what it read."""
    is_closed = _Closed(asked, set())
    queue = [
        value.edge.node for _, value in asked.made if value.edge is not None and asked.scope.is_new(asked.statement, value)
    ]
    found = set(queue)
    while queue:
        for edge in inputs_of(queue.pop()):
            if edge[0] not in found and not hasattr(edge[0], "variable") and not is_closed(key_of(edge)):
                found.add(edge[0])
                queue.append(edge[0])
        if len(found) > _MOST_INSIDE:
            raise RuleError("it is made of too many operations to be written out")
    return found


def _read_graph(asked: GradientRequest, calls: list[Scope], most: int) -> Rule:
    statement, scope, loss = asked.statement, asked.scope, asked.loss
    starts: _Starts = {}
    known = dict(asked.given)
    inside = {key for call in calls for key, maker in call.makers.items() if maker is not None}
    for name, v in asked.made:
        if v.edge is not None and loss.total(v) is not None and scope.is_new(statement, v) and v.key not in inside:
            starts[v.key] = (v.edge.node, v.edge.output_nr), gradient_of(name, v, loss)
    for call in calls:
        for key, arrived in call.flows.items():
            if key not in inside and (key == asked.value.key or scope.makers.get(key) is None):
                _start_inside(call, key, arrived, starts, known, loss)
    names = Names({**loss.paths, **scope.names}, {key: v.then for key, v in scope.values.items()}, scope.constants)
    return graph_rule(starts, asked.value.key, _Closed(asked, inside), names, loss.symbol, known, most)


def _start_inside(call: Scope, key: Hashable, arrived: Tensor, starts: _Starts, known: dict[str, Any], loss: Loss) -> None:
    """What arrived at an input of a call is where the rule of the statement around it goes on."""
    assert call.step is not None
    edge = call.values[key].edge
    *_, around, module = ("", *(call.step.name or call.step.source).split("."))
    called = f"{around}.{module}".lstrip(".") if module.isdecimal() else module  # net.0, of a list of layers
    name = f"{called}.{call.names.get(key, 'input').removeprefix('self.')}"
    while loss.symbol(name) in known:
        name += "′"
    known[loss.symbol(name)] = arrived
    leaf: Formula = Leaf(loss.symbol(name))
    place = (None, 0) if edge is None else (edge.node, edge.output_nr)
    starts[key] = place, plus(starts[key][1], leaf) if key in starts else leaf


def _calls_in(step: Step, inner: Mapping[int, Scope]) -> Iterator[Scope]:
    """The insides of the calls that a statement makes, also inside a library's modules, without those inside them."""
    for child in step.children:
        if id(child) in inner:
            yield inner[id(child)]
        elif child.kind not in STATEMENTS:
            yield from _calls_in(child, inner)
