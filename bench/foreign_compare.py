"""A shown work beside an independent run of the same code: statements, values, equations, gradients."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from statements import Ran, Statement, copied, statements
from torch.autograd.graph import get_gradient_edge

from workings.errors import WorkingsError
from workings.show import Work
from workings.show.outline.outline import outline
from workings.trace.formula.evaluate import evaluate
from workings.trace.formula.tree import Apply, Call, Formula
from workings.trace.step import RULE_CHECKED, Step

_PART = "this call's part"
"""How `show` says that a gradient is that of an argument in one call alone."""
_GRADIENT = re.compile(r"∂(?P<loss>.+?)/∂(?P<name>[^∂]+)$")


# ---- statements


def compare_statements(work: Work, ran: Ran) -> dict[str, Any]:
    """How many statements ran, how many have a line, and which have none."""
    recorded = set(_places(work.steps()))
    loops = {id(turn): loop for loop in work.steps() if loop.kind == "loop" for turn in loop.children}
    printed = [line.step for line in outline(work, work.options)]
    shown = set(_places(loops.get(id(step), step) for step in printed))
    missing = [one for one in ran.times if one not in recorded]
    unprinted = [one for one in ran.times if one in recorded and one not in shown]
    return {
        "expected": len(ran.times),
        "shown": sum(one in shown for one in ran.times),
        "recorded": sum(one in recorded for one in ran.times),
        "missing": [_place(one) for one in missing],
        "unprinted": [_place(one) for one in unprinted],
    }


def _places(steps: Iterable[Step]) -> Iterable[Statement]:
    for step in steps:
        found = statements(step.where.file).get(step.where.line) if step.where is not None else None
        if found is not None:
            yield found


def _place(statement: Statement) -> str:
    return f"{Path(statement.file).name}:{statement.line} {statement.kind} {statement.text[:90]}"


# ---- values


def compare_values(work: Work, ran: Ran) -> dict[str, Any]:
    """Each value of a name, in the order it was assigned, with what the name was in the plain run."""
    recorded = defaultdict(list)
    for step in work.steps():
        if step.kind == "assign" and step.where is not None and not step.is_stopped:
            home = statements(step.where.file).get(step.where.line)
            if home is not None:
                for name, _, value in step.named_results():
                    recorded[home.file, home.line, name].append(value)
    compared, wrong = 0, []
    for place, values in recorded.items():
        plain = ran.values.get(place, [])
        if not plain:
            continue
        for turn, (value, expected) in enumerate(_aligned(values, plain)):
            if expected is None:
                continue
            compared += 1
            if not same(value, expected):
                wrong.append(f"{Path(place[0]).name}:{place[1]} {place[2]} (time {turn + 1})")
    result_ok = same(work.result, copied(ran.result))
    return {"values": compared, "wrong": wrong, "result": result_ok}


def _aligned(values: list[Any], plain: list[Any]) -> list[tuple[Any, Any]]:
    """Recorded values with plain ones. Where fewer were recorded (of a long loop, the first turns and the last), each stands
    beside the next plain value that it is, or else beside the next."""
    if len(values) >= len(plain):
        return list(zip(values, plain, strict=False))
    pairs, start = [], 0
    for value in values:
        found = next((place for place in range(start, len(plain)) if same(value, plain[place])), start)
        if found < len(plain):
            pairs.append((value, plain[found]))
        start = found + 1
    return pairs


def same(value: Any, expected: Any) -> bool:
    """Whether a recorded value is the one of the plain run, up to rounding; what cannot be compared is taken as the same."""
    if expected is None:
        return True
    if isinstance(expected, tuple) and expected[:1] == ("large",):
        now = copied(value) if isinstance(value, torch.Tensor) else None
        return (
            now is None or not isinstance(now, tuple) or (now[1] == expected[1] and all(map(_near, now[2:], expected[2:])))
        )
    if isinstance(expected, (list, tuple)):
        parts = value if isinstance(value, (list, tuple)) else list(value) if isinstance(value, torch.Tensor) else None
        return parts is None or (len(parts) == len(expected) and all(map(same, parts, expected)))
    if isinstance(expected, torch.Tensor) or type(expected).__module__ == "numpy":
        return _same_tensors(value, expected)
    if isinstance(expected, float) and isinstance(value, (int, float)):
        return _near(value, expected)
    return not isinstance(value, type(expected)) or value == expected


def _same_tensors(value: Any, expected: Any) -> bool:
    try:
        a, b = torch.as_tensor(value).detach(), torch.as_tensor(expected).detach()
    except (TypeError, ValueError, RuntimeError):
        return True
    if a.layout is not torch.strided or b.layout is not torch.strided:
        return True
    if a.shape != b.shape:
        return False
    kind = torch.complex128 if a.is_complex() or b.is_complex() else torch.float64
    coarse = any(x.dtype in (torch.float32, torch.float16, torch.bfloat16, torch.complex64) for x in (a, b))
    return torch.allclose(
        a.to(kind), b.to(kind), rtol=1e-3 if coarse else 1e-8, atol=1e-5 if coarse else 1e-10, equal_nan=True
    )


def _near(a: float, b: float) -> bool:
    return a == b or (a != a and b != b) or abs(a - b) <= 1e-6 * max(abs(a), abs(b)) + 1e-9


# ---- equations


def false_equations(work: Work) -> list[str]:
    """Statements whose formula, computed again from the operands beside it, gives another value than the one printed."""
    wrong = []
    for step in work.steps():
        if step.kind in ("assign", "return", "expression") and isinstance(step.formula, Apply) and not step.is_stopped:
            if step.syntax.is_augmented or step.syntax.changes is not None or "[" in step.name:
                continue
            again = _again(step.formula, step.operands)
            if not isinstance(again, torch.Tensor) or not isinstance(step.result, torch.Tensor) or same(again, step.result):
                continue
            if same(again, _again(step.formula, step.operands)):  # else it draws random numbers
                wrong.append(f"{_where(step)} {step.source[:80]}")
    return list(dict.fromkeys(wrong))


def _again(formula: Formula, operands: dict[str, Any]) -> Any:
    try:
        with torch.no_grad():
            return evaluate(formula, operands)
    except WorkingsError:
        return None


# ---- gradients


def gradient_lines(work: Work) -> dict[str, Any]:
    """The lines of the backward pass: how many have a rule that was checked, and why the others have none.

    A line that only adds contributions up, or names a part of a rule, needs no rule of its own and is not counted.
    """
    checked, without, disagree = 0, Counter[str](), []
    for parent in work.root.walk():
        for step in parent.children:
            if step.kind != "gradient":
                continue
            if step.note.startswith(RULE_CHECKED):
                checked += 1
            elif step.formula is None or "rule" in step.note:
                without[f"{_reason(step)} | {_layer(step, work.modules) or _operation(parent)}"] += 1
                if "other numbers" in step.note:
                    disagree.append(f"{_where(parent)} {parent.source[:80]}: {step.name}")
    return {"checked": checked, "lines": checked + sum(without.values()), "without": dict(without), "disagree": disagree}


def _reason(step: Step) -> str:
    note = step.note.split("\n")[0].replace("the rule is not written out: ", "")
    note = re.sub(r"[\d.e+-]{3,}", "…", note)
    note = re.sub(r"\b(for|since) [\w.]+\(…\)", r"\1 a call", note)
    note = re.sub(r"^[\w.]+\(…\) cannot", "a call cannot", note)
    return note[:110]


def _layer(step: Step, modules: dict[str, Any]) -> str:
    """Of a parameter's gradient, the kind of layer that it belongs to: Conv2d.weight."""
    found = _GRADIENT.match(step.name)
    path, _, last = found["name"].partition(" from ")[0].rpartition(".") if found else ("", "", "")
    return f"{type(modules[path]).__name__}.{last}" if path and path in modules else ""


