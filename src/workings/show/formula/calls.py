"""Calls of PyTorch that mathematics has a notation for: x.norm() is ‖x‖, torch.det(A) is |A|, maximum(a, b) is max(a, b).

A function of the author's own that happens to be called `norm` stays a call.
"""

from __future__ import annotations

import re
from dataclasses import replace

import torch

from workings.show.formula.shapes import Shapes
from workings.trace.formula.operation import OPERATIONS
from workings.trace.formula.tree import Apply, Call, Formula, Number, map_parts, walk
from workings.trace.gradient.reading import read_call
from workings.trace.operations.patterns import read_pattern

_FROBENIUS = ("p", "fro")


def with_notation(formula: Formula, shapes: Shapes, source: str) -> Formula:
    """The formula with its calls in mathematical notation, as far as there is one; `source` is the statement's Python.

    >>> from workings.trace.formula.tree import Leaf
    >>> with_notation(Call("x.norm", ()), Shapes({"x": torch.ones(2)}), "x.norm()")
    Apply(op='norm', args=(Leaf(text='x'),), options=())
    >>> print(with_notation(Call("norm", (Leaf("x"),)), Shapes({"x": torch.ones(2)}), "norm(x)"))
    norm(x)
    """
    if not any(isinstance(part, Call) or (isinstance(part, Apply) and part.op == "norm") for part in walk(formula)):
        return formula
    found = map_parts(formula, lambda part: with_notation(part, shapes, source))
    if isinstance(found, Call) and (
        patterned := read_pattern(found.name.removeprefix("einops."), found.args, found.options)
    ):
        return patterned
    if isinstance(found, Call) and _is_of_library(found.name, shapes, source) and _has_notation(found.name):
        found = _read(found, shapes)
    return _norm_of_matrix(found, shapes) if isinstance(found, Apply) and found.op == "norm" else found


def _is_of_library(name: str, shapes: Shapes, source: str) -> bool:
    """Whether a call is a tensor's method, which leaves the tensor as it is, or stands behind a dot: torch.norm(x)."""
    owner, _, method = name.rpartition(".")
    if method.endswith("_"):
        return False
    if owner:
        return isinstance(shapes.operands.get(owner), torch.Tensor)
    return re.search(rf"\.{re.escape(method)}\(", source) is not None


def _has_notation(name: str) -> bool:
    row = OPERATIONS.get(OPERATIONS.calls.get(name.rpartition(".")[2], ""))
    return row is not None and bool(row.notation or row.spelled or row.means or row.elementwise or row.reduces or row.window)


def _read(call: Call, shapes: Shapes) -> Formula:
    found = read_call(call.name, call.args, call.options)
    if isinstance(found, Apply) and found.op == "norm" and _sums_entries_of_matrix(found, shapes):
        return call
    return found


def _sums_entries_of_matrix(norm: Apply, shapes: Shapes) -> bool:
    """A.norm(p=1) adds up the entries of a matrix; ‖A‖₁ means something else."""
    given = dict(norm.options)
    order = norm.args[1] if len(norm.args) > 1 else given.get("p")
    along = len(norm.args) > 2 or given.get("dim") is not None
    usual = order in (None, 2, 2.0, "fro") or order in (Number(2), Number(2.0), Number(None))
    return not usual and not along and shapes.rank(norm.args[0]) not in (0, 1)


def _norm_of_matrix(norm: Apply, shapes: Shapes) -> Apply:
    """‖A‖_F of a matrix as a whole."""
    if len(norm.args) > 1 or {"p", "ord", "dim"} & dict(norm.options).keys() or shapes.rank(norm.args[0]) in (None, 0, 1):
        return norm
    return replace(norm, options=(*norm.options, _FROBENIUS))
