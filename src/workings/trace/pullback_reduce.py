"""Rules of differentiation along axes: sums, means, extremes, and the functions that normalise a row."""

from __future__ import annotations

import math
from typing import Any

from workings.trace.forms import ONE, linear, minus, over, plus, times
from workings.trace.formula import Apply, Formula, Number
from workings.trace.pullback import Node, Rule, RuleError, axes
from workings.trace.pullback_elementwise import indicator, larger


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
    (a, *_), dim = node.args, node.options.get("dim")
    rank = len(node.shape(a))
    reduced = axes(dim, rank)
    missing = () if node.options.get("keepdim") or len(reduced) == rank else reduced
    return node.spread(node.G, node.shape(a), missing)


def _count(node: Node) -> int:
    shape = node.shape(node.args[0])
    return math.prod(shape[axis] for axis in axes(node.options.get("dim"), len(shape)))


def _sum(node: Node) -> tuple[Formula | None, ...]:
    return (_spread(node),)


def _mean(node: Node) -> tuple[Formula | None, ...]:
    return (over(_spread(node), Number(_count(node))),)


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
        best = along(node.formula.op, a, dim, len(node.shape(a)))
        hit = indicator(a, "=", best)
        hits = node.context.value(hit).sum(dim=axes(dim, len(node.shape(a))), keepdim=True) if node.shape(a) else None
        shared = hits is not None and bool((hits > 1).any())
        share = over(hit, along("sum", hit, dim, len(node.shape(a)))) if shared else hit
        return (node.scaled(share, a, _spread(node)),)

    return rule


def _softmax(node: Node) -> tuple[Formula | None, ...]:
    A, rank = node.Y, len(node.shape())
    inner = along("sum", times(A, node.bare(node.G, node.formula)), node.options.get("dim", -1), rank)
    return (times(A, minus(node.G, inner)), *(None for _ in node.args[1:]))


def _log_softmax(node: Node) -> tuple[Formula | None, ...]:
    dim, rank = node.options.get("dim", -1), len(node.shape())
    return (minus(node.G, times(Apply("exp", (node.Y,)), along("sum", node.G, dim, rank))), *(None for _ in node.args[1:]))


def _logsumexp(node: Node) -> tuple[Formula | None, ...]:
    a, dim = node.args[0], node.options["dim"]
    if len(axes(dim, len(node.shape(a)))) > 1:
        raise RuleError("there is no rule for logsumexp along several axes")
    return (node.scaled(Apply("softmax", (a,), (("dim", dim),)), a, _spread(node)),)


def _layer_norm(node: Node) -> tuple[Formula | None, ...]:
    """x̂ = (a − μ)/s, y = x̂ ⊙ γ + β: ∂L/∂a = (H − mean H − x̂ ⊙ mean(H ⊙ x̂))/s with H = ∂L/∂y ⊙ γ."""
    a, *rest = node.args
    tensors = [arg for arg in rest if node.shape(arg)]
    if any(len(node.shape(arg)) != 1 for arg in tensors) or set(node.options) - {"eps", "normalized_shape"}:
        raise RuleError("there is no rule for layer_norm over several axes, or with its parts as options")
    eps = next(
        (arg for arg in rest if isinstance(arg, Number) and isinstance(arg.value, float)),
        Number(node.options.get("eps", 1e-5)),
    )
    variance = Apply("var", (a,), (("dim", -1), ("correction", 0), ("keepdim", True)))
    s = Apply("sqrt", (plus(variance, eps),))
    hat = over(minus(a, _row_mean(a)), s)
    H = node.scaled(tensors[0], node.formula) if tensors else node.G
    to_a = over(minus(minus(H, _row_mean(H)), times(hat, _row_mean(times(H, hat)))), s)
    to_tensors = [
        node.fit(lambda: node.scaled(hat, node.formula), arg) if i == 0 else node.fit(lambda: node.G, arg)
        for i, arg in enumerate(tensors)
    ]
    found = dict(zip(map(id, tensors), to_tensors, strict=True))
    return (to_a if node.varies(a) else None, *(found.get(id(arg)) for arg in rest))


def _row_mean(a: Formula) -> Formula:
    return ONE if a == ONE else linear("mean", a, dim=-1, keepdim=True)


RULES: dict[str, Rule] = {
    "sum": _sum,
    "mean": _mean,
    "var": _var,
    "max": _extreme(">"),
    "min": _extreme("<"),
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "layer_norm": _layer_norm,
}
