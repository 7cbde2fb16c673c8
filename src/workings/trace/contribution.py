"""What one statement adds to a gradient: autograd's numbers, the rule in the statement's letters, and whether they agree."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from workings.errors import WorkingsError
from workings.trace.adjoint import adjoints
from workings.trace.agree import is_rounding, largest_difference
from workings.trace.evaluate import evaluate
from workings.trace.flow import changed_since, outputs
from workings.trace.forms import plus
from workings.trace.formula import Formula, Leaf, Number, leaves
from workings.trace.loss import Loss, pulled
from workings.trace.step import Step

OUTPUT = "output"
UNWRITTEN = "the rule is not written out"


@dataclass
class Contribution:
    """A statement's share of ∂L/∂text; `source` is what the statement assigned."""

    step: Step
    text: str
    source: str
    formula: Formula | None
    operands: dict[str, Any]
    value: Tensor
    note: str


def contribution(step: Step, texts: list[str], tensor: Tensor, loss: Loss) -> Contribution | None:
    """What `step` adds to the gradient of `tensor`, which it read by these texts; None where nothing flows."""
    made = [(name, t) for name, t in outputs(step) if loss.totals.get(id(t)) is not None and t is not tensor]
    if not made or step.formula is None:
        return None
    if changed_since(step):
        made = [(name, t) for name, t in made if name.endswith("]")]
    value = _flow(step, [t for _, t in made], tensor, loss) if made else None
    if value is None:
        return None
    name, result = made[0]
    source = name or loss.names.get(id(result), OUTPUT)
    if len(made) > 1 or name.endswith("]"):
        upstream = {loss.symbol(n or OUTPUT): loss.totals[id(t)] for n, t in made}
        return Contribution(step, texts[0], step.name, None, upstream, value, UNWRITTEN + _inside(step))
    formula, operands, note = _rule(step, texts, source, result, value, loss)
    return Contribution(step, texts[0], source, formula, operands, value, note)


def _flow(step: Step, made: list[Tensor], tensor: Tensor, loss: Loss) -> Tensor | None:
    """Autograd's gradient through this statement alone: what comes through its other operands is another statement's."""
    upstream = [loss.totals[id(t)] for t in made]
    others = [t for t in step.lives.values() if t is not tensor and t.grad_fn is not None and all(t is not m for m in made)]
    with _stopped(others):
        (value,) = pulled(made, [tensor], [g for g in upstream if g is not None], loss.name)
    return value


@contextlib.contextmanager
def _stopped(tensors: list[Tensor]) -> Iterator[None]:
    """No gradient passes these tensors."""
    hooks = [tensor.register_hook(torch.zeros_like) for tensor in tensors]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _rule(
    step: Step, texts: list[str], source: str, result: Tensor, value: Tensor, loss: Loss
) -> tuple[Formula | None, dict[str, Any], str]:
    """The rule, the values it stands on, and how its value compares with autograd's."""
    assert step.formula is not None
    again = source in leaves(step.formula)
    symbol = loss.symbol(f"{source}′" if again else source)
    known = {**step.operands, symbol: loss.totals[id(result)]}
    known |= {} if again else {source: step.result}
    upstream = Number(1) if result is loss.tensor else Leaf(symbol)
    try:
        formula = _written(step, texts, source, upstream)
    except Exception as reason:  # a rule may meet what nobody thought of: the numbers stand without it
        return None, {symbol: known[symbol]}, f"{UNWRITTEN}: {reason}{_inside(step)}"
    note = _compared(formula, known, value)
    if again and symbol in leaves(formula):
        note += f"; {source}′ is {source} after this statement"
    return formula, {text: known[text] for text in leaves(formula) if text in known}, note


def _inside(step: Step) -> str:
    return "; the steps inside show it" if any(child.kind in ("call", "module") for child in step.children) else ""


def _written(step: Step, texts: list[str], source: str, upstream: Formula) -> Formula:
    assert step.formula is not None
    rules = adjoints(step.formula, upstream, step.operands, name=source, result=step.result, wanted=texts)
    found: Formula = Number(0)
    for text in texts:
        found = plus(found, rules[text]) if text in rules else found
    return found


def _compared(formula: Formula, known: dict[str, Any], value: Tensor) -> str:
    try:
        with torch.no_grad():
            ours = torch.as_tensor(evaluate(formula, known))
    except WorkingsError as reason:
        return f"rule not checked: {reason}"
    difference = largest_difference(ours, value)
    if is_rounding(difference, value, *known.values()):
        return f"rule checked: largest difference {difference:.2g}"
    return f"the rule gives other numbers than autograd (largest difference {difference:.2g}); autograd's are shown"
