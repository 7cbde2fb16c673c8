"""Who made and who read which value: the data flow of a trace, by places in autograd's graph, not by names or tensors.

The statements of each scope are gone through in the order they ran. What a statement read and made is looked up in what was
recorded of it; what was not recorded (the row that a turn of `for r in x` takes) is found where it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from torch import Tensor, nn

from workings.trace.formula.arguments import size_value
from workings.trace.formula.targets import Target, part_targets, unpack
from workings.trace.formula.tree import Leaf, leaves, walk
from workings.trace.gradient.entries import UNREADABLE, Entries, assigned_entry
from workings.trace.gradient.layers import with_layers
from workings.trace.gradient.reading import (
    appended_list,
    changed_name,
    entry,
    hidden_names,
    loop_rows,
    names_in_options,
    reading,
    with_items,
)
from workings.trace.gradient.rows import complete, row_of, rows_source
from workings.trace.gradient.scope import Scope, Statement, Value, value_of
from workings.trace.step import CONTAINERS, Step
from workings.trace.tensors.difference import largest_difference
from workings.trace.tensors.snapshot import autograd_origin

STATEMENTS = frozenset({"assign", "return", "expression", "operation"})
_TRANSPARENT = frozenset({"loop", "turn", "branch", "folded"})
_SKIPPED = frozenset({"expansion", "gradient", "update"})


def scopes(root: Step, modules: Mapping[str, nn.Module] | None = None) -> Iterator[Scope]:
    """The scopes of a trace, the outermost first. `modules` are the layers that may be called in it, by their paths."""
    steps, inner, scope = list[Step](), list[Step](), Scope(step=root)
    _collect(root, steps, scope, inner)
    if steps:
        _ValueFlow(scope, modules or {}).follow(steps)
        yield scope
    for step in inner:
        yield from scopes(step, modules)


def _collect(parent: Step, steps: list[Step], scope: Scope, inner: list[Step]) -> None:
    for step in parent.children:
        if step.kind in _TRANSPARENT:
            steps += [step] if step.kind in ("loop", "turn") or (parent.kind, step.kind) == ("loop", "folded") else []
            _collect(step, steps, scope, inner)
        elif step.kind in STATEMENTS:
            steps.append(step)
            inner.append(step)
        elif step.kind == "input":
            scope.inputs.append(step)
        elif step.kind not in _SKIPPED:
            inner.append(step)


_MOST_ITEMS = 64
"""Items of a list that are followed one by one."""


class _ValueFlow:
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
        self.apart: list[Statement] = []
        """Statements that take apart what is no tuple: a tensor, a generator."""
        self.taken: dict[str, Statement] = {}
        """Names that a loop gives, one value each turn."""
        self.turns: dict[int, str] = {}
        """Turns, by their identity, and the name that each of them gives."""
        self.before: dict[str, int] = {}
        """How many values each name had when the turn began."""
        self.unseen: dict[str, int] = {}
        """How many values a name had in turns that are not recorded."""
        self.rows: dict[str, tuple[Value, int]] = {}
        """Names of rows of a tensor that was taken apart: the tensor and the number of the row."""

    def follow(self, steps: list[Step]) -> None:
        for step in self.scope.inputs:
            self._count_others(step)
            if isinstance(step.result, list):
                self.lengths[step.name] = len(step.result)
            for name, tensor, then in tensors(step):
                value = value_of(tensor, then)
                self.scope.makers.setdefault(value.key, None)
                self._name(name, value)
        ways = {"loop": self._loop, "turn": self._turn, "folded": self._repeat_folded_turns}
        for step in steps:
            ways.get(step.kind, self._statement)(step)
        for name, statement in self.pending.items():
            if name in self.latest:
                self._settle(name, statement, value_of(self.latest[name].tensor))
        for statement in (*self.taken.values(), *self.apart):
            complete(statement)

    def _statement(self, step: Step) -> None:
        formula = reading(step, self.latest)
        entries = Entries(step.operands, step.lives)
        if formula is not None:
            formula = entries.with_entries(formula)
        lists = {text: value for text, value in step.operands.items() if _is_list(value)}
        if formula is not None and lists:
            formula = with_items(formula, {text: len(items) for text, items in lists.items()})
        layers: dict[str, Any] = {}
        if formula is not None:
            formula, layers = with_layers(formula, step, self.modules)
        statement = Statement(step, formula, step.operands | entries.found, step.lives | entries.lives | layers)
        statement.operands |= {f"{text}[{i}]": item for text, items in lists.items() for i, item in enumerate(items)}
        self.scope.statements.append(statement)
        self._read(statement)
        self._make(statement)

    def _loop(self, step: Step) -> None:
        """`for r in x:` makes r of x, turn by turn."""
        found = loop_rows(step)
        if found is None:
            return
        name, formula = found
        statement = Statement(step, formula)
        if not all(text in self.latest for text in leaves(formula)):
            return
        self.scope.statements.append(statement)
        self._read(statement)
        self.taken[name] = statement
        self.turns |= {id(turn): name for turn in step.children}

    def _turn(self, step: Step) -> None:
        """The next row has the name now."""
        self.before = {name: len(called) for name, called in self.scope.called.items()}
        name = self.turns.get(id(step))
        whole = None if name is None else rows_source(self.taken[name])
        if name is not None and whole is not None:
            self.latest.pop(name, None)
            self.rows[name] = whole, step.count - 1

    def _repeat_folded_turns(self, step: Step) -> None:
        """Turns that ran and are not recorded made as many values as the one before them."""
        for name, called in self.scope.called.items():
            more = len(called) - self.before.get(name, len(called))
            if more:
                self.unseen[name] = more * step.count

    def _skip(self, name: str, read: bool) -> None:
        """Count the values of a name that nobody saw; if the last of them is read now, it counts itself."""
        count = self.unseen.pop(name, 0) - read
        self.scope.called.setdefault(name, []).extend(("unseen", i) for i in range(count))

    def _name(self, name: str, value: Value) -> None:
        if name in self.unseen and value.key not in self.scope.values:
            self._skip(name, read=False)
        self.scope.add(value, name)
        self.latest[name] = value
        if value.then is not None:
            self.copies[id(value.then)] = value

    def _read(self, statement: Statement) -> None:
        if statement.formula is None:
            return
        for leaf in {part.text: part for part in walk(statement.formula) if isinstance(part, Leaf)}.values():
            value = self._operand(statement, leaf.text)
            if value is None:
                self._work_out(statement, leaf)
            else:
                self._use(statement, leaf.text, value)
        for text in hidden_names(statement.formula):
            known = text not in statement.read and (text in self.latest or text in self.rows)
            found = self._operand(statement, text) if known else None
            if found is not None:
                self._use(statement, text, found)
        for text in names_in_options(statement.formula):
            if text in self.latest:
                statement.operands.setdefault(text, self.latest[text].then)

    def _use(self, statement: Statement, text: str, value: Value) -> None:
        self._arrive(text, value)
        if text in self.unseen and value.key not in self.scope.values:
            self._skip(text, read=True)
        self.scope.makers.setdefault(value.key, None)
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
            self._settle(text, loop, value)

    def _work_out(self, statement: Statement, leaf: Leaf) -> None:
        """What is no tensor but can be read off one: x.shape[-1:]"""
        if leaf.text not in statement.operands:
            known = {name: value.then for name, value in self.latest.items()} | statement.operands
            with suppress(*UNREADABLE):
                statement.operands[leaf.text] = size_value(leaf, known)

    def _operand(self, statement: Statement, text: str) -> Value | None:
        """The value a statement read: as recorded, or the latest of that name if it has the recorded numbers."""
        recorded, then = statement.lives.get(text), statement.operands.get(text)
        if isinstance(recorded, Tensor):
            value = value_of(recorded, then)
            return value if value.varies else self.copies.get(id(then), value)  # of a constant, a copy may be what was kept
        if isinstance(then, Tensor) and then.requires_grad:
            return value_of(then)
        if id(then) in self.copies:
            return self.copies[id(then)]
        if isinstance(then, Tensor) and autograd_origin(then) is not None:
            return value_of(then, then)
        if text in self.rows and text not in self.latest and then is None:
            return row_of(*self.rows[text], statement.step.live)
        found = self.latest.get(text)
        if found is None or (isinstance(then, Tensor) and largest_difference(found.then, then) != 0):
            return None
        return found

    def _make(self, statement: Statement) -> None:
        step = statement.step
        place, target, items = entry(step), changed_name(step), appended_list(step)
        if (into := assigned_entry(step)) is not None:
            self._keep(statement, *into)
            return
        if place is not None:
            told = step.kind == "assign" and isinstance(step.live, Tensor) and not step.syntax.is_augmented
            self._change(place[0], statement, told)
            return
        if items and step.live is None:
            self._append(items, statement)
            return
        if step.kind == "assign":
            self._count_others(step)
            named = step.syntax.target
            if named is not None and named.parts and not isinstance(step.live, (tuple, list, Mapping)):
                self._take_apart(named, statement)
                return
        if isinstance(step.result, list):
            self.lengths[step.name] = len(step.result)
        for i, (name, tensor, then) in enumerate(tensors(step)):
            value = (self.copies.get(id(then)) if type(step.result) in CONTAINERS else None) or value_of(tensor, then)
            statement.made.append((name or target, value))
            self.scope.makers.setdefault(value.key, statement)
            self._name(name or target, value) if name or target else self.scope.add(value, "")
            if target:
                self.latest[target] = value
            if name.startswith(f"{step.name}."):
                self.latest[f"{step.name}[{i}]"] = value
        if target and not statement.made:
            self._change(target, statement, told=False)

    def _keep(self, statement: Statement, name: str, then: Any) -> None:
        """`h[t] = e` makes the entry of a list or dict."""
        for part, tensor, copy in unpack(None, name, then, then):
            if isinstance(tensor, Tensor):
                self._settle(part, statement, self.copies.get(id(copy)) or value_of(tensor, copy))

    def _take_apart(self, target: Target, statement: Statement) -> None:
        """`a, b = x` and `q, k = (x @ W for W in Ws)` do not tell the parts: each is known when it is read."""
        self.apart.append(statement)
        is_flat = all(not part.parts and part.whole is None for part in target.parts)
        whole = rows_source(statement) if is_flat else None
        parts = target.places() if whole is None else part_targets(target, len(whole.then))
        for i, name in enumerate(part.text for part in parts):
            self.latest.pop(name, None)
            self.pending[name] = statement
            if whole is not None:
                self.rows[name] = whole, i

    def _count_others(self, step: Step) -> None:
        """A name that held something else than a tensor, as in h = 0, is another value's when a tensor gets it."""
        whole = step.name.isidentifier()
        named = [(step.name, step.live)] if whole else [pair[:2] for pair in step.named_results()]
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
        self.scope.makers.setdefault(value.key, statement)
        self._name(name, value)


def _is_list(value: Any) -> bool:
    return type(value) in (list, tuple) and len(value) <= _MOST_ITEMS and all(isinstance(v, Tensor) for v in value)


def tensors(step: Step) -> list[tuple[str, Tensor, Any]]:
    """The tensors among the results of a step, by their names, as they are and as they were."""
    return [(name, value, then) for name, value, then in step.named_results() if isinstance(value, Tensor)]
