"""Why tensors do not fit together: in a product, end to end, entry by entry, in another shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor

from workings.trace.shapes.arithmetic import product

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Explanation:
    """What is wrong, and what to try; in `fix`, {left}, {right} and {x} stand for the operands.

    >>> print(Explanation("[2, 3] @ [4, 3] needs 3 = 4", "use {left} @ {right}.mT", ("Q", "K")))
    [2, 3] @ [4, 3] needs 3 = 4; use Q @ K.mT
    """

    problem: str
    fix: str = ""
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        words = {"left": "left", "right": "right", "x": "x"}
        words |= dict(zip(("left", "right"), self.names, strict=False)) | dict(zip("x", self.names, strict=False))
        return f"{self.problem}; {self.fix.format(**words)}" if self.fix else self.problem


def word(x: Tensor) -> str:
    """
    >>> word(torch.zeros(2, 3))
    'float32'
    """
    return str(x.dtype).removeprefix("torch.")


def shape(x: Any) -> str:
    """
    >>> shape(torch.zeros(2, 3))
    '[2, 3]'
    """
    return str([*x.shape])


# ---- products
def matmul(input: Tensor, other: Tensor, before: Shape = ()) -> Explanation | None:
    a, b = input, other
    if a.dim() == 0 or b.dim() == 0:
        return Explanation(
            f"a @ b needs matrices or vectors: {shape(a)} @ {shape(b)} has a number in it", "use {left} * {right}"
        )
    inner = b.shape[-2] if b.dim() > 1 else b.shape[0]
    if a.shape[-1] != inner:
        problem = f"{shape(a)} @ {shape(b)} needs {a.shape[-1]} = {inner}: the columns of the left, the rows of the right"
        return Explanation(problem, _fix_of_product(a, b))
    return _broadcast_of(a.shape[:-2], b.shape[:-2], f"{shape(a)} @ {shape(b)}: the batch axes")


def _fix_of_product(a: Tensor, b: Tensor) -> str:
    """Which transposition makes a product fit: the first that really does."""
    fixes = {
        "use {left} @ {right}.mT": lambda a, b: a @ b.mT,
        "use {left}.mT @ {right}": lambda a, b: a.mT @ b,
        "use {right} @ {left}": lambda a, b: b @ a,
    }
    return next((fix for fix, product in fixes.items() if works_for(product, a, b)), "")


def works_for(call: Callable[..., Any], *given: Tensor) -> bool:
    """Whether shapes fit, found out on tensors without numbers."""
    try:
        call(*(torch.empty(x.shape, device="meta") for x in given))
    except (RuntimeError, IndexError):
        return False
    return True


def product_of(axes: int, name: str) -> Callable[..., Explanation | None]:
    def rule(input: Tensor, mat2: Tensor, before: Shape = ()) -> Explanation | None:
        if input.dim() != axes or mat2.dim() != axes:
            problem = f"{name} needs two tensors of {axes} axes and received {shape(input)} and {shape(mat2)}"
            return Explanation(problem, "use {left} @ {right}, which takes any number of axes")
        if axes == 3 and input.shape[0] != mat2.shape[0]:
            problem = f"{name} needs as many matrices on both sides and received {input.shape[0]} and {mat2.shape[0]}"
            return Explanation(f"{problem}: {shape(input)} and {shape(mat2)}", "give both one batch")
        return matmul(input, mat2)

    return rule


# ---- joining
def cat(tensors: Sequence[Tensor], dim: int = 0, before: Shape = ()) -> Explanation | None:
    shapes = [tuple(x.shape) for x in tensors]
    if () in shapes:
        problem = (
            f"cat joins along an axis, and tensor {shapes.index(()) + 1} of {len(shapes)} is a single number, which has none"
        )
        return Explanation(problem, "use x.reshape(1)" if any(shapes) else "use torch.stack(…)")
    fitting = [d for d in range(len(shapes[0])) if _is_joinable(shapes, d)]
    other = next((s for s in shapes if s != shapes[0]), None)
    if other is None or dim % len(shapes[0]) in fitting:
        return None
    problem = f"cat along dim={dim} needs equal sizes in every other axis, but {[*shapes[0]]} and {[*other]} differ"
    return Explanation(problem, f"use dim={fitting[0]}" if fitting else "")


def _is_joinable(shapes: Sequence[Shape], dim: int) -> bool:
    """Whether shapes agree in every axis but `dim`."""
    return len({(len(s), s[:dim], s[dim + 1 :]) for s in shapes}) == 1


def stack(tensors: Sequence[Tensor], dim: int = 0, before: Shape = ()) -> Explanation | None:
    shapes = [tuple(x.shape) for x in tensors]
    other = next((s for s in shapes if s != shapes[0]), None)
    if other is None:
        return None
    fitting = [d for d in range(len(shapes[0])) if _is_joinable(shapes, d)]
    fix = f"use torch.cat(…, dim={fitting[0]}) to join them along that axis" if fitting else ""
    return Explanation(f"stack needs equal shapes, but {[*shapes[0]]} and {[*other]} differ", fix)


# ---- elementwise
def elementwise(input: Any, other: Any, before: Shape = (), **options: Any) -> Explanation | None:
    if not (isinstance(input, Tensor) and isinstance(other, Tensor)):
        return None
    return _broadcast_of(input.shape, other.shape, f"{shape(input)} and {shape(other)}")


def in_place(input: Tensor, other: Any, before: Shape = (), **options: Any) -> Explanation | None:
    """x += y: the result has the shape of x, so only y may be repeated."""
    if not isinstance(other, Tensor):
        return None
    if (found := elementwise(input, other)) is not None:
        return found
    whole = [*torch.broadcast_shapes(input.shape, other.shape)]
    if whole == [*input.shape]:
        return None
    problem = f"{shape(input)} is changed in place and cannot become {whole}, the shape of the result with {shape(other)}"
    return Explanation(problem, "make a new tensor, without changing this one in place")


def _broadcast_of(a: Sequence[int], b: Sequence[int], what: str) -> Explanation | None:
    """Two shapes side by side from the right: each pair of sizes is equal, or one of them is 1."""
    for back, (m, n) in enumerate(zip(reversed(a), reversed(b), strict=False), start=1):
        if m != n and 1 not in (m, n):
            problem = f"{what} do not fit: axis −{back} has sizes {m} and {n}, which must be equal or 1"
            return Explanation(problem, _spread(tuple(a), tuple(b)))
    return None


def _spread(a: Shape, b: Shape) -> str:
    """An axis or a transposition that makes two shapes fit."""
    for name, short, long in (("{left}", a, b), ("{right}", b, a)):
        if len(short) < len(long):
            for axis in range(len(short), -1, -1):
                if _fits((*short[:axis], 1, *short[axis:]), long):
                    return f"use {name}.unsqueeze({axis - len(short) - 1 if axis == len(short) else axis})"
    if len(b) > 1 and _fits(a, (*b[:-2], b[-1], b[-2])):
        return "use {right}.mT"
    return ""


def _fits(a: Shape, b: Shape) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(reversed(a), reversed(b), strict=False))


# ---- reshaping
def reshape(input: Tensor, *sizes: Any, before: Shape = (), **options: Any) -> Explanation | None:
    wanted = [*(sizes[0] if sizes and isinstance(sizes[0], (tuple, list)) else sizes or options.get("shape", ()))]
    known = prod(n for n in wanted if n != -1)
    if not wanted or (known and input.numel() % known == 0 and (-1 in wanted or known == input.numel())):
        return None
    problem = f"{shape(input)} holds {product(input.shape)} = {input.numel()} numbers, which do not fill {wanted}"
    return Explanation(problem, _fix_of_view(input, wanted))


def view(input: Tensor, *sizes: Any, before: Shape = (), **options: Any) -> Explanation | None:
    """As reshape, but without copying: the entries must lie in memory in the order they are read."""
    if sizes and isinstance(sizes[0], torch.dtype):
        return None
    found = reshape(input, *sizes, **options)
    if found is not None or input.is_contiguous():
        return found
    problem = f"view needs entries that lie in memory in the order they are read, and {shape(input)} was transposed or cut"
    return Explanation(problem, "use reshape in place of view: it copies where it must")


def _fix_of_view(x: Tensor, wanted: list[int]) -> str:
    """The shape that was meant: of two axes, the first kept or a batch flattened; else the one size that could change."""
    if len(wanted) == 2 and x.dim() > 2 and wanted[0] in (-1, x.shape[0]):
        return f"use {{x}}.flatten(1), which gives [{x.shape[0]}, {prod(x.shape[1:])}]"
    for axis in reversed(range(len(wanted))):
        others = prod(n for i, n in enumerate(wanted) if i != axis)
        if -1 not in wanted and others > 0 and x.numel() % others == 0:
            return f"use {[*wanted[:axis], x.numel() // others, *wanted[axis + 1 :]]}"
    return ""
