"""What one statement adds to a gradient: autograd's numbers, the rule in the statement's letters, and whether they agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from workings.errors import WorkingsError
from workings.trace.formula.evaluate import evaluate
from workings.trace.formula.magnitude import largest_term
from workings.trace.formula.simplify import plus
from workings.trace.formula.tree import Apply, Call, Code, Formula, Leaf, Number, Sequence, leaves, map_parts, walk
from workings.trace.gradient.adjoint import adjoints
from workings.trace.gradient.flow import STATEMENTS
from workings.trace.gradient.gates import Gates
from workings.trace.gradient.loss import Loss
from workings.trace.gradient.reading import gives, hidden_names
from workings.trace.gradient.scope import Scope, Statement, Value
from workings.trace.operations.node import RuleError
from workings.trace.step import RULE_CHECKED, Step
from workings.trace.tensors.difference import is_rounding, largest_difference

_OUTPUT = "output"
_UNWRITTEN = "the rule is not written out"


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
    letters: dict[str, tuple[Formula, dict[str, Any], Any]] = field(default_factory=dict)


def contribution(statement: Statement, value: Value, scope: Scope, loss: Loss, gates: Gates) -> Contribution | None:
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
    _explain(found, statement, named, value, scope, loss)
    return found


def _source(names: list[str]) -> str:
    names = list(dict.fromkeys(names))
    return ", ".join(names) if len(names) <= 4 else f"{names[0]} … {names[-1]}"


# ---- the rule


def _explain(
    found: Contribution, statement: Statement, made: list[tuple[str, Value]], value: Value, scope: Scope, loss: Loss
) -> None:
    """The rule, the values it stands on, and how its numbers compare with autograd's."""
    renamed = {text: scope.names[v.key] for text, v in statement.read.items() if scope.names[v.key] != text}
    known = {**statement.operands, **{renamed.get(text, text): v.then for text, v in statement.read.items()}}
    known |= {loss.symbol(name): loss.total(v) for name, v in made if loss.total(v) is not None}
    given = {loss.symbol(name): known[loss.symbol(name)] for name, v in made if loss.total(v) is not None}
    letters: dict[str, Formula] = {}
    assert statement.formula is not None
    formula = _rename(statement.formula, renamed)
    try:
        _recheck(statement, formula, known, made)
        upstream, name, result = _upstream(statement, formula, made, scope, loss)
        texts = [renamed.get(text, text) for text, v in statement.read.items() if v.key == value.key]
        _all_seen(formula, texts)
        rules = adjoints(formula, upstream, known, name=name, result=result, wanted=texts, loss=loss.name, letters=letters)
    except Exception as reason:  # a rule may meet what nobody thought of: the numbers stand without it
        told = str(reason).removesuffix(".") if isinstance(reason, WorkingsError) else "it does not cover such arguments"
        found.operands, found.note = given, f"{_UNWRITTEN}: {told}{_inside(statement.step)}"
        return
    known |= {name: v.then for name, v in made if name not in known}
    total: Formula = Number(0)
    for text in dict.fromkeys(texts):
        total = plus(total, rules[text]) if text in rules else total
    found.formula = Apply("zeros", (), (("shape", tuple(found.value.shape)),)) if total == Number(0) else total
    found.letters = _letters(letters, found.formula, known)
    found.operands = {text: known[text] for text in leaves(found.formula) if text in known}
    found.note, is_checked = _compare(found.formula, known, letters, found.value)
    read = {text for text, v in statement.read.items() if v.key == value.key}
    hidden_in = (part for part in walk(statement.formula) if isinstance(part, (Code, Call)) and read & {*_reads(part)})
    unknown = (part for part in walk(found.formula) if isinstance(part, (Code, Call)))  # it may depend on the value unseen
    unseen = next(hidden_in, None) or next(unknown, None)
    if unseen is not None and not is_checked:  # S.size(0) is read without being differentiated
        found.formula, found.letters, found.operands = None, {}, given
        found.note = f"{_UNWRITTEN}: {_no_rule(unseen)}{_inside(statement.step)}"


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


