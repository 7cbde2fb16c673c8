"""Assignments to entries: `y[0] = e` gives y[0] its value, and what is recorded is the whole of y after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch

from workings.show.value.value import is_same
from workings.show.write.names import text_name
from workings.trace.code.look_up import MISSING
from workings.trace.formula.arguments import FormulaError, index_value
from workings.trace.formula.targets import Target
from workings.trace.formula.tree import Apply, Formula, Index, Leaf, Number, Sequence, leaves
from workings.trace.step import Step, Syntax


class EntryAssignment(NamedTuple):
    """The whole by its name, and the value of the entry (`MISSING` where it is not known or stands there already)."""

    whole: str
    entry: Any


def entry_assignment(step: Step) -> EntryAssignment | None:
    """What an assignment to an entry changed; None for any other step.

    >>> from workings.trace.formula.targets import Target
    >>> from workings.trace.step import Syntax
    >>> y0 = Target("y[0]", whole=Target("y"), at=Index((Number(0),)))
    >>> entry_assignment(Step("assign", "y[0]", "y[0] = e", result=[3, 4], syntax=Syntax((y0,))))
    EntryAssignment(whole='y', entry=3)
    """
    target = step.syntax.target
    alone = step.kind == "assign" and len(step.syntax.targets) == 1 and not step.syntax.is_augmented
    if not alone or target is None or target.whole is None or target.at is None:
        return None
    return EntryAssignment(target.whole.text, MISSING if isinstance(step.formula, Number) else _entry(step, target.at))


def is_entry_of_many(step: Step) -> bool:
    """Whether an entry of a dictionary with tensors in it was assigned, as the rate in a group of an optimizer: what else is
    in there is no news."""
    if not isinstance(step.result, dict):
        return False
    values = [item for value in step.result.values() for item in (value if isinstance(value, list | tuple) else [value])]
    return any(isinstance(value, torch.Tensor) for value in values)


def unpacks(step: Step) -> bool:
    """Whether a statement gives names to the parts of its result: `a, b = f(x)`."""
    return step.syntax.target is not None and bool(step.syntax.target.parts)


def separate(step: Step) -> list[Step]:
    """`a, b = x + 1, y` as a = x + 1 and b = y; none for other statements, and where a later part reads an earlier name.

    >>> from workings.trace.formula.targets import Target
    >>> from workings.trace.formula.tree import Leaf, Sequence
    >>> pair = Syntax((Target("a, b", (Target("a"), Target("b"))),))
    >>> both = Step("assign", "a, b", "a, b = x, y", Sequence((Leaf("x"), Leaf("y"))), {"x": 1, "y": 2}, (1, 2), syntax=pair)
    >>> [(part.name, part.formula, part.result) for part in separate(both)]
    [('a', Leaf(text='x'), 1), ('b', Leaf(text='y'), 2)]
    """
    target, formula, values = step.syntax.target, step.formula, step.result
    if step.kind != "assign" or target is None or len(step.syntax.targets) != 1 or not isinstance(formula, Sequence):
        return []
    if not isinstance(values, tuple | list) or not len(target.parts) == len(formula.items) == len(values):
        return []
    if any(part.parts or part.is_starred or part.whole is not None for part in target.parts):
        return []
    found: list[Step] = []
    for place, item, value in zip(target.parts, formula.items, values, strict=True):
        if {part.name for part in found} & {*_names_in(item)}:
            return []
        source = f"{place.text} = {code}" if (code := _reshaping(item)) else step.source
        syntax = Syntax((Target(place.text),))
        again = Step(
            "assign", place.text, source, item, step.operands, value, step.where, syntax=syntax, numbers=step.numbers
        )
        found.append(again)
    return found


def _reshaping(formula: Formula) -> str:
    """The Python of x.view(2, 3).mT, of which every part has a name; nothing for other formulas."""
    match formula:
        case Leaf(text):
            return text
        case Apply("reshape", (inner,), (("by", call),)) if code := _reshaping(inner):
            return f"{code}.{call}"
    return ""


def is_renaming(step: Step, known: Mapping[str, Any]) -> bool:
    """Whether it only says `β = beta`, of a β that is known already."""
    if step.kind != "assign" or not isinstance(step.formula, Leaf) or text_name(step.name) != text_name(step.formula.text):
        return False
    before = [value for name, value in known.items() if text_name(name) == text_name(step.name)]
    return bool(before) and is_same(before[-1], step.result)


def _names_in(formula: Formula) -> list[str]:
    return [name for text in leaves(formula) for name in (text, text.partition(".")[0], text.partition("[")[0])]


def _entry(step: Step, at: Index) -> Any:
    if not isinstance(step.result, torch.Tensor | list | dict):
        return MISSING
    try:
        return step.result[index_value(at, step.operands)]
    except (FormulaError, TypeError, ValueError, IndexError, KeyError, AttributeError, RuntimeError):
        return MISSING
