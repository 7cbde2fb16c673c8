"""The rule of a statement read off autograd's graph, where its source has no formula.

The nodes between the results of the statement and a value are differentiated one after the other by the rules of the table
(`operations/graph/nodes.py` says what a node means). Long intermediate gradients get a letter:

    y = self.net(x)      ∂L/∂net.0 = (∂L/∂y net.2.weight) ⊙ (1 − net.1²)      ∂L/∂x = ∂L/∂net.0 net.0.weight

Where the way leads through a call whose statements are recorded, the gradient that arrived at its input is taken from there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from workings.errors import WorkingsError
from workings.trace.formula.evaluate import evaluate
from workings.trace.formula.operation import OPERATIONS
from workings.trace.formula.simplify import plus
from workings.trace.formula.tree import Apply, Call, Formula, Index, Leaf, Number, Sequence, entry, leaves, map_parts, walk
from workings.trace.gradient.adjoint import adjoints
from workings.trace.gradient.own_backward import OwnBackward
from workings.trace.gradient.rule import Rule
from workings.trace.operations.graph.inputs import Node, shape_of, unknown
from workings.trace.operations.graph.nodes import NodeReading, read_node
from workings.trace.operations.node import RuleError
from workings.trace.tensors.difference import is_rounding, largest_difference

MOST_NODES = 60
"""Nodes of the graph whose lines are shown."""
MOST_FOLDED = 600
"""Nodes of the graph that a rule is read off, whose lines are folded."""
_MOST_VISITED = 40
"""Nodes that are looked at for each that a rule may have."""
_MOST_LETTERS = 8
_LONG = 4
"""Operations in a gradient that then gets a letter."""

Edge = tuple[Node, int]


def key_of(edge: Edge) -> Hashable:
    """As `Value.key`: a leaf by its tensor, anything else by its place in the graph."""
    return id(edge[0].variable) if hasattr(edge[0], "variable") else edge


def inputs_of(node: Node) -> Iterator[Edge]:
    for after, number in node.next_functions:
        if after is not None:
            yield after, number


@dataclass
class Names:
    """What values of the graph are called, and their numbers, by their keys."""

    names: Mapping[Hashable, str]
    values: Mapping[Hashable, Any]
    constants: Collection[Hashable] = ()
    """Those that do not vary, so that the graph does not have them."""
    first: str = ""
    """What the first value without a name is called."""
    made: dict[Hashable, str] = field(default_factory=dict)

    def __getitem__(self, key: Hashable) -> str:
        """The name of a value; one that the code does not name is z₁, z₂ …"""
        known = self.names.get(key) or self.made.get(key)
        if known is None:
            known = self.made[key] = self.first if self.first and not self.made else self._letter()
        return known

    def _letter(self) -> str:
        return f"z{str(len(self.made) + (not self.first)).translate(_BELOW)}"


_BELOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def graph_rule(
    starts: Mapping[Hashable, tuple[Edge, Formula]],
    wanted: Hashable,
    is_closed: Callable[[Hashable], bool],
    names: Names,
    symbol: Callable[[str], str],
    known: Mapping[str, Any],
    most: int = MOST_NODES,
) -> Rule:
    """The gradient of `wanted` from the gradients of the starts; the way does not lead through what is closed.

    A start is a place in the graph with the formula of its gradient, whose leaves are in `known`.
    """
    return _Reader(starts, wanted, is_closed, names, symbol, dict(known), most).rule()


class _Reader:
    def __init__(
        self,
        starts: Mapping[Hashable, tuple[Edge, Formula]],
        wanted: Hashable,
        is_closed: Callable[[Hashable], bool],
        names: Names,
        symbol: Callable[[str], str],
        known: dict[str, Any],
        most: int,
    ) -> None:
        self.starts, self.wanted, self.is_closed = starts, wanted, is_closed
        self.names, self.symbol, self.known, self.most = names, symbol, known, most
        self.letters: dict[str, Formula] = {}
        self.readings: dict[Node, NodeReading] = {}
        self.values: dict[Hashable, Any] = dict(names.values)
        self.constants: dict[int, str] = {}

    def rule(self) -> Rule:
        order = self._nodes()
        if not order and self.wanted not in self.starts:
            raise RuleError("no operation of PyTorch's leads there")
        for node in order:
            self.readings[node] = read_node(node)
        self._keep_values(order)
        found: dict[Hashable, Formula] = {key: G for key, (_, G) in self.starts.items()}
        for node in order:
            self._pull(node, found)
        if self.wanted not in found:
            raise RuleError("no operation of PyTorch's leads there")
        formula = found[self.wanted]
        return Rule(formula, self.known, self._needed(formula))

    # ---- the part of the graph

    def _nodes(self) -> list[Node]:
        """The nodes on a way from the starts to what is wanted, each before those it leads to."""
        leads: dict[Node, bool] = {}
        order: list[Node] = []

        def visit(node: Node) -> bool:  # a stack of our own: graphs are deeper than Python's
            stack: list[tuple[Node, Iterator[Edge]]] = [(node, inputs_of(node))]
            leads.setdefault(node, False)
            while stack:
                top, rest = stack[-1]
                for edge in rest:
                    key = key_of(edge)
                    if key == self.wanted:
                        leads[top] = True
                    elif not (self.is_closed(key) or key in self.starts or hasattr(edge[0], "variable")):
                        if edge[0] not in leads:
                            leads[edge[0]] = False
                            if len(leads) > _MOST_VISITED * self.most:
                                raise RuleError("it is made of too many operations to be written out")
                            stack.append((edge[0], inputs_of(edge[0])))
                            break
                        leads[top] |= leads[edge[0]]
                else:
                    stack.pop()
                    if stack:
                        leads[stack[-1][0]] |= leads[top]
                    if leads[top]:
                        order.append(top)
            return leads[node]

        for (node, _), _ in self.starts.values():
            if node is not None and not hasattr(node, "variable") and node not in leads:
                visit(node)
        if len(order) > self.most:
            raise RuleError(f"{len(order)} operations of PyTorch's lead there, too many to be written out")
        return order[::-1]

    def _passes(self, key: Hashable) -> bool:
        return key == self.wanted or not (self.is_closed(key) or key in self.starts)

    def _keep_values(self, order: list[Node]) -> None:
        """The values that the nodes kept, and those that can be computed from them."""
        for node in order:
            reading = self.readings[node]
            if "result" in reading.values:
                self.values.setdefault((node, 0), reading.values["result"])
            for number, (after, output) in enumerate(node.next_functions):
                if after is not None and f"#{number}" in reading.values:
                    self.values.setdefault(key_of((after, output)), reading.values[f"#{number}"])
        for node in reversed(order):
            if (node, 0) not in self.values and _is_single(self.readings[node].formula):
                self._compute(node)

    def _compute(self, node: Node) -> None:
        reading = self.readings[node]
        given = dict(reading.values)
        for number, (after, output) in enumerate(node.next_functions):
            value = None if after is None else self.values.get(key_of((after, output)))
            if value is None and hasattr(after, "variable"):  # a bias, which no derivative needs
                value = after.variable.detach()
            if value is not None:
                given[f"#{number}"] = value
        try:
            with torch.no_grad():
                value = evaluate(reading.formula, given)
        except WorkingsError:
            return
        if isinstance(value, Tensor) and not bool(value.isnan().any()) and tuple(value.shape) == shape_of(node, 0):
            self.values[node, 0] = value

    # ---- the gradient

    def _pull(self, node: Node, found: dict[Hashable, Formula]) -> None:
        """Push the gradient of a node on to its inputs."""
        reading, outputs = self.readings[node], len(node._input_metadata)
        if isinstance(reading.formula, Call):
            self._pull_own(node, reading.formula.name, found)
            return
        single = _is_single(reading.formula)
        if single:
            if (node, 0) not in found:
                return
            upstream: Formula = self._short((node, 0), found)
        else:
            upstream = Sequence(self._upstreams(node, outputs, found))
        ways: dict[str, Hashable] = {}
        formula = self._named(node, reading, ways)
        name = self.names.names.get((node, 0), "")
        own = self._leaf((node, 0)).text if name or self._keeps_result(node) else ""
        given = adjoints(
            formula,
            upstream,
            self.known,
            name=own if single else "",
            result=self.values.get((node, 0)),
            wanted=list(ways),
            letters=self.letters,
        )
        for text, gradient in given.items():
            key = ways[text]
            found[key] = plus(found[key], gradient) if key in found else gradient

    def _upstreams(self, node: Node, outputs: int, found: dict[Hashable, Formula]) -> tuple[Formula, ...]:
        zeros = [Apply("zeros", (), (("shape", shape_of(node, i)),)) for i in range(outputs)]
        return tuple(self._short((node, i), found) if (node, i) in found else zeros[i] for i in range(outputs))

    def _pull_own(self, node: Node, name: str, found: dict[Hashable, Formula]) -> None:
        """The gradient by the author's own backward of a `torch.autograd.Function`."""
        outputs = len(node._input_metadata)
        if not any((node, i) in found for i in range(outputs)):
            return
        name = f"{name}.backward"
        while name in self.known:
            name += "′"
        self.known[name] = OwnBackward(node)
        call = Call(name, self._upstreams(node, outputs, found))
        inputs = list(inputs_of(node))
        for number, edge in enumerate(inputs):
            key = key_of(edge)
            if key == self.wanted or (edge[0] in self.readings and self._passes(key)):
                gradient = call if len(inputs) == 1 else entry(call, Index((Number(number),)))
                found[key] = plus(found[key], gradient) if key in found else gradient

    def _keeps_result(self, node: Node) -> bool:
        return "result" in self.readings[node].values

    def _named(self, node: Node, reading: NodeReading, ways: dict[str, Hashable]) -> Formula:
        """The formula of a node with the names of its inputs; `ways` receives those through which the gradient goes on."""

        def name(part: Formula) -> Formula:
            match part:
                case Leaf(text) if text.startswith("#"):
                    return self._input(node, int(text[1:]), reading, ways)
                case Leaf(text) if text.startswith("$"):
                    return self._constant(reading.values[text], text[1:])
                case Apply(op="index" | "put" as op, args=args, options=((at, index),)):
                    places = tuple(name(p) if isinstance(p, Leaf) else p for p in index.parts)
                    return Apply(op, tuple(map(name, args)), ((at, type(index)(places)),))
            return map_parts(part, name)

        return name(reading.formula)

    def _input(self, node: Node, number: int, reading: NodeReading, ways: dict[str, Hashable]) -> Formula:
        edge = node.next_functions[number]
        key = key_of(edge)
        if key == self.wanted or (edge[0] in self.readings and self._passes(key)):
            leaf = self._leaf(key, edge, reading.values.get(f"#{number}"))
            ways[leaf.text] = key
            return leaf
        value = reading.values.get(f"#{number}")
        if key not in self.names.names and (moved := self._moved(edge, value)) is not None:
            return moved
        return self._leaf(key, edge, value)

    def _moved(self, edge: Edge, value: Any) -> Formula | None:
        """The transpose of something that has a name, as the weight of a linear layer is read; its value, if it was kept."""
        if hasattr(edge[0], "variable"):
            return None
        try:
            reading = read_node(edge[0])
        except RuleError:
            return None
        match reading.formula:
            case Apply(op="transpose", args=(Leaf("#0"),)):
                below = edge[0].next_functions[0]
                if key_of(below) in self.names.names and key_of(below) != self.wanted:
                    own = value.mT if isinstance(value, Tensor) and value.dim() > 1 else None
                    return Apply("transpose", (self._leaf(key_of(below), below, own),))
        return None

    def _leaf(self, key: Hashable, edge: Edge | None = None, value: Any = None) -> Leaf:
        """A value by its name; its numbers join the known ones."""
        text = self.names[key]
        if text not in self.known:
            place = edge or (key if isinstance(key, tuple) else None)
            found = self.values.get(key, value)
            if found is None and place is not None and hasattr(place[0], "variable"):
                found = place[0].variable.detach()
            self.known[text] = unknown(shape_of(*place)) if found is None and place is not None else found
        return Leaf(text)

    def _constant(self, value: Any, name: str) -> Leaf:
        """A tensor that does not vary: the mask of a dropout, an index, a table."""
        for key in self.names.constants:
            if key in self.names.names and _is_same(self.names.values[key], value):
                return self._leaf(key)
        if id(value) not in self.constants:
            letter = "m" if _is_mask(value) else "c" if value.is_floating_point() else "i"
            while letter in self.known or letter in self.letters:
                letter += "′"
            self.constants[id(value)] = letter
            self.known[letter] = value
        return Leaf(self.constants[id(value)])

    def _short(self, key: Hashable, found: dict[Hashable, Formula]) -> Formula:
        """The gradient of a value; a letter for it where it is long."""
        G = found[key]
        if isinstance(G, Leaf) or sum(isinstance(part, Apply) for part in walk(G)) < _LONG:
            return G
        letter = self.symbol(self.names[key])
        if letter in self.known or letter in self.letters:
            return G
        self.letters[letter] = G
        return Leaf(letter)

    # ---- what the letters stand for

    def _needed(self, formula: Formula) -> dict[str, Formula]:
        """The letters that the formula needs, each after those it is made of; the values without a name among them."""
        meanings = dict(self.letters)
        for key, text in self.names.made.items():
            if text in self.known and isinstance(key, tuple) and key[0] in self.readings and key[1] == 0:
                reading = self.readings[key[0]]
                if _is_single(reading.formula):
                    meanings[text] = self._named(key[0], reading, {})
        ordered: dict[str, Formula] = {}
        self._order(formula, meanings, ordered, ())
        if sum(not text.startswith("∂") for text in ordered) > _MOST_LETTERS:
            return {text: part for text, part in ordered.items() if text in self.letters}
        return ordered

    def _order(
        self, formula: Formula, meanings: Mapping[str, Formula], out: dict[str, Formula], above: tuple[str, ...]
    ) -> None:
        for text in leaves(formula):
            if text in meanings and text not in out and text not in above:
                meaning = meanings[text]
                if not text.startswith("∂") and text not in self.letters and not self._is_right(text, meaning):
                    continue
                self._order(meaning, meanings, out, (*above, text))
                out[text] = meaning

    def _is_right(self, text: str, meaning: Formula) -> bool:
        """Whether a formula gives the value of a name."""
        try:
            with torch.no_grad():
                value = evaluate(meaning, self.known)
        except WorkingsError:
            return False
        own = self.known[text]
        return isinstance(value, Tensor) and is_rounding(largest_difference(value, own), value, own)


def _is_same(known: Any, value: Tensor) -> bool:
    """Whether a constant is a value that has a name."""
    alike = isinstance(known, Tensor) and known.shape == value.shape and known.dtype == value.dtype
    return alike and value.dim() > 0 and torch.equal(known, value)


def _is_mask(value: Tensor) -> bool:
    """Whether the entries are 0 and one other number, as a dropout's are."""
    if not value.is_floating_point():
        return value.dtype == torch.bool
    return value.numel() <= 1 << 20 and len(value.unique()) == 2 and bool((value == 0).any())


def _is_single(formula: Formula) -> bool:
    row = OPERATIONS.get(formula.op) if isinstance(formula, Apply) else None
    return row is None or row.gives != "parts"
