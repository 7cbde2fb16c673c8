"""The equations of PyTorch's optimizers, one assignment a line, as data.

θ.grad is what the parameter holds when the step begins: ∂L/∂θ after one `L.backward()`, a sum of such after several, less
after clipping. Like a line of code, each line puts a new value in place of an old one: the `m` on the right is the one
before.

| letter | means |
|---|---|
| g, m, v | the gradient with its decay, its running mean, the running mean of its square |
| η, λ, μ, τ, ε | learning rate, weight decay, momentum, dampening, the small number below a fraction |
| β₁, β₂, α, ρ | shares of the old value in a running mean |
| t | the number of the step |
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.optim import Optimizer

from workings.trace.formula.from_python import formula_of
from workings.trace.formula.tree import Apply, Call, Formula, map_parts, rename

Equations = list[tuple[str, Formula]]
"""Name and right side, in order."""
_Given = Mapping[str, Any]
_Lines = Iterator[str]
_Write = Callable[[_Given, _Given], _Lines]
"""The lines of an update, from the options of the parameter's group and the optimizer's state for the parameter."""

OPTIONS = {
    "lr": "η",
    "weight_decay": "λ",
    "momentum": "μ",
    "dampening": "τ",
    "eps": "ε",
    "alpha": "α",
    "rho": "ρ",
    "lr_decay": "κ",
    "momentum_decay": "ψ",
    "betas": ("β₁", "β₂"),
    "etas": ("η₋", "η₊"),
    "step_sizes": ("Δ_min", "Δ_max"),
}
"""The letters of the options of PyTorch's optimizers."""
STATE = {
    "momentum_buffer": "b",
    "exp_avg": "m",
    "exp_avg_sq": "v",
    "square_avg": "v",
    "max_exp_avg_sq": "v_max",
    "grad_avg": "ḡ",
    "sum": "G",
    "acc_delta": "d",
    "exp_inf": "u",
    "mu_product": "M",
    "prev": "g_old",
    "step_size": "Δ",
}
"""The letters of what PyTorch's optimizers keep from step to step."""
_IDENTIFIERS = {"β1": "β₁", "β2": "β₂", "η_less": "η₋", "η_more": "η₊", "ρ_inf": "ρ_∞"}
"""Letters that Python would read as others, as they stand in the lines below."""


def equations(kind: type[Optimizer], name: str, given: _Given, state: _Given) -> Equations | None:
    """The update of the parameter of this name, line by line; None for an optimizer whose equations are not here."""
    write = _OPTIMIZERS.get(kind)
    if write is None:
        return None
    renamed = {"θ": name, "θ.grad": f"{name}.grad"}
    parsed = (_parse(line) for line in write(given, state))
    return [(renamed.get(left, left), rename(right, renamed)) for left, right in parsed]


@functools.cache
def _parse(line: str) -> tuple[str, Formula]:
    left, right = (part.strip() for part in line.split("=", 1))
    formula = rename(_applied(formula_of(ast.parse(right, mode="eval").body)), _IDENTIFIERS)
    return _IDENTIFIERS.get(left, left), formula


def _applied(formula: Formula) -> Formula:
    """max(a, b) and sign(a) as operations: there are no functions of the author's here."""
    formula = map_parts(formula, _applied)
    return Apply(formula.name, formula.args) if isinstance(formula, Call) else formula


def _gradient(given: _Given, decays: bool = True) -> _Lines:
    """The gradient as the parameter holds it, towards a maximum if asked, with weight decay."""
    held = "-θ.grad" if given.get("maximize") else "θ.grad"
    yield f"g = {held} + λ * θ" if decays and given.get("weight_decay") else f"g = {held}"


def _decay(given: _Given) -> _Lines:
    """Weight decay, in the gradient or apart from it (Loshchilov and Hutter 2019)."""
    apart = bool(given.get("decoupled_weight_decay"))
    if apart and given["weight_decay"]:
        yield "θ = (1 - η * λ) * θ"
    yield from _gradient(given, decays=not apart)


def _moments() -> _Lines:
    yield "m = β1 * m + (1 - β1) * g"
    yield "v = β2 * v + (1 - β2) * g**2"


def _sgd(given: _Given, state: _Given) -> _Lines:
    """Stochastic gradient descent with momentum (Sutskever et al. 2013)."""
    g = "θ.grad"
    if given["weight_decay"] or given.get("maximize"):
        g = "g"
        yield from _gradient(given)
    if not given["momentum"]:
        yield f"θ = θ - η * {g}"
        return
    if state.get("momentum_buffer") is None:
        yield f"b = {g}"
    else:
        yield f"b = μ * b + (1 - τ) * {g}" if given["dampening"] else f"b = μ * b + {g}"
    if given["nesterov"]:
        yield f"u = {g} + μ * b"
    yield "θ = θ - η * u" if given["nesterov"] else "θ = θ - η * b"


def _adam(given: _Given, state: _Given) -> _Lines:
    """Adam (Kingma and Ba 2015), and AdamW, where the decay stands apart."""
    yield from _decay(given)
    yield from _moments()
    if given["amsgrad"]:
        yield "v_max = max(v_max, v)"
    yield "m̂ = m / (1 - β1**t)"
    yield "v̂ = v_max / (1 - β2**t)" if given["amsgrad"] else "v̂ = v / (1 - β2**t)"
    yield "θ = θ - η * m̂ / (sqrt(v̂) + ε)"


