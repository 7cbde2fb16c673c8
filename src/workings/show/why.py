"""Why a cell has its value: the cell, the formula it comes from, and the cells of its operands, down to the inputs."""

from __future__ import annotations

from typing import Any

import torch

from workings.errors import WorkingsError
from workings.show.notation import text_formula
from workings.show.options import Options
from workings.show.value import text_of
from workings.trace.formula import Apply, Formula, Leaf
from workings.trace.record import Trace
from workings.trace.step import Step

Index = tuple[int, ...]
DEEPEST = 6


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
    cell = text_of(step.result[index], Options(digits=6)).replace("\n", " ")
    lines.append(f"{indent}{_cell(step.name, index)} = {cell}{_because(step)}")
    if step.formula is None or level >= DEEPEST:
        return
    for text, read in _reads(step.formula, step, index):
        operand = step.operands.get(text)
        if not isinstance(operand, torch.Tensor):
            continue
        source = _source(trace, step, text)
        if source is not None and source.formula is not None and isinstance(read, tuple) and _is_cell(operand, read):
            _explain(trace, source, tuple(int(i) for i in read), level + 1, lines)
        else:
            part = text_of(operand[read], Options(digits=6)).replace("\n", " ")
            lines.append(f"{indent}  {_cell(text, read)} = {part}")


def _because(step: Step) -> str:
    return "" if step.formula is None else f", since {step.name} = {text_formula(step.formula)}"


def _cell(name: str, index: Any) -> str:
    parts = [":" if isinstance(i, slice) else str(i) for i in index]
    return f"{name}[{', '.join(parts)}]" if parts else name


def _is_cell(operand: torch.Tensor, read: tuple[Any, ...]) -> bool:
    return len(read) == operand.dim() and all(isinstance(i, int) for i in read)


def _source(trace: Trace, step: Step, text: str) -> Step | None:
    """The last step before this one that made this value."""
    found = None
    for other in trace.steps():
        if other is step:
            return found
        if other.kind in ("assign", "input") and other.name == text:
            found = other
    return found


def _reads(formula: Formula, step: Step, index: Index) -> list[tuple[str, tuple[Any, ...]]]:
    """Which cells of which leaves this cell of the formula needs."""
    if isinstance(formula, Leaf):
        operand = step.operands.get(formula.text)
        return [(formula.text, _broadcast(operand, index))] if isinstance(operand, torch.Tensor) else []
    if not isinstance(formula, Apply):
        return []
    if formula.op == "matmul" and len(index) >= 2:
        left = _reads_of(formula.args[0], step, (*index[:-1], slice(None)))
        return left + _reads_of(formula.args[1], step, (*index[:-2], slice(None), index[-1]))
    if formula.op == "transpose" and len(index) >= 2:
        return _reads_of(formula.args[0], step, (*index[:-2], index[-1], index[-2]))
    if formula.op in ("softmax", "log_softmax"):
        return _reads_of(formula.args[0], step, (*index[:-1], slice(None)))
    return [read for part in formula.args for read in _reads_of(part, step, index)]


def _reads_of(formula: Formula, step: Step, index: tuple[Any, ...]) -> list[tuple[str, tuple[Any, ...]]]:
    if isinstance(formula, Apply) and formula.op == "transpose" and len(index) >= 2:
        return _reads_of(formula.args[0], step, (*index[:-2], index[-1], index[-2]))
    return _reads(formula, step, index)


def _broadcast(operand: Any, index: tuple[Any, ...]) -> tuple[Any, ...]:
    """The index as it falls on an operand that was broadcast."""
    if not isinstance(operand, torch.Tensor):
        return ()
    own = index[len(index) - operand.dim() :] if operand.dim() else ()
    return tuple(0 if n == 1 else i for i, n in zip(own, operand.shape, strict=True))
