"""Why entries cannot be found: an index past the end, a class that is none, a letter of einsum with two sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product as every
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from workings.trace.code.arguments import call_arguments
from workings.trace.shapes.explain_tensors import Explanation, Shape, shape, word, works_for

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


# ---- indices
def index_entries(input: Tensor, index: Any, before: Shape = ()) -> Explanation | None:
    """x[i, :, j]: an index for each axis, each within the size of its axis."""
    parts = index if isinstance(index, tuple) else (index,)
    used = sum(_axes_used(part) for part in parts)
    if used > input.dim():
        axes = f"{input.dim()} {'axis' if input.dim() == 1 else 'axes'}"
        return Explanation(f"{shape(input)} has {axes} and received {used} indices", f"give at most {input.dim()}")
    for axis, part in _parts_with_axes(parts, input.dim()):
        if (found := _at_axis(input, axis, part)) is not None:
            return found
    return None


def _axes_used(part: Any) -> int:
    """How many axes one part of an index stands for; a mask has its own."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    return part.dim() if isinstance(part, Tensor) and part.dtype == torch.bool else 1


def _parts_with_axes(parts: Sequence[Any], axes: int) -> Iterator[tuple[int, Any]]:
    """The parts of an index with the axes they stand for; … stands for as many as are left."""
    axis = 0
    for part in parts:
        yield axis, part
        axis += axes - sum(map(_axes_used, parts)) if part is Ellipsis else _axes_used(part)


def _at_axis(x: Tensor, axis: int, part: Any) -> Explanation | None:
    if part is None or part is Ellipsis or isinstance(part, (slice, bool, str)):
        return None
    places = torch.as_tensor(part)
    if places.dtype == torch.bool:
        return _mask_entries(x, axis, places)
    if places.is_floating_point() or places.is_complex():
        return Explanation(f"an index is whole numbers or a mask, and received {word(places)}", "convert it with .long()")
    return _within(places, x.shape[axis], f"axis {axis} of {shape(x)}")


def _within(places: Tensor, size: int, what: str) -> Explanation | None:
    """Whether indices are those of an axis: 0 … n − 1, or −1 … −n from the end."""
    if places.is_meta or not places.numel() or -size <= int(places.min()) <= int(places.max()) < size:
        return None
    worst = _number_text(int(places.max()) if int(places.max()) >= size else int(places.min()))
    if not size:
        return Explanation(f"{what} has size 0, so there is nothing at the index {worst}")
    return Explanation(
        f"{what} has size {size} and received the index {worst}",
        f"use {_index_range(size)}, or {_index_range(size, back=True)} from the end" if size > 1 else "use 0",
    )


def _mask_entries(x: Tensor, axis: int, mask: Tensor) -> Explanation | None:
    meant = x.shape[axis : axis + mask.dim()]
    if tuple(meant) == tuple(mask.shape):
        return None
    where = f"axis {axis}" if mask.dim() == 1 else f"axes {axis} … {axis + mask.dim() - 1}"
    return Explanation(f"a mask of {shape(mask)} does not fit {where} of {shape(x)}", f"use a mask of {[*meant]}")


def gather(input: Tensor, dim: int, index: Tensor, before: Shape = (), **options: Any) -> Explanation | None:
    """gather and index_select: indices along one axis, counted from 0."""
    if index.is_floating_point():
        return Explanation(f"an index is whole numbers, and received {word(index)}", "convert it with .long()")
    size = input.shape[dim]
    if index.is_meta or not index.numel() or 0 <= int(index.min()) <= int(index.max()) < size:
        return None
    worst = _number_text(int(index.max()) if int(index.max()) >= size else int(index.min()))
    what = f"axis {_number_text(dim)} of {shape(input)} has size {size} and received the index {worst}"
    return Explanation(what, f"use {_index_range(size)}")


def _index_range(size: int, back: bool = False) -> str:
    """The indices of an axis, from the front or from the end.

    >>> _index_range(10), _index_range(10, back=True), _index_range(2), _index_range(1)
    ('0 … 9', '−10 … −1', '0 or 1', '0')
    """
    first, last = (_number_text(-size), "−1") if back else ("0", str(size - 1))
    return first if size == 1 else f"{first} {'or' if size == 2 else '…'} {last}"


def _number_text(number: int) -> str:
    return str(number).replace("-", "−")


