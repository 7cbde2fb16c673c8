"""Who made and who read which value: the data flow of a trace, by places in autograd's graph, not by names or tensors.

A tensor that is changed in place (`h.mul_(2)`, `x += y`, `y[0] = v`) is several values, one after the other, and so is a
name that is assigned again. They are numbered in the order they came about: h, h#2, h#3.

A scope is the inside of one call: the statements that stand there, their loops and branches included. A statement that calls
a function stands in its own scope; what the function does stands in another, where the same tensors may have other names.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn
from torch.autograd.graph import GradientEdge

from workings.trace.agree import largest_difference
from workings.trace.formula import Formula, Leaf, leaves
from workings.trace.places import FormulaError, read_text
from workings.trace.pullback_module import with_layers
from workings.trace.pullback_reading import appended, changed, entry, hidden, iterated, mentioned, reading, with_items
from workings.trace.pullback_targets import unpacked
from workings.trace.snapshot import MADE_BY
from workings.trace.step import Step

STATEMENTS = frozenset({"assign", "return", "expression", "operation"})
TRANSPARENT = frozenset({"loop", "turn", "branch", "folded"})
SKIPPED = frozenset({"expansion", "gradient", "update"})


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
    if copied and then in MADE_BY:
        made = MADE_BY[then]
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

    def add(self, value: Value, name: str) -> None:
        """Know a value, by this name unless it has one; a name that was another value's before gets a number."""
        self.values.setdefault(value.key, value)
        if not name:
            return
        called = self.called.setdefault(name, [])
        if value.key not in called:
            called.append(value.key)
        self.names.setdefault(value.key, name if len(called) == 1 else f"{name}#{len(called)}")


def scopes(root: Step, modules: Mapping[str, nn.Module] | None = None) -> Iterator[Scope]:
    """The scopes of a trace, the outermost first. `modules` are the layers that may be called in it, by their paths."""
    steps, inner, scope = list[Step](), list[Step](), Scope()
    _collect(root, steps, scope, inner)
    if steps:
        _Connection(scope, modules or {}).follow(steps)
        yield scope
    for step in inner:
        yield from scopes(step, modules)


def _collect(parent: Step, steps: list[Step], scope: Scope, inner: list[Step]) -> None:
    for step in parent.children:
        if step.kind in TRANSPARENT:
            steps += [step] if step.kind == "loop" else []
            _collect(step, steps, scope, inner)
        elif step.kind in STATEMENTS:
            steps.append(step)
            inner.append(step)
        elif step.kind == "input":
            scope.inputs.append(step)
        elif step.kind not in SKIPPED:
            inner.append(step)


MOST_ITEMS = 64
"""Items of a list that are followed one by one."""


