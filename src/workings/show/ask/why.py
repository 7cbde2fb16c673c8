"""Why a cell has its value: the cell, the formula it comes from, and the cells of its operands, down to the inputs."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import torch

from workings.errors import WorkingsError
from workings.show.ask.diff import tensor_difference
from workings.show.ask.reach import cells
from workings.show.formula.notation import text_formula
from workings.show.formula.shown import as_shown
from workings.show.options import Options
from workings.show.value.value import text_of
from workings.show.write.block import beside, indented
from workings.trace.formula.operation import EVERY, Index
from workings.trace.formula.tree import Apply, Call, Formula, Leaf, Sequence
from workings.trace.record import Trace
from workings.trace.step import Step

_DEEPEST = 6


def why(trace: Trace, step: Step, index: Index) -> str:
    """The explanation, indented a level for each operand."""
    value = step.result
    if not isinstance(value, torch.Tensor):
        return f"{step.name} = {text_of(value, Options())}, from {step.source}"
    if len(index) != value.dim() or any(not -n <= i < n for i, n in zip(index, value.shape, strict=True)):
        raise WorkingsError(f"{step.name} has the shape {[*value.shape]}; {list(index)} is not a cell of it.")
    index = tuple(i % n for i, n in zip(index, value.shape, strict=True))
    lines: list[str] = []
    _explain(trace, step, index, 0, lines)
    return "\n".join(lines)


def _explain(trace: Trace, step: Step, index: Index, level: int, lines: list[str]) -> None:
    indent = "  " * level
    line = _line(_cell(step.name, index), step.result[index], _because(step))
    again = any(line == dedent(earlier) for earlier in lines)  # its operands stand there
    lines.append(indented(line, len(indent)))
    if again or step.formula is None or level >= _DEEPEST:
        return
    reads = {_cell(text, read): (text, read) for text, read in _reads(step.formula, step, index)}  # each once
    for text, read in reads.values():
        operand = step.operands[text]
        source = _source(trace, step, text)
        if source is not None:
            _explain(trace, source, read, level + 1, lines)
        else:
            lines.append(indented(_line(_cell(text, read), operand[read]), len(indent) + 2))


def _line(cell: str, value: torch.Tensor, because: str = "") -> str:
    """A[0, :] = [1  0], since A = softmax(S); a matrix is drawn as one, with the reason beside its first row."""
    return beside(f"{cell} = ", text_of(value, Options(digits=6)), because)


def _because(step: Step) -> str:
    return (
        ""
        if step.formula is None
        else f", since {step.name} = {text_formula(as_shown(step.formula, step.operands, step.source))}"
    )


def _cell(name: str, index: Any) -> str:
    parts = [":" if isinstance(i, slice) else str(i) for i in index]
    return f"{name}[{', '.join(parts)}]" if parts else name


def _same(made: Any, read: torch.Tensor) -> bool:
    """Whether the value that a step made is the one that was read: a name may stand for others elsewhere."""
    return made is read or (isinstance(made, torch.Tensor) and not tensor_difference(made, read))


def _source(trace: Trace, step: Step, text: str) -> Step | None:
    """The step that made this value: the last one before that did, or the line of a gradient wherever it stands."""
    operand, found = step.operands[text], None
    if "∂" in text:
        return next((s for s in trace.steps() if s.kind == "gradient" and s.name == text and _same(s.result, operand)), None)
    name = text.partition("#")[0] if step.kind == "gradient" else text
    for other in trace.steps():
        if other is step:
            break
        if other.kind in ("assign", "input") and other.name == name and (name == text or _same(other.result, operand)):
            found = other
    return found if found is not None and _same(found.result, operand) else None


def _reads(formula: Formula, step: Step, index: Index | None) -> list[tuple[str, Index]]:
    """Which cells of which leaves these cells of the formula need; all of them (None) where the operation does not say."""
    if isinstance(formula, Leaf):
        operand = step.operands.get(formula.text)
        return [(formula.text, _broadcast(operand, index))] if isinstance(operand, torch.Tensor) else []
    if isinstance(formula, Call) and formula.name.rpartition(".")[2] == "einsum":
        formula = Apply("einsum", formula.args)
    parts = formula.args if isinstance(formula, (Apply, Call)) else formula.items if isinstance(formula, Sequence) else ()
    wanted = (
        cells(formula, index, step.operands) if isinstance(formula, Apply) and index is not None else [None] * len(parts)
    )
    return [read for part, at in zip(parts, wanted, strict=True) for read in _reads(part, step, at)]


def _broadcast(operand: torch.Tensor, index: Index | None) -> Index:
    """The index as it falls on an operand that was broadcast."""
    if index is None or len(index) < operand.dim():
        return (EVERY,) * operand.dim()
    own = index[len(index) - operand.dim() :]
    return tuple(0 if n == 1 else i for i, n in zip(own, operand.shape, strict=True))
