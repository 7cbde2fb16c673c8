"""Which cells of its operands one cell of an operation needs.

S = Q Kᵀ        S[i, j] needs row i of Q and row j of K
A = softmax(S)  A[i, j] needs row i of S

`REACH` has a row for each operation that is not cell by cell; of an operation that is not known, all cells are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from workings.trace.formula.tree import Apply, Code, Leaf, Number, Sequence, Slice

Index = tuple[Any, ...]
Wanted = list[Index | None]
"""For each operand the cells that are needed; None is all of them."""
ALL = slice(None)
CELL_BY_CELL = frozenset(
    """
    add sub mul div neg pow square sqrt rsqrt exp log log1p expm1 relu tanh sigmoid abs sin cos gelu silu softplus logsigmoid
    leaky_relu elu erf sign floor ceil round clamp maximum minimum masked_fill where compare indicator not and or normal_cdf
    normal_pdf
    """.split()
)
"""Operations of which a cell needs the same cell of each operand."""


def cells(formula: Apply, index: Index, operands: Mapping[str, Any]) -> Wanted:
    """The cells that each operand of an operation gives to these cells of its result.

    >>> cells(Apply("matmul", (Leaf("Q"), Leaf("V"))), (0, 1), {})
    [(0, slice(None, None, None)), (slice(None, None, None), 1)]
    """
    if formula.op in CELL_BY_CELL or (formula.op in ("max", "min") and len(formula.args) == 2):
        return [index] * len(formula.args)
    found = REACH[formula.op](formula, index, operands) if formula.op in REACH else None
    return [None] * len(formula.args) if found is None else found


def _matmul(formula: Apply, index: Index, operands: Mapping[str, Any]) -> Wanted | None:
    if len(index) >= 2:
        return [(*index[:-1], ALL), (*index[:-2], ALL, index[-1])]
    sizes = [operands[part.text].dim() if isinstance(part, Leaf) and part.text in operands else 0 for part in formula.args]
    vector: dict[tuple[int, int], Wanted] = {(2, 1): [(*index, ALL), (ALL,)], (1, 2): [(ALL,), (ALL, *index)]}
    return vector.get((sizes[0], sizes[1])) if len(index) == 1 else None


def _transpose(formula: Apply, index: Index, operands: Mapping[str, Any]) -> Wanted | None:
    return [(*index[:-2], index[-1], index[-2])] if len(index) >= 2 and not formula.options else None


def _along(formula: Apply, index: Index, operands: Mapping[str, Any]) -> Wanted | None:
    """Softmax: all cells along its axis."""
    dim = dict(formula.options).get("dim")
    if not isinstance(dim, int) or not -len(index) <= dim < len(index):
        return None
    return [_all_along(index, dim % len(index))]


def _row(formula: Apply, index: Index, operands: Mapping[str, Any]) -> Wanted | None:
    return [_all_along(index, len(index) - 1)] if index else None


def _reduced(formula: Apply, index: Index, operands: Mapping[str, Any]) -> Wanted | None:
    """A sum along one axis, which is gone from the result or has one cell there."""
    options = dict(formula.options)
    dim, kept = options.get("dim"), options.get("keepdim") in (True, "True")
    axes = len(index) if kept else len(index) + 1
    if not isinstance(dim, int) or not -axes <= dim < axes or len(formula.args) != 1:
        return None
    dim %= axes
    return [_all_along(index, dim) if kept else (*index[:dim], ALL, *index[dim:])]


def _linear(formula: Apply, index: Index, operands: Mapping[str, Any]) -> Wanted | None:
    own: Wanted = [(*index[:-1], ALL), (index[-1], ALL), (index[-1],)]
    return own[: len(formula.args)] if index else None


def _embedding(formula: Apply, index: Index, operands: Mapping[str, Any]) -> Wanted | None:
    own: Wanted = [index[:-1], (ALL, index[-1])]
    return own if index and len(formula.args) == 2 else None


def _normalized(formula: Apply, index: Index, operands: Mapping[str, Any]) -> Wanted | None:
    """A layer norm: the axes it goes over, and the same cell of its scale and shift."""
    axes = _axes(formula, operands)
    if axes is None or axes > len(index):
        return None
    first: Index = (*index[: len(index) - axes], *[ALL] * axes)
    return [first, *[index] * (len(formula.args) - 1)]


def _axes(formula: Apply, operands: Mapping[str, Any]) -> int | None:
    """How many of the last axes a layer norm goes over."""
    for part in formula.args[1:]:
        match part:
            case Sequence(items=items):
                return len(items)
            case Number(value=int()):
                return 1
            case Leaf(text=text) if isinstance(operands.get(text), Tensor):
                return int(operands[text].dim())
            case Leaf(text=text) if isinstance(operands.get(text), (tuple, list)):
                return len(operands[text])
    return None


def _einsum(formula: Apply, index: Index, operands: Mapping[str, Any]) -> Wanted | None:
    """bhqd, bhkd → bhqk: a letter of the result is where the index says, any other goes over all."""
    first = [
        part.text for part in formula.args[:1] if isinstance(part, Code)
    ]  # the equation, if it stands among the operands
    sides = (first or [str(dict(formula.options).get("text", ""))])[0].strip("\"'").replace(" ", "").split("->")
    inputs = sides[0].split(",")
    if len(sides) != 2 or "." in sides[0] or len(inputs) + len(first) != len(formula.args) or len(sides[1]) != len(index):
        return None
    places = dict(zip(sides[1], index, strict=True))
    own: Wanted = [tuple(places.get(letter, ALL) for letter in letters) for letters in inputs]
    return [None, *own] if first else own


def _entries(formula: Apply, index: Index, operands: Mapping[str, Any]) -> Wanted | None:
    """x[0, :]: numbers and whole axes, as they are written."""
    rest, found = list(index), list[Any]()
    for part in dict(formula.options)["at"].parts:
        if isinstance(part, Number) and type(part.value) is int:
            found.append(part.value)
        elif part == Slice() and rest:
            found.append(rest.pop(0))
        else:
            return None
    return [(*found, *rest)]


def _all_along(index: Index, axis: int) -> Index:
    return tuple(ALL if i == axis else at for i, at in enumerate(index))


REACH: dict[str, Callable[[Apply, Index, Mapping[str, Any]], Wanted | None]] = {
    "matmul": _matmul,
    "transpose": _transpose,
    "softmax": _along,
    "log_softmax": _along,
    "cumsum": _along,
    "rowsum": _row,
    **dict.fromkeys("sum mean var std max min amax amin prod logsumexp".split(), _reduced),
    "linear": _linear,
    "embedding": _embedding,
    "layer_norm": _normalized,
    "rms_norm": _normalized,
    "einsum": _einsum,
    "index": _entries,
}
