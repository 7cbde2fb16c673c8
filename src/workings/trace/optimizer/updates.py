"""`optimizer.step()` as steps: each parameter's update in the optimizer's own equations, with the numbers.

The equations (`equations.py`) are computed from the state before the step and compared with the parameter after it. An
optimizer whose equations are not written out shows the parameter before and after, and says so.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from workings.errors import WorkingsError
from workings.exact.tensor.exact_tensor import ExactTensor
from workings.trace.formula.evaluate import evaluate
from workings.trace.formula.tree import leaves
from workings.trace.optimizer.equations import OPTIONS, STATE, Equations, equations
from workings.trace.optimizer.names import better, names_around
from workings.trace.step import UPDATE_CHECKED, Step
from workings.trace.tensors.difference import doubles, is_rounding, largest_difference

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
    elif (lines := _equations(kind, name, before)) is None:
        step.note = f"the equations of {kind.__name__} are not written out"
    else:
        _work_out(step, lines, before, after)
    return step


def _equations(kind: type[Optimizer], name: str, before: Snapshot) -> Equations | None:
    """The lines of an update; a parameter whose name is one of their letters is θ in them."""
    lines = equations(kind, "θ", before.options, before.state)
    if lines is None or name in _letters(lines):
        return lines
    return equations(kind, name, before.options, before.state)


def _work_out(step: Step, lines: Equations, before: Snapshot, after: Snapshot) -> None:
    """The lines of the update as steps inside, and how the last of them compares with the parameter."""
    θ = lines[-1][0]
    known = {**_letter_values(before), θ: before.value, f"{θ}.grad": before.gradient}
    try:
        with torch.no_grad():
            for name, formula in lines:
                value = _rounded_as_kept(name, evaluate(formula, known), after.state)
                operands = {text: known[text] for text in leaves(formula)}
                step.children.append(Step("update", name, formula=formula, operands=operands, result=value))
                known[name] = value
    except WorkingsError as reason:
        step.note = f"the equations could not be computed: {reason}"
        return
    step.note = _compare(known[θ], before, after)
    step.children[-1].result = after.value


def _rounded_as_kept(name: str, value: Any, state: Mapping[str, Any]) -> Any:
    """A plain number as the optimizer keeps it from step to step: NAdam's product in single precision."""
    kept = next((state[key] for key, letter in STATE.items() if letter == name and key in state), None)
    if not isinstance(value, float) or not isinstance(kept, Tensor):
        return value
    return kept.item() if is_rounding(abs(value - kept.item()), kept) else value


def _letters(lines: Equations) -> set[str]:
    return {text for name, formula in lines for text in (name, *leaves(formula))}


def _compare(ours: Tensor, before: Snapshot, after: Snapshot) -> str:
    difference, ends = largest_difference(ours, after.value), (before.value, after.value)
    exact = isinstance(ours, ExactTensor)
    if difference == 0 or (difference < inf and is_rounding(difference, *(doubles(v) if exact else v for v in ends))):
        return f"{UPDATE_CHECKED}: largest difference {difference:.2g}" + (_ROUNDED if exact and difference else "")
    return f"the equations give other numbers than the optimizer (largest difference {difference:.2g}); its own are shown"


def _letter_values(before: Snapshot) -> dict[str, Any]:
    """The letters of the equations: what the optimizer keeps (before its first step mostly zeros), options, the step."""
    values: dict[str, Any] = dict.fromkeys(STATE.values(), torch.zeros_like(before.value))
    values |= {"M": 1.0, "Δ": torch.full_like(before.value, float(before.options["lr"]))}
    values |= {STATE[key]: value for key, value in before.state.items() if key in STATE}
    values["M"] = float(values["M"])
    for key, letter in OPTIONS.items():
        if key in before.options:
            letters, given = (
                (letter, before.options[key]) if isinstance(letter, tuple) else ((letter,), (before.options[key],))
            )
            values |= dict(zip(letters, given, strict=True))
    values["t"] = int(before.state.get("step", 0)) + 1
    return values


def _copy(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, Tensor) else value


def _below(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))
