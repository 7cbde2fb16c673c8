r"""Logistic regression on data that a plane separates: the loss has no minimiser, and what gradient descent does then.

    L(w) = Σ log(1 + e^(−y wᵀx))               y wᵀx > 0 for all examples ⇒ L(αw) falls to 0 and never is 0
    w(t) ≈ ŵ log t,  w(t)/‖w(t)‖ → ŵ/‖ŵ‖       ŵ = argmin ‖w‖ with y wᵀx ≥ 1 (Soudry et al. 2018)
    ‖w‖ ≤ √(2 n log 2 / λ)                     of the minimiser of L + λ/2 ‖w‖², because L(0) = n log 2

ŵ is the widest margin's: in the plane it is found by trying every pair of examples.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise
from math import acos, log, sqrt
from typing import Annotated, Literal

import torch
from torch import Tensor

from workings import exact, show
from workings.course.logistic import along_ray, descent, falling_direction, separation
from workings.nn.objectives.losses import logistic_loss, logistic_loss_gradient
from workings.studies.claim import Bounds, Claim
from workings.studies.decide.proof import compared, proved
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Text, Worked
from workings.studies.pictures.kinds import Curves, Line, Scatter, Surface

_ALPHAS = [0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0]


@dataclass(frozen=True)
class _Data:
    """Examples in the plane, their labels ±1, and the direction that separated them before any label was flipped."""

    X: Tensor
    y: Tensor
    w: Tensor


@study(rows=("H3",), thorough={"steps": 100_000})
def separable(
    examples: Annotated[int, Range(4, 200, "two of each class at least")] = 12,
    steps: Annotated[int, Range(2_000, 1_000_000, "log t needs room to grow"), "steps of gradient descent"] = 8_000,
    penalty: Annotated[float, Range(1e-4, 10, "λ above 0"), "λ of the penalty λ/2 ‖w‖²"] = 0.1,
    seed: Seed = 0,
    broken: Literal["", "one label flipped", "a penalty on one direction only"] = "",
) -> list[Part]:
    """On separable data the logistic loss falls for ever: no minimiser, ‖w‖ grows like log t, and its direction converges.

    Any coercive penalty restores a minimiser, for it outgrows what the loss can still fall.
    """
    data = _data(examples, seed, flipped=broken == "one label flipped")
    ŵ = _widest_margin(data)
    path = descent(data.X, data.y, _stable_rate(data.X), steps)
    length = path.norm(dim=1)
    late, mid = steps, steps // 10
    slope = float(length[late] - length[mid]) / log(late / mid)
    ray = along_ray(data.w, data.X, data.y, torch.tensor(_ALPHAS, dtype=torch.float64)).tolist()
    return [
        _separates(data),
        compared(
            "Along a separating w the loss falls at every step and to below 0.001: L(αw) for α = 0, 1, 2, 5 … 80",
            max([*(b - a for a, b in pairwise(ray)), ray[-1] - 1e-3]),
            Bounds(high=0),
            "largest rise, or distance of the last loss above 0.001,",
            "each term log(1 + e^{−α m}) falls in α for m > 0",
        ),
        _no_minimiser(data),
        compared(
            "‖w(t)‖ grows like ‖ŵ‖ log t: over the last decade of steps its slope in log t is ‖ŵ‖, within 20 %",
            slope / float(ŵ.norm()),
            Bounds(0.8, 1.2),
            "slope / ‖ŵ‖",
            "w(t) = ŵ log t + O(1) (Soudry et al. 2018)",
        ),
        compared(
            "The direction w/‖w‖ turns to the widest margin: its own comes to at least 90 % of that",
            _margin(data, path[steps]) * float(ŵ.norm()),
            Bounds(low=0.9),
            f"margin / widest margin (angle to ŵ {_angle(path[steps], ŵ):.3f})",
            "Soudry et al. 2018",
        ),
        _restored(data, penalty, ŵ, broken == "a penalty on one direction only"),
        Table("The loss along a separating direction", ["α", "L(αw)"], [*map(list, zip(_ALPHAS, ray, strict=True))]),
        Table(
            "Gradient descent from 0",
            ["step", "‖w‖", "angle to ŵ", "margin / widest margin"],
            [
                [t, float(length[t]), _angle(path[t], ŵ), _margin(data, path[t]) * float(ŵ.norm())]
                for t in (steps // 1000, steps // 100, steps // 10, steps)
            ],
        ),
        *_pictures(data, ŵ, path, length, ray),
        Worked(
            "Two examples of each class at α = 1, exactly",
            show(logistic_loss, exact("0 1"), exact("1 2; 1 1; 1 -1; 1 -3"), exact("1 1 -1 -1")),
        ),
        Text(
            "The direction converges as slowly as 1/log t, so the last few hundredths of a radian take as many steps "
            "again as all before. Early stopping or a penalty decide where on that way the weights are."
        ),
    ]


def _data(examples: int, seed: int, flipped: bool) -> _Data:
    """Points of the plane at least 0.5 to either side of a line through 0; one label may be turned over."""
    g = torch.Generator().manual_seed(seed)
    angle = 6.283 * torch.rand(1, generator=g, dtype=torch.float64)
    w = torch.cat([torch.cos(angle), torch.sin(angle)])
    along = torch.stack([-w[1], w[0]])
    y = torch.where(torch.arange(examples) % 2 == 0, 1.0, -1.0).double()
    margin, aside = 0.5 + 1.5 * torch.rand(examples, generator=g).double(), torch.randn(examples, generator=g).double()
    X = (y * margin).unsqueeze(1) * w + aside.unsqueeze(1) * along
    if flipped:
        y[int(margin.argmax())] *= -1
    return _Data((X * 64).round() / 64, y, w)  # short fractions, for the exact certificates


def _separates(data: _Data) -> Claim:
    found = separation(data.X, data.y)
    words = f"w = {found.w.text()}" if found.w is not None else "a certificate λ ≥ 0 with λᵀA = 0 says that none exists"
    sentence = "Some w has y wᵀx > 0 for every example, with a proof in fractions"
    return proved(sentence, bool(found), words, "Gordan 1873: w, or a certificate that there is none")


def _no_minimiser(data: _Data) -> Claim:
    """A direction along which L falls at every w; where there is none, L has a minimiser."""
    w = falling_direction(data.X, data.y)
    words = f"at every w the loss falls along {w.text()}" if w is not None else "no such direction exists: L has a minimiser"
    sentence = "The infimum 0 is not attained: at no w is the gradient 0"
    return proved(sentence, w is not None, words, "vᵀ∇L(w) = −Σ y vᵀx σ(−y wᵀx) < 0 (Stiemke 1915)")


def _stable_rate(X: Tensor) -> float:
    """One over the largest curvature: ¼ of the largest eigenvalue of XᵀX bounds the Hessian."""
    return 4 / float(torch.linalg.eigvalsh(X.T @ X)[-1])


def _widest_margin(data: _Data) -> Tensor:
    """The shortest w with y wᵀx ≥ 1 for the examples that were separated; the margin is held by one example or by two."""
    sign = torch.sign(data.X @ data.w)
    A = sign.unsqueeze(1) * data.X
    candidates = [a / (a @ a) for a in A]
    for i, j in combinations(range(len(A)), 2):
        pair = A[[i, j]]
        if abs(float(torch.linalg.det(pair))) > 1e-9:
            candidates.append(torch.linalg.solve(pair, torch.ones(2, dtype=A.dtype)))
    allowed = [w for w in candidates if bool((A @ w >= 1 - 1e-9).all())]
    return min(allowed, key=lambda w: float(w.norm()))


def _margin(data: _Data, w: Tensor) -> float:
    """The least distance of an example from the line of w, on its right side."""
    return float((data.y * (data.X @ w)).amin() / w.norm())


def _angle(a: Tensor, b: Tensor) -> float:
    return acos(max(-1.0, min(1.0, float(a @ b / (a.norm() * b.norm())))))


def _restored(data: _Data, λ: float, ŵ: Tensor, one_direction: bool) -> Claim:
    """Newton's method on the penalised loss: it comes to rest inside the ball that the penalty allows."""
    aside = torch.stack([-ŵ[1], ŵ[0]]) / ŵ.norm()
    Λ = λ * (torch.outer(aside, aside) if one_direction else torch.eye(2, dtype=torch.float64))
    w = torch.zeros(2, dtype=torch.float64)
    for _ in range(100):
        g = logistic_loss_gradient(w, data.X, data.y) + Λ @ w
        P = torch.sigmoid(data.X @ w)
        H = data.X.T @ ((P * (1 - P)).unsqueeze(1) * data.X) + Λ + 1e-12 * torch.eye(2, dtype=torch.float64)
        step = torch.linalg.solve(H, g)
        w = w - step / max(1.0, float(step.norm()))
    radius = sqrt(2 * len(data.X) * log(2) / λ)
    sentence = "With the penalty λ/2 ‖w‖² Newton's method comes to rest, inside the ball of radius √(2 n log 2/λ)"
    found = float(w.norm()) / radius + float(step.norm())
    return compared(
        sentence, found, Bounds(high=1), "‖w‖ / radius, plus the last step,", "coercive and convex: a minimiser exists"
    )


