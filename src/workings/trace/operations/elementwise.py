"""Functions entry by entry: ∂L/∂a = ∂L/∂y ⊙ y'(a)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from workings.trace.formula import notation
from workings.trace.formula.operation import CALL, FORMULA, Args, Layer, Operation, called
from workings.trace.formula.simplify import ONE, ZERO, minus, negate, over, plus, times
from workings.trace.formula.tree import Formula, Number, Options
from workings.trace.operations.node import TWO, Gradients, Node, Rule, RuleError, f, indicator

Derivative = Callable[[Formula, Formula], Formula]
"""y' from the argument a and the result y."""


def _either(name: str) -> Callable[[Any], Any]:
    """PyTorch's function on tensors, Python's on plain numbers."""
    return lambda a: getattr(torch, name)(a) if isinstance(a, Tensor) else getattr(math, name)(a)


def on_copies(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function of PyTorch's that may write into what it is given, as batch norm into its running statistics: a rule is
    computed again and again, and only the run itself changes the author's tensors."""
    return lambda *args, **options: function(*map(_copy, args), **{key: _copy(value) for key, value in options.items()})


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def _pointwise(derivative: Derivative) -> Rule:
    def rule(node: Node) -> Gradients:
        return node.to_first(node.scale(derivative(node.args[0], node.Y), node.args[0]))

    return rule


def _divide_by(below: Callable[[Formula], Formula]) -> Rule:
    """∂L/∂a = ∂L/∂y / below(a)"""
    return lambda node: (over(node.G, below(node.args[0])), *(None for _ in node.args[1:]))


def _silu(a: Formula, y: Formula) -> Formula:
    s = f("sigmoid", a)
    return times(s, plus(ONE, times(a, minus(ONE, s))))


def _erf(a: Formula, y: Formula) -> Formula:
    """2 e^(−a²)/√π"""
    return over(times(TWO, f("exp", negate(f("square", a)))), f("sqrt", Number(math.pi)))


def entrywise(declaration: str, read: Any = "", derivative: Derivative | None = None, **columns: Any) -> Operation:
    """The row of a function of one variable; with `derivative`, its gradient is ∂L/∂y ⊙ y'(a)."""
    if derivative is not None:
        columns["gradient"] = _pointwise(derivative)
    return Operation(declaration, read=read, elementwise=True, **columns)


def _normal_slope(a: Formula, y: Formula) -> Formula:
    """Φ(a) + a φ(a)"""
    return plus(f("normal_cdf", a), times(a, f("normal_pdf", a)))


def _gelu(node: Node) -> Gradients:
    if node.plain("approximate", "none") == "none":
        return _pointwise(_normal_slope)(node)
    a, c = node.args[0], f("sqrt", over(TWO, Number(math.pi)))
    cubed = times(Number(0.044715), f("pow", a, Number(3)))
    t = node.let("t", f("tanh", times(c, plus(a, cubed))))
    inner = times(c, plus(ONE, times(Number(3 * 0.044715), f("square", a))))
    slope = over(plus(plus(ONE, t), times(times(a, minus(ONE, f("square", t))), inner)), TWO)
    return node.to_first(node.scale(slope, a))


def _softplus(node: Node) -> Gradients:
    a, beta = node.args[0], node.plain("beta", 1)
    if bool((node.value(a) * beta > node.plain("threshold", 20)).any()):
        raise RuleError("there is no rule for softplus beyond its threshold, where PyTorch takes it for a straight line")
    inner = a if beta == 1 else times(Number(beta), a)
    return node.to_first(node.scale(f("sigmoid", inner), a))


def _leaky_relu(node: Node) -> Gradients:
    a, slope = node.args[0], Number(node.plain("negative_slope", 0.01))
    slopes = plus(indicator(a, ">", ZERO), times(slope, indicator(a, "≤", ZERO)))
    return node.to_first(node.scale(slopes, a))


def _elu(node: Node) -> Gradients:
    a, alpha = node.args[0], Number(node.plain("alpha", 1.0))
    left = f("exp", a) if alpha.value == 1 else times(alpha, f("exp", a))
    positive = f("compare", a, ZERO, relation=">")
    return node.to_first(node.scale(f("where", positive, ONE, left), a))


def _clamp(node: Node) -> Gradients:
    """The gradient passes where a lies between the bounds."""
    a, low, high = node.args[0], node.argument("min"), node.argument("max")
    if any(bound is not None and node.varies(bound) for bound in (low, high)):
        raise RuleError("there is no rule for the bounds of clamp")
    inside: Formula = ONE
    for bound, relation in ((low, "≥"), (high, "≤")):
        inside = inside if bound is None else times(inside, indicator(a, relation, bound))
    return node.to_first(node.scale(inside, a))


def _spelled_clamp(args: Args, options: Options) -> Formula:
    """min(max(a, low), high)"""
    bounds = dict(zip(("min", "max"), args[1:], strict=False)) | dict(options)
    out = args[0]
    for name, other in (("min", "max"), ("max", "min")):
        bound = bounds.get(name)
        bound = bound if isinstance(bound, Formula) or bound is None else Number(bound)
        out = out if bound in (None, Number(None)) else f(other, out, bound)
    return out


def _log(node: Node) -> Gradients:
    return (over(node.G, node.args[0]),)


def _sqrt(node: Node) -> Gradients:
    return (over(node.G, times(TWO, node.Y)),)


def layer(cls: type[nn.Module], options: str = "", **columns: Any) -> Layer:
    """A layer without parameters."""
    return Layer(classes=(cls,), parameters="", options=options, **columns)


def _ramp(a: Formula) -> Formula:
    """0 below −3, 1 above 3, a line between them."""
    return over(f("clamp", plus(a, Number(3)), Number(0), Number(6)), Number(6))


ROWS = (
    # roots, powers and logarithms
    entrywise("sqrt: √a", FORMULA, compute=_either("sqrt"), notation=notation.root, gradient=_sqrt),
    entrywise(
        "rsqrt: 1/√a",
        FORMULA,
        lambda a, y: negate(over(f("pow", y, Number(3)), TWO)),
        compute=lambda a: torch.rsqrt(a) if isinstance(a, Tensor) else 1 / math.sqrt(a),
        spelled=lambda a, o: f("div", ONE, f("sqrt", a[0])),
    ),
    entrywise(
        "square: a²",
        FORMULA,
        lambda a, y: times(TWO, a),
        compute=lambda a: torch.square(a) if isinstance(a, Tensor) else a * a,
        spelled=lambda a, o: f("pow", a[0], TWO),
    ),
    entrywise("exp: e^a", FORMULA, lambda a, y: y, compute=_either("exp"), notation=notation.exponential),
    entrywise("exp2: 2^a", CALL, lambda a, y: times(y, f("log", TWO))),
    entrywise("expm1: e^a − 1", CALL, lambda a, y: f("exp", a)),
    entrywise("log: log a", FORMULA, compute=_either("log"), notation=notation.function("log"), gradient=_log),
    entrywise("log1p: log(1 + a)", CALL, gradient=_divide_by(lambda a: plus(ONE, a))),
    entrywise("log2: log₂ a", CALL, gradient=_divide_by(lambda a: times(f("log", TWO), a))),
    entrywise("log10: log₁₀ a", CALL, gradient=_divide_by(lambda a: times(f("log", Number(10)), a))),
    entrywise(
        "xlogy: a log b, and 0 where a is 0",
        others="xlogy",
        spelled=lambda a, o: None if len(a) != 2 else f("mul", a[0], f("log", a[1])),
        written_call=2,
    ),
    called("reciprocal: 1/a", means=lambda a, o: over(ONE, a[0])),
    # angles
    entrywise("sin: sin a", FORMULA, lambda a, y: f("cos", a), compute=_either("sin")),
    entrywise("cos: cos a", FORMULA, lambda a, y: negate(f("sin", a)), compute=_either("cos")),
    entrywise("tan: tan a", CALL, lambda a, y: plus(ONE, f("square", y))),
    entrywise("sinh: sinh a", CALL, lambda a, y: f("cosh", a)),
    entrywise("cosh: cosh a", CALL, lambda a, y: f("sinh", a)),
    entrywise("atan: arctan a", CALL, gradient=_divide_by(lambda a: plus(ONE, f("square", a)))),
    # sizes and steps
    entrywise(
        "abs: |a|",
        FORMULA,
        lambda a, y: f("sign", a),
        knows_complex=True,
        calls="absolute",
        compute=abs,
        notation=notation.fence("|", "|"),
    ),
    entrywise("sign: sign(a): −1, 0 or 1; of a complex number a/|a|", compute=torch.sgn, constant=True),
    entrywise("round: a rounded to a whole number", CALL, constant=True),
    entrywise(
        "floor: ⌊a⌋",
        FORMULA,
        compute=lambda a: torch.floor(a) if isinstance(a, Tensor) else math.floor(a),
        notation=notation.fence("⌊", "⌋"),
        written_call=1,
        constant=True,
    ),
    entrywise("ceil: ⌈a⌉", CALL, notation=notation.fence("⌈", "⌉"), written_call=1, constant=True),
    entrywise(
        "clamp(input min max): a, but no less than b and no more than c",
        CALL,
        also="clip",
        spelled=_spelled_clamp,
        gradient=_clamp,
    ),
    called("clamp_min: max(a, b)", means=lambda a, o: f("clamp", *a[:2])),
    called("clamp_max: min(a, b)", means=lambda a, o: f("clamp", a[0], Number(None), a[1])),
    called("relu6: min(max(0, a), 6)", means=lambda a, o: f("clamp", a[0], Number(0), Number(6))),
    called("hardsigmoid: min(max(0, a + 3), 6)/6", means=lambda a, o: _ramp(a[0])),
    called("mish: a tanh(log(1 + e^a))", means=lambda a, o: times(a[0], f("tanh", f("softplus", a[0])))),
    called("hardswish: a min(max(0, a + 3), 6)/6", means=lambda a, o: times(a[0], _ramp(a[0]))),
    # activations
    entrywise(
        "tanh: tanh a", FORMULA, lambda a, y: minus(ONE, f("square", y)), compute=_either("tanh"), layers=layer(nn.Tanh)
    ),
    entrywise(
        "sigmoid: σ(a)",
        FORMULA,
        lambda a, y: times(y, minus(ONE, y)),
        notation=notation.function("σ"),
        layers=layer(nn.Sigmoid),
    ),
    entrywise(
        "relu: max(0, a)",
        FORMULA,
        lambda a, y: indicator(a, ">", ZERO),
        spelled=lambda a, o: f("max", Number(0), a[0]),
        layers=layer(nn.ReLU),
    ),
    entrywise(
        "gelu(input | approximate): a Φ(a)",
        FORMULA,
        notation=notation.function("GELU"),
        gradient=_gelu,
        layers=layer(nn.GELU, "approximate"),
    ),
    entrywise(
        "silu: a σ(a)",
        FORMULA,
        _silu,
        calls="swish",
        spelled=lambda a, o: f("mul", a[0], f("sigmoid", a[0])),
        layers=layer(nn.SiLU),
    ),
    entrywise(
        "softplus(input beta threshold): log(1 + e^a)", CALL, gradient=_softplus, layers=layer(nn.Softplus, "beta threshold")
    ),
    entrywise(
        "logsigmoid: log σ(a)",
        CALL,
        lambda a, y: f("sigmoid", negate(a)),
        also="log_sigmoid",
        spelled=lambda a, o: f("log", f("sigmoid", a[0])),
        written_call=1,
        layers=layer(nn.LogSigmoid),
    ),
    entrywise(
        "leaky_relu(input negative_slope): a where it is positive, else a small part of it",
        CALL,
        compute=on_copies(F.leaky_relu),
        gradient=_leaky_relu,
        layers=layer(nn.LeakyReLU, "negative_slope"),
    ),
    entrywise(
        "elu(input alpha): a where it is positive, else α(e^a − 1)",
        CALL,
        compute=on_copies(F.elu),
        gradient=_elu,
        layers=layer(nn.ELU, "alpha"),
    ),
    entrywise("erf: the error function", CALL, _erf),
    entrywise(
        "normal_cdf: Φ(a), the standard normal distribution",
        compute=lambda a: (1 + torch.erf(a / math.sqrt(2))) / 2,
        notation=notation.function("Φ"),
    ),
    entrywise(
        "normal_pdf: φ(a), its density",
        compute=lambda a: torch.exp(-(a * a) / 2) / math.sqrt(2 * math.pi),
        notation=notation.function("φ"),
    ),
)