def _recheck(statement: Statement, formula: Formula, known: Mapping[str, Any], made: list[tuple[str, Value]]) -> None:
    """Where a call was read as mathematics of its own, that mathematics must give what the call gave."""
    if statement.formula == statement.step.formula or isinstance(formula, Sequence) or statement.step.kind == "loop":
        return
    try:
        with torch.no_grad():
            found = evaluate(formula, known)
    except WorkingsError:  # a part of it is unknown; the rules of the others need not be, and are compared themselves
        return
    if isinstance(found, Tensor) and not _is_rounding(largest_difference(found, made[0][1].then), formula, known, {}, found):
        raise RuleError("the call is not what its name says")


def _upstream(
    statement: Statement, formula: Formula, made: list[tuple[str, Value]], scope: Scope, loss: Loss
) -> tuple[Formula, str, Any]:
    """∂L/∂result: of the one result, of the values of a pair, or of each of several; with the name and value of the one."""
    several = len(made) > 1 and gives(formula) != "pair"
    several |= isinstance(formula, Sequence) or gives(formula) == "parts"
    if not several:
        name, value = made[0]
        if value.key != loss.value.key:
            return Leaf(loss.symbol(name)), name, value.then
        shape = tuple(value.tensor.shape)
        return Apply("ones", (), (("shape", shape),)) if shape else Number(1), name, value.then
    zeros = [Apply("zeros", (), (("shape", tuple(v.tensor.shape)),)) for _, v in made]
    flowing = [loss.total(v) is not None and scope.is_new(statement, v) for _, v in made]
    parts = [Leaf(loss.symbol(n)) if yes else zero for (n, _), yes, zero in zip(made, flowing, zeros, strict=True)]
    if isinstance(formula, Sequence):
        return _arrange(formula, statement.step.live, iter(parts)), "", None
    return Sequence(tuple(parts)), "", None


def _arrange(formula: Formula, value: Any, parts: Iterator[Formula]) -> Formula:
    """The gradients of the results as the formula has these, tuples in tuples; what is no tensor has none."""
    match formula:
        case Sequence(items=items) if isinstance(value, (tuple, list)) and len(items) <= len(value):  # it may have grown
            return Sequence(tuple(_arrange(item, one, parts) for item, one in zip(items, value, strict=False)))
    return next(parts) if isinstance(value, Tensor) else Apply("zeros", (), (("shape", ()),))


def _rename(formula: Formula, names: Mapping[str, str]) -> Formula:
    """The formula with its values by their numbered names."""
    match formula:
        case Leaf(text=text):
            return Leaf(names.get(text, text))
    return map_parts(formula, lambda part: _rename(part, names))


def _letters(
    letters: Mapping[str, Formula], formula: Formula, known: dict[str, Any]
) -> dict[str, tuple[Formula, dict[str, Any], Any]]:
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


def _inside(step: Step) -> str:
    inner = (inner for child in step.children if child.kind in ("call", "module") for inner in child.walk())
    return "; the steps inside show it" if any(one.kind in STATEMENTS for one in inner) else ""


def _compare(formula: Formula, known: dict[str, Any], letters: Mapping[str, Formula], value: Tensor) -> tuple[str, bool]:
    """How the numbers of a rule compare with autograd's, in words, and whether they are the same."""
    try:
        with torch.no_grad():
            ours = torch.as_tensor(evaluate(formula, known))
    except WorkingsError as reason:
        return f"rule not checked: {reason}", False
    difference = largest_difference(ours, value)
    if _is_rounding(difference, formula, known, letters, value, ours):
        return f"{RULE_CHECKED}: largest difference {difference:.2g}", True
    return f"the rule gives other numbers than autograd (largest difference {difference:.2g}); autograd's are shown", False


def _is_rounding(
    difference: float, formula: Formula, known: Mapping[str, Any], letters: Mapping[str, Formula], *values: Tensor
) -> bool:
    """Whether rounding explains it, next to the terms of the formula."""
    if difference == 0:
        return True
    return is_rounding(difference, *values, largest_term(formula, known, letters), computed_with=known.values())