class _Connection:
    """Follows the values of one scope from statement to statement."""

    def __init__(self, scope: Scope, modules: Mapping[str, nn.Module]) -> None:
        self.scope = scope
        self.modules = modules
        self.latest: dict[str, Value] = {}
        self.copies: dict[int, Value] = {}
        """By the identity of their copies, which are shared as long as a tensor does not change."""
        self.lengths: dict[str, int] = {}
        self.pending: dict[str, Statement] = {}
        """Names whose new value a statement did not tell: it is known when it is read next."""
        self.taken: dict[str, Statement] = {}
        """Names that a loop gives, one value each turn."""

    def follow(self, steps: list[Step]) -> None:
        for step in self.scope.inputs:
            self._count_others(step)
            for name, tensor, then in _tensors(step):
                self._name(name, value_of(tensor, then))
        for step in steps:
            self._loop(step) if step.kind == "loop" else self._statement(step)
        for name, statement in self.pending.items():
            if name in self.latest:
                self._settle(name, statement, value_of(self.latest[name].tensor))
        for statement in self.taken.values():
            statement.made.sort(key=lambda pair: pair[1].edge.output_nr if pair[1].edge is not None else 0)

    def _statement(self, step: Step) -> None:
        formula = reading(step, self.latest)
        lists = {text: value for text, value in step.operands.items() if _is_list(value)}
        if formula is not None and lists:
            formula = with_items(formula, {text: len(items) for text, items in lists.items()})
        layers: dict[str, Any] = {}
        if formula is not None:
            formula, layers = with_layers(formula, step, self.modules)
        statement = Statement(step, formula, dict(step.operands), step.lives | layers)
        statement.operands |= {f"{text}[{i}]": item for text, items in lists.items() for i, item in enumerate(items)}
        self.scope.statements.append(statement)
        self._read(statement)
        self._make(statement)

    def _loop(self, step: Step) -> None:
        """`for r in x:` makes r of x, turn by turn."""
        found = iterated(step)
        if found is None:
            return
        name, formula = found
        statement = Statement(step, formula)
        if not all(text in self.latest for text in leaves(formula)):
            return
        self.scope.statements.append(statement)
        self._read(statement)
        self.taken[name] = statement

    def _name(self, name: str, value: Value) -> None:
        self.scope.add(value, name)
        self.latest[name] = value
        if value.then is not None:
            self.copies[id(value.then)] = value

    def _read(self, statement: Statement) -> None:
        if statement.formula is None:
            return
        for text in leaves(statement.formula):
            value = self._operand(statement, text)
            if value is None:
                self._work_out(statement, text)
            else:
                self._use(statement, text, value)
        for text in hidden(statement.formula):
            found = None if text in statement.read or text not in self.latest else self._operand(statement, text)
            if found is not None:
                self._use(statement, text, found)
        for text in mentioned(statement.formula):
            if text in self.latest:
                statement.operands.setdefault(text, self.latest[text].then)

    def _use(self, statement: Statement, text: str, value: Value) -> None:
        self._arrive(text, value)
        self.scope.add(value, text)
        statement.read[text] = value
        statement.operands.setdefault(text, value.then)
        users = self.scope.uses.setdefault(value.key, [])
        if statement not in users:
            users.append(statement)

    def _arrive(self, text: str, value: Value) -> None:
        """A value that a statement made without telling it, or that a loop took, is read for the first time."""
        if text in self.pending:
            self._settle(text, self.pending.pop(text), value)
        loop = self.taken.get(text)
        if loop is not None and value.edge is not None and value.key not in self.scope.names:
            loop.made.append((text, value))
            self._name(text, value)

    def _work_out(self, statement: Statement, text: str) -> None:
        """What is no tensor but can be read off one: x.shape[-1:]"""
        if text not in statement.operands:
            known = {name: value.then for name, value in self.latest.items()} | statement.operands
            try:
                statement.operands[text] = read_text(text, known)
            except (FormulaError, TypeError, ValueError, IndexError, AttributeError, KeyError):
                return

    def _operand(self, statement: Statement, text: str) -> Value | None:
        """The value a statement read: as recorded, or the latest of that name if it has the recorded numbers."""
        recorded, then = statement.lives.get(text), statement.operands.get(text)
        if isinstance(recorded, Tensor):
            return value_of(recorded, then)
        if isinstance(then, Tensor) and then.requires_grad:
            return value_of(then)
        if id(then) in self.copies:
            return self.copies[id(then)]
        if isinstance(then, Tensor) and MADE_BY.get(then) is not None:
            return value_of(then, then)
        found = self.latest.get(text)
        if found is None or (isinstance(then, Tensor) and largest_difference(found.then, then) != 0):
            return None
        return found

    def _make(self, statement: Statement) -> None:
        step = statement.step
        place, target, items = entry(step), changed(step), appended(step)
        if place is not None:
            self._change(place[0], statement, isinstance(step.live, Tensor) and not _augmented(step))
            return
        if items and step.live is None:
            self._append(items, statement)
            return
        if step.kind == "assign":
            self._count_others(step)
        if isinstance(step.result, list):
            self.lengths[step.name] = len(step.result)
        for i, (name, tensor, then) in enumerate(_tensors(step)):
            value = value_of(tensor, then)
            statement.made.append((name or target, value))
            self._name(name or target, value) if name or target else self.scope.add(value, "")
            if target:
                self.latest[target] = value
            if name.startswith(f"{step.name}."):
                self.latest[f"{step.name}[{i}]"] = value
        if target and not statement.made:
            self._change(target, statement, told=False)

    def _count_others(self, step: Step) -> None:
        """A name that held something else than a tensor, as in h = 0, is another value's when a tensor gets it."""
        whole = step.name.isidentifier()
        named = [(step.name, step.live)] if whole else [pair[:2] for pair in unpacked(step.name, step.live, step.result)]
        for name, value in named:
            if name.isidentifier() and not isinstance(value, Tensor):
                self.scope.called.setdefault(name, []).append(id(step))

    def _append(self, items: str, statement: Statement) -> None:
        """`hs.append(e)` makes hs[n]; `hs.append(h)` makes nothing new."""
        name = f"{items}[{self.lengths.setdefault(items, 0)}]"
        self.lengths[items] += 1
        if isinstance(statement.formula, Leaf):
            statement.formula = None
        else:
            self.pending[name] = statement

    def _change(self, name: str, statement: Statement, told: bool) -> None:
        """A change in place: the new value was recorded, or it is found where the tensor is read next."""
        step = statement.step
        if told:
            self._settle(name, statement, value_of(step.live, step.result))
        elif name in self.latest:
            self.pending[name] = statement

    def _settle(self, name: str, statement: Statement, value: Value) -> None:
        statement.made.append((name, value))
        self._name(name, value)


def _is_list(value: Any) -> bool:
    return type(value) in (list, tuple) and 0 < len(value) <= MOST_ITEMS and all(isinstance(v, Tensor) for v in value)


def _augmented(step: Step) -> bool:
    """`y[0] += v`, whose recorded result is y[0], not y."""
    return step.source.startswith(step.name) and not step.source[len(step.name) :].lstrip().startswith("=")


def _tensors(step: Step) -> list[tuple[str, Tensor, Any]]:
    found = unpacked(step.name, step.live, step.result)
    return [(name, value, then) for name, value, then in found if isinstance(value, Tensor)]
