r"""Descent in a ravine: a quadratic that is steep across and flat along.

    f(x, y) = ½ (x² + κ y²)                              curvatures λ from 1 to κ
    plain       θ ← θ − η g                              a coordinate shrinks by 1 − ηλ a step: stable for η < 2/κ
    momentum    v ← α v − η g,  θ ← θ + v                r² − (1 + α − ηλ) r + α = 0: stable for η < 2(1 + α)/κ

At its best rate plain descent shrinks the distance by (κ − 1)/(κ + 1) a step, momentum by (√κ − 1)/(√κ + 1) (Polyak 1964).
Where the roots r are complex they turn by the angle φ a step, cos φ = (1 + α − ηλ)/(2√α), so that a coordinate changes its
sign in φ/π of the steps; plain descent beyond η = 1/λ does so in every step.
"""

from __future__ import annotations

from math import acos, log, pi, sqrt
from typing import Annotated, Literal

import torch
from torch import Tensor

from workings.nn.update import critical_rate, momentum
from workings.studies.claim import Bounds
from workings.studies.decide.proof import agrees, compared, equal
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Cell, Part, Table, Worked
from workings.studies.pictures.kinds import Curves, Line, Numbers, Surface

_STEPS = 2000
_STEPS_PER_CONDITION = 10
"""Times κ: plain descent needs ½κ ln 10⁶ ≈ 7κ steps."""
_GRID = 801
"""Rates that are tried, from half the critical one to one and a half."""
_NEAR = 1e-6
"""The part of the first distance at which a path has arrived."""


def _path(start: Tensor, λ: Tensor, eta: Tensor | float, alpha: float, steps: int, broken: str) -> Tensor:
    """θ before the first step and after each, on ½ Σ λ θ²; α = 0 is plain descent."""
    θ, v = start, torch.zeros_like(start)
    found = [θ]
    for _ in range(steps):
        g = λ * θ * (2 if broken == "gradient without the ½" else 1)
        v = torch.zeros_like(v) if broken == "velocity forgotten" else v
        θ, v = momentum(θ, v, g, eta, alpha)
        found.append(θ)
    return torch.stack(found)


def _largest_rate(κ: float, alpha: float, broken: str) -> float:
    """The smallest rate, of a grid around the critical one, from which the steep coordinate no longer shrinks."""
    rates = critical_rate(κ, alpha) * torch.linspace(0.5, 1.5, _GRID, dtype=torch.float64)
    ends = _path(torch.ones_like(rates), torch.full_like(rates, κ), rates, alpha, _STEPS, broken)[-1].abs()
    grows = (ends > 1) | ends.isnan()
    return float(rates[grows.int().argmax()]) if bool(grows.any()) else float(rates[-1])


def _shrinks_by(path: Tensor) -> float:
    """The factor of a step, over the last half of the path (what is below 1e−280 is left out)."""
    lengths = path.norm(dim=-1)
    last = int((lengths > 1e-280).sum()) - 1
    half = last // 2
    return float((lengths[last] / lengths[half]) ** (1 / (last - half)))


def _arrival(path: Tensor) -> int:
    """The steps until the distance stays below its 10⁻⁶th part."""
    away = (path.norm(dim=-1) > _NEAR * path[0].norm()).nonzero()
    return int(away[-1]) + 1


def _sign_changes(coordinate: Tensor) -> int:
    return int((coordinate[1:].sign() * coordinate[:-1].sign() < 0).sum())


