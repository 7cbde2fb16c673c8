"""The rule of a statement's own formula, in its own letters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from workings.errors import WorkingsError
from workings.trace.formula.evaluate import evaluate
from workings.trace.formula.simplify import plus
from workings.trace.formula.tree import Apply, Call, Code, Formula, Number, Sequence, leaves, rename, walk
from workings.trace.gradient.adjoint import adjoints
from workings.trace.gradient.reading import gives, hidden_names
from workings.trace.gradient.request import GradientRequest
from workings.trace.gradient.rule import Rule, explains, gradient_of
from workings.trace.operations.node import RuleError
from workings.trace.tensors.difference import largest_difference


def source_rule(asked: GradientRequest) -> Rule:
    """The rule of the formula, if all that depends on the value is seen in it."""
    statement, scope, loss = asked.statement, asked.scope, asked.loss
    renamed = {text: scope.names[v.key] for text, v in statement.read.items() if scope.names[v.key] != text}
    known = {**statement.operands, **{renamed.get(text, text): v.then for text, v in statement.read.items()}, **asked.given}
    letters: dict[str, Formula] = {}
    assert statement.formula is not None
    formula = rename(statement.formula, renamed)
    _recheck(asked, formula, known)
    upstream, name, result = _upstream(asked, formula)
    texts = [renamed.get(text, text) for text, v in statement.read.items() if v.key == asked.value.key]
    _all_seen(formula, texts)
    rules = adjoints(formula, upstream, known, name=name, result=result, wanted=texts, loss=loss.name, letters=letters)
    known |= {name: v.then for name, v in asked.made if name not in known}
    total: Formula = Number(0)
    for text in dict.fromkeys(texts):
        total = plus(total, rules[text]) if text in rules else total
    if total == Number(0):
        total = Apply("zeros", (), (("shape", tuple(asked.gradient.shape)),))
    found = Rule(total, known, letters)
    _check_seen(asked, found)
    return found


def _check_seen(asked: GradientRequest, rule: Rule) -> None:
    """Where a part without a formula may depend on the value, and the numbers are others, that part is the reason."""
    statement = asked.statement
    assert statement.formula is not None
    read = {text for text, v in statement.read.items() if v.key == asked.value.key}
    hidden_in = (part for part in walk(statement.formula) if isinstance(part, (Code, Call)) and read & {*_reads(part)})
    unknown = (part for part in walk(rule.formula) if isinstance(part, (Code, Call)))
    unseen = next(hidden_in, None) or next(unknown, None)
    if unseen is not None:  # S.size(0) is read without being differentiated
        try:
            rule.check(asked.gradient)
        except WorkingsError as reason:
            raise RuleError(_no_rule(unseen)) from reason


def _reads(part: Code | Call) -> list[str]:
    """What it reads without having it as a leaf: the S of S.method()."""
    return hidden_names(Call(part.name, (), part.options) if isinstance(part, Call) else part)


def _no_rule(part: Formula) -> str:
    shown = f"'{part.text}'" if isinstance(part, Code) else f"{getattr(part, 'name', 'this')}(…): it has no formula here"
    return f"there is no rule for {shown}"


def _all_seen(formula: Formula, texts: list[str]) -> None:
    """A value that stands in Python without a formula has no rule."""
    if not set(texts) <= set(leaves(formula)):
        part = next((part for part in walk(formula) if isinstance(part, (Code, Call))), formula)
        raise RuleError(_no_rule(part))


def _recheck(asked: GradientRequest, formula: Formula, known: Mapping[str, Any]) -> None:
    """Where a call was read as mathematics of its own, that mathematics must give what the call gave."""
    statement = asked.statement
    if statement.formula == statement.step.formula or isinstance(formula, Sequence) or statement.step.kind == "loop":
        return
    try:
        with torch.no_grad():
            found = evaluate(formula, known)
    except WorkingsError:  # a part of it is unknown; the rules of the others need not be, and are compared themselves
        return
    if isinstance(found, Tensor) and not explains(
        largest_difference(found, asked.made[0][1].then), formula, known, {}, found
    ):
        raise RuleError("the call is not what its name says")


def _upstream(asked: GradientRequest, formula: Formula) -> tuple[Formula, str, Any]:
    """∂L/∂result: of the one result, of the values of a pair, or of each of several; with the name and value of the one."""
    statement, made, scope, loss = asked.statement, asked.made, asked.scope, asked.loss
    several = len(made) > 1 and gives(formula) != "pair"
    several |= isinstance(formula, Sequence) or gives(formula) == "parts"
    if not several:
        name, value = made[0]
        return gradient_of(name, value, loss), name, value.then
    zeros = [Apply("zeros", (), (("shape", tuple(v.tensor.shape)),)) for _, v in made]
    flowing = [loss.total(v) is not None and scope.is_new(statement, v) for _, v in made]
    parts = [gradient_of(n, v, loss) if yes else zero for (n, v), yes, zero in zip(made, flowing, zeros, strict=True)]
    if isinstance(formula, Sequence):
        return _arrange(formula, statement.step.live, iter(parts)), "", None
    return Sequence(tuple(parts)), "", None


def _arrange(formula: Formula, value: Any, parts: Iterator[Formula]) -> Formula:
    """The gradients of the results as the formula has these, tuples in tuples; what is no tensor has none."""
    match formula:
        case Sequence(items=items) if isinstance(value, (tuple, list)) and len(items) <= len(value):  # it may have grown
            return Sequence(tuple(_arrange(item, one, parts) for item, one in zip(items, value, strict=False)))
    return next(parts) if isinstance(value, Tensor) else Apply("zeros", (), (("shape", ()),))
