"""Eight multiple-choice items as claims: every option is decided by a computation, with its reason.

A control breaks the mechanism that an item is about, and the key changes with it. This file: softmax with a temperature,
separable logistic regression, the ∞-norm penalty, the size of a convolution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from workings import exact
from workings.course.logistic import falling_direction
from workings.course.penalty import infinity_penalty
from workings.nn.objectives.losses import logistic_loss
from workings.nn.temperature import softmax
from workings.studies.decide.proof import proved
from workings.studies.definition import Seed, study
from workings.studies.families.losses.largest_weight import RULES
from workings.studies.parts import Part, Table


@dataclass(frozen=True)
class Option:
    """An option of an item: what the key says of it, what the computation found, and why."""

    says: str
    key: bool
    found: bool
    reason: str


def decided(options: Sequence[Option], reference: str) -> list[Part]:
    """A claim for each option, and the key."""
    lettered = [*zip("abcd", options, strict=True)]
    return [
        *(
            proved(f"({letter}) «{one.says}» is {_word(one.key)}", one.found == one.key, one.reason, reference)
            for letter, one in lettered
        ),
        Table(
            "The key",
            ["option", "says", "is", "because"],
            [[f"({letter})", one.says, _word(one.found), one.reason] for letter, one in lettered],
        ),
    ]


def _word(truth: bool) -> str:
    return "true" if truth else "false"


# --------------------------------------------------------------------------------------------------- temperature


@study(rows=("L2", "A6"))
def exam_temperature(seed: Seed = 0, broken: Literal["", "T multiplies", "a hard maximum"] = "") -> list[Part]:
    """Exam, softmax with a temperature T: which of four statements is false."""

    def p(z: str, T: str) -> Tensor:
        s = exact(z)
        if broken == "a hard maximum":
            return torch.where(torch.arange(len(s)) == int(s.float64().argmax()), 1, 0) * exact(1)
        return softmax(s, beta=exact(T)) if broken == "T multiplies" else softmax(s, T=exact(T))

    alike = p("2 2 2 2", "3")
    hot, cold = (exact(p("4 3 2 1", T)).float64() for T in ("1000000", "1/1000"))
    warm = exact(p("4 3 2 1", "1/100"))
    rounded = torch.softmax(100 * torch.tensor([4.0, 3.0, 2.0, 1.0]), dim=0)
    from_uniform, from_first = float((hot - 0.25).abs().amax()), float((cold - torch.eye(4)[0]).abs().amax())
    return decided(
        [
            Option(
                "No finite T > 0 ever gives a uniform output",
                False,
                not bool(exact.equal(alike, exact("1/4 1/4 1/4 1/4"))),
                f"equal scores (2, 2, 2, 2) at T = 3 give {exact(alike).text()}",
            ),
            Option(
                "As T → ∞ the output tends to the uniform vector",
                True,
                from_uniform < 1e-5,
                f"(4, 3, 2, 1) at T = 10⁶ is {from_uniform:.2g} away from it; the law is Δ/(nT)",
            ),
            Option(
                "For the scores (4, 3, 2, 1), T → 0 gives (1, 0, 0, 0)",
                True,
                from_first < 1e-9,
                f"at T = 1/1000 it is {from_first:.2g} away; the law is e^(−1/T)",
            ),
            Option(
                "For T > 0 no component is ever 0",
                True,
                bool((warm > 0).all()),
                f"the least at T = 1/100 is {exact(warm.amin()).text()}; in float32 it underflows to {float(rounded[3]):g}",
            ),
        ],
        "p_i = e^(z_i/T) / Σ e^(z_j/T)",
    )


# ------------------------------------------------------------------------------------------------ separable data


@study(rows=("L2", "H3"))
def exam_separable(
    seed: Seed = 0, broken: Literal["", "one label flipped", "squared error of σ", "the penalty subtracted"] = ""
) -> list[Part]:
    """Exam, logistic regression on separable data: which of four statements is true."""
    X = torch.tensor([[1.0, 2.0], [1.0, 1.0], [1.0, -1.0], [1.0, -3.0]], dtype=torch.float64)
    y = torch.tensor([1.0, 1.0, -1.0, -1.0], dtype=torch.float64)
    if broken == "one label flipped":
        y[0] = -1

    def loss(w: Tensor) -> Tensor:
        if broken == "squared error of σ":
            return (1 - torch.sigmoid(y * (X @ w))).square().sum()
        return logistic_loss(w, X, y)

    falls = falling_direction(X, y)
    along = f"it falls for ever along {falls.text()}" if falls is not None else "no direction falls for ever"
    bent = _largest_bend(loss, torch.Generator().manual_seed(seed))
    sign = -1 if broken == "the penalty subtracted" else 1
    far = min(float(loss(1e3 * w) + sign * 1e6 / 2) for w in _directions(64))
    here = float(loss(torch.zeros(2, dtype=torch.float64)))
    return decided(
        [
            Option("The loss has a minimiser", False, falls is None, along),
            Option("The infimum of the loss is 0, and no w attains it", True, falls is not None, along),
            Option(
                "The loss is not convex",
                False,
                bent > 1e-9,
                f"the middle of a chord lies above the chord's middle by {bent:.2g} at most, over 300 chords",
            ),
            Option(
                "Even with a penalty λ/2 ‖w‖², λ > 0, there is no minimiser",
                False,
                far < here,
                f"with λ = 1 the least value at ‖w‖ = 1000 is {far:.4g}, at 0 it is {here:.4g}",
            ),
        ],
        "Gordan 1873; convexity of log(1 + e^−m); coercive penalties",
    )


def _directions(count: int) -> Tensor:
    angle = torch.arange(count, dtype=torch.float64) * (2 * torch.pi / count)
    return torch.stack([torch.cos(angle), torch.sin(angle)], dim=1)


def _largest_bend(loss: Callable[[Tensor], Tensor], g: torch.Generator) -> float:
    """By how much L at the middle of two points exceeds the mean of L at the points: never above 0 for a convex L."""
    A, B = (4 * torch.randn(300, 2, generator=g, dtype=torch.float64) for _ in range(2))
    return max(float(loss((a + b) / 2) - (loss(a) + loss(b)) / 2) for a, b in zip(A, B, strict=True))


# ------------------------------------------------------------------------------------------------ ∞-norm penalty


@study(rows=("L2", "F7"))
def exam_penalty(
    seed: Seed = 0, broken: Literal["", "‖w‖₂ penalised", "‖w‖₁ penalised", "likelihood minimised"] = ""
) -> list[Part]:
    """Exam, cross-entropy with (λ/2) ‖w‖∞²: which of four rules is a step of gradient descent."""
    w, x, y, λ, η = (exact(text) for text in ("1/2 -2 1", "1 3/10 -7/10", "1", "1/10", "1/10"))

    def objective(w: Tensor) -> Tensor:
        θ = w @ x
        L = torch.log(1 + torch.exp(θ)) - y * θ
        if broken == "‖w‖₂ penalised":
            return L + λ / 2 * (w @ w)
        if broken == "‖w‖₁ penalised":
            return L + λ / 2 * w.abs().sum() ** 2
        return (-L if broken == "likelihood minimised" else L) + infinity_penalty(w, λ)

    leaf = w.clone().requires_grad_()
    step = w - η * torch.autograd.grad(objective(leaf), leaf)[0]
    made = {rule: function(w, x, y, λ, η) for rule, function in RULES.items()}
    right = next(iter(RULES))
    return decided(
        [
            Option(rule, rule == right, bool(exact.equal(new, step)), f"new w {_decimals(new)}; autograd {_decimals(step)}")
            for rule, new in made.items()
        ],
        "∂L/∂w = (P − y) x, ∂(½‖w‖∞²)/∂w = w ⊙ e",
    )


def _decimals(w: Tensor) -> str:
    return "(" + ", ".join(f"{value:.5f}" for value in exact(w).float64().tolist()) + ")"


# ------------------------------------------------------------------------------------------------------- sizes


@study(rows=("L2", "I1"))
def exam_convolution(
    seed: Seed = 0, broken: Literal["", "stride 1", "padded to keep the size", "kernel turned"] = ""
) -> list[Part]:
    """Exam, a 128×128 image, a kernel of 3×5, strides 1 and 3, no padding: which size comes out."""
    kernel, strides = ((5, 3) if broken == "kernel turned" else (3, 5)), ((1, 1) if broken == "stride 1" else (1, 3))
    padding = (1, 2) if broken == "padded to keep the size" else (0, 0)
    out = F.conv2d(torch.zeros(1, 1, 128, 128), torch.zeros(1, 1, *kernel), stride=strides, padding=padding).shape[2:]
    size = f"{out[0]}×{out[1]}"
    why = {
        "126×42": "128 − 3 + 1 = 126 and ⌊(128 − 5)/3⌋ + 1 = 42",
        "126×124": "that would be without the stride of 3",
        "128×43": "that would be with padding 1 and 2",
        "124×42": "that would be a kernel of 5×3",
    }
    return decided(
        [Option(f"The output is {one}", one == "126×42", one == size, f"torch gives {size}; {why[one]}") for one in why],
        "⌊(N + 2P − F)/S⌋ + 1",
    )
