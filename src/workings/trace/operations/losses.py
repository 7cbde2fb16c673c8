"""Losses.

    L = cross-entropy(z, y)   ∂L/∂z = (softmax(z) − y)/N    y as rows with a 1 at the class
    L = mean (a − b)²         ∂L/∂a = 2 (a − b)/n
    L = BCE(p, y)             ∂L/∂p = (p − y)/(p (1 − p) n);  with p = σ(z), ∂L/∂z = (σ(z) − y)/n

With weights, each row counts by the weight of its class, and N is their sum; a row whose class is ignored has weight 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from workings import equations
from workings.trace.code.arguments import call_arguments
from workings.trace.definitions.definition import Definition, refuse
from workings.trace.formula import notation
from workings.trace.formula.operation import CALL, FORMULA, Operation
from workings.trace.formula.simplify import ONE, linear, minus, negate, over, plus, times
from workings.trace.formula.tree import Apply, Formula, Number
from workings.trace.operations.elementwise import layer
from workings.trace.operations.node import TWO, Gradients, Node, Rule, RuleError, f
from workings.trace.shapes import explain_entries
from workings.trace.shapes.explain_tensors import elementwise

# ---- classes


def _cross_entropy(node: Node) -> Gradients:
    z, y = node.args[:2]
    shape, smoothing = node.shape(z), node.plain("label_smoothing", 0.0)
    axis = 1 if len(shape) > 2 else -1  # the classes of an image's places are on axis 1
    p = Apply("softmax", (z,), (("dim", axis),))
    soft = node.value(y).is_floating_point()
    if soft and (node.argument("weight") is not None or smoothing):
        raise RuleError("there is no rule for cross_entropy of soft targets with weights or smoothing")
    if smoothing and node.argument("weight") is not None:
        raise RuleError("there is no rule for cross_entropy with weights and smoothing at once")
    target = y if soft else _onehot(node, y, shape[axis], axis)
    if smoothing:
        target = plus(times(Number(1 - smoothing), target), Number(smoothing / shape[axis]))
    error = minus(p, target)
    places = math.prod(shape) // shape[axis]
    scale, total = (None, Number(places)) if soft else _weights(node, y, shape)
    to_z = _of_classes(node, error, scale, total)
    if not node.varies(y):
        return node.to_first(to_z)
    logs = negate(Apply("log_softmax", (z,), (("dim", axis),)))
    return to_z, _of_classes(node, logs, scale, total), *(None for _ in node.args[2:])


def _nll_loss(node: Node) -> Gradients:
    p, y = node.args[:2]
    shape = node.shape(p)
    axis = 1 if len(shape) > 2 else -1
    scale, total = _weights(node, y, shape)
    to_p = _of_classes(node, negate(_onehot(node, y, shape[axis], axis)), scale, total)
    return node.to_first(to_p)


def _of_classes(node: Node, error: Formula, scale: Formula | None, total: Formula) -> Formula:
    rank = len(node.shape(node.args[0]))
    reduction, rows, axis = node.plain("reduction", "mean"), rank >= 2, 1 if rank > 2 else -1
    G = linear("unsqueeze", node.G, dim=(axis,)) if reduction == "none" and rows else node.G
    if scale is not None:
        error = times(linear("unsqueeze", scale, dim=(axis,)) if rows else scale, error)
    to_z = times(G, error)
    return over(to_z, total) if reduction == "mean" else to_z


def _onehot(node: Node, y: Formula, classes: int, axis: int = -1) -> Formula:
    ignored = node.plain("ignore_index", -100)
    hidden = bool((node.value(y) == ignored).any())
    seen = Apply("masked_fill", (y, _is(y, ignored), Number(0))) if hidden else y
    return Apply("onehot", (seen,), (("classes", classes), *((("dim", axis),) if axis != -1 else ())))


def _weights(node: Node, y: Formula, shape: tuple[int, ...]) -> tuple[Formula | None, Formula]:
    """The weight of each row (None: 1), and their sum."""
    ignored, weight = node.plain("ignore_index", -100), node.argument("weight")
    target: torch.Tensor = node.value(y)
    hidden = bool((target == ignored).any())
    rows = int((target != ignored).sum())
    if weight is None and not hidden:
        return None, Number(rows)
    seen = Apply("indicator", (y, Number(ignored)), (("relation", "≠"),))
    if weight is None:
        return seen, Number(rows)
    safe = Apply("masked_fill", (y, _is(y, ignored), Number(0))) if hidden else y
    own = node.let("ω", Apply("entries", (weight, safe)))
    scale = times(seen, own) if hidden else own
    return scale, linear("sum", scale) if target.dim() else scale


def _is(y: Formula, number: int) -> Formula:
    return Apply("compare", (y, Number(number)), (("relation", "="),))


# ---- numbers


def _shared_slope(node: Node, slope: Formula) -> Formula:
    """The slope of each entry times the gradient, shared among the entries where the loss is their mean."""
    n = math.prod(node.shape(node.args[0])) if node.plain("reduction", "mean") == "mean" else 1
    return over(times(node.G, slope), Number(n))


def _of_difference(slope: Callable[[Node, Formula], Formula]) -> Rule:
    """A loss of a − b."""

    def rule(node: Node) -> Gradients:
        a, b = node.args[:2]
        if node.shape(a) != node.shape(b):
            raise RuleError(f"there is no rule for {node.formula.op} of two shapes")
        to_a = _shared_slope(node, slope(node, minus(a, b)))
        return to_a, negate(to_a), *(None for _ in node.args[2:])

    return rule


def _huber(node: Node, difference: Formula) -> Formula:
    delta = node.plain("delta", 1.0)
    return Apply("clamp", (difference, Number(-delta), Number(delta)))


def _smooth_l1(node: Node, difference: Formula) -> Formula:
    beta = node.plain("beta", 1.0)
    if not beta:
        return Apply("sign", (difference,))
    return Apply("clamp", (difference if beta == 1 else over(difference, Number(beta)), Number(-1), ONE))


def _binary(slopes: Callable[[Node, Formula, Formula], tuple[Formula, Formula]]) -> Rule:
    def rule(node: Node) -> Gradients:
        a, y, weight = node.args[0], node.args[1], node.argument("weight")
        if node.shape(a) != node.shape(y):
            raise RuleError(f"there is no rule for {node.formula.op} of two shapes")
        to_a, to_y = (
            _shared_slope(node, slope if weight is None else times(weight, slope)) if node.varies(part) else None
            for part, slope in zip((a, y), slopes(node, a, y), strict=True)
        )
        return to_a, to_y, *(None for _ in node.args[2:])

    return rule


def _probability(node: Node, p: Formula, y: Formula) -> tuple[Formula, Formula]:
    """Of a probability and of a target."""
    rest = minus(ONE, p)
    return over(minus(p, y), times(p, rest)), Apply("log", (over(rest, p),))


def _logit(node: Node, z: Formula, y: Formula) -> tuple[Formula, Formula]:
    s, positive = Apply("sigmoid", (z,)), node.argument("pos_weight")
    if positive is None:
        return minus(s, y), negate(z)
    if node.varies(y):
        raise RuleError("there is no rule for targets with pos_weight")
    return minus(times(s, plus(minus(ONE, y), times(positive, y))), times(positive, y)), negate(z)


def _kl_div(node: Node) -> Gradients:
    """Of log p and y: Σ y (log y − log p)"""
    logs, y = node.args[:2]
    if node.plain("log_target", False) or node.shape(logs) != node.shape(y):
        raise RuleError("there is no rule for kl_div of two shapes or of logarithms")
    to_y = plus(minus(Apply("log", (y,)), logs), ONE)
    slopes = (negate(y) if node.varies(logs) else None, to_y if node.varies(y) else None)
    if node.plain("reduction", "mean") == "batchmean":
        rows = Number(node.shape(logs)[0])
        return *(s and over(times(node.G, s), rows) for s in slopes), *(None for _ in node.args[2:])
    return *(s and _shared_slope(node, s) for s in slopes), *(None for _ in node.args[2:])


# ---- definitions


def _definition_by(equation: Callable[..., Tensor], loss: Callable[..., Tensor]) -> Callable[..., Definition]:
    """The equation of a loss takes what PyTorch's function takes, in the same order, without the options of old times."""

    def define(*args: Any, **options: Any) -> Definition:
        given = call_arguments(loss, args, options)
        old = [given.pop(name) for name in ("size_average", "reduce")]
        refuse(any(value is not None for value in old), "size_average and reduce (write reduction instead)")
        return Definition(equation, tuple(given.values()))

    return define


