"""Why shapes or dtypes do not fit: what the operation needs, what came, and the fix to try.

The explanation is worked out from the operands themselves, never from the text of PyTorch's message. `in_names` says it in
the names of the statement that failed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from workings.errors import WorkingsError
from workings.trace.formula.operation import OPERATIONS
from workings.trace.formula.tree import Apply, Formula, Leaf, walk
from workings.trace.shapes.explain_tensors import Explanation, elementwise, in_place, shape, word
from workings.trace.shapes.layer_text import layer_call

__all__ = ["Explanation", "explain", "in_names"]


def in_names(formula: Formula | None, operands: Mapping[str, Any], source: str = "") -> Explanation | None:
    """Why a statement failed, in its author's names: the first operation, inside out, whose operands do not fit.

    An operand that is more than a name is computed again and written as in the source of the statement.

    >>> from workings.trace.formula.tree import Apply, Leaf
    >>> import torch
    >>> print(in_names(Apply("matmul", (Leaf("Q"), Leaf("K"))), {"Q": torch.zeros(2, 3), "K": torch.zeros(4, 3)}))
    [2, 3] @ [4, 3] needs 3 = 4: the columns of the left, the rows of the right; use Q @ K.mT
    """
    for part in reversed([] if formula is None else [*walk(formula)]):
        row = OPERATIONS.get(part.op) if isinstance(part, Apply) else None
        if not isinstance(part, Apply) or row is None or row.misfit is None or row.operands != 2:  # of two tensors
            continue
        given = [_value_of(a, operands) for a in part.args]
        if all(isinstance(x, Tensor) for x in given):
            found = row.misfit(*given) or (_one_dtype(given) if row.one_dtype else None)
            if found is not None:
                return replace(found, names=_operand_texts(part, source) or found.names)
    return None


def _value_of(part: Formula, operands: Mapping[str, Any]) -> Any:
    """The value of an operand; None where it cannot be computed again."""
    from workings.trace.formula.evaluate import evaluate

    if isinstance(part, Leaf):
        return operands.get(part.text)
    try:
        return evaluate(part, operands)
    except WorkingsError:
        return None


def _operand_texts(part: Apply, source: str) -> tuple[str, ...]:
    """How the operands of an operation are written: their names, else the text in the source."""
    from workings.trace.formula.from_python import formula_of

    texts = [a.text if isinstance(a, Leaf) else "" for a in part.args]
    if all(texts):
        return tuple(texts)
    nodes = [n for n in ast.walk(ast.parse(source)) if isinstance(n, (ast.BinOp, ast.Call))] if source else []
    node = next((n for n in nodes if formula_of(n) == part), None)
    match node:
        case ast.BinOp(left=left, right=right):
            return tuple(ast.unparse(n) if isinstance(n, _PLAIN) else f"({ast.unparse(n)})" for n in (left, right))
    return ()


_PLAIN = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


def explain(
    error: BaseException,
    call: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any] | None = None,
    before: Sequence[int] | None = None,
) -> Explanation | None:
    """Explain a failing call of a module or PyTorch function by its operands; None when their shapes are not at fault.

    `before` is what the input was before it was flattened, if it was.

    >>> import torch
    >>> x = torch.zeros(1, 144)
    >>> print(explain(RuntimeError(), nn.Linear(120, 10), (x,), before=(16, 3, 3)))
    nn.Linear(120, 10) received 144 features = 16·3·3; use nn.Linear(144, 10)
    """
    if not isinstance(error, (RuntimeError, ValueError, IndexError, TypeError)):
        return None
    rule = _misfit_of(call)
    if rule is None:
        return None
    given = (call, *args) if isinstance(call, nn.Module) else tuple(args)
    try:
        found: Explanation | None = rule(*given, before=tuple(before or ()), **(kwargs or {}))
        return found or _dtypes(call, args)
    except (TypeError, IndexError, AttributeError):
        return None  # the call itself is malformed: PyTorch's own message says how


def _misfit_of(call: Any) -> Callable[..., Any] | None:
    """What explains a failing call: the column of a layer, or of a function by its name.

    `torch.add`, `Tensor.add` and `Tensor.__add__` are one operation with several objects; `add_` and `__iadd__` change their
    first operand, whose shape must stay.
    """
    if isinstance(call, nn.Module):
        return OPERATIONS.layers[type(call)][1].misfit if type(call) in OPERATIONS.layers else None
    name = getattr(call, "__name__", "")
    plain = f"__{name[3:]}" if name.startswith("__i") else name if name.endswith("__") else name.removesuffix("_")
    row = OPERATIONS.names.get(plain) or OPERATIONS.names.get(name)
    rule = None if row is None else row.misfits.get(name, row.misfit)
    return in_place if rule is elementwise and name != plain else rule


def _dtypes(call: Any, args: Sequence[Any]) -> Explanation | None:
    """A product or a layer of operands whose dtypes differ: PyTorch converts in sums, not in products."""
    if isinstance(call, nn.Module):
        weight = getattr(call, "weight", None)
        if not args or not isinstance(weight, Tensor) or isinstance(call, nn.Embedding) or args[0].dtype == weight.dtype:
            return None
        problem = f"nn.{layer_call(call)} has weights of {word(weight)} and received {word(args[0])}"
        return Explanation(problem, f"use {{x}}.to({weight.dtype})")
    row = OPERATIONS.names.get(getattr(call, "__name__", ""))
    return _one_dtype(args) if row is not None and row.one_dtype else None


def _one_dtype(args: Sequence[Any]) -> Explanation | None:
    both = [x for x in args[:2] if isinstance(x, Tensor)]
    if len({x.dtype for x in both}) < 2:
        return None
    wider = both[0] if both[0].dtype == torch.promote_types(both[0].dtype, both[1].dtype) else both[1]
    side = "{right}" if wider is both[0] else "{left}"
    problem = f"{shape(both[0])} @ {shape(both[1])} needs one dtype: the left is {word(both[0])}, the right {word(both[1])}"
    return Explanation(problem, f"use {side}.to({wider.dtype})")
