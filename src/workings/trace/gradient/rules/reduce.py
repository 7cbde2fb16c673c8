"""Rules of differentiation along axes: sums, means, products, norms, extremes, softmax.

A = softmax(S)   ∂L/∂S = A ⊙ (∂L/∂A − rowsum(A ⊙ ∂L/∂A))       y = ‖a‖   ∂L/∂a = ∂L/∂y ⊙ a/y
"""

from __future__ import annotations

import math
from typing import Any

from workings.trace.formula.simplify import linear, minus, over, times
from workings.trace.formula.tree import Apply, Formula, Number, Sequence
from workings.trace.gradient.rules.elementwise import indicator, larger
from workings.trace.gradient.rules.node import Node, Rule, RuleError, axes


def along(op: str, a: Formula, dim: Any, rank: int) -> Formula:
    """A reduction whose axis is kept, so that the result broadcasts against `a`."""
    if op == "sum" and axes(dim, rank) == (rank - 1,) and rank > 1:
        return linear("rowsum", a)
    if len(axes(dim, rank)) == rank and op in ("sum", "mean", "max", "min"):
        return linear(op, a) if op in ("sum", "mean") else Apply(op, (a,))
    if op in ("sum", "mean"):
        return linear(op, a, dim=dim, keepdim=True)
    return Apply(op, (a,), (("dim", dim), ("keepdim", True)))


def _spread(node: Node) -> Formula:
    """G in the shape of what was reduced."""
    (a, *_), dim = node.args, node.plain("dim")
    rank = len(node.shape(a))
    reduced = axes(dim, rank)
    missing = () if node.plain("keepdim", False) or len(reduced) == rank else reduced
    return node.spread(node.G, node.shape(a), missing)


def _count(node: Node) -> int:
    shape = node.shape(node.args[0])
    return math.prod(shape[axis] for axis in axes(node.plain("dim"), len(shape)))


def _sum(node: Node) -> tuple[Formula | None, ...]:
    items = node.args[0]
    if isinstance(items, Sequence):
        zero = Apply("zeros", (), (("shape", ()),))
        return (
            Sequence(tuple(node.fit(lambda: node.G, item) or zero for item in items.items)),
            *(None for _ in node.args[1:]),
        )
    return (_spread(node), *(None for _ in node.args[1:]))


def _mean(node: Node) -> tuple[Formula | None, ...]:
    return (over(_spread(node), Number(_count(node))), *(None for _ in node.args[1:]))


def _var(node: Node) -> tuple[Formula | None, ...]:
    (a,), options = node.args, node.options
    unbiased = options.get("unbiased")
    correction = options.get("correction", 1) if unbiased is None else int(unbiased)
    centred = minus(a, along("mean", a, options.get("dim"), len(node.shape(a))))
    return (over(times(Number(2), node.scaled(centred, a, _spread(node))), Number(_count(node) - correction)),)


def _extreme(relation: str) -> Rule:
    def rule(node: Node) -> tuple[Formula | None, ...]:
        if len(node.args) == 2:
            return larger(node, relation)
        (a,), dim = node.args, node.options.get("dim")
        op, rank = node.formula.op, len(node.shape(a))
        hit = indicator(a, "=", along(op.removeprefix("a"), a, dim, rank))
        hits = node.context.value(hit).sum(dim=axes(dim, rank), keepdim=True) if rank else None
        if hits is None or not bool((hits > 1).any()):
            return (node.scaled(hit, a, _spread(node)),)
        if op in ("max", "min") and dim is not None:
            return (_to_the_chosen(node, a, axes(dim, rank)[0]),)
        return (node.scaled(over(hit, along("sum", hit, dim, rank)), a, _spread(node)),)

    return rule


def _to_the_chosen(node: Node, a: Formula, axis: int) -> Formula:
    """Of several largest entries along an axis `max` chooses one, and the gradient goes there."""
    G = node.G if node.plain("keepdim", False) else linear("unsqueeze", node.G, dim=(axis,))
    where = Apply(f"arg{node.formula.op}", (a,), (("dim", axis),))
    return Apply("scatter_add", (G, where), (("dim", axis), ("shape", node.shape(a))))


def _softmax(node: Node) -> tuple[Formula | None, ...]:
    A, rank = node.Y, len(node.shape())
    inner = along("sum", times(A, node.bare(node.G, node.formula)), node.options.get("dim", -1), rank)
    return (times(A, minus(node.G, inner)), *(None for _ in node.args[1:]))


def _log_softmax(node: Node) -> tuple[Formula | None, ...]:
    dim, rank = node.options.get("dim", -1), len(node.shape())
    return (minus(node.G, times(Apply("exp", (node.Y,)), along("sum", node.G, dim, rank))), *(None for _ in node.args[1:]))


def _logsumexp(node: Node) -> tuple[Formula | None, ...]:
    a, dim = node.args[0], node.plain("dim")
    if len(axes(dim, len(node.shape(a)))) > 1:
        raise RuleError("there is no rule for logsumexp along several axes")
    return (node.scaled(Apply("softmax", (a,), (("dim", dim),)), a, _spread(node)), *(None for _ in node.args[1:]))


def _prod(node: Node) -> tuple[Formula | None, ...]:
    a = node.args[0]
    if bool((node.value(a) == 0).any()):
        raise RuleError("there is no rule for prod where a factor is 0")
    kept = along("prod", a, node.plain("dim"), len(node.shape(a))) if node.plain("dim") is not None else node.Y
    y = node.Y if node.plain("keepdim", False) else kept
    return (over(times(node.bare(_spread(node), a), y), a), *(None for _ in node.args[1:]))


def _std(node: Node) -> tuple[Formula | None, ...]:
    a, dim = node.args[0], node.plain("dim")
    unbiased = node.plain("unbiased")
    correction = node.options.get("correction", 1) if unbiased is None else int(unbiased)
    centred = minus(a, along("mean", a, dim, len(node.shape(a))))
    y = _kept(node)
    return (over(node.scaled(over(centred, y), a, _spread(node)), Number(_count(node) - correction)),) + (None,) * (
        len(node.args) - 1
    )


def _norm(node: Node) -> tuple[Formula | None, ...]:
    """y = ‖a‖: the gradient points along a."""
    a, p = node.args[0], node.plain("p", 2)
    if p not in (2, 2.0, "fro"):
        raise RuleError(f"there is no rule for the norm with p = {p}")
    return (node.scaled(over(a, _kept(node)), a, _spread(node)), *(None for _ in node.args[1:]))


def _kept(node: Node) -> Formula:
    """The result with the axis it was reduced along, so that it stands beside what was reduced."""
    rank, dim = len(node.shape(node.args[0])), node.plain("dim")
    missing = axes(dim, rank) if dim is not None and not node.plain("keepdim", False) else ()
    return node.Y if len(missing) in (0, rank) else linear("unsqueeze", node.Y, dim=missing)


RULES: dict[str, Rule] = {
    "sum": _sum,
    "mean": _mean,
    "var": _var,
    "max": _extreme(">"),
    "min": _extreme("<"),
    "amax": _extreme(">"),
    "amin": _extreme("<"),
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "prod": _prod,
    "std": _std,
    "norm": _norm,
}
