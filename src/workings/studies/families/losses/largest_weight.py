r"""A penalty on the square of the largest weight, and the rules that are mistaken for its step (`workings.course.penalty`).

L = −y log P − (1 − y) log(1 − P) + (λ/2) ‖w‖∞²,   P = σ(w·x)
w ← w − η ((P − y) x + λ w ⊙ e)                      e marks the largest |w_i|, shared where several are largest
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import torch
from torch import Tensor

from workings import exact, show
from workings.course.penalty import infinity_gradient, infinity_penalty, largest, logistic_gradient, penalised_step
from workings.studies.claim import Bounds, Claim
from workings.studies.decide.proof import compared, equal
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Worked
from workings.studies.pictures.kinds import Curves, Line

Rule = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


def _l2_step(w: Tensor, x: Tensor, y: Tensor, λ: Tensor, η: Tensor) -> Tensor:
    """The step of (λ/2) ‖w‖₂²: every weight shrinks."""
    return w - η * (logistic_gradient(w, x, y) + λ * w)


def _l1_step(w: Tensor, x: Tensor, y: Tensor, λ: Tensor, η: Tensor) -> Tensor:
    """The step of (λ/2) ‖w‖₁²: every weight shrinks by the same amount."""
    return w - η * (logistic_gradient(w, x, y) + λ * w.abs().sum() * torch.sign(w))


def _turned_step(w: Tensor, x: Tensor, y: Tensor, λ: Tensor, η: Tensor) -> Tensor:
    """The step with (y − P) in the place of (P − y): it raises the loss."""
    return w - η * (-logistic_gradient(w, x, y) + infinity_gradient(w, λ))


RULES: dict[str, Rule] = {
    "w ← w − η ((P − y) x + λ w ⊙ e)": penalised_step,
    "w ← w − η ((P − y) x + λ w)": _l2_step,
    "w ← w − η ((P − y) x + λ ‖w‖₁ sign w)": _l1_step,
    "w ← w − η ((y − P) x + λ w ⊙ e)": _turned_step,
}


def _objective(w: Tensor, x: Tensor, y: Tensor, λ: Tensor) -> Tensor:
    """The cross-entropy of one example of class y, 0 or 1, and the penalty."""
    θ = w @ x
    return torch.log(1 + torch.exp(θ)) - y * θ + infinity_penalty(w, λ)


@study(rows=("F7",))
def largest_weight(
    w: Annotated[str, "weights"] = "1/2 -2 1",
    x: Annotated[str, "an example"] = "1 3/10 -7/10",
    y: Annotated[int, Range(0, 1, "classes are 0 and 1"), "its class"] = 1,
    penalty: Annotated[str, "λ"] = "1/10",
    rate: Annotated[str, "η"] = "1/10",
    seed: Seed = 0,
    broken: Literal["", "every weight is marked", "tied weights all get a 1"] = "",
) -> list[Part]:
    """The squared ∞-norm pulls the largest weight only, and shares the pull where several are largest."""
    g = torch.Generator().manual_seed(seed)
    W, X, Y, λ, η = exact(w), exact(x), exact(y), exact(penalty), exact(rate)
    rule = _l2_step if broken == "every weight is marked" else penalised_step
    true_step = W - η * _autograd(W, X, Y, λ)
    moved, data = rule(W, X, Y, λ, η) - W, -η * logistic_gradient(W, X, Y)
    e = largest(W)
    path = _shrinkage(rule)
    return [
        equal("w − η ((P − y) x + λ w ⊙ e) is autograd's step, exactly", rule(W, X, Y, λ, η), true_step, "chain rule"),
        equal(
            "Weights that are not the largest move by the data alone",
            (moved - data) * (1 - torch.sign(e)),
            0 * W,
            "‖w‖∞ does not depend on them",
        ),
        _subgradient(broken == "tied weights all get a 1", g),
        compared(
            "Without data the largest weights shrink until they meet the next, and the smallest stays as it was",
            float((path[-1] - path[0])[2].abs()) + float((path[-1, 0].abs() - path[-1, 1].abs()).abs()),
            Bounds(high=0.05),
            "change of the smallest, plus the gap of the two largest,",
            "only the largest is pulled",
        ),
        Table(
            "Four rules, one example",
            ["rule", "new w", "autograd's step?"],
            [
                [name, _decimals(made), bool(exact.equal(made, true_step))]
                for name, step in RULES.items()
                for made in [step(W, X, Y, λ, η)]
            ],
        ),
        Curves(
            "Three weights under the penalty alone: the largest comes down to the next, then both together",
            [*range(len(path))],
            [Line(f"w{'₁₂₃'[i]}", path[:, i].tolist(), dashed=i == 1) for i in range(3)],
            xlabel="step",
            ylabel="weight",
        ),
        Worked("One step, exactly", show(penalised_step, W, X, Y, λ, η)),
    ]


def _autograd(w: Tensor, x: Tensor, y: Tensor, λ: Tensor) -> Tensor:
    leaf = w.clone().requires_grad_()
    return torch.autograd.grad(_objective(leaf, x, y, λ), leaf)[0]


def _decimals(w: Tensor) -> str:
    return " ".join(f"{value:.6f}" for value in exact(w).float64().tolist())


def _shrinkage(rule: Rule, steps: int = 60) -> Tensor:
    """Weights 2, −1.5 and 0.5 under the penalty alone: x = 0 has no gradient."""
    one = torch.tensor(1.0, dtype=torch.float64)
    path = [torch.tensor([2.0, -1.5, 0.5], dtype=torch.float64)]
    for _ in range(steps):
        path.append(rule(path[-1], 0 * path[-1], one, one, 0.02 * one))
    return torch.stack(path)


def _subgradient(full: bool, g: torch.Generator) -> Claim:
    """R(v) ≥ R(w) + G·(v − w) for all v, at a w whose two largest weights are tied."""
    w = torch.tensor([1.0, -1.0, 0.5], dtype=torch.float64)
    e = (w.abs() == w.abs().amax()).double() if full else largest(w)
    V = w + torch.randn(2_000, 3, generator=g, dtype=torch.float64)
    R = V.abs().amax(dim=1) ** 2 / 2
    below = float((R - infinity_penalty(w, 1.0) - (V - w) @ (w * e)).amin())
    sentence = "At a tie the pull is shared, λ w ⊙ e with Σe = 1: R(v) ≥ R(w) + G·(v − w) at 2,000 random v"
    return compared(sentence, below, Bounds(low=-1e-12), "least difference", "a subgradient of a convex function")