@study(rows=("F3",), thorough={"kappa": 1000.0})
def ravine(
    kappa: Annotated[
        float,
        Range(4, 1000, "a round bowl is no ravine, a narrower one takes minutes"),
        "condition number: steepest over flattest",
    ] = 100.0,
    alpha: Annotated[float, Range(0.2, 0.99, "less is plain descent, 1 never comes to rest"), "momentum"] = 0.9,
    seed: Seed = 0,
    broken: Literal["", "velocity forgotten", "gradient without the ½"] = "",
) -> list[Part]:
    """Momentum crosses a ravine in √κ steps where plain descent needs κ, allows larger rates, and overshoots.

    The start is drawn at random; paths of plain descent zig-zag across the ravine, those of momentum swing more slowly.
    """
    κ = kappa
    g = torch.Generator().manual_seed(seed)
    λ = torch.tensor([1.0, κ], dtype=torch.float64)
    side = torch.where(torch.rand(2, generator=g, dtype=torch.float64) < 0.5, -1.0, 1.0)
    start = side * (0.5 + 0.5 * torch.rand(2, generator=g, dtype=torch.float64)) * torch.tensor([1.0, sqrt(1 / κ)])

    plain_edge, momentum_edge = _largest_rate(κ, 0.0, broken), _largest_rate(κ, alpha, broken)
    best, α_best = 2 / (1 + κ), ((sqrt(κ) - 1) / (sqrt(κ) + 1)) ** 2
    η_best = 4 / (1 + sqrt(κ)) ** 2
    steps = int(_STEPS_PER_CONDITION * κ)
    plain = _path(start, λ, best, 0.0, steps, broken)
    polyak = _path(start, λ, η_best, α_best, steps, broken)
    same = 1.8 / κ
    zigzag, swing = _path(start, λ, same, 0.0, 200, broken), _path(start, λ, same, alpha, 200, broken)
    φ = acos((1 + alpha - 1.8) / (2 * sqrt(alpha)))
    past = _path(start[1:], λ[1:], 1 / κ, alpha, 2, broken)
    fewer = _arrival(plain) / _arrival(polyak)
    claims: list[Part] = [
        agrees(
            "Plain descent converges up to the rate 2/λ of the steepest direction",
            plain_edge,
            critical_rate(κ),  # type: ignore[arg-type]
            0.005 * 2 / κ,
            "the multiplier 1 − ηλ leaves −1 … 1",
        ),
        agrees(
            "Momentum α converges up to the rate 2(1 + α)/λ",
            momentum_edge,
            critical_rate(κ, alpha),  # type: ignore[arg-type]
            0.005 * 2 / κ,
            "the roots of r² − (1 + α − ηλ) r + α leave the unit circle (Polyak 1964)",
        ),
        agrees(
            "At its best rate plain descent shrinks the distance by (κ − 1)/(κ + 1) a step",
            1 - _shrinks_by(plain),
            2 / (κ + 1),
            0.02 / κ,
            "both directions have the multiplier ±(κ − 1)/(κ + 1) at η = 2/(1 + κ); compared as 1 − factor",
        ),
        agrees(
            "At Polyak's rate momentum shrinks it by (√κ − 1)/(√κ + 1) a step",
            1 - _shrinks_by(polyak),
            2 / (sqrt(κ) + 1),
            0.1 / sqrt(κ),
            "a double root of modulus √α (Polyak 1964); compared as 1 − factor",
        ),
        compared(
            "Momentum arrives in fewer steps, by a factor of at least √κ/4",
            fewer,
            Bounds(low=sqrt(κ) / 4),
            "steps of plain descent for one of momentum",
            "½κ ln(1/ε) against ½√κ ln(1/ε) steps",
        ),
        agrees(
            "Across the ravine, at the rate 1.8/λ, plain descent changes sides in every step and momentum in φ/π of them",
            _sign_changes(swing[:, 1]) / _sign_changes(zigzag[:, 1]) if _sign_changes(zigzag[:, 1]) else 0.0,
            φ / pi,
            0.02,
            "cos φ = (1 + α − ηλ)/(2√α), the angle of the complex roots",
        ),
        agrees(
            "At the rate 1/λ plain descent lands on the minimum, and momentum runs past it by α of the distance",
            -float(past[2, 0] / past[0, 0]),
            alpha,
            1e-9,
            "θ₁ = 0, v₁ = −θ₀, so θ₂ = −α θ₀",
        ),
        _two_steps(broken),
    ]
    return [
        *claims,
        *_pictures(κ, λ, start, zigzag, swing, polyak),
        _table(κ, alpha, λ, start, α_best, η_best, broken),
        _worked(),
    ]


