"""Hooks of tensors: what arrives at a value, and what goes on from there after the author's hooks have seen it.

    h.register_hook(lambda g: g * 10)      ∂L/∂h from its uses = ∂L/∂y W      ∂L/∂h = ∂L/∂h from its uses · 10

A hook may print, or count: while gradients are asked for again and again, each runs once, and what it gave is handed on.
PyTorch itself shows a gradient before its hooks where the way goes on to other values, after them where it ends.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from workings.errors import WorkingsError
from workings.trace.formula.evaluate import evaluate
from workings.trace.formula.from_python import formula_of
from workings.trace.formula.tree import Call, Code, Formula, Leaf, leaves, rename
from workings.trace.gradient.scope import Scope, Value
from workings.trace.step import RULE_CHECKED, Step
from workings.trace.tensors.difference import is_rounding, largest_difference

_OURS = -1
"""The number of our own hook among those of a tensor; PyTorch counts from 0."""
_REGISTER = ".register_hook"


class TensorHooks:
    """The values that have hooks; used as a context, in which each hook runs once."""

    def __init__(self, values: Iterable[Value]) -> None:
        self.values = {value.key: value for value in values if _has_hooks(value)}
        self.own: dict[Hashable, dict[int, Any]] = {}
        self.before: dict[Hashable, Tensor] = {}
        self.after: dict[Hashable, Tensor] = {}
        self.silent: Collection[Hashable] = ()
        """Values whose gradient is wanted as it arrives."""

    def __enter__(self) -> TensorHooks:
        for key, value in self.values.items():
            hooks: Any = value.tensor._backward_hooks
            self.own[key] = dict(hooks)
            hooks.clear()  # PyTorch looks into this dictionary whenever a gradient arrives
            hooks[_OURS] = self._hook(key, list(self.own[key].values()))
        return self

    def __exit__(self, *error: object) -> None:
        for key, value in self.values.items():
            hooks: Any = value.tensor._backward_hooks
            hooks.clear()
            hooks.update(self.own[key])

    def _hook(self, key: Hashable, functions: list[Callable[[Tensor], Tensor | None]]) -> Callable[[Tensor], Tensor | None]:
        def hook(gradient: Tensor) -> Tensor | None:
            if key in self.silent:
                return None
            if key not in self.after:
                self.before[key] = gradient.detach().clone()
                for function in functions:
                    given = function(gradient)
                    gradient = gradient if given is None else given
                self.after[key] = gradient.detach().clone()
            return self.after[key]

        return hook

    def changed(self, key: Hashable) -> bool:
        """Whether the hooks of a value gave another gradient than they got."""
        return key in self.after and not torch.equal(self.before[key], self.after[key])

    def line(self, scope: Scope | None, key: Hashable, given: str) -> tuple[Step | None, Formula, str]:
        """The statement that registered the hook, if it is recorded, the formula of what it gives, and a remark."""
        for statement in scope.statements if scope is not None else ():
            call = statement.step.formula
            if isinstance(call, Call) and call.name.endswith(_REGISTER) and key in {v.key for v in statement.read.values()}:
                return statement.step, *self._formula(key, call, given, statement.step)
        functions = [getattr(function, "__name__", type(function).__name__) for function in self.own[key].values()]
        return (
            None,
            Call(functions[0].replace("<lambda>", "hook"), (Leaf(given),)),
            f"changed by its hook {', '.join(functions)}",
        )

    def _formula(self, key: Hashable, call: Call, given: str, step: Step) -> tuple[Formula, str]:
        """The body of a lambda where it gives the numbers; else a call of the hook."""
        match call.args:
            case (Code(_, ast.Lambda(args=ast.arguments(args=[ast.arg(arg=name)]), body=body)),):
                formula = rename(formula_of(body), {name: given})
                if given in leaves(formula) and (difference := self._difference(key, formula, given, step)) is not None:
                    return formula, f"changed by its hook; {RULE_CHECKED}: largest difference {difference:.2g}"
            case (Leaf(name),):
                return Call(name, (Leaf(given),)), f"changed by its hook {name}"
        return Call("hook", (Leaf(given),)), f"changed by its hook: {step.source}"

    def _difference(self, key: Hashable, formula: Formula, given: str, step: Step) -> float | None:
        try:
            with torch.no_grad():
                ours = torch.as_tensor(evaluate(formula, {**step.operands, given: self.before[key]}))
        except WorkingsError:
            return None
        difference = largest_difference(ours, self.after[key])
        return difference if is_rounding(difference, ours, self.after[key]) else None


def _has_hooks(value: Value) -> bool:
    """Whether the author registered a hook for this value, and not for what the tensor was before a change in place."""
    is_same = value.edge is None or value.edge.node is value.tensor.grad_fn
    return is_same and bool(getattr(value.tensor, "_backward_hooks", None))


def backward_hooks(step: Step, modules: Mapping[str, nn.Module]) -> str:
    """That a module which a statement calls has hooks of its own that see, and may change, its gradients; else nothing."""
    for name in (inner.name for inner in step.walk() if inner.kind == "module" and inner.name in modules):
        hooks = {**modules[name]._backward_hooks, **modules[name]._backward_pre_hooks}
        if hooks:
            called = ", ".join(dict.fromkeys(getattr(hook, "__name__", type(hook).__name__) for hook in hooks.values()))
            return f"the backward hook {called} of {name} changes it"
    return ""
