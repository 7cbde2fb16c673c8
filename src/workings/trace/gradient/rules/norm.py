"""Rules of differentiation for layers that normalise.

    x̂ = (x − mean x)/s,  s = √(var x + ε),  y = x̂ ⊙ γ + β
    ∂L/∂x̂ = ∂L/∂y ⊙ γ
    ∂L/∂x = (∂L/∂x̂ − mean ∂L/∂x̂ − x̂ ⊙ mean(∂L/∂x̂ ⊙ x̂))/s

Means are over what is normalised together: the last axes for layer norm, all but the channels for batch norm. RMS norm
leaves out the means of x and of ∂L/∂x̂.
"""

from __future__ import annotations

from typing import Any

import torch

from workings.trace.formula.signatures import signature
from workings.trace.formula.simplify import linear, minus, over, plus, times
from workings.trace.formula.tree import Apply, Formula, Number
from workings.trace.gradient.rules.node import Node, Rule, RuleError


def _mean(a: Formula, dim: Any) -> Formula:
    return linear("mean", a, dim=dim, keepdim=True)


def _root(square: Formula, eps: float) -> Formula:
    return Apply("sqrt", (plus(square, Number(eps)),))


def _given(node: Node, **gradients: Formula | None) -> tuple[Formula | None, ...]:
    """The gradients in the order of the arguments."""
    by_place = {id(node.given(name)): gradient for name, gradient in gradients.items() if node.given(name) is not None}
    return tuple(by_place.get(id(arg)) for arg in node.args)


def _layer_norm(node: Node) -> tuple[Formula | None, ...]:
    x, count = node.args[0], _normalised(node)
    dim = -1 if count == 1 else tuple(range(-count, 0))
    variance = Apply("var", (x,), (("dim", dim), ("correction", 0), ("keepdim", True)))
    s = node.let("s", _root(variance, node.plain("eps", 1e-5)))
    hat = node.let("x̂", over(minus(x, _mean(x, dim)), s))
    G, to_scale, to_shift = _scaled(node, hat)
    to_x = over(minus(minus(G, _mean(G, dim)), times(hat, _mean(times(G, hat), dim))), s)
    return _given(node, input=to_x if node.varies(x) else None, weight=to_scale, bias=to_shift)


def _rms_norm(node: Node) -> tuple[Formula | None, ...]:
    x, count = node.args[0], _normalised(node)
    dim = -1 if count == 1 else tuple(range(-count, 0))
    eps = node.plain("eps")
    if eps is None:
        eps = torch.finfo(node.value(x).dtype).eps
    r = node.let("r", _root(_mean(Apply("square", (x,)), dim), eps))
    hat = node.let("x̂", over(x, r))
    G, to_scale, _ = _scaled(node, hat)
    to_x = over(minus(G, times(hat, _mean(times(G, hat), dim))), r)
    return _given(node, input=to_x if node.varies(x) else None, weight=to_scale)


def _batch_norm(node: Node) -> tuple[Formula | None, ...]:
    """In training the batch's own mean and variance; otherwise the ones that were kept, which do not vary."""
    x, shape = node.args[0], node.shape(node.args[0])
    eps, training = node.plain("eps", 1e-5), bool(node.plain("training", False))
    if len(shape) != 2:
        raise RuleError("there is no rule for batch_norm of more than rows of features")
    if not training:
        mean, variance = node.given("running_mean"), node.given("running_var")
        assert mean is not None and variance is not None, "without training there is a mean that was kept"
        s = node.let("s", _root(variance, eps))
        hat = node.let("x̂", over(minus(x, mean), s))
        G, to_scale, to_shift = _scaled(node, hat)
        return _given(node, input=over(G, s) if node.varies(x) else None, weight=to_scale, bias=to_shift)
    variance = Apply("var", (x,), (("dim", 0), ("correction", 0)))
    s = node.let("s", _root(variance, eps))
    hat = node.let("x̂", over(minus(x, linear("mean", x, dim=0)), s))
    G, to_scale, to_shift = _scaled(node, hat)
    inner = times(hat, linear("mean", times(G, hat), dim=0))
    to_x = over(minus(minus(G, linear("mean", G, dim=0)), inner), s)
    return _given(node, input=to_x if node.varies(x) else None, weight=to_scale, bias=to_shift)


def _normalised(node: Node) -> int:
    """How many of the last axes are normalised together."""
    shape = node.plain("normalized_shape")
    return 1 if isinstance(shape, int) else len(shape)


def _scaled(node: Node, hat: Formula) -> tuple[Formula, Formula | None, Formula | None]:
    """∂L/∂x̂, and the gradients of γ and β."""
    scale = node.given("weight")
    shift = node.given("bias") if "bias" in signature(node.formula.op) else None
    to_scale = None if scale is None else node.fit(lambda: node.scaled(hat, node.formula), scale)
    to_shift = None if shift is None else node.fit(lambda: node.G, shift)
    G = node.G if scale is None else node.let_gradient("x̂", node.scaled(scale, node.formula))
    return G, to_scale, to_shift


def _normalize(node: Node) -> tuple[Formula | None, ...]:
    """y = x/‖x‖: what points along y is taken away, ∂L/∂x = (∂L/∂y − y ⊙ Σ(y ⊙ ∂L/∂y))/‖x‖."""
    x, dim = node.args[0], node.plain("dim", 1)
    if node.plain("p", 2) != 2:
        raise RuleError("there is no rule for normalize with another norm than the length")
    length = Apply("norm", (x,), (("dim", dim), ("keepdim", True)))
    if bool((node.value(length) <= node.plain("eps", 1e-12)).any()):
        raise RuleError("there is no rule for normalize of a vector shorter than eps")
    inner = linear("sum", times(node.Y, node.bare(node.G, node.formula)), dim=dim, keepdim=True)
    return (over(minus(node.G, times(node.Y, inner)), length), *(None for _ in node.args[1:]))


def _cosine_similarity(node: Node) -> tuple[Formula | None, ...]:
    """c = a·b/(‖a‖ ‖b‖): ∂L/∂a = ∂L/∂c ⊙ (b̂ − c â)/‖a‖ with â = a/‖a‖, b̂ = b/‖b‖."""
    a, b = node.args[:2]
    if node.shape(a) != node.shape(b):
        raise RuleError("there is no rule for cosine_similarity of two shapes")
    dim = node.plain("dim", 1)
    c, G = (_column(part, dim, len(node.shape(a))) for part in (node.Y, node.G))
    lengths = [Apply("norm", (part,), (("dim", dim), ("keepdim", True))) for part in (a, b)]
    hats = [node.let(letter, over(part, length)) for letter, part, length in zip(("â", "b̂"), (a, b), lengths, strict=True)]
    to_a, to_b = (
        over(times(G, minus(hats[1 - i], times(c, hats[i]))), lengths[i]) if node.varies(part) else None
        for i, part in enumerate((a, b))
    )
    return to_a, to_b, *(None for _ in node.args[2:])


def _column(part: Formula, dim: int, rank: int) -> Formula:
    return part if rank == 1 else linear("unsqueeze", part, dim=(dim,))


RULES: dict[str, Rule] = {
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "batch_norm": _batch_norm,
    "normalize": _normalize,
    "cosine_similarity": _cosine_similarity,
}
