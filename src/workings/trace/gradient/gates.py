"""Autograd's gradient through one statement alone.

Each value that a scope knows is a gate in autograd's graph. To ask what a statement adds to ∂L/∂x, the whole gradient ∂L/∂y
of each of its results y is put in there, and the way from y to x is open only inside the statement: at another result of it
stands that one's own gradient (which has in it already what comes from y), and at the results of other statements nothing
passes, since that is what those add.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import torch
from torch import Tensor

from workings.errors import WorkingsError
from workings.trace.gradient.graph import inputs_of, key_of
from workings.trace.gradient.loss import Loss, autograd_gradients
from workings.trace.gradient.scope import Scope, Statement, Value

_Gradients = tuple[Tensor | None, ...]


class Gates:
    """The gates of one scope; used as a context, which puts them up and takes them down."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.statement: Statement | None = None
        self.read: set[Hashable] = set()
        self.given: dict[Hashable, Tensor] = {}
        self.wanted: Hashable = None
        self.hooks: list[Any] = []

    def __enter__(self) -> Gates:
        # A hook of the node, not of the tensor: a tensor that was changed in place since has another node by now, and a
        # value that nobody kept has no tensor to hook.
        for key, value in self.scope.values.items():
            if value.edge is not None:
                self.hooks.append(value.edge.node.register_prehook(self._gate(key, value.edge.output_nr)))
        return self

    def __exit__(self, *error: object) -> None:
        for hook in self.hooks:
            hook.remove()

    def through(self, statement: Statement, made: list[Value], value: Value, loss: Loss) -> Tensor | None:
        """What flows from the results of a statement to a value that it read."""
        self.statement, self.wanted = statement, value.key
        self.read = {v.key for v in statement.read.values()}
        # Autograd starts from all results at once: where one result is made of another, what arrives there on the way is
        # replaced by its own total, so nothing is counted twice.
        self.given = {v.key: total for v in made if (total := loss.total(v)) is not None}
        loss.hooks.silent = self.scope.values.keys()
        try:
            (found,) = autograd_gradients(made, [value], list(self.given.values()), loss.name)
            nothing = found is not None and _is_zero(found) and not self._leads(made)
        finally:
            self.statement, loss.hooks.silent = None, ()
        return None if nothing else found

    def _leads(self, made: list[Value]) -> bool:
        """Whether a way leads to the value that is asked for: only the size is read in x.new_zeros(y.size(0))."""
        queue = [value.edge.node for value in made if value.edge is not None]
        seen = {*queue}
        while queue:
            for edge in inputs_of(queue.pop()):
                key = key_of(edge)
                if key == self.wanted:
                    return True
                if edge[0] not in seen and self._is_open(key):
                    seen.add(edge[0])
                    queue.append(edge[0])
        return False

    def _gate(self, key: Hashable, number: int) -> Callable[[_Gradients], _Gradients | None]:
        def hook(gradients: _Gradients) -> _Gradients | None:
            here = gradients[number]
            if here is None or self._is_open(key):
                return None
            put = self.given.get(key)  # zeros, not None: the node has other outputs, and PyTorch wants all their gradients
            return (*gradients[:number], torch.zeros_like(here) if put is None else put, *gradients[number + 1 :])

        return hook

    def _is_open(self, key: Hashable) -> bool:
        """Whether a gradient passes here: at the value that is asked for, and where no other statement made the value."""
        if self.statement is None or key == self.wanted:
            return True
        # Closed are the statement's own results, where their whole gradient is put instead of what arrives; the other values
        # it read, since what passes them came through another statement; and what other statements made.
        closed = key in self.given or key in self.read or self.scope.makers.get(key) not in (None, self.statement)
        return not closed


def _is_zero(found: Tensor) -> bool:
    try:
        return not found.any()
    except WorkingsError:  # whether letters are zero, nobody knows
        return False
