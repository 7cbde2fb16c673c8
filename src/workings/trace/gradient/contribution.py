"""What one statement adds to a gradient: autograd's numbers, the rule in the statement's letters, and whether they agree."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from workings.errors import WorkingsError
from workings.trace.formula.evaluate import evaluate
from workings.trace.formula.magnitude import largest_term
from workings.trace.formula.simplify import plus
from workings.trace.formula.tree import Apply, Call, Code, Formula, Leaf, Number, Sequence, leaves, rename, walk
from workings.trace.gradient.adjoint import adjoints
from workings.trace.gradient.flow import STATEMENTS
from workings.trace.gradient.gates import Gates
from workings.trace.gradient.graph import GraphRule, Names, graph_rule
from workings.trace.gradient.loss import Loss
from workings.trace.gradient.own_backward import own_steps
from workings.trace.gradient.reading import gives, hidden_names
from workings.trace.gradient.scope import Scope, Statement, Value
from workings.trace.gradient.tensor_hooks import backward_hooks
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
    inside: list[Step] = field(default_factory=list)
    """What the author's own backward does."""


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
    """The first rule whose numbers are autograd's: of the statement's formula, or of the operations that PyTorch ran."""
    own = loss.value.key
    given = {loss.symbol(name): loss.total(v) for name, v in made if loss.total(v) is not None and v.key != own}
    reasons: list[str] = []
    for rule in (_source_rule, _graph_rule_of_calls, _graph_rule):
        try:
            formula, known, letters = rule(statement, made, value, scope, loss, found.value, given)
            note = _checked(formula, known, letters, found.value)
        except Exception as reason:  # a rule may meet what nobody thought of: the numbers stand without it
            told = str(reason).removesuffix(".") if isinstance(reason, WorkingsError) else "it does not cover such arguments"
            reasons.append(told)
            continue
        _write(found, formula, known, letters, note)
        return
    why = backward_hooks(statement.step, loss.modules) or reasons[0]
    found.operands, found.note = given, f"{_UNWRITTEN}: {why}{_inside(statement.step)}"


def explain_hidden(found: Contribution, rule: Callable[[], GraphRule]) -> None:
    """The rule of a parameter that no statement reads, if its numbers are autograd's."""
    try:
        read = rule()
        note = _checked(read.formula, read.known, read.letters, found.value)
    except Exception as reason:  # as above
        found.note += f" ({reason})" if isinstance(reason, RuleError) else ""
        return
    _write(found, read.formula, read.known, read.letters, note)


def _write(found: Contribution, formula: Formula, known: dict[str, Any], letters: Mapping[str, Formula], note: str) -> None:
    """A rule whose numbers are autograd's."""
    found.formula, found.note = formula, note
    found.letters = _letters(letters, formula, known)
    found.operands = {text: known[text] for text in leaves(formula) if text in known}
    found.inside = own_steps([formula, *(meaning for meaning, _, _ in found.letters.values())], known)


_Rule = tuple[Formula, dict[str, Any], dict[str, Formula]]
"""A formula, the values of its leaves, and the letters it introduces."""


def _source_rule(
    statement: Statement,
    made: list[tuple[str, Value]],
    value: Value,
    scope: Scope,
    loss: Loss,
    gradient: Tensor,
    given: Mapping[str, Any],
) -> _Rule:
    """The rule of the statement's own formula."""
    renamed = {text: scope.names[v.key] for text, v in statement.read.items() if scope.names[v.key] != text}
    known = {**statement.operands, **{renamed.get(text, text): v.then for text, v in statement.read.items()}, **given}
    letters: dict[str, Formula] = {}
    assert statement.formula is not None
    formula = rename(statement.formula, renamed)
    _recheck(statement, formula, known, made)
    upstream, name, result = _upstream(statement, formula, made, scope, loss)
    texts = [renamed.get(text, text) for text, v in statement.read.items() if v.key == value.key]
    _all_seen(formula, texts)
    rules = adjoints(formula, upstream, known, name=name, result=result, wanted=texts, loss=loss.name, letters=letters)
    known |= {name: v.then for name, v in made if name not in known}
    total: Formula = Number(0)
    for text in dict.fromkeys(texts):
        total = plus(total, rules[text]) if text in rules else total
    if total == Number(0):
        total = Apply("zeros", (), (("shape", tuple(gradient.shape)),))
    _check_seen(statement, value, total, known, letters, gradient)
    return total, known, letters


def _check_seen(
    statement: Statement,
    value: Value,
    formula: Formula,
    known: dict[str, Any],
    letters: Mapping[str, Formula],
    gradient: Tensor,
) -> None:
    """Where a part without a formula may depend on the value, and the numbers are others, that part is the reason."""
    assert statement.formula is not None
    read = {text for text, v in statement.read.items() if v.key == value.key}
    hidden_in = (part for part in walk(statement.formula) if isinstance(part, (Code, Call)) and read & {*_reads(part)})
    unknown = (part for part in walk(formula) if isinstance(part, (Code, Call)))
    unseen = next(hidden_in, None) or next(unknown, None)
    if unseen is not None:  # S.size(0) is read without being differentiated
        known = dict(known)
        _letters(letters, formula, known)
        try:
            _checked(formula, known, letters, gradient)
        except WorkingsError as reason:
            raise RuleError(_no_rule(unseen)) from reason


# ---- the rule of what PyTorch ran


