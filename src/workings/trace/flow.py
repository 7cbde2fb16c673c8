"""Who used which value: the data flow of a trace, by the identity of the tensors, not by their names.

A scope is the inside of one call: the statements that stand there, their loops and branches included. A statement that calls
a function stands in its own scope; what the function does stands in another, where the same tensors may have other names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from torch import Tensor

from workings.trace.agree import largest_difference
from workings.trace.formula import leaves
from workings.trace.step import Step

STATEMENTS = frozenset({"assign", "return", "expression", "operation"})
TRANSPARENT = frozenset({"loop", "turn", "branch", "folded"})
SKIPPED = frozenset({"expansion", "gradient", "update"})


@dataclass
class Use:
    """A statement that read a tensor, by this text."""

    step: Step
    text: str


@dataclass
class Scope:
    """The inside of one call: every statement, and for each tensor its name and the statements that read it."""

    statements: list[Step] = field(default_factory=list)
    inputs: list[Step] = field(default_factory=list)
    uses: dict[int, list[Use]] = field(default_factory=dict)
    tensors: dict[int, Tensor] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)

    def add_name(self, tensor: Tensor, name: str) -> None:
        self.tensors[id(tensor)] = tensor
        if name:
            self.names.setdefault(id(tensor), name)


def scopes(root: Step) -> Iterator[Scope]:
    """The scopes of a trace, the outermost first."""
    scope, inner = Scope(), list[Step]()
    _collect(root, scope, inner)
    if scope.statements:
        _connect(scope)
        yield scope
    for step in inner:
        yield from scopes(step)


def _collect(parent: Step, scope: Scope, inner: list[Step]) -> None:
    for step in parent.children:
        if step.kind in TRANSPARENT:
            _collect(step, scope, inner)
        elif step.kind in STATEMENTS:
            scope.statements.append(step)
            inner.append(step)
        elif step.kind == "input":
            scope.inputs.append(step)
        elif step.kind not in SKIPPED:
            inner.append(step)


def outputs(step: Step) -> list[tuple[str, Tensor]]:
    """The tensors a statement made, with their names: one, or several for `a, b = …`."""
    if isinstance(step.live, Tensor):
        return [(step.name.split(" = ")[-1], step.live)]
    if isinstance(step.live, (tuple, list)):
        names = step.name.split(", ") if step.name else []
        names = names if len(names) == len(step.live) else [""] * len(step.live)
        return [(name, value) for name, value in zip(names, step.live, strict=True) if isinstance(value, Tensor)]
    return []


def _connect(scope: Scope) -> None:
    latest: dict[str, Tensor] = {}
    for step in scope.inputs:
        if isinstance(step.live, Tensor):
            scope.add_name(step.live, step.name)
            latest[step.name] = step.live
    for step in scope.statements:
        for text in leaves(step.formula) if step.formula is not None else ():
            tensor = _operand(step, text, latest)
            if tensor is not None:
                scope.add_name(tensor, "")
                scope.uses.setdefault(id(tensor), []).append(Use(step, text))
                step.lives[text] = tensor
        for name, tensor in outputs(step):
            scope.add_name(tensor, name)
            latest[name] = tensor
    for key, uses in scope.uses.items():
        scope.names.setdefault(key, uses[0].text)


def _operand(step: Step, text: str, latest: dict[str, Tensor]) -> Tensor | None:
    """The very tensor a statement read: as recorded, or the latest of that name if it has the recorded values."""
    recorded, value = step.lives.get(text), step.operands.get(text)
    if isinstance(recorded, Tensor):
        return recorded
    if isinstance(value, Tensor) and value.requires_grad:
        return value
    found = latest.get(text)
    if found is None or (isinstance(value, Tensor) and largest_difference(found, value) != 0):
        return None
    return found


def changed_since(step: Step) -> bool:
    """Whether the tensor a statement made was changed in place later, so that its gradient is that of the later value."""
    return (
        isinstance(step.live, Tensor) and isinstance(step.result, Tensor) and largest_difference(step.live, step.result) != 0
    )


def read_before_change(step: Step, text: str) -> bool:
    """Whether an operand was changed in place after this statement read it."""
    then = step.operands.get(text)
    return isinstance(then, Tensor) and largest_difference(step.lives[text], then) != 0
