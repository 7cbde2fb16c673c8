"""`clip_grad_norm_` and `clip_grad_value_` as steps.

    total_norm = √(‖w.grad‖² + ‖b.grad‖²)      c = max_norm/(total_norm + ε)      w.grad = c w.grad,  where c < 1
    w.grad = min(max(w.grad, −k), k)

They are computed from the gradients before the call and compared with those after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from workings.trace.formula.evaluate import evaluate
from workings.trace.formula.tree import Apply, Formula, Leaf, Number, leaves
from workings.trace.step import CLIPPING_CHECKED, Step
from workings.trace.tensors.difference import is_rounding, largest_difference

_EPSILON = 1e-6
"""What PyTorch adds to the norm it divides by."""
_MOST_NORMS = 4
"""Norms whose squares are written out in their sum."""
_NORM, _FACTOR = "total_norm", "c"


def norm_clipping_steps(
    before: Mapping[str, Tensor], after: Mapping[str, Tensor], max_norm: float, norm_type: float, total: Tensor
) -> tuple[list[Step], str]:
    """The lines of `clip_grad_norm_`, and a remark; `before` and `after` are the gradients by the parameters' names."""
    if norm_type != 2 or not before:
        return [], f"the norm of all gradients together is {float(total):.4g}" if before else ""
    known: dict[str, Any] = {f"{name}.grad": gradient for name, gradient in before.items()}
    lines: list[Step] = []
    if len(before) <= _MOST_NORMS:
        norms = [Apply("norm", (Leaf(text),)) for text in known]
        whole = norms[0] if len(norms) == 1 else Apply("sqrt", (_sum_of_squares(norms),))
        _line(lines, known, _NORM, whole, total)
    else:
        known[_NORM] = total
        note = f"√ of the sum of the squares of the norms of all {len(before)} gradients"
        lines.append(Step("update", _NORM, result=total, note=note))
    if float(total) + _EPSILON <= max_norm:
        return lines, f"at most {max_norm:g}, so nothing is clipped"
    below = Apply("add", (Leaf(_NORM), Number(_EPSILON)))
    _line(lines, known, _FACTOR, Apply("div", (Number(max_norm), below)))
    for name, clipped in after.items():
        text = f"{name}.grad"
        _line(lines, known, text, Apply("mul", (Leaf(_FACTOR), Leaf(text))), clipped)
    return lines, _remark(before, lines)


def value_clipping_steps(before: Mapping[str, Tensor], after: Mapping[str, Tensor], bound: float) -> tuple[list[Step], str]:
    """The lines of `clip_grad_value_`; those of gradients that it leaves as they are, are left out."""
    known: dict[str, Any] = {f"{name}.grad": gradient for name, gradient in before.items()}
    lines: list[Step] = []
    for name, clipped in after.items():
        text = f"{name}.grad"
        if not torch.equal(before[name], clipped):
            _line(lines, known, text, Apply("clamp", (Leaf(text), Number(-bound), Number(bound))), clipped)
    return lines, _remark(before, lines) if lines else f"no entry is beyond ±{bound:g}, so nothing is clipped"


def _sum_of_squares(norms: list[Apply]) -> Formula:
    first, *others = (Apply("square", (norm,)) for norm in norms)
    total = first
    for term in others:
        total = Apply("add", (total, term))
    return total


def _line(lines: list[Step], known: dict[str, Any], name: str, formula: Formula, after: Tensor | None = None) -> None:
    """An equation, with its value as PyTorch has it; where ours is another, the remark says so."""
    operands = {text: known[text] for text in leaves(formula)}
    with torch.no_grad():
        ours = evaluate(formula, known)
    known[name] = ours if after is None else after
    step = Step("update", name, formula=formula, operands=operands, result=torch.as_tensor(known[name]).detach())
    step.lives = {"ours": ours}
    lines.append(step)


def _remark(before: Mapping[str, Tensor], lines: list[Step]) -> str:
    pairs = [(line.lives.pop("ours", None), line.result) for line in lines]
    known = [pair for pair in pairs if isinstance(pair[0], Tensor)]
    difference = max((largest_difference(*pair) for pair in known), default=0.0)
    if is_rounding(difference, *before.values()):
        return f"{CLIPPING_CHECKED}: largest difference {difference:.2g}"
    return f"the equations give other numbers than PyTorch (largest difference {difference:.2g}); its own are shown"