# ---- classes
def cross_entropy(input: Tensor, target: Tensor, *others: Any, before: Shape = (), **options: Any) -> Explanation | None:
    """Scores with a row for each example, and for each example a class."""
    named = ("scores", "targets")
    if not input.is_floating_point():
        return Explanation(
            f"cross_entropy needs scores of a float dtype and received {word(input)}", "use {left}.float()", named
        )
    rows = tuple(input.shape[:1] + input.shape[2:]) if input.dim() > 1 else ()
    likely = target.is_floating_point() and tuple(target.shape) == tuple(input.shape)
    if tuple(target.shape) != rows and not likely:
        problem = f"cross_entropy of scores {shape(input)} needs targets of {[*rows]}, a class for each example, "
        return Explanation(f"{problem}and received {shape(target)}", _fix_of_targets(input, target, rows), named)
    if target.dtype not in (torch.int64, torch.uint8) and not likely:
        problem = f"cross_entropy needs targets that are class numbers, int64, and received {word(target)}"
        return Explanation(problem, "use {right}.long()", named)
    given = call_arguments(F.cross_entropy, (input, target, *others), options)
    return None if likely else _classes(input, target, given["ignore_index"])


def _fix_of_targets(input: Tensor, target: Tensor, rows: Shape) -> str:
    """What brings targets or scores into the shapes that fit, the first that does."""
    if tuple(n for n in target.shape if n != 1) == tuple(n for n in rows if n != 1) and target.dim() > len(rows):
        return f"use {{right}}.squeeze({target.dim() - 1 if target.shape[-1] == 1 else 0})"
    if input.dim() > 2 and tuple(target.shape) == tuple(input.shape[:-1]):
        return "the classes stand on axis 1: use {left}.movedim(-1, 1)"
    if tuple(target.shape) == tuple(input.shape):
        return "use {right}.argmax(1), or {right}.float() if these are probabilities"
    return ""


def _classes(input: Tensor, target: Tensor, ignore_index: int) -> Explanation | None:
    count = input.shape[1 if input.dim() > 1 else 0]
    real = target[target != ignore_index]
    if real.is_meta or not real.numel() or 0 <= int(real.min()) <= int(real.max()) < count:
        return None
    low, high = int(real.min()), int(real.max())
    problem = f"cross_entropy of scores {shape(input)} has {count} classes, {_index_range(count)}, and received the class "
    fix = "use {right} - 1" if (low, high) == (1, count) else f"give the scores {high + 1} classes" if high >= count else ""
    return Explanation(f"{problem}{high if high >= count else _number_text(low)}", fix, ("scores", "targets"))


def cross_entropy_layer(m: nn.CrossEntropyLoss, input: Tensor, target: Tensor, before: Shape = ()) -> Explanation | None:
    return cross_entropy(input, target, ignore_index=m.ignore_index)


# ---- einsum
def einsum(equation: str, *operands: Any, before: Shape = ()) -> Explanation | None:
    """'ij,jk->ik': a letter for each axis, and one size for each letter."""
    given = operands[0] if operands and isinstance(operands[0], (list, tuple)) else operands
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(given):
        return Explanation(f"einsum {equation!r} has letters for {len(terms)} operands and received {len(given)}")
    if "..." in equation:
        return None
    for place, (term, x) in enumerate(zip(terms, given, strict=True)):
        if len(term) != x.dim():
            which = _ORDINALS[place] if place < len(_ORDINALS) else f"{place + 1}th"
            axes = "1 axis" if len(term) == 1 else f"{len(term)} axes"
            return Explanation(f"einsum {equation!r} names {axes} ({term}) of the {which} operand, which is {shape(x)}")
    if unknown := [letter for letter in output if arrow and letter not in inputs]:
        return Explanation(f"einsum {equation!r} has {unknown[0]} in the output, which is in no operand")
    return _two_sizes(equation, terms, given)


def _two_sizes(equation: str, terms: list[str], given: Sequence[Tensor]) -> Explanation | None:
    """A letter that stands for axes of different sizes."""
    seen: dict[str, tuple[int, str]] = {}
    for term, x in zip(terms, given, strict=True):
        for letter, size in zip(term, x.shape, strict=True):
            known, where = seen.get(letter, (1, ""))
            if size != known and 1 not in (size, known):
                problem = f"einsum {equation!r} needs one size for {letter}: it is {known} in {where}, {size} in {shape(x)}"
                return Explanation(problem, _fix_of_letters(equation, terms, given))
            if known == 1:
                seen[letter] = size, shape(x)
    return None


def _fix_of_letters(equation: str, terms: list[str], given: Sequence[Tensor]) -> str:
    """The same letters with those of a matrix the other way round, where that fits."""
    _, arrow, output = equation.replace(" ", "").partition("->")
    for turned in every(*([term, term[::-1]] if len(term) == 2 else [term] for term in terms)):
        changed = ",".join(turned) + arrow + output
        if works_for(lambda *xs, changed=changed: torch.einsum(changed, *xs), *given):
            return f"use {changed!r}"
    return ""