def _two_steps(broken: str) -> Part:
    """θ = 1, g = 0.4 then −0.2, η = 0.1, α = 0.9: plain 0.98, momentum 0.944."""
    from workings import exact

    θ, v = exact("1"), exact("0")
    for gradient in ("2/5", "-1/5"):
        v = exact("0") if broken == "velocity forgotten" else v
        θ, v = momentum(θ, v, exact(gradient), exact("1/10"), exact("9/10"))  # type: ignore[assignment]
    return equal(
        "Velocity carries past a reversed gradient: g = 0.4, −0.2 lead to 0.944, where plain descent ends at 0.98",
        θ,
        exact("118/125"),
        "α v₁ = −0.036 outweighs −η g₂ = 0.02",
    )


def _worked() -> Part:
    from workings import exact, show

    given = (exact("24/25"), exact("-1/25"), exact("-1/5"), exact("1/10"), exact("9/10"))
    return Worked("The second step with momentum, by hand", show(momentum, *given))


def _pictures(κ: float, λ: Tensor, start: Tensor, zigzag: Tensor, swing: Tensor, polyak: Tensor) -> list[Part]:
    wide, high = 1.15 * abs(float(start[0])), 1.6 * abs(float(start[1]))
    x, y = torch.linspace(-wide, wide, 61), torch.linspace(-high, high, 61)
    f = (λ[0] * x**2 + λ[1] * y[:, None] ** 2) / 2
    shown = {"plain, η = 1.8/λ": zigzag, "momentum, same rate": swing, "momentum, Polyak's rate": polyak}
    paths: dict[str, tuple[Numbers, Numbers]] = {
        name: (path[:30, 0].tolist(), path[:30, 1].tolist()) for name, path in [*shown.items()][:2]
    }
    count = 201
    lengths = {name: path.norm(dim=-1).clamp(min=1e-12) / start.norm() for name, path in shown.items()}
    law = (κ - 1) / (κ + 1)
    laws = [
        Line("((κ−1)/(κ+1))ᵗ", [law**t for t in range(count)], dashed=True),
        Line("((√κ−1)/(√κ+1))ᵗ", [max(1e-12, ((sqrt(κ) - 1) / (sqrt(κ) + 1)) ** t) for t in range(count)], dashed=True),
    ]
    lines = [Line(name, length[:count].tolist()) for name, length in lengths.items()]
    return [
        Surface(
            f"Thirty steps in a ravine, κ = {κ:g}", x.tolist(), y.tolist(), f.tolist(), paths, "along", "across", log=True
        ),
        Curves(
            "How far the minimum still is",
            list(range(count)),
            [*lines, *laws],
            "step",
            "distance, of the first",
            yscale="log",
        ),
    ]


def _table(κ: float, alpha: float, λ: Tensor, start: Tensor, α_best: float, η_best: float, broken: str) -> Part:
    rows: list[list[Cell]] = []
    for name, η, α in (
        ("plain, best rate", 2 / (1 + κ), 0.0),
        ("plain, 1.8/λ", 1.8 / κ, 0.0),
        ("plain, beyond the edge", 2.2 / κ, 0.0),
        (f"momentum {alpha:g}, 1.8/λ", 1.8 / κ, alpha),
        (f"momentum {alpha:g}, 2.2/λ", 2.2 / κ, alpha),
        ("momentum, Polyak", η_best, α_best),
    ):
        path = _path(start, λ, η, α, int(_STEPS_PER_CONDITION * κ), broken)
        arrived = bool(path[-1].norm() < _NEAR * path[0].norm())
        changes = _sign_changes(path[:101, 1])
        rows.append([name, η, α, _arrival(path) if arrived else "never", changes])
    return Table(
        "Plain descent and momentum",
        ["", "η", "α", "steps to 10⁻⁶", "sides changed in 100 steps"],
        rows,
        f"½κ ln 10⁶ = {κ / 2 * log(1e6):.0f}, ½√κ ln 10⁶ = {sqrt(κ) / 2 * log(1e6):.0f}",
    )
