"""What a change of shape means, in words: «axis 2 split into 2 heads of 4», «axes 1 and 2 swapped», «axes 1 and 2 joined».

x.view(B, T, heads, d).transpose(1, 2)    x, axis 2 split into 2 heads of 4, axes 1 and 2 swapped
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from workings.show.formula.shapes import Shape, Shapes
from workings.trace.formula.arguments import FormulaError, call_values
from workings.trace.formula.evaluate import option
from workings.trace.formula.pattern import PatternError, pattern_of
from workings.trace.formula.tree import Apply, Call, Formula
from workings.trace.operations.reshaping import PERMUTED, REPEATED, SAME_ORDER, UNCHANGED


def with_words(formula: Formula, shapes: Shapes) -> Formula:
    """A statement that only changes a shape, in words; within a larger formula a change of shape stays as it is written.

    >>> from workings.trace.formula.tree import Leaf, Number
    >>> swapped = Apply("reshape", (Leaf("x"),), (("by", Call("transpose", (Number(0), Number(1)))),))
    >>> with_words(swapped, Shapes({"x": torch.ones(2, 3, 4)}))
    Apply(op='rearranged', args=(Leaf(text='x'),), options=(('words', 'axes 0 and 1 swapped'),))
    """
    if isinstance(formula, Apply) and formula.op in ("rearrange", "repeat_along") and len(formula.args) == 1:
        return _by_pattern(formula, shapes)
    inner, calls = formula, list[Call]()
    while isinstance(inner, Apply) and inner.op == "reshape" and isinstance(by := dict(inner.options).get("by"), Call):
        inner, calls = inner.args[0], [by, *calls]
    shape = shapes.of(inner) if calls else None
    if shape is None:
        return formula
    said: list[str] = []
    try:
        for call in calls:
            changed, words = _change(shape, call, shapes.operands)
            shape, said = changed, [*said, *words]
    except (FormulaError, TypeError, ValueError, RuntimeError, IndexError):
        return formula
    if not said:
        return inner
    if said == [_TURNED]:
        return Apply("transpose", (inner,))
    return Apply("rearranged", (inner,), (("words", ", ".join(_plainly(word, len(shape)) for word in said)),))


def _by_pattern(formula: Apply, shapes: Shapes) -> Formula:
    """A rearrangement of einops by what its pattern means."""
    (inner,), shape = formula.args, shapes.of(formula.args[0])
    try:
        pattern, sizes = pattern_of({key: option(value, shapes.operands) for key, value in formula.options})
        said = pattern.words(shape, sizes) if shape is not None else []
    except (FormulaError, PatternError, TypeError, ValueError):
        return formula
    return Apply("rearranged", (inner,), (("words", ", ".join(said)),)) if said else formula


_TURNED = "the last two axes swapped"


def _plainly(words: str, rank: int) -> str:
    return f"axes {rank - 2} and {rank - 1} swapped" if words == _TURNED else words


def _change(shape: Shape, call: Call, operands: Mapping[str, Any]) -> tuple[Shape, list[str]]:
    """The shape after a call, and what the call did."""
    if call.name in UNCHANGED:
        return shape, []
    args, options = call_values(call, operands)
    after = tuple(getattr(torch.empty(shape, device="meta"), call.name)(*args, **options).shape)
    if call.name == "detach":
        return shape, ["held constant"]
    if call.name == "unsqueeze":
        return after, [_new_axis(len(shape), args[0] if args else options["dim"])]
    if call.name == "squeeze":
        return after, ["axes of length 1 left out"] if after != shape else []
    if call.name in SAME_ORDER:
        return after, _ones(shape, after) or list(_regrouped(shape, after, _texts(call, len(after))))
    if call.name in PERMUTED:
        return after, _permuted(_order(len(shape), call.name, args, options))
    if call.name in REPEATED:
        return after, [f"repeated to {_times(after)}"] if after != shape else []
    raise FormulaError(f"{call.name} has no words.")


def _new_axis(rank: int, axis: int) -> str:
    """p.unsqueeze(-1) of a vector is a column."""
    place = axis % (rank + 1)
    if rank == 1:
        return "as a column" if place == 1 else "as a row"
    return f"with a new axis {place}"


def _ones(before: Shape, after: Shape) -> list[str]:
    """Where only axes of length 1 come or go: which.

    >>> _ones((4,), (4, 1)), _ones((2, 3), (2, 1, 3)), _ones((2, 1, 3), (2, 3)), _ones((2, 3), (2, 3))
    (['as a column'], ['with a new axis 1'], ['axes of length 1 left out'], [])
    """
    if before == after or [n for n in before if n != 1] != [n for n in after if n != 1]:
        return []
    if len(after) == len(before) + 1:
        place = next((i for i, n in enumerate(before) if n != after[i]), len(before))
        return [_new_axis(len(before), place)]
    if len(after) < len(before):
        return ["axes of length 1 left out"]
    return [f"{_times(before)} as {_times(after)}"]


def _order(rank: int, method: str, args: list[Any], options: dict[str, Any]) -> list[int]:
    """Which axis stands where after a method that permutes axes: read off the strides of an example."""
    example = torch.empty([2] * rank)
    strides = list(example.stride())
    return [strides.index(step) for step in getattr(example, method)(*args, **options).stride()]


def _permuted(order: list[int]) -> list[str]:
    moved = [i for i, axis in enumerate(order) if i != axis]
    if not moved:
        return []
    if len(moved) == 2:
        last = moved == [len(order) - 2, len(order) - 1]
        return [_TURNED if last else f"axes {moved[0]} and {moved[1]} swapped"]
    return [f"axes in the order {', '.join(map(str, order))}"]


def _texts(call: Call, count: int) -> list[str]:
    """What was written for each size of view(B, T, heads, d)."""
    texts = [str(arg) for arg in call.args]
    return texts if len(texts) == count else [""] * count


def _regrouped(before: Shape, after: Shape, texts: list[str]) -> Iterator[str]:
    """Axes split and joined: the entries keep their order.

    >>> [*_regrouped((2, 3, 8), (2, 3, 2, 4), ["", "", "heads", ""])], [*_regrouped((2, 3, 4), (2, 12), ["", ""])]
    (['axis 2 split into 2 heads of 4'], ['axes 1 and 2 joined'])
    """
    if len(after) == 1 and len(before) > 1:
        yield "all entries in one vector"
        return
    for own, new in _groups(before, after):
        sizes = [after[i] for i in new]
        if len(own) == 1 and len(new) > 1:
            heads = "head" in texts[new[0]] and "dim" not in texts[new[0]] and len(new) == 2
            into = f"{sizes[0]} heads of {sizes[1]}" if heads else _times(sizes)
            yield f"axis {own[0]} split into {into}"
        elif len(own) > 1 and len(new) == 1:
            yield f"axes {', '.join(map(str, own[:-1]))} and {own[-1]} joined"
        elif [before[i] for i in own] != sizes:
            yield f"{_times([before[i] for i in own])} as {_times(sizes)}"


def _groups(before: Shape, after: Shape) -> Iterator[tuple[list[int], list[int]]]:
    """The shortest runs of axes that hold the same number of entries."""
    if not math.prod(before):
        raise FormulaError("A tensor without entries is not split.")
    i = j = 0
    while i < len(before) or j < len(after):
        own, new = [i][: len(before) - i], [j][: len(after) - j]
        i, j = i + len(own), j + len(new)
        while math.prod(before[k] for k in own) != math.prod(after[k] for k in new):
            if math.prod(before[k] for k in own) < math.prod(after[k] for k in new):
                own, i = [*own, i], i + 1
            else:
                new, j = [*new, j], j + 1
        if own and new:
            yield own, new


def _times(sizes: Any) -> str:
    return "×".join(map(str, sizes))