def _operation(step: Step) -> str:
    """What the statement does, as its operation or the function it calls is called."""
    match step.formula:
        case Apply(op=op):
            return op
        case Call(name=name):
            return f"{name}(…)"
    return (step.source or step.name or step.kind)[:60]


def compare_gradients(work: Work, ran: Ran, parameters: dict[str, torch.Tensor], own: tuple[str, ...]) -> dict[str, Any]:
    """Every ∂L/∂name beside autograd's gradients of the values that had that name in the plain run."""
    steps = [(step, found) for step in work.steps() if step.kind == "gradient" and (found := _GRADIENT.match(step.name))]
    steps = [
        (step, found) for step, found in steps if " from " not in found["name"] and isinstance(step.result, torch.Tensor)
    ]
    loss = _loss(steps[0][1]["loss"], ran) if steps else None
    if loss is None or not loss.requires_grad:
        return {"gradients": 0, "gradients_wrong": [], "uncompared": len(steps)}
    compared, uncompared, wrong = 0, 0, []
    known: dict[str, list[torch.Tensor]] = {}
    for step, found in steps:
        name = re.sub(r"#\d+$", "", found["name"])
        if name not in known:
            known[name] = _gradients_of(name, loss, ran, parameters)
        candidates = [one for one in known[name] if one.shape == step.result.shape]
        followed = step.where is None or step.where.file.startswith(own) or name in parameters
        if not candidates or not followed or _PART in step.note:
            uncompared += 1
            continue
        compared += 1
        if not any(_same_tensors(step.result, one) for one in candidates):
            wrong.append(f"{_where(step)} {step.name}")
    return {"gradients": compared, "gradients_wrong": wrong, "uncompared": uncompared}


def _loss(name: str, ran: Ran) -> torch.Tensor | None:
    """The number that was differentiated, in the plain run: the last of its name, or what was returned."""
    if isinstance(ran.result, torch.Tensor) and ran.result.is_floating_point():
        return ran.result.sum()
    parts = ran.result if isinstance(ran.result, (tuple, list)) else [getattr(ran.result, "loss", None)]
    numbers = [one for one in parts if isinstance(one, torch.Tensor) and one.numel() == 1 and one.is_floating_point()]
    if name in ran.numbers or numbers:
        return ran.numbers.get(name, numbers[-1] if numbers else None)
    varying = [one for one in parts if isinstance(one, torch.Tensor) and one.requires_grad]
    return varying[0].sum() if name == "L" and varying else None  # as `show` does, and says


def _gradients_of(name: str, loss: torch.Tensor, ran: Ran, parameters: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    last = re.sub(r"\[.*\]$", "", name).rpartition(".")[2]
    tensors = [value for path, value in parameters.items() if path == name or path.endswith(f".{name}")]
    if last == "output" and isinstance(ran.result, torch.Tensor):  # what has no name of its own
        tensors.append(ran.result)
    edges = [*ran.edges.get(last, {}), *(get_gradient_edge(value) for value in tensors if value.requires_grad)]
    if not edges:
        return []
    found = torch.autograd.grad(loss, edges, retain_graph=True, allow_unused=True)
    return [one for one in found if one is not None]


def _where(step: Step) -> str:
    return f"{Path(step.where.file).name}:{step.where.line}" if step.where is not None else "?"
