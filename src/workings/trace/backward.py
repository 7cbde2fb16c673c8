"""The backward pass as steps: ∂L/∂name for each named value, filed under the statement that used it.

The numbers are autograd's. The rule beside them is ours (`adjoint.py`), computed again (`evaluate.py`) and compared, so that
a reader knows of every line whether rule and numbers agree:

    Z = A V      ∂L/∂A = ∂L/∂Z Vᵀ      rule checked: largest difference 0

A value that several statements use receives a contribution from each; they are shown, and then their sum.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from workings.trace.agree import is_rounding, largest_difference
from workings.trace.contribution import Contribution, contribution
from workings.trace.flow import Scope, outputs, read_before_change, scopes
from workings.trace.formula import Apply, Formula, Leaf
from workings.trace.loss import Loss, find_loss, gradients
from workings.trace.record import Trace
from workings.trace.step import Step

ELSEWHERE = "elsewhere"


def backward(trace: Trace, loss: str | None = None) -> None:
    """Add the gradients of a loss to a trace. `loss` is its name, by default the last result that is a number."""
    _forget(trace.root)
    found = list(scopes(trace.root))
    target = find_loss(found, loss)
    target.totals = gradients(target, {id(t): t for scope in found for t in scope.tensors.values()}.values())
    target.names = {key: name for scope in reversed(found) for key, name in scope.names.items()}
    for scope in found:
        for key in scope.uses:
            _file(_contributions(scope, key, target), scope.tensors[key], target)
    trace.notes += _skipped(found[0], target)


def _forget(root: Step) -> None:
    """Steps of an earlier backward pass are replaced, not repeated."""
    for step in root.walk():
        step.children = [child for child in step.children if child.kind != "gradient"]


def _contributions(scope: Scope, key: int, loss: Loss) -> list[Contribution]:
    """What each statement of a scope adds to the gradient of one tensor, in the order of the statements."""
    if loss.totals.get(key) is None:
        return []
    texts: dict[int, tuple[Step, list[str]]] = {}
    for use in scope.uses[key]:
        if read_before_change(use.step, use.text):
            use.step.note = _joined(
                use.step.note, f"no gradient of {use.text}: it was changed in place after this statement"
            )
        else:
            texts.setdefault(id(use.step), (use.step, []))[1].append(use.text)
    found = [contribution(step, names, scope.tensors[key], loss) for step, names in texts.values()]
    return [part for part in found if part is not None]


def _file(parts: list[Contribution], tensor: Tensor, loss: Loss) -> None:
    """Put the contributions under the statements they come from, and their sum under the first of these."""
    if not parts:
        return
    total = loss.totals[id(tensor)]
    assert total is not None
    rest = _remainder(total, [part.value for part in parts])
    if len(parts) == 1 and rest is None:
        _add(parts[0].step, loss.symbol(parts[0].text), parts[0].formula, parts[0].operands, total, parts[0].note)
        return
    terms: dict[str, Tensor] = {}
    for part, label in zip(parts, _labels([part.source for part in parts]), strict=True):
        name = f"{loss.symbol(part.text)} from {label}"
        _add(part.step, name, part.formula, part.operands, part.value, part.note)
        terms[name] = part.value
    _add_sum(parts[0], terms, rest, total, loss)


def _add_sum(first: Contribution, terms: dict[str, Tensor], rest: Tensor | None, total: Tensor, loss: Loss) -> None:
    name = loss.symbol(first.text)
    note = "" if rest is None else f"{ELSEWHERE}: uses of {first.text} that are not among these statements"
    if rest is not None:
        terms = {**terms, f"{name} from {ELSEWHERE}": rest}
    _add(first.step, name, _sum([Leaf(text) for text in terms]), dict(terms), total, note)


def _sum(terms: Iterable[Formula]) -> Formula:
    first, *others = terms
    for term in others:
        first = Apply("add", (first, term))
    return first


def _remainder(total: Tensor, values: list[Tensor]) -> Tensor | None:
    """What the contributions leave of the total, if anything."""
    added = values[0]
    for value in values[1:]:
        added = added + value
    return None if is_rounding(largest_difference(total, added), total, *values) else total - added


def _labels(names: list[str]) -> list[str]:
    """The names, numbered where one stands twice: h (1), h (2)."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(f"{name} ({seen[name]})" if names.count(name) > 1 else name)
    return out


def _add(under: Step, name: str, formula: Formula | None, operands: dict[str, Tensor], value: Tensor, note: str) -> None:
    step = Step("gradient", name, formula=formula, operands=operands, result=value.detach(), where=under.where, note=note)
    place = under.address.rpartition("#")[0] or under.address
    step.address = place.removesuffix(under.name) + name if under.name else name
    under.children.append(step)


def _skipped(scope: Scope, loss: Loss) -> list[str]:
    """Which named values have no gradient, and why: one note for each reason."""
    reasons: dict[str, list[str]] = {}
    for name, tensor in [pair for step in (*scope.inputs, *scope.statements) for pair in outputs(step)]:
        if name and tensor is not loss.tensor and loss.totals.get(id(tensor)) is None:
            names = reasons.setdefault(_reason(tensor, loss), [])
            names += [name] if name not in names else []
    return [f"no gradient of {', '.join(names)}: {reason}" for reason, names in reasons.items()]


def _reason(tensor: Tensor, loss: Loss) -> str:
    if not tensor.is_floating_point():
        return "not a real number that could vary" if tensor.dtype == torch.bool else "whole numbers do not vary"
    return f"{loss.name} does not depend on it" if tensor.requires_grad else "it does not require one"


def _joined(note: str, more: str) -> str:
    return note if more in note else f"{note}; {more}" if note else more