def _adamw(given: _Given, state: _Given) -> _Lines:
    return _adam({**given, "decoupled_weight_decay": True}, state)


def _adamax(given: _Given, state: _Given) -> _Lines:
    """Adam with the largest gradient in place of the mean square (Kingma and Ba 2015, §7.1)."""
    yield from _gradient(given)
    yield "m = β1 * m + (1 - β1) * g"
    yield "u = max(β2 * u, abs(g) + ε)"
    yield "m̂ = m / (1 - β1**t)"
    yield "θ = θ - η * m̂ / u"


def _nadam(given: _Given, state: _Given) -> _Lines:
    """Adam with Nesterov's momentum (Dozat 2016): μ grows from step to step, and M is the product of all of them."""
    yield from _decay(given)
    yield "μ = β1 * (1 - 0.96**(t * ψ) / 2)"
    yield "μ_next = β1 * (1 - 0.96**((t + 1) * ψ) / 2)"
    yield "M = M * μ"
    yield from _moments()
    yield "m̂ = μ_next * m / (1 - M * μ_next) + (1 - μ) * g / (1 - M)"
    yield "v̂ = v / (1 - β2**t)"
    yield "θ = θ - η * m̂ / (sqrt(v̂) + ε)"


def _radam(given: _Given, state: _Given) -> _Lines:
    """Adam whose step is rectified while few gradients were seen (Liu et al. 2020); r is used once ρ is more than 5."""
    yield from _decay(given)
    yield from _moments()
    yield "m̂ = m / (1 - β1**t)"
    yield "ρ_inf = 2 / (1 - β2) - 1"
    yield "ρ = ρ_inf - 2 * t * β2**t / (1 - β2**t)"
    if _radam_length(given, state) <= 5:
        yield "θ = θ - η * m̂"
        return
    yield "r = ((ρ - 4) * (ρ - 2) * ρ_inf / ((ρ_inf - 4) * (ρ_inf - 2) * ρ))**0.5"
    yield "l = (1 - β2**t)**0.5 / (sqrt(v) + ε)"
    yield "θ = θ - η * r * m̂ * l"


def _radam_length(given: _Given, state: _Given) -> float:
    """ρ: how many steps the running mean is as good as."""
    β2, t = float(given["betas"][1]), int(state.get("step", 0)) + 1
    return 2 / (1 - β2) - 1 - 2 * t * β2**t / (1 - β2**t)


def _rmsprop(given: _Given, state: _Given) -> _Lines:
    """RMSprop (Tieleman and Hinton 2012), centred as in Graves 2013."""
    yield from _gradient(given)
    yield "v = α * v + (1 - α) * g**2"
    if given["centered"]:
        yield "ḡ = α * ḡ + (1 - α) * g"
    step = "g / (sqrt(v - ḡ**2) + ε)" if given["centered"] else "g / (sqrt(v) + ε)"
    if given["momentum"]:
        yield f"b = μ * b + {step}"
    yield "θ = θ - η * b" if given["momentum"] else f"θ = θ - η * {step}"


def _adagrad(given: _Given, state: _Given) -> _Lines:
    """Adagrad (Duchi et al. 2011): G is the sum of all squares so far."""
    yield from _gradient(given)
    yield "G = G + g**2"
    rate = "η"
    if given["lr_decay"]:
        yield "η_t = η / (1 + (t - 1) * κ)"
        rate = "η_t"
    yield f"θ = θ - {rate} * g / (sqrt(G) + ε)"


def _adadelta(given: _Given, state: _Given) -> _Lines:
    """Adadelta (Zeiler 2012): d is the running mean of the squares of the updates Δθ."""
    yield from _gradient(given)
    yield "v = ρ * v + (1 - ρ) * g**2"
    yield "Δθ = sqrt(d + ε) / sqrt(v + ε) * g"
    yield "d = ρ * d + (1 - ρ) * Δθ**2"
    yield "θ = θ - η * Δθ"


def _rprop(given: _Given, state: _Given) -> _Lines:
    """Resilient backpropagation (Riedmiller and Braun 1993): s says whether the gradient kept its sign."""
    yield from _gradient(given)
    yield "s = sign(g * g_old)"
    yield "Δ = clamp(where(s > 0, η_more * Δ, where(s < 0, η_less * Δ, Δ)), Δ_min, Δ_max)"
    yield "g = where(s < 0, 0, g)"
    yield "θ = θ - Δ * sign(g)"


_OPTIMIZERS: dict[type[Optimizer], _Write] = {
    torch.optim.SGD: _sgd,
    torch.optim.Adam: _adam,
    torch.optim.AdamW: _adamw,
    torch.optim.Adamax: _adamax,
    torch.optim.NAdam: _nadam,
    torch.optim.RAdam: _radam,
    torch.optim.RMSprop: _rmsprop,
    torch.optim.Adagrad: _adagrad,
    torch.optim.Adadelta: _adadelta,
    torch.optim.Rprop: _rprop,
}
