"""A step as an equation: name = formula = formula with the values put in = value ≈ value."""

from __future__ import annotations

from dataclasses import dataclass

from workings.show.block import plain
from workings.show.names import latex_name, text_name
from workings.show.notation import latex_formula, text_formula
from workings.show.options import Options
from workings.show.outline import Line
from workings.show.value import inline_of, is_scalar, latex_forms, shape_of, text_forms
from workings.trace.formula import Code, leaves
from workings.trace.step import Step

SHORT = 72
"""Characters a formula with its values put in may have when substitution is short."""


@dataclass(frozen=True)
class Equation:
    """The parts of an equation, written in one notation. `forms` are pairs of a sign and a value."""

    left: str
    links: list[str]
    forms: list[tuple[str, str]]
    shape: str


def text_equation(line: Line, options: Options) -> Equation:
    """The equation of a line in plain text."""
    step = line.step
    links = [plain(link) for link in _links(step, options, latex=False)]
    forms = text_forms(step.result, options) if _has_value(line) else []
    return _equation(plain(text_name(step.name)), links, forms, shape_of(step.result) if forms else "", line)


def latex_equation(line: Line, options: Options) -> Equation:
    """The equation of a line in LaTeX."""
    step = line.step
    forms = latex_forms(step.result, options) if _has_value(line) else []
    return _equation(latex_name(step.name) if step.name else "", _links(step, options, latex=True), forms, "", line)


def _equation(left: str, links: list[str], forms: list[tuple[str, str]], shape: str, line: Line) -> Equation:
    links = [link for i, link in enumerate(links) if link and link != left and link not in links[:i]]
    if links and forms and links[-1] == forms[0][1]:
        links.pop()
    return Equation(left, links, forms, shape)


def _has_value(line: Line) -> bool:
    """A statement such as `print(x)` has none."""
    silent = line.step.kind in ("expression", "return", "update") and line.step.result is None
    return line.valued and not silent


def _links(step: Step, options: Options, latex: bool) -> list[str]:
    """The formula, and the formula with values put in where that is short enough to read."""
    write = latex_formula if latex else text_formula
    if step.formula is None:
        source = step.source.partition(" = ")[2] if step.kind == "assign" else step.source
        return [write(Code(source))] if source and step.kind != "input" else []
    scalars = frozenset(text for text, value in step.operands.items() if is_scalar(value))
    values = _values(step, options, latex)
    shown = write(step.formula, None, scalars)
    put_in = write(step.formula, values, scalars) if values else shown
    fits = options.substitution == "long" or len(_plain_length(step, options, scalars)) <= SHORT
    return [shown, put_in] if fits else [shown]


def _plain_length(step: Step, options: Options, scalars: frozenset[str]) -> str:
    """The text with values put in: its length decides, in LaTeX too."""
    return text_formula(step.formula, _values(step, options, latex=False), scalars) if step.formula else ""


def _values(step: Step, options: Options, latex: bool) -> dict[str, str]:
    found = {text: inline_of(step.operands[text], options, latex) for text in leaves(step.formula) if text in step.operands}  # type: ignore[arg-type]
    return {text: value for text, value in found.items() if value is not None}
