"""A statement in the names that gradients have for its values: the third h, made of the second, is h#3 = h#2 + 1."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from workings.trace.formula.targets import Target
from workings.trace.formula.tree import rename
from workings.trace.step import NO_NUMBERS, Step


def numbered(step: Step) -> Step:
    """The step with numbers at the names that have several values; itself where none has.

    >>> from workings.trace.formula.tree import Apply, Leaf, Number
    >>> from workings.trace.step import Numbers
    >>> again = Step("assign", "h", formula=Apply("add", (Leaf("h"), Number(1))), numbers=Numbers({"h": 2}, {"h": 3}))
    >>> numbered(again).name, numbered(again).formula
    ('h#3', Apply(op='add', args=(Leaf(text='h#2'), Number(value=1)), options=()))
    """
    if step.numbers is NO_NUMBERS or step.kind == "loop":
        return step
    read, made = ({name: f"{name}#{n}" for name, n in names.items()} for names in (step.numbers.read, step.numbers.made))
    targets = tuple(_named(target, made) for target in step.syntax.targets)
    return replace(
        step,
        name=made.get(step.name, targets[-1].text if targets and targets[-1].parts else step.name),
        formula=None if step.formula is None else rename(step.formula, read),
        operands=_renamed(step.operands, made if step.kind == "turn" else read),
        syntax=replace(step.syntax, targets=targets),
        numbers=NO_NUMBERS,
    )


def _renamed(operands: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """The values under their new names, those of entries (h[t]) too."""
    split = ((*text.partition("["), value) for text, value in operands.items())
    return {f"{names.get(whole, whole)}{bracket}{index}": value for whole, bracket, index, value in split}


def _named(target: Target, names: dict[str, str]) -> Target:
    """A target with other names for its places; the entry of a whole stays as it is written: y[0] = e makes y#2."""
    whole = None if target.whole is None else _named(target.whole, names)
    parts = tuple(_named(part, names) for part in target.parts)
    text = target.text if whole else names.get(target.text, target.text)
    return replace(target, text=", ".join(map(_written, parts)) if parts else text, parts=parts, whole=whole)


def _written(part: Target) -> str:
    inner = f"({part.text})" if part.parts else part.text
    return f"*{inner}" if part.is_starred else inner
