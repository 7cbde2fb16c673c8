"""Rules of differentiation for losses.

L = cross-entropy(z, y)   ∂L/∂z = (softmax(z) − y)/N    y as rows with a 1 at the class
L = mean (a − b)²         ∂L/∂a = 2 (a − b)/n
"""

from __future__ import annotations

import math

from workings.trace.forms import linear, minus, negate, over, times
from workings.trace.formula import Apply, Formula, Number
from workings.trace.pullback import Node, Rule, RuleError

PLAIN = {"weight": None, "ignore_index": -100, "label_smoothing": 0.0, "reduction": "mean"}


def _cross_entropy(node: Node) -> tuple[Formula | None, ...]:
    z, y, *rest = node.args
    shape, reduction = node.shape(z), node.options.get("reduction", "mean")
    odd = sorted(k for k, v in node.options.items() if k != "reduction" and (k not in PLAIN or v != PLAIN[k]))
    if rest or odd or len(shape) > 2 or node.varies(y):
        raise RuleError(f"there is no rule for cross_entropy of logits {[*shape]}{' with ' + ', '.join(odd) if odd else ''}")
    error = minus(Apply("softmax", (z,), (("dim", -1),)), _target(node, y, shape))
    G = linear("unsqueeze", node.G, dim=(-1,)) if reduction == "none" else node.G
    rows = shape[0] if len(shape) == 2 and reduction == "mean" else 1
    return over(times(G, error), Number(rows)), None


def _target(node: Node, y: Formula, shape: tuple[int, ...]) -> Formula:
    target = node.value(y)
    if target.is_floating_point():
        return y
    if bool((target < 0).any()):
        raise RuleError("there is no rule for cross_entropy with targets that are ignored")
    return Apply("onehot", (y,), (("classes", shape[-1]),))


def _mse_loss(node: Node) -> tuple[Formula | None, ...]:
    a, b = node.args[:2]
    reduction = node.options.get("reduction", "mean")
    if node.shape(a) != node.shape(b):
        raise RuleError("there is no rule for mse_loss of two shapes")
    n = math.prod(node.shape(a)) if reduction == "mean" else 1
    to_a = over(times(Number(2), times(node.G, minus(a, b))), Number(n))
    return to_a, negate(to_a)


RULES: dict[str, Rule] = {"cross_entropy": _cross_entropy, "mse_loss": _mse_loss}
