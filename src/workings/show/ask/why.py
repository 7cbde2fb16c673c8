"""Why a cell has its value: the cell, the formula it comes from, and the cells of its operands, down to the inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from workings.errors import WorkingsError
from workings.show.ask.answer import Answer, in_words
from workings.show.ask.diff import tensor_difference
from workings.show.ask.reach import cells
from workings.show.formula import mathml
from workings.show.formula.notation import latex_formula, mathml_formula, text_formula
from workings.show.formula.shown import as_shown
from workings.show.options import Options
from workings.show.printers.notebook import in_cell
from workings.show.value.html_value import ValueOptions, value_markup
from workings.show.value.value import latex_of, text_of
from workings.show.write.block import beside, indented
from workings.show.write.names import latex_name
from workings.trace.formula.operation import EVERY, Index
from workings.trace.formula.tree import Apply, Call, Formula, Leaf, Sequence
from workings.trace.record import Trace
from workings.trace.step import Step

_DEEPEST = 6
_OPTIONS = Options(digits=6)


@dataclass(frozen=True)
class _Reason:
    """A cell (or several) with its value, and the step that it comes from, one level deeper than what needs it."""

    level: int
    name: str
    index: Any
    value: torch.Tensor
    step: Step | None = None

    @property
    def formula(self) -> Formula | None:
        step = self.step
        return None if step is None or step.formula is None else as_shown(step.formula, step.operands, step.source)

    @property
    def text(self) -> str:
        """A[0, :] = [1  0], since A = softmax(S); a matrix is drawn as one, with the reason beside its first row."""
        because = "" if self.formula is None else f", since {self.name} = {text_formula(self.formula)}"
        return beside(f"{_cell(self.name, self.index)} = ", text_of(self.value, _OPTIONS), because)

    @property
    def html(self) -> str:
        cell = mathml.math(mathml.name(self.name), _below(self.index))
        value = value_markup(self.value, ValueOptions(_OPTIONS))
        because = ""
        if self.formula is not None:
            equation = mathml.math(mathml.name(self.name), mathml.operator("="), mathml_formula(self.formula))
            because = f"<span>since {equation}</span>"
        return f'<li><div class="pieces">{cell}{value}{because}</div></li>'

    @property
    def latex(self) -> str:
        because = (
            "" if self.formula is None else rf",\ \text{{since }} {latex_name(self.name)} = {latex_formula(self.formula)}"
        )
        at = f"[{', '.join(_places(self.index))}]" if self.index else ""
        indent = r"\quad " * self.level
        return f"& {indent}{latex_name(self.name)}{at} = {latex_of(self.value, _OPTIONS)}{because}"


def why(trace: Trace, step: Step, index: Index) -> Answer:
    """The explanation, indented a level for each operand."""
    value = step.result
    if not isinstance(value, torch.Tensor):
        return in_words(f"{step.name} = {text_of(value, Options())}, from {step.source}")
    if len(index) != value.dim() or any(not -n <= i < n for i, n in zip(index, value.shape, strict=True)):
        raise WorkingsError(f"{step.name} has the shape {[*value.shape]}; {list(index)} is not a cell of it.")
    index = tuple(i % n for i, n in zip(index, value.shape, strict=True))
    reasons: list[_Reason] = []
    _explain(trace, step, index, 0, reasons)
    return Answer(
        "\n".join(indented(reason.text, 2 * reason.level) for reason in reasons),
        lambda: _html(reasons),
        lambda: "\\begin{align*}\n" + " \\\\\n".join(reason.latex for reason in reasons) + "\n\\end{align*}",
    )


def _html(reasons: list[_Reason]) -> str:
    """Nested lists, a level for each operand."""
    out, level = "", -1
    for reason in reasons:
        out += "<ul>" * (reason.level - level) + "</ul>" * (level - reason.level) + reason.html
        level = reason.level
    return in_cell(f'<div class="work why">{out}{"</ul>" * (level + 1)}</div>')


def _explain(trace: Trace, step: Step, index: Index, level: int, reasons: list[_Reason]) -> None:
    reason = _Reason(level, step.name, index, step.result[index], step)
    again = any(reason.text == earlier.text for earlier in reasons)  # its operands stand there
    reasons.append(reason)
    if again or step.formula is None or level >= _DEEPEST:
        return
    reads = {_cell(text, read): (text, read) for text, read in _reads(step.formula, step, index)}  # each once
    for text, read in reads.values():
        operand = step.operands[text]
        source = _source(trace, step, text)
        if source is not None:
            _explain(trace, source, read, level + 1, reasons)
        else:
            reasons.append(_Reason(level + 1, text, read, operand[read]))


def _places(index: Any) -> list[str]:
    return [":" if isinstance(i, slice) else str(i) for i in index]


def _cell(name: str, index: Any) -> str:
    return f"{name}[{', '.join(_places(index))}]" if index else name


def _below(index: Any) -> str:
    """The index in brackets, as in the code: its counts from 0 are no mathematician's."""
    return mathml.fenced(mathml.commas([f"<mn>{place}</mn>" for place in _places(index)]), "[", "]") if index else ""


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
