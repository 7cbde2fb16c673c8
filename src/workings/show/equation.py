"""A step as an equation: name = formula = formula with the values put in = value ≈ value."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import torch

from workings.show.block import plain
from workings.show.names import latex_name, text_name
from workings.show.notation import entry_key, latex_formula, text_formula
from workings.show.options import Options
from workings.show.outline import Line
from workings.show.value import inline_of, is_list, is_scalar, latex_forms, shape_of, text_forms
from workings.trace.formula import Apply, Code, Formula, Leaf, leaves, walk
from workings.trace.step import Step

SHORT = 72
"""Characters a formula with its values put in may have when substitution is short."""


@dataclass(frozen=True)
class Equation:
    """The parts of an equation, written in one notation. `forms` are pairs of a sign and a value; `below` asks for
    them on lines of their own."""

    left: str
    links: list[str]
    forms: list[tuple[str, str]]
    shape: str
    lead: str = " = "
    below: bool = False

    @property
    def head(self) -> str:
        """name = formula = formula with values"""
        return self.lead.join(part for part in (self.left, *self.links[:1]) if part) + "".join(
            f" = {p}" for p in self.links[1:]
        )


def text_equation(line: Line, options: Options) -> Equation:
    """The equation of a line in plain text."""
    step = line.step
    links = [plain(link) for link in _links(step, options, latex=False)]
    forms = text_forms(step.result, options) if _has_value(line) else []
    found = _equation(plain(text_name(step.name)), links, forms, shape_of(step.result) if forms else "", line, latex=False)
    return replace(found, below=is_list(step.result) and "\n" in "".join(block for _, block in forms))


def latex_equation(line: Line, options: Options) -> Equation:
    """The equation of a line in LaTeX."""
    step = line.step
    forms = latex_forms(step.result, options) if _has_value(line) else []
    return _equation(
        latex_name(step.name) if step.name else "", _links(step, options, latex=True), forms, "", line, latex=True
    )


def _equation(left: str, links: list[str], forms: list[tuple[str, str]], shape: str, line: Line, latex: bool) -> Equation:
    links = [link for i, link in enumerate(links) if link and link != left and link not in links[:i]]
    if links and forms and links[-1] == forms[0][1]:
        links.pop()
    if not links and forms and forms[0][1] == left:  # a letter that stands for itself
        forms = []
    if line.step.kind == "return":
        return Equation(_returns(latex), links, forms, shape, r"\ " if latex else " ")
    return Equation(left, links, forms, shape)


def _returns(latex: bool) -> str:
    return r"\text{return}" if latex else "return"


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
    known = step.operands | _entries(step, step.formula)
    scalars = frozenset(text for text, value in known.items() if is_scalar(value))
    values = _values(step, options, latex)
    shown = write(step.formula, None, scalars)
    put_in = write(step.formula, values, scalars) if values else shown
    fits = options.substitution == "long" or len(_plain_length(step, options, scalars)) <= SHORT
    return [shown, put_in] if fits else [shown]


def _plain_length(step: Step, options: Options, scalars: frozenset[str]) -> str:
    """The text with values put in: its length decides, in LaTeX too."""
    return text_formula(step.formula, _values(step, options, latex=False), scalars) if step.formula else ""


def _values(step: Step, options: Options, latex: bool) -> dict[str, str]:
    formula = step.formula
    if formula is None or (isinstance(formula, Leaf) and step.kind == "return"):
        return {}
    seen = {text: step.operands[text] for text in leaves(formula) if text in step.operands} | _entries(step, formula)
    found = {text: inline_of(value, options, latex) for text, value in seen.items()}
    return {text: value for text, value in found.items() if value is not None}


def _entries(step: Step, formula: Formula) -> dict[str, Any]:
    """The values of x[0] and x[1, 2] for the indices that are plain numbers."""
    found: dict[str, Any] = {}
    for part in walk(formula):
        if isinstance(part, Apply) and part.op == "index" and isinstance(part.args[0], Leaf):
            name, index = part.args[0].text, str(dict(part.options).get("text", ""))
            key, whole = entry_key(name, index), step.operands.get(name)
            if key in step.operands:
                found[key] = step.operands[key]
            elif re.fullmatch(r"-?\d+(, -?\d+)*", index) and isinstance(whole, torch.Tensor | list | tuple):
                found[key] = _entry(whole, [int(i) for i in index.split(", ")])
    return found


def _entry(whole: Any, index: list[int]) -> Any:
    try:
        return whole[tuple(index)] if isinstance(whole, torch.Tensor) else whole[index[0]]
    except (IndexError, TypeError):
        return None