_define_cross_entropy = _definition_by(equations.cross_entropy, F.cross_entropy)
_define_binary_cross_entropy = _definition_by(equations.binary_cross_entropy_with_logits, F.binary_cross_entropy_with_logits)


def _loss(declaration: str, read: Any, cls: type[nn.Module] | None, gradient: Rule, **columns: Any) -> Operation:
    layers = layer(cls, "reduction") if cls is not None else ()
    return Operation(declaration, read=read, gradient=gradient, reduces=True, **({"layers": layers} | columns))


ROWS = (
    _loss(
        "cross_entropy(input target | weight size_average ignore_index reduce reduction label_smoothing): "
        "cross-entropy of logits and targets",
        FORMULA,
        None,
        _cross_entropy,
        notation=notation.function("CE"),
        definitions={F.cross_entropy: _define_cross_entropy},
        misfit=explain_entries.cross_entropy,
        layers=layer(
            nn.CrossEntropyLoss,
            "ignore_index reduction label_smoothing",
            definition=lambda m, z, y: _define_cross_entropy(
                z, y, m.weight, ignore_index=m.ignore_index, reduction=m.reduction, label_smoothing=m.label_smoothing
            ),
            misfit=explain_entries.cross_entropy_layer,
        ),
    ),
    _loss(
        "nll_loss(input target weight size_average ignore_index reduce reduction): minus the entry of each row at its class",
        CALL,
        None,
        _nll_loss,
        layers=layer(nn.NLLLoss, "ignore_index reduction"),
    ),
    _loss(
        "mse_loss(input target | size_average reduce reduction): mean (a − b)²",
        FORMULA,
        nn.MSELoss,
        _of_difference(lambda node, d: times(TWO, d)),
        spelled=lambda a, o: None if o or len(a) != 2 else f("mean", f("pow", f("sub", *a), TWO)),
        misfit=elementwise,
    ),
    _loss(
        "l1_loss(input target size_average reduce reduction): mean |a − b|",
        CALL,
        nn.L1Loss,
        _of_difference(lambda node, d: f("sign", d)),
    ),
    _loss(
        "huber_loss(input target reduction delta): squares of small differences, the size of large ones",
        CALL,
        None,
        _of_difference(_huber),
    ),
    _loss(
        "smooth_l1_loss(input target size_average reduce reduction beta): huber_loss, divided by β",
        CALL,
        None,
        _of_difference(_smooth_l1),
    ),
    _loss(
        "binary_cross_entropy(input target weight size_average reduce reduction): cross-entropy of probabilities and truths",
        CALL,
        nn.BCELoss,
        _binary(_probability),
    ),
    _loss(
        "binary_cross_entropy_with_logits(input target weight size_average reduce reduction pos_weight): "
        "cross-entropy of σ(z) and truths",
        CALL,
        None,
        _binary(_logit),
        definitions={F.binary_cross_entropy_with_logits: _define_binary_cross_entropy},
        layers=layer(
            nn.BCEWithLogitsLoss,
            "reduction",
            definition=lambda m, z, y: _define_binary_cross_entropy(
                z, y, m.weight, reduction=m.reduction, pos_weight=m.pos_weight
            ),
        ),
    ),
    _loss("kl_div(input target size_average reduce reduction log_target): Σ y (log y − a)", CALL, None, _kl_div),
)
