"""A rule: the formula of a gradient, the values of its leaves, its letters; and whether its numbers are autograd's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from workings.errors import WorkingsError
from workings.trace.formula.evaluate import evaluate
from workings.trace.formula.magnitude import largest_term
from workings.trace.formula.tree import Apply, Formula, Leaf, Number, leaves
from workings.trace.gradient.loss import Loss
from workings.trace.gradient.scope import Value
from workings.trace.operations.node import RuleError
from workings.trace.step import RULE_CHECKED
from workings.trace.tensors.difference import is_rounding, largest_difference

Meanings = dict[str, tuple[Formula, dict[str, Any], Any]]
"""Letters with their formulas, the values of the leaves of these, and their values."""


@dataclass
class Rule:
    """A formula, the values of its leaves, and its letters in order."""

    formula: Formula
    known: dict[str, Any]
    letters: dict[str, Formula]

    def check(self, value: Tensor) -> str:
        """That its numbers are autograd's, in words; RuleError where they are not."""
        with torch.no_grad():
            known = dict(self.known)
            _meanings(self.letters, self.formula, known)
            ours = torch.as_tensor(evaluate(self.formula, known))
        difference = largest_difference(ours, value)
        if not explains(difference, self.formula, known, self.letters, value, ours):
            raise RuleError(
                f"the one that was tried gives other numbers than autograd (largest difference {difference:.2g})"
            )
        return f"{RULE_CHECKED}: largest difference {difference:.2g}"

    def meanings(self) -> Meanings:
        """Its letters, with their formulas and values, which join the known ones."""
        return _meanings(self.letters, self.formula, self.known)

    @property
    def operands(self) -> dict[str, Any]:
        """The values of the leaves of its formula."""
        return {text: self.known[text] for text in leaves(self.formula) if text in self.known}


def _meanings(letters: Mapping[str, Formula], formula: Formula, known: dict[str, Any]) -> Meanings:
    """The letters that a formula needs, with their formulas and values; the values join the known ones."""
    needed, queue = set[str](), list(leaves(formula))
    while queue:
        text = queue.pop()
        if text in letters and text not in needed:
            needed.add(text)
            queue += leaves(letters[text])
    found = {}
    for text, made_of in letters.items():
        if text in needed:
            try:
                with torch.no_grad():
                    known[text] = evaluate(made_of, known)
            except WorkingsError:  # the check of the rule will say so
                known[text] = None
            found[text] = made_of, {t: known[t] for t in leaves(made_of) if t in known}, known[text]
    return found


def explains(
    difference: float, formula: Formula, known: Mapping[str, Any], letters: Mapping[str, Formula], *values: Tensor
) -> bool:
    """Whether rounding explains it, next to the terms of the formula."""
    if difference == 0:
        return True
    return is_rounding(difference, *values, largest_term(formula, known, letters), computed_with=known.values())


def gradient_of(name: str, value: Value, loss: Loss) -> Formula:
    """∂L/∂name, which is 1 for L itself."""
    if value.key != loss.value.key:
        return Leaf(loss.symbol(name))
    shape = tuple(value.tensor.shape)
    return Apply("ones", (), (("shape", shape),)) if shape else Number(1)
