"""Rules of differentiation for windows that slide over an image or a sequence.

y = x ⋆ K + b    ∂L/∂x = the transposed convolution of ∂L/∂y with K     ∂L/∂K = x correlated with ∂L/∂y     ∂L/∂b = Σ ∂L/∂y
max pooling      ∂L/∂y goes to where the maximum of each window stood
mean pooling     ∂L/∂y is shared out over each window
"""

from __future__ import annotations

from typing import Any

from workings.trace.formula.simplify import linear
from workings.trace.formula.tree import Apply, Formula
from workings.trace.gradient.rules.node import Node, Rule, RuleError

USUAL = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}


def _convolution(node: Node) -> tuple[Formula | None, ...]:
    x, K, b = node.args[0], node.args[1], node.given("bias")
    rank = len(node.shape(K)) - 2
    if len(node.shape(x)) != rank + 2:
        raise RuleError(f"there is no rule for {node.formula.op} of an input without a batch")
    given = {name: node.plain(name, default) for name, default in USUAL.items()}
    if isinstance(given["padding"], str):
        raise RuleError(f"there is no rule for {node.formula.op} with padding={given['padding']!r}")
    found: list[Formula | None] = [None] * len(node.args)
    if node.varies(x):
        found[0] = _back("transposed_convolution", node.G, K, node.shape(x), given)
    if node.varies(K):
        found[1] = _back("correlation", x, node.G, node.shape(K), given)
    if b is not None and node.varies(b):
        found[2] = linear("sum", node.G, dim=(0, *range(2, rank + 2)))
    return tuple(found)


def _back(op: str, a: Formula, b: Formula, shape: tuple[int, ...], given: dict[str, Any]) -> Formula:
    odd = {name: value for name, value in given.items() if value != USUAL[name]}
    return Apply(op, (a, b), (*odd.items(), ("shape", shape)))


def _pool(node: Node, options: dict[str, Any]) -> dict[str, Any]:
    """The options of a pooling that were given."""
    found = {name: node.plain(name) for name in options}
    return {name: value for name, value in found.items() if value is not None}


def _max_pool(rank: int) -> Rule:
    def rule(node: Node) -> tuple[Formula | None, ...]:
        names = dict.fromkeys("kernel_size stride padding dilation ceil_mode".split())
        given = {**_pool(node, names), "rank": rank}
        return Apply("unpool", (node.G, node.args[0]), tuple(given.items())), *(None for _ in node.args[1:])

    return rule


def _mean_pool(rank: int) -> Rule:
    def rule(node: Node) -> tuple[Formula | None, ...]:
        names = dict.fromkeys("kernel_size stride padding ceil_mode count_include_pad".split())
        given = {**_pool(node, names), "shape": node.shape(node.args[0]), "rank": rank}
        return linear("spread_windows", node.G, **given), *(None for _ in node.args[1:])

    return rule


RULES: dict[str, Rule] = {
    "conv1d": _convolution,
    "conv2d": _convolution,
    "max_pool1d": _max_pool(1),
    "max_pool2d": _max_pool(2),
    "avg_pool1d": _mean_pool(1),
    "avg_pool2d": _mean_pool(2),
}