def _pictures(data: _Data, ŵ: Tensor, path: Tensor, length: Tensor, ray: list[float]) -> list[Part]:
    times = sorted({int(1.25**k) for k in range(100) if 1.25**k < len(path)})
    start = float(length[times[-1]]) - float(ŵ.norm()) * log(times[-1])
    far = float(length[-1]) * 1.1
    grid = torch.linspace(-far, far, 41, dtype=torch.float64)
    values = [[float(logistic_loss(torch.stack([a, b]), data.X, data.y)) for a in grid] for b in grid]
    chosen = path[times]
    classes = {f"y = {'+' if sign > 0 else '−'}1": data.X[data.y == sign] for sign in (1.0, -1.0)}
    return [
        Scatter(
            "The examples",
            {name: (X[:, 0].tolist(), X[:, 1].tolist()) for name, X in classes.items()},
            xlabel="x₁",
            ylabel="x₂",
            equal=True,
        ),
        Curves("L(αw) falls for ever", _ALPHAS, [Line("L(αw)", ray)], xlabel="α", ylabel="loss", yscale="log"),
        Curves(
            "‖w‖ grows like ‖ŵ‖ log t",
            times,
            [
                Line("gradient descent", [float(length[t]) for t in times]),
                Line("‖ŵ‖ log t + constant", [start + float(ŵ.norm()) * log(t) for t in times], dashed=True),
            ],
            xlabel="step t",
            ylabel="‖w‖",
            xscale="log",
        ),
        Surface(
            "Descent runs down a valley without end, along ŵ",
            grid.tolist(),
            grid.tolist(),
            values,
            {
                "gradient descent": (chosen[:, 0].tolist(), chosen[:, 1].tolist()),
                "ŵ": ([0.0, float(ŵ[0] / ŵ.norm()) * far], [0.0, float(ŵ[1] / ŵ.norm()) * far]),
            },
            xlabel="w₁",
            ylabel="w₂",
            log=True,
        ),
    ]
