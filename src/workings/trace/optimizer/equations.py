"""The equations of optimizers, one assignment a line, as data.

    SGD      g = θ.grad + λ θ     b = μ b + (1 − τ) g      u = g + μ b (Nesterov) or b      θ = θ − η u
             without decay g is θ.grad itself
    Adam     m = β₁ m + (1 − β₁) g     v = β₂ v + (1 − β₂) g²
             m̂ = m/(1 − β₁ᵗ)           v̂ = v/(1 − β₂ᵗ)             θ = θ − η m̂/(√v̂ + ε)
    AdamW    θ = (1 − η λ) θ first, with no λ in g; then as Adam

θ.grad is what the parameter holds when the step begins: ∂L/∂θ after one `L.backward()`, a sum of such after several, less
after clipping. η learning rate, λ weight decay, μ momentum, τ dampening, t the number of the step. Like a line of code, each
line puts a new value in place of an old one: the `m` on the right is the one before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workings.trace.formula.tree import Apply, Formula, Leaf, Number

Equations = list[tuple[str, Formula]]
"""Name and right side, in order."""
_ONE = Number(1)
η, λ, μ, τ, ε, t, _g, b, m, v = (Leaf(letter) for letter in "ηλμτεtgbmv")
β1, β2, m_hat, v_hat, _largest = Leaf("β₁"), Leaf("β₂"), Leaf("m̂"), Leaf("v̂"), Leaf("v_max")


def _add(x: Formula, y: Formula) -> Formula:
    return Apply("add", (x, y))


def _sub(x: Formula, y: Formula) -> Formula:
    return Apply("sub", (x, y))


def _mul(x: Formula, y: Formula) -> Formula:
    return Apply("mul", (x, y))


def _div(x: Formula, y: Formula) -> Formula:
    return Apply("div", (x, y))


def _gradient(θ: Leaf, given: Mapping[str, Any], decay: bool) -> Equations:
    """g: the gradient as the parameter holds it, towards a maximum if asked, with weight decay."""
    found: Formula = Leaf(f"{θ.text}.grad")
    if given.get("maximize"):
        found = Apply("neg", (found,))
    return [("g", _add(found, _mul(λ, θ)) if decay else found)]


def sgd(θ: Leaf, given: Mapping[str, Any], state: Mapping[str, Any]) -> Equations:
    """Stochastic gradient descent with momentum (Sutskever et al. 2013)."""
    plain = not given["weight_decay"] and not given.get("maximize")
    lines, g = ([], Leaf(f"{θ.text}.grad")) if plain else (_gradient(θ, given, bool(given["weight_decay"])), _g)
    u = g
    if given["momentum"]:
        first = state.get("momentum_buffer") is None
        share = _mul(_sub(_ONE, τ), g) if given["dampening"] else g
        lines.append(("b", g if first else _add(_mul(μ, b), share)))
        u = b
    if given["nesterov"]:
        lines.append(("u", _add(g, _mul(μ, b))))
        u = Leaf("u")
    return [*lines, (θ.text, _sub(θ, _mul(η, u)))]


def adam(θ: Leaf, given: Mapping[str, Any], state: Mapping[str, Any]) -> Equations:
    """Adam (Kingma and Ba 2015), and AdamW (Loshchilov and Hutter 2019), where the decay stands apart."""
    apart = bool(given.get("decoupled_weight_decay")) and bool(given["weight_decay"])
    lines: Equations = [(θ.text, _mul(_sub(_ONE, _mul(η, λ)), θ))] if apart else []
    lines += _gradient(θ, given, bool(given["weight_decay"]) and not apart)
    lines += [
        ("m", _add(_mul(β1, m), _mul(_sub(_ONE, β1), _g))),
        ("v", _add(_mul(β2, v), _mul(_sub(_ONE, β2), Apply("square", (_g,))))),
    ]
    if given["amsgrad"]:
        lines.append(("v_max", Apply("max", (_largest, v))))
    return [
        *lines,
        ("m̂", _div(m, _sub(_ONE, Apply("pow", (β1, t))))),
        ("v̂", _div(_largest if given["amsgrad"] else v, _sub(_ONE, Apply("pow", (β2, t))))),
        (θ.text, _sub(θ, _div(_mul(η, m_hat), _add(Apply("sqrt", (v_hat,)), ε)))),
    ]