def _graph_rule_of_calls(
    statement: Statement,
    made: list[tuple[str, Value]],
    value: Value,
    scope: Scope,
    loss: Loss,
    gradient: Tensor,
    given: Mapping[str, Any],
) -> _Rule:
    """The rule read off the graph, where the insides of calls are taken from the statements recorded there."""
    calls = list(_calls_in(statement.step, loss.inner))
    if not calls:
        raise RuleError("no statement was recorded inside")
    return _read_graph(statement, made, value, scope, loss, given, calls)


def _graph_rule(
    statement: Statement,
    made: list[tuple[str, Value]],
    value: Value,
    scope: Scope,
    loss: Loss,
    gradient: Tensor,
    given: Mapping[str, Any],
) -> _Rule:
    """The rule read off the graph, operation by operation."""
    return _read_graph(statement, made, value, scope, loss, given, [])


def _read_graph(
    statement: Statement,
    made: list[tuple[str, Value]],
    value: Value,
    scope: Scope,
    loss: Loss,
    given: Mapping[str, Any],
    calls: list[Scope],
) -> _Rule:
    starts: dict[Hashable, tuple[Any, Formula]] = {}
    known = dict(given)
    inside = {key for call in calls for key, maker in call.makers.items() if maker is not None}
    for name, v in made:
        if v.edge is not None and loss.total(v) is not None and scope.is_new(statement, v) and v.key not in inside:
            starts[v.key] = (v.edge.node, v.edge.output_nr), _gradient(name, v, loss)
    for call in calls:
        for key, flow in call.flows.items():
            if key not in inside and (key == value.key or scope.makers.get(key) is None):
                _start_inside(call, key, flow, starts, known, loss)
    read = {v.key for v in statement.read.values()}

    def is_closed(key: Hashable) -> bool:
        if key == value.key:
            return False
        return key in inside or key in read or scope.makers.get(key) not in (None, statement)

    names = Names({**loss.paths, **scope.names}, {key: v.then for key, v in scope.values.items()}, scope.constants)
    rule = graph_rule(starts, value.key, is_closed, names, loss.symbol, known)
    return rule.formula, rule.known, rule.letters


def _start_inside(
    call: Scope, key: Hashable, flow: Tensor, starts: dict[Hashable, tuple[Any, Formula]], known: dict[str, Any], loss: Loss
) -> None:
    """What arrived at an input of a call is where the rule of the statement around it goes on."""
    assert call.step is not None
    edge = call.values[key].edge
    *_, around, module = ("", *call.step.name.split("."))
    called = f"{around}.{module}".lstrip(".") if module.isdecimal() else module  # net.0, of a list of layers
    name = f"{called}.{call.names.get(key, 'input').removeprefix('self.')}"
    while loss.symbol(name) in known:
        name += "′"
    known[loss.symbol(name)] = flow
    leaf: Formula = Leaf(loss.symbol(name))
    place = (None, 0) if edge is None else (edge.node, edge.output_nr)
    starts[key] = place, plus(starts[key][1], leaf) if key in starts else leaf


def _calls_in(step: Step, inner: Mapping[int, Scope]) -> Iterator[Scope]:
    """The insides of the calls that a statement makes, also inside a library's modules, without those inside them."""
    for child in step.children:
        if id(child) in inner:
            yield inner[id(child)]
        elif child.kind not in STATEMENTS:
            yield from _calls_in(child, inner)


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
        return _gradient(name, value, loss), name, value.then
    zeros = [Apply("zeros", (), (("shape", tuple(v.tensor.shape)),)) for _, v in made]
    flowing = [loss.total(v) is not None and scope.is_new(statement, v) for _, v in made]
    parts = [_gradient(n, v, loss) if yes else zero for (n, v), yes, zero in zip(made, flowing, zeros, strict=True)]
    if isinstance(formula, Sequence):
        return _arrange(formula, statement.step.live, iter(parts)), "", None
    return Sequence(tuple(parts)), "", None


def _gradient(name: str, value: Value, loss: Loss) -> Formula:
    """∂L/∂name, which is 1 for L itself."""
    if value.key != loss.value.key:
        return Leaf(loss.symbol(name))
    shape = tuple(value.tensor.shape)
    return Apply("ones", (), (("shape", shape),)) if shape else Number(1)


def _arrange(formula: Formula, value: Any, parts: Iterator[Formula]) -> Formula:
    """The gradients of the results as the formula has these, tuples in tuples; what is no tensor has none."""
    match formula:
        case Sequence(items=items) if isinstance(value, (tuple, list)) and len(items) <= len(value):  # it may have grown
            return Sequence(tuple(_arrange(item, one, parts) for item, one in zip(items, value, strict=False)))
    return next(parts) if isinstance(value, Tensor) else Apply("zeros", (), (("shape", ()),))


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


def _checked(formula: Formula, known: dict[str, Any], letters: Mapping[str, Formula], value: Tensor) -> str:
    """That the numbers of a rule are autograd's, in words; RuleError where they are not."""
    with torch.no_grad():
        known = dict(known)
        _letters(letters, formula, known)
        ours = torch.as_tensor(evaluate(formula, known))
    difference = largest_difference(ours, value)
    if not _is_rounding(difference, formula, known, letters, value, ours):
        raise RuleError(f"the one that was tried gives other numbers than autograd (largest difference {difference:.2g})")
    return f"{RULE_CHECKED}: largest difference {difference:.2g}"


def _is_rounding(
    difference: float, formula: Formula, known: Mapping[str, Any], letters: Mapping[str, Formula], *values: Tensor
) -> bool:
    """Whether rounding explains it, next to the terms of the formula."""
    if difference == 0:
        return True
    return is_rounding(difference, *values, largest_term(formula, known, letters), computed_with=known.values())
