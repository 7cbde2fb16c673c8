"""`optimizer.step()` as steps: each parameter's update in the optimizer's own equations, with the numbers.

The equations (`equations.py`) are computed from the state before the step and compared with the parameter after it. An
optimizer whose equations are not written out shows the parameter before and after, and says so.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from workings.errors import WorkingsError
from workings.exact.tensor.exact_tensor import ExactTensor
from workings.trace.formula.evaluate import evaluate
from workings.trace.formula.tree import Leaf, leaves
from workings.trace.optimizer.equations import Equations, adam, sgd
from workings.trace.optimizer.names import better, names_around
from workings.trace.step import UPDATE_CHECKED, Step
from workings.trace.tensors.difference import doubles, is_rounding, largest_difference

_EQUATIONS: dict[type[Optimizer], Callable[[Leaf, Mapping[str, Any], Mapping[str, Any]], Equations]] = {
    torch.optim.SGD: sgd,
    torch.optim.Adam: adam,
    torch.optim.AdamW: adam,
}

_ROUNDED = " (the optimizer rounds 1 − βᵗ to a double)"


@dataclass(frozen=True)
class Snapshot:
    """A parameter at one moment: its value, its gradient, the optimizer's state for it and the options of its group."""

    value: Tensor
    gradient: Tensor | None
    state: dict[str, Any]
    options: dict[str, Any]


def snapshots(optimizer: Optimizer, names: Mapping[str, Tensor] | None = None) -> dict[str, Snapshot]:
    """Every parameter of the optimizer now, by its name; `names` as in `dict(model.named_parameters())`, else θ₁, θ₂ …

    A name that only counts (`parameter 1`) gives way to the one the parameter has in the code that calls the optimizer.
    """
    found: dict[str, Snapshot] = {}
    around = names_around(names.values()) if names else {}
    known = {id(tensor): better(name, around.get(id(tensor), "")) for name, tensor in (names or {}).items()}
    for group in optimizer.param_groups:
        options = {key: value for key, value in group.items() if key != "params"}
        for number, parameter in enumerate(group["params"]):
            own = options["param_names"][number] if "param_names" in options else f"θ{_below(len(found) + 1)}"
            name = known.get(id(parameter), own)
            name = own if name in found or (name.startswith("parameter ") and "param_names" in options) else name
            state = {key: _copy(value) for key, value in optimizer.state.get(parameter, {}).items()}
            gradient = None if parameter.grad is None else _copy(parameter.grad)
            found[name] = Snapshot(_copy(parameter), gradient, state, options)
    return found


@contextlib.contextmanager
def watch(optimizer: Optimizer, names: Mapping[str, Tensor] | None = None) -> Iterator[list[Step]]:
    """Run `optimizer.step()` inside; the list then holds its steps.

    >>> w = torch.tensor(1.0, requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.5)
    >>> (w * w).backward()
    >>> with watch(optimizer, {"w": w}) as steps:
    ...     optimizer.step()
    >>> [(line.name, line.result) for line in steps[0].children]
    [('w', tensor(0.))]
    """
    steps: list[Step] = []
    before = snapshots(optimizer, names)
    yield steps
    steps += update_steps(optimizer, before, snapshots(optimizer, names))


def update_steps(optimizer: Optimizer, before: Mapping[str, Snapshot], after: Mapping[str, Snapshot]) -> list[Step]:
    """One step of kind `update` for each parameter; its lines are the steps inside."""
    pairs = zip(before.items(), after.values(), strict=True)
    return [_update(type(optimizer), name, was, now) for (name, was), now in pairs]


def _update(kind: type[Optimizer], name: str, before: Snapshot, after: Snapshot) -> Step:
    step = Step("update", name, kind.__name__, operands={name: before.value}, result=after.value)
    if before.gradient is None:
        step.note = "no gradient, no update"
    elif kind not in _EQUATIONS:
        step.note = f"the equations of {kind.__name__} are not written out"
    else:
        _work_out(kind, step, before, after)
    return step


def _work_out(kind: type[Optimizer], step: Step, before: Snapshot, after: Snapshot) -> None:
    """The lines of the update as steps inside, and how the last of them compares with the parameter."""
    given = {**before.options, **({"decoupled_weight_decay": True} if kind is torch.optim.AdamW else {})}
    θ = Leaf("θ" if step.name in _letters(_EQUATIONS[kind](Leaf("θ"), given, before.state)) else step.name)
    known = _letter_values(θ, before, given)
    try:
        with torch.no_grad():
            for name, formula in _EQUATIONS[kind](θ, given, before.state):
                value = evaluate(formula, known)
                operands = {text: known[text] for text in leaves(formula)}
                step.children.append(Step("update", name, formula=formula, operands=operands, result=value))
                known[name] = value
    except WorkingsError as reason:
        step.note = f"the equations could not be computed: {reason}"
        return
    step.note = _compare(known[θ.text], before, after)
    step.children[-1].result = after.value


def _letters(equations: Equations) -> set[str]:
    """The letters of the equations: a parameter of one of these names is θ in them."""
    return {text for name, formula in equations for text in (name, *leaves(formula))}


def _compare(ours: Tensor, before: Snapshot, after: Snapshot) -> str:
    difference, ends = largest_difference(ours, after.value), (before.value, after.value)
    exact = isinstance(ours, ExactTensor)
    if difference == 0 or (difference < inf and is_rounding(difference, *(doubles(v) if exact else v for v in ends))):
        return f"{UPDATE_CHECKED}: largest difference {difference:.2g}" + (_ROUNDED if exact and difference else "")
    return f"the equations give other numbers than the optimizer (largest difference {difference:.2g}); its own are shown"


def _letter_values(θ: Leaf, before: Snapshot, given: Mapping[str, Any]) -> dict[str, Any]:
    """The letters of the equations: options, state (zero before the first step), the parameter and its gradient."""
    state, zero = before.state, torch.zeros_like(before.value)
    β1, β2 = given.get("betas", (0, 0))
    return {
        "η": given["lr"],
        "λ": given.get("weight_decay", 0),
        "μ": given.get("momentum", 0),
        "τ": given.get("dampening", 0),
        "ε": given.get("eps", 0),
        "β₁": β1,
        "β₂": β2,
        "t": int(state.get("step", 0)) + 1,
        "b": state.get("momentum_buffer"),
        "m": state.get("exp_avg", zero),
        "v": state.get("exp_avg_sq", zero),
        "v_max": state.get("max_exp_avg_sq", zero),
        θ.text: before.value,
        f"{θ.text}.grad": before.gradient,
    }


def _copy(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, Tensor) else value


def _below(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))
