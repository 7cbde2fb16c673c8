"""The backward pass as steps: ∂L/∂name for each named value, filed under the statement that used it.

The numbers are autograd's. The rule beside them is ours (`adjoint.py`), computed again (`evaluate.py`) and compared, so that
a reader knows of every line whether rule and numbers agree:

    Z = A V      ∂L/∂A = ∂L/∂Z Vᵀ      rule checked: largest difference 0

A value that several statements use receives a contribution from each; they are shown, and then their sum.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from typing import Any

import torch
from torch import Tensor

from workings.trace.address import address_gradients
from workings.trace.formula.tree import Apply, Formula, Leaf
from workings.trace.gradient.contribution import Contribution, contribution, explain_hidden
from workings.trace.gradient.flow import STATEMENTS, scopes, tensors
from workings.trace.gradient.gates import Gates
from workings.trace.gradient.hidden import HiddenParameters
from workings.trace.gradient.loss import Loss, find_loss, gradients, origins
from workings.trace.gradient.scope import Scope, Value, value_of
from workings.trace.gradient.tensor_hooks import TensorHooks
from workings.trace.record import Trace
from workings.trace.step import NO_NUMBERS, Numbers, Step
from workings.trace.tensors.difference import is_rounding, largest_difference

_ELSEWHERE = "elsewhere"
_MOST_TERMS = 6
"""Terms of a sum over calls that are written out."""
_MOST_LINES = 12
"""Lines of a chain rule that stand above the gradient they lead to; more of them are folded inside it."""
UNRECORDED = "autograd's numbers: no statement shown here has a rule for it"


def backward(trace: Trace, loss: str | Tensor | None = None) -> Loss:
    """Add the gradients of a loss to a trace. `loss` is its name, by default the `loss` of what the code returned, or the
    last result that is a number; or the tensor itself, whose gradients are added to those of others."""
    if not isinstance(loss, Tensor):
        _forget(trace.root)
    found = list(scopes(trace.root, trace.modules))
    target = find_loss(found, loss, trace.result)
    hidden = _unrecorded_values(trace, found, target)
    values = {value.key: value for scope in found for value in scope.values.values()}
    target.hooks = TensorHooks([*values.values(), *hidden.values()])
    with target.hooks:
        _differentiate(trace, found, target, list(values.values()), hidden)
    _copy_parameters(trace.root, target)
    for scope in found:
        _number(scope)
    address_gradients(trace.root)
    trace.notes += [note for note in _skipped_notes(found[0], target) if note not in trace.notes] if found else []
    return target


def _differentiate(trace: Trace, found: list[Scope], target: Loss, values: list[Value], hidden: dict[str, Value]) -> None:
    """The gradients of all values, each filed under the statement that it comes from."""
    target.totals = gradients(target, [*values, *hidden.values()])
    target.totals |= target.hooks.after
    target.names = {key: name for scope in reversed(found) for key, name in scope.names.items()}
    target.paths, target.modules = _parameter_names(trace), trace.modules
    parameters = HiddenParameters(target, _leaves_without_reader(found) | hidden)
    filed: set[Hashable] = {target.value.key}
    for scope in reversed(found):  # the inside of a call before the statement that makes it
        with Gates(scope) as gates:
            for key in scope.uses:
                parts = _contributions(scope, key, target, gates, parameters)
                if parts:
                    scope.flows[key] = _add_up([part.value for part in parts])
                _file(parts, scope, key, target, scope is found[0])
                filed |= {key} if parts else set()
        target.inner[id(scope.step)] = scope
    for scope in found:
        _finish(scope, filed, target)
    _file_sums(found, trace.root, target)
    for name, value in parameters.from_the_last(_unread(found, filed) | hidden):
        total = target.total(value)
        if total is not None:
            _file_hidden(trace.root, name, value, total, found, parameters)


def _forget(root: Step) -> None:
    """Steps of an earlier backward pass are replaced, not repeated."""
    for step in root.walk():
        step.numbers = NO_NUMBERS
        step.children = [child for child in step.children if child.kind != "gradient"]


def _number(scope: Scope) -> None:
    """Number the values of a name in the statements as in the gradients."""
    for statement in scope.statements:
        read = {text: scope.number(text, value) for text, value in statement.read.items()}
        made = {text: scope.number(text, value) for text, value in statement.made if text}
        again = Numbers(*({text: n for text, n in counts.items() if n > 1} for counts in (read, made)))
        statement.step.numbers = again if again.read or again.made else NO_NUMBERS
    own = {id(statement.step) for statement in scope.statements}
    for statement in scope.statements:
        if statement.step.kind == "loop":
            _number_turns(statement.step, own)


def _number_turns(loop: Step, own: Collection[int]) -> None:
    """What a turn gives a name is the value of it that the statements of the turn read."""
    for turn in loop.children:
        given = [(name, step.numbers.read) for name in turn.operands for step in turn.walk() if id(step) in own]
        first = {name: read[name] for name, read in reversed(given) if name in read}
        turn.numbers = Numbers(made=first) if first else NO_NUMBERS


# ---- what the recorded statements add


def _contributions(scope: Scope, key: Hashable, loss: Loss, gates: Gates, layers: HiddenParameters) -> list[Contribution]:
    """What each statement of a scope adds to the gradient of one value, in the order of the statements."""
    if loss.totals.get(key) is None:
        return []
    found = [contribution(statement, scope.values[key], scope, loss, gates, layers) for statement in scope.uses[key]]
    return [part for part in found if part is not None]


def _file(parts: list[Contribution], scope: Scope, key: Hashable, loss: Loss, is_outermost: bool) -> None:
    """Put the contributions under the statements they come from, and their sum under the first of these.

    Of a value that came into a call from outside, the lines in the call have what flows through this call.
    """
    if not parts:
        return
    total = loss.totals[key]
    assert total is not None
    name, note = scope.names[key], ""
    symbol = loss.symbol(name)
    is_hooked = loss.hooks.changed(key)
    if is_hooked:
        total, symbol = loss.hooks.before[key], f"{symbol} from its uses"
    rest = _remainder(total, [part.value for part in parts])
    if rest is not None and not is_outermost and scope.makers.get(key) is None:
        total, rest, note = scope.flows[key], None, f"this call's part: {name} is used elsewhere too"
    _file_parts(parts, symbol, name, total, rest, note)
    if is_hooked and (is_outermost or scope.makers.get(key) is not None):
        _file_hook(parts[0].step, loss.symbol(name), symbol, key, scope, loss)


def _file_hook(under: Step, symbol: str, given: str, key: Hashable, scope: Scope | None, loss: Loss) -> None:
    """What the hooks of a value make of the gradient that arrives, under the statement that registered them."""
    home, formula, note = loss.hooks.line(scope, key, given)
    _add(home or under, symbol, formula, {given: loss.hooks.before[key]}, loss.hooks.after[key], note)


def _file_parts(parts: list[Contribution], symbol: str, name: str, total: Tensor, rest: Tensor | None, note: str) -> None:
    """The contributions, and their sum where they are several."""
    if len(parts) == 1 and rest is None:
        _add_part(parts[0], symbol, total, note)
        return
    terms: dict[str, Tensor] = {}
    for part, label in zip(parts, _labels([part.source for part in parts]), strict=True):
        term = f"{symbol} from {label}"
        _add_part(part, term, part.value)
        terms[term] = part.value
    if rest is not None:
        note = f"{_ELSEWHERE}: uses of {name} that are not among these statements"
        terms = {**terms, f"{symbol} from {_ELSEWHERE}": rest}
    leaves = tuple(Leaf(text) for text in terms)
    whole = Apply("sum_of", leaves) if len(leaves) > 2 * _MOST_TERMS else _sum(leaves)
    note = "; ".join(filter(None, (f"{len(leaves)} terms" if len(leaves) > 2 * _MOST_TERMS else "", note)))
    _add(parts[0].step, symbol, whole, dict(terms), total, note)


def _file_sums(found: list[Scope], root: Step, loss: Loss) -> None:
    """The gradient of a parameter that several calls use: the sum of what flows through each."""
    inside: dict[Hashable, list[Scope]] = {}
    for scope in found[1:]:
        for key in scope.flows:
            if scope.makers.get(key) is None and scope.values[key].edge is None:
                inside.setdefault(key, []).append(scope)
    for key, scopes_of in inside.items():
        total, flows = loss.totals[key], [scope.flows[key] for scope in scopes_of]
        assert total is not None
        if len(flows) == 1 or key in found[0].flows or _remainder(total, flows) is not None:
            continue
        name = loss.paths.get(key, scopes_of[0].names[key])
        labels = _labels([scope.step.name if scope.step is not None else "" for scope in scopes_of])
        terms = {f"{loss.symbol(name)} from {label}": flow for label, flow in zip(labels, flows, strict=True)}
        under = _home(root, name)
        parts = tuple(Leaf(text) for text in terms)
        whole = Apply("sum_of", parts) if len(parts) > _MOST_TERMS else _sum(parts)
        _add(under, loss.symbol(name), whole, dict(terms), total, f"{len(parts)} calls" if len(parts) > _MOST_TERMS else "")


def _file_hidden(
    root: Step, name: str, value: Value, total: Tensor, found: list[Scope], parameters: HiddenParameters
) -> None:
    """A parameter that no recorded statement reads, with the rule of the operation that uses it."""
    home, loss = _home(root, name), parameters.loss
    scope = next((scope for scope in found if any(s.step is home for s in scope.statements)), None)
    for layer, gradient, rule in parameters.layers(value, scope):
        symbol = loss.symbol(layer)
        if symbol not in {child.name for child in home.children if child.kind == "gradient"}:
            given = Contribution(home, layer, "", None, {}, gradient, "")
            explain_hidden(given, rule)
            if given.formula is not None:
                _add_part(given, symbol, gradient)
    symbol = loss.symbol(name)
    is_hooked = loss.hooks.changed(value.key)
    if is_hooked:
        total, symbol = loss.hooks.before[value.key], f"{symbol} from its uses"
    part = Contribution(home, name, "", None, {}, total, UNRECORDED)
    explain_hidden(part, lambda: parameters.rule(name, value, scope))
    _add_part(part, symbol, total)
    if is_hooked:
        _file_hook(home, loss.symbol(name), symbol, value.key, scope, loss)


def _add_part(part: Contribution, name: str, value: Tensor, note: str = "") -> None:
    """The letters of a rule, each once for its statement, and the line itself."""
    shown = {child.name for child in part.step.children if child.kind == "gradient"}
    letters = [
        _gradient_step(part.step, letter, formula, operands, meaning, "")
        for letter, (formula, operands, meaning) in part.letters.items()
        if letter not in shown and isinstance(meaning, Tensor)
    ]
    line = _gradient_step(part.step, name, part.formula, part.operands, value, "; ".join(filter(None, (part.note, note))))
    if len(letters) > _MOST_LINES:  # these are inside it
        line.children, letters = letters, []
    line.children += part.inside
    for step in (*letters, line):
        _put(part.step, step)


def _sum(terms: Iterable[Formula]) -> Formula:
    first, *others = terms
    for term in others:
        first = Apply("add", (first, term))
    return first


def _remainder(total: Tensor, values: list[Tensor]) -> Tensor | None:
    """What the contributions leave of the total, if anything."""
    added = _add_up(values)
    return None if is_rounding(largest_difference(total, added), total, *values) else total - added


def _add_up(values: list[Tensor]) -> Tensor:
    added = values[0]
    for value in values[1:]:
        added = added + value
    return added


def _labels(names: list[str]) -> list[str]:
    """The names, numbered where one stands twice: h (1), h (2)."""
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(f"{name} ({seen[name]})" if names.count(name) > 1 else name)
    return out


def _add(under: Step, name: str, formula: Formula | None, operands: dict[str, Any], value: Tensor, note: str) -> None:
    _put(under, _gradient_step(under, name, formula, operands, value, note))


def _gradient_step(
    under: Step, name: str, formula: Formula | None, operands: dict[str, Any], value: Tensor, note: str
) -> Step:
    return Step("gradient", name, formula=formula, operands=operands, result=value.detach(), where=under.where, note=note)


def _put(under: Step, step: Step) -> None:
    if under.kind == "loop":  # what a loop takes apart stands at the head of its first turn
        first = next(child for child in under.children if child.kind == "turn").children
        first.insert(sum(child.kind == "gradient" for child in first[: len(first)]), step)
    else:
        under.children.append(step)


def _copy_parameters(root: Step, loss: Loss) -> None:
    """The parameters in the lines as they are now: an optimizer will change them in place."""
    memories = {_memory(tensor) for tensor in loss.origins} - {0}
    copies: dict[int, tuple[Tensor, Tensor]] = {}
    for step in root.walk():
        for text, value in step.operands.items() if step.kind == "gradient" else ():
            if isinstance(value, Tensor) and _memory(value) in memories:
                known = copies.setdefault(id(value), (value, value.detach().clone()))
                step.operands[text] = known[1]


def _memory(tensor: Tensor) -> int:
    """Where the numbers of a tensor are; 0 where PyTorch does not say."""
    try:
        return tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return 0


# ---- what no recorded statement reads


def _finish(scope: Scope, filed: set[Hashable], loss: Loss) -> None:
    """Gradients that the rules stand on and no statement gave, under the statements that made their values.

    What a function returns is its caller's, who may have no name for it.
    """
    ends = [statement for statement in scope.statements if statement.step.kind == "return"]
    returned = {value.key for end in ends for value in (*end.read.values(), *(v for _, v in end.made))}
    for statement in scope.statements:
        flows = any(loss.total(value) is not None for value in statement.read.values())
        for _, value in statement.made if flows else ():
            total = loss.total(value)
            known = value.key in filed | returned or not scope.is_new(statement, value)
            if total is not None and not known and value.key in scope.names:
                filed.add(value.key)
                _add(statement.step, loss.symbol(scope.names[value.key]), None, {}, total, UNRECORDED)


def _unrecorded_values(trace: Trace, found: list[Scope], loss: Loss) -> dict[str, Value]:
    """The parameters and inputs that the loss depends on and no recorded statement reads, by their names."""
    known = {value.key for scope in found for value in scope.values.values()}
    known |= {id(origin) for scope in found for value in scope.values.values() for origin in _copy_source(value)}
    names = _parameter_names(trace)
    hidden: dict[str, Value] = {}
    for tensor in origins(loss.value):
        value = value_of(tensor)
        if value.key not in known:
            kind = "parameter" if isinstance(tensor, torch.nn.Parameter) else "input"
            count = sum(1 for name in hidden if name.startswith(f"{kind} ")) + 1
            hidden[names.get(id(tensor), f"{kind} {count}")] = value
    order = {name: i for i, name in enumerate(names.values())}
    return dict(sorted(hidden.items(), key=lambda pair: order.get(pair[0], len(order))))


def _parameter_names(trace: Trace) -> dict[Hashable, str]:
    """The parameters of the modules that were called, by their identity."""
    return {
        id(tensor): f"{path}.{name}" if path else name
        for path, module in trace.modules.items()
        for name, tensor in module.named_parameters(recurse=False)
    }


def _leaves_without_reader(found: list[Scope]) -> dict[str, Value]:
    """The parameters and inputs that have a name and that no statement uses."""
    used = {key for scope in found for key in scope.uses}
    named = {scope.names[key]: v for scope in found for key, v in scope.values.items() if key in scope.names}
    return {name: value for name, value in named.items() if value.edge is None and value.key not in used}


def _unread(found: list[Scope], filed: Collection[Hashable]) -> dict[str, Value]:
    """The inputs and parameters that have a name, and that no recorded statement of a known rule reads, by these names."""
    given = {value.key for step in found[0].inputs for value in _values(step)} if found else set()
    unread: dict[Hashable, tuple[str, Value]] = {}
    for scope in found:
        for key, name in scope.names.items():
            value = scope.values[key]
            if key not in filed and (key in given or value.edge is None):
                unread.setdefault(key, (name, value))
    return dict(unread.values())


def _values(step: Step) -> list[Value]:
    return [value_of(tensor, then) for _, tensor, then in tensors(step)]


def _copy_source(value: Value) -> list[Tensor]:
    """The tensor that an input is a copy of."""
    node = None if value.edge is None else value.edge.node
    if node is None or not node.name().startswith("CloneBackward"):
        return []
    return [after.variable for after, _ in node.next_functions if after is not None and hasattr(after, "variable")]


def _home(root: Step, name: str) -> Step:
    """The statement or module that a parameter belongs to: the one around the innermost module that its name begins with."""
    best, length = root.children[0] if root.children else root, 0
    queue = [(child, child) for child in root.children]
    while queue:
        step, around = queue.pop()
        if step.kind == "module" and name.startswith(f"{step.name}.") and len(step.name) > length:
            best, length = around, len(step.name)
        around = step if step.kind in STATEMENTS else around if around.kind in STATEMENTS else step
        queue += [(child, around) for child in step.children]
    return best


# ---- what has no gradient


def _skipped_notes(scope: Scope, loss: Loss) -> list[str]:
    """Which named values have no gradient, and why: one note for each reason."""
    reasons: dict[str, list[str]] = {}
    for key, name in scope.names.items():
        value = scope.values[key]
        if key != loss.value.key and loss.totals.get(key) is None and not name.startswith("self."):
            names = reasons.setdefault(_reason(value, loss), [])
            names += [name] if name not in names else []
    return [f"no gradient of {', '.join(names)}: {reason}" for reason, names in reasons.items()]


def _reason(value: Value, loss: Loss) -> str:
    tensor = value.tensor
    if not tensor.is_floating_point():
        return "not a real number that could vary" if tensor.dtype == torch.bool else "whole numbers do not vary"
    return f"{loss.name} does not depend on it" if value.varies else "it does not require one"
