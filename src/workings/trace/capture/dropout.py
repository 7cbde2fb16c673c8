"""What attention forgot by chance: the mask of its dropout, drawn again from the random state before the statement.

Z = F.scaled_dot_product_attention(Q, K, V, dropout_p=0.5)      Z = (softmax(Q Kᵀ/√d) ⊙ m) V
"""

from __future__ import annotations

import torch
from torch import Tensor

from workings.trace.formula.completion import draws_mask
from workings.trace.formula.evaluate import evaluate
from workings.trace.formula.tree import Apply, Call, Formula, map_parts, walk
from workings.trace.operations.attention import with_dropout_mask
from workings.trace.step import Step
from workings.trace.tensors.difference import is_rounding, largest_difference


def write_dropout_mask(step: Step, random_state: Tensor) -> None:
    """The formula with the mask in it, whose numbers join the operands; a mere call where it does not give the result."""
    formula = step.formula
    parts = [] if formula is None else [part for part in walk(formula) if draws_mask(part)]
    for number, part in enumerate(parts):
        assert isinstance(part, Apply) and formula is not None
        try:
            found = with_dropout_mask(part, _letter(step), step.operands, random_state) if number == 0 else None
        except Exception:  # what the mask is made of may be anything: the call itself is always true
            found = None
        if found is not None:
            step.operands[_letter(step)] = found[1]
            formula = _replaced(formula, part, found[0])
    if formula is not None and parts and not _gives(formula, step):
        formula = _as_calls(formula)
    step.formula = formula


def _letter(step: Step) -> str:
    letter = "m"
    while letter in step.operands or letter == step.name:
        letter += "′"
    return letter


def _gives(formula: Formula, step: Step) -> bool:
    try:
        with torch.no_grad():
            value = evaluate(formula, step.operands)
    except Exception:  # as above
        return False
    return isinstance(step.result, Tensor) and is_rounding(largest_difference(value, step.result), value, step.result)


def _replaced(formula: Formula, part: Formula, by: Formula) -> Formula:
    return by if formula is part else map_parts(formula, lambda inner: _replaced(inner, part, by))


def _as_calls(formula: Formula) -> Formula:
    """Attention with dropout as the call it is."""
    formula = map_parts(formula, _as_calls)
    match formula:
        case Apply("scaled_dot_product_attention", args, options):
            return Call("scaled_dot_product_attention", args, options)
        case Apply("attention_with_dropout", args, options):
            return Call("scaled_dot_product_attention", args[:3], options)
    return formula
