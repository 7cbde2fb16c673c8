r"""A key of attention grows by a factor α: where it gains weight, where it loses weight, and where nothing changes.

    h′ = (h + a (r − 1) v) / (1 + a (r − 1)),  r = e^(β(α−1)s)      exactly
    Δh = β a (α − 1) s (v − h) + ρ,  |ρ| ≤ x² ‖v − h₋‖ / (12√3),  x = β(α − 1)s      near α = 1

`workings.course.perturbation` has the formulas; h₋ is the average of the other values.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from workings.course.perturbation import key_scaling as key_scaling_law
from workings.course.perturbation import key_scaling_change, with_column
from workings.studies.claim import Bounds, Claim
from workings.studies.decide.proof import compared, equal, proved
from workings.studies.definition import Seed, study
from workings.studies.families.attention.perturbation import SECOND, Beta
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Worked
from workings.studies.pictures.kinds import Curves, Line


@study(rows=("A18",))
def key_scaling(
    alpha: Annotated[float, Range(1.01, 50, "the statements are about a key that grows"), "factor α of the key"] = 2.0,
    beta: Beta = 1.0,
    score: Annotated[float, Range(0.2, 5, "the queries have the scores s, −s and 0"), "score s of the first query"] = 1.0,
    seed: Seed = 0,
    broken: Literal["", "scores without their sign"] = "",
) -> list[Part]:
    """A key that grows gains weight where its score is positive, loses it where negative, and keeps it where zero.

    «It gains weight for every query» is false. Three queries have the scores s, −s and 0 with the key that grows.
    """
    g = torch.Generator().manual_seed(seed)
    Q = torch.tensor([[score, -score, 0.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
    K, V = torch.eye(2, dtype=torch.float64), torch.randn(2, 2, generator=g, dtype=torch.float64)

    def grown(α: float) -> tuple[Tensor, Tensor]:
        """The weights of the key, and the outputs."""
        S = with_column(K, 0, α * K[:, 0]).mT @ Q
        A = (beta * (S.abs() if broken else S)).softmax(-2)
        return A[0], V @ A

    (a, H), (a_new, H_new) = grown(1.0), grown(alpha)
    small = 1 + (alpha - 1) / 100
    error = (grown(small)[1] - H - key_scaling_change(Q, K, V, 0, small, beta)).norm(dim=0)
    bound = (beta * (small - 1) * Q[0]) ** 2 * (V[:, 0] - V[:, 1]).norm() * SECOND / 2
    far = 1 + 60 / (beta * score)
    claims = [
        _formula(broken),
        proved(
            "The weight rises for the query with a positive score, falls for the negative one, stays for the zero one",
            [*(a_new - a).sign().int().tolist()] == [1, -1, 0],
            f"the weights go from {_few(a)} to {_few(a_new)}",
            "r > 1, r < 1 and r = 1",
        ),
        compared(
            "Δh = β a (α − 1) s (v − h) to first order near α = 1: the error is at most (β(α − 1)s)²‖v − h₋‖/(12√3)",
            float((error[:2] / bound[:2]).max()),
            Bounds(high=1),
            "largest error over its bound",
            reference="Taylor's theorem; |σ″| ≤ 1/(6√3)",
        ),
        compared(
            "As α → ∞ the three weights tend to 1, 0 and what the third was",
            float((grown(far)[0] - torch.tensor([1.0, 0.0, 0.5], dtype=torch.float64)).abs().max()),
            Bounds(high=1e-9),
            f"distance from (1, 0, ½) at α = {far:.3g}",
            reference="r → ∞, r → 0 and r = 1",
        ),
    ]
    if broken:
        return [*claims]
    names = (f"score {score:g}", f"score −{score:g}", "score 0")
    first_order = H + key_scaling_change(Q, K, V, 0, alpha, beta)
    figures = torch.stack([a, a_new, H[0], H_new[0], first_order[0]]).mT.tolist()
    sweep = [1 + (max(alpha, 4) - 1) * k / 40 for k in range(41)]
    weights, outputs = zip(*(grown(α) for α in sweep), strict=True)
    away = (torch.stack(outputs) - V[:, [0]]).norm(dim=1)
    return [
        *claims,
        Table(
            f"The key grows by α = {alpha:g}",
            ["query", "a", "a′", "h", "h′", "h′ to first order"],
            [[name, *row] for name, row in zip(names, figures, strict=True)],
            "the first entry of h",
        ),
        Curves(
            "The weight of a key that grows, for three queries",
            sweep,
            [Line(name, torch.stack(weights)[:, j].tolist()) for j, name in enumerate(names)],
            xlabel="α",
            ylabel="weight of the key",
        ),
        Curves(
            "The outputs move towards the value of the key, away from it, or not at all",
            sweep,
            [Line(name, away[:, j].tolist()) for j, name in enumerate(names)],
            xlabel="α",
            ylabel="‖h − v‖",
        ),
        Worked("Scores 1, −1 and 0, and α = 2", _shown()),
    ]


def _formula(broken: str) -> Claim:
    """Proved with a letter for α, so for every α."""
    from workings import exact

    α = exact("alpha")
    Q, K, V = exact("1 -1 0; 0 0 0"), exact("1 0; 0 1"), exact([[1, 0]])
    S = with_column(K, 0, α * K[:, 0]).mT @ Q
    true: Any = V @ (S.abs() if broken else S).softmax(-2)
    formula: Any = key_scaling_law(Q, K, V, 0, α)
    sentence = "h′ = (h + a(r − 1)v)/(1 + a(r − 1)) with r = e^(β(α − 1)s), for every α"
    return equal(sentence, formula, true, "algebra with a letter for α")


def _few(x: Tensor) -> str:
    return ", ".join(f"{one:.4g}" for one in x.tolist())


def _shown() -> Any:
    from workings import exact, show

    return show(key_scaling_law, exact("1 -1 0; 0 0 0"), exact("1 0; 0 1"), exact([[1, 0]]), 0, exact(2))
