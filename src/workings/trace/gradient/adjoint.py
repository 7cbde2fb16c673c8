"""The gradient of a statement in its own letters: reverse mode on the formula.

    Z = A V          ∂L/∂A = ∂L/∂Z Vᵀ,   ∂L/∂V = Aᵀ ∂L/∂Z
    A = softmax(S)   ∂L/∂S = A ⊙ (∂L/∂A − rowsum(A ⊙ ∂L/∂A))

The gradient that arrives at the statement is pushed through its operations, outside in, each by its rule, to the leaves.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import torch

from workings.trace.formula.operation import OPERATIONS
from workings.trace.formula.simplify import plus
from workings.trace.formula.tree import Apply, Call, Code, Formula, Leaf, Sequence, leaves
from workings.trace.operations.complex_numbers import conjugate_factors, is_complex, real_part
from workings.trace.operations.node import Context, Gradients, Node, RuleError


def adjoints(
    formula: Formula,
    upstream: Formula,
    operands: Mapping[str, Any],
    *,
    name: str = "",
    result: Any = None,
    wanted: Collection[str] | None = None,
    loss: str = "L",
    letters: dict[str, Formula] | None = None,
) -> dict[str, Formula]:
    """For each leaf of the formula, what it receives of ∂L/∂leaf, in the leaf's shape.

    `upstream` is ∂L/∂(result); `operands` the values of the leaves, for their shapes; `name` and `result` what the statement
    assigns, so that softmax's rule can say A; `wanted` the leaves that are asked for (default: the floating-point tensors).
    A rule may introduce letters of its own (x̂ of a layer norm): `letters`, which may have some, receives them; else they are
    spelled out.

    >>> x = torch.ones(3)
    >>> adjoints(Apply("exp", (Leaf("x"),)), Leaf("∂L/∂y"), {"x": x}, name="y")
    {'x': Apply(op='mul', args=(Leaf(text='∂L/∂y'), Leaf(text='y')), options=())}
    """
    asked = {text for text, value in operands.items() if _differentiable(value)} if wanted is None else wanted
    context = Context(dict(operands), frozenset(asked), loss, dict(letters or {}))
    if isinstance(result, torch.Tensor):
        context.known[id(formula)] = formula, result
    found: dict[str, Formula] = {}
    own = Leaf(name) if name and name not in leaves(formula) else None
    _pull(formula, upstream, own or formula, context, found)
    if letters is None:
        return {text: context.substitute(gradient) for text, gradient in found.items()}
    letters |= context.letters
    return found


def _differentiable(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _pull(part: Formula, G: Formula, Y: Formula, context: Context, found: dict[str, Formula]) -> None:
    """Push the gradient G of a part down to its leaves."""
    if not context.varies(part):
        return
    match part:
        case Leaf(text=text):
            found[text] = plus(found[text], G) if text in found else G
        case Sequence(items=items):
            if not isinstance(G, Sequence):
                raise RuleError("there is no rule for a tuple or list")
            for item, to_item in zip(items, G.items, strict=True):
                if not (isinstance(to_item, Apply) and to_item.op == "zeros"):
                    _pull(item, to_item, item, context, found)
        case Apply(op=op):
            for arg, gradient in zip(part.args, _gradients(op, Node(part, G, Y, context)), strict=True):
                if gradient is not None:
                    _pull(arg, gradient, arg, context, found)
        case Call(name=name):
            raise RuleError(f"there is no rule for {name}(…): it has no formula here")
        case Code(text=text):
            raise RuleError(f"there is no rule for '{text}'")


def _gradients(op: str, node: Node) -> Gradients:
    row = OPERATIONS.get(op)
    if row is not None and row.constant:
        return tuple(None for _ in node.args)
    if row is None or row.gradient is None:
        raise RuleError(f"there is no rule for {op}")
    found = row.gradient(node)
    if row.knows_complex or not _has_complex(node):
        return found
    return tuple(
        None if gradient is None else real_part(node, arg, conjugate_factors(node, gradient))
        for arg, gradient in zip(node.args, found, strict=True)
    )


def _has_complex(node: Node) -> bool:
    """Whether complex numbers are among the values of a statement; most have none."""
    values = (*node.context.operands.values(), *(value for _, value in node.context.known.values()))
    return any(isinstance(value, torch.Tensor) and value.is_complex() for value in values) and is_complex(node)
