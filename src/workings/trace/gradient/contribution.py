"""What one statement adds to a gradient: autograd's numbers, the rule in the statement's letters, and whether they agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from workings.errors import WorkingsError
from workings.trace.formula.tree import Formula
from workings.trace.gradient.flow import STATEMENTS
from workings.trace.gradient.gates import Gates
from workings.trace.gradient.graph_rules import (
    rule_of_calls,
    rule_of_layers,
    rule_of_many_operations,
    rule_of_operations,
)
from workings.trace.gradient.hidden import HiddenParameters
from workings.trace.gradient.loss import Loss
from workings.trace.gradient.own_backward import own_steps
from workings.trace.gradient.request import GradientRequest
from workings.trace.gradient.rule import Meanings, Rule
from workings.trace.gradient.scope import Scope, Statement, Value
from workings.trace.gradient.source_rule import source_rule
from workings.trace.gradient.tensor_hooks import backward_hooks
from workings.trace.operations.node import RuleError
from workings.trace.step import Step

_OUTPUT = "output"
_UNWRITTEN = "the rule is not written out"
_RULES = (source_rule, rule_of_calls, rule_of_operations, rule_of_layers, rule_of_many_operations)
"""In the order in which they are tried."""


@dataclass
class Contribution:
    """A statement's share of ∂L/∂name; `source` is what the statement made, `letters` what its rule introduces."""

    step: Step
    name: str
    source: str
    formula: Formula | None
    operands: dict[str, Any]
    value: Tensor
    note: str
    letters: Meanings = field(default_factory=dict)
    inside: list[Step] = field(default_factory=list)
    """What the author's own backward does."""

    def explain(self, rule: Rule) -> None:
        """Take a rule whose numbers are autograd's; RuleError where they are not."""
        note = rule.check(self.value)
        self.formula, self.note, self.letters, self.operands = rule.formula, note, rule.meanings(), rule.operands
        self.inside = own_steps([rule.formula, *(meaning for meaning, _, _ in self.letters.values())], rule.known)


def contribution(
    statement: Statement, value: Value, scope: Scope, loss: Loss, gates: Gates, layers: HiddenParameters
) -> Contribution | None:
    """What a statement adds to the gradient of a value that it read; None where nothing flows."""
    new = {v.key: v for _, v in statement.made if loss.total(v) is not None and scope.is_new(statement, v)}
    made = list(new.values())
    if not made or statement.formula is None:
        return None
    gradient = gates.through(statement, made, value, loss)
    if gradient is None:
        return None
    named = [(scope.names.get(v.key) or loss.names.get(v.key, n or _OUTPUT), v) for n, v in statement.made]
    source = _source([name for name, v in named if v.key in new])
    found = Contribution(statement.step, scope.names[value.key], source, None, {}, gradient, "")
    own = loss.value.key
    given = {loss.symbol(name): loss.total(v) for name, v in named if loss.total(v) is not None and v.key != own}
    _explain(found, GradientRequest(statement, named, value, scope, loss, gradient, given, layers))
    return found


def _source(names: list[str]) -> str:
    names = list(dict.fromkeys(names))
    return ", ".join(names) if len(names) <= 4 else f"{names[0]} … {names[-1]}"


def _explain(found: Contribution, asked: GradientRequest) -> None:
    """The first rule whose numbers are autograd's: of the statement's formula, or of the operations that PyTorch ran."""
    reasons: list[str] = []
    for rule in _RULES:
        try:
            found.explain(rule(asked))
        except Exception as reason:  # a rule may meet what nobody thought of: the numbers stand without it
            told = str(reason).removesuffix(".") if isinstance(reason, WorkingsError) else "it does not cover such arguments"
            reasons.append(told)
            continue
        return
    step = asked.statement.step
    why = backward_hooks(step, asked.loss.modules) or reasons[0]
    found.operands, found.note = dict(asked.given), f"{_UNWRITTEN}: {why}{_inside(step)}"


def explain_hidden(found: Contribution, rule: Callable[[], Rule]) -> None:
    """The rule of a parameter that no statement reads, if its numbers are autograd's."""
    try:
        found.explain(rule())
    except Exception as reason:  # as above
        found.note += f" ({reason})" if isinstance(reason, RuleError) else ""


def _inside(step: Step) -> str:
    inner = (inner for child in step.children if child.kind in ("call", "module") for inner in child.walk())
    return "; the steps inside show it" if any(one.kind in STATEMENTS for one in inner) else ""
