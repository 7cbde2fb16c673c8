"""One key or one query of attention moves, or a key grows: what changes, to first and second order, and exactly.

Column convention: S = Kᵀ Q, A = softargmax_β(S), H = V A (`workings.course.perturbation`).
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch

from workings.course.perturbation import key_noise_mean, parts, with_column
from workings.studies.claim import Bounds
from workings.studies.decide.sequential import measured
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part

_SMALL = "the laws are about small noise; beyond, higher orders count"


@study(rows=("A16",), thorough={"samples": 2_000_000})
def key_noise(
    sigma: Annotated[float, Range(0.01, 0.5, _SMALL), "standard deviation of the noise"] = 0.3,
    beta: Annotated[float, Range(0.1, 2, "sharper weights need smaller noise"), "inverse temperature"] = 1.0,
    keys: Annotated[int, Range(2, 64, "one key alone has weight 1 whatever it is")] = 4,
    samples: Annotated[int, Range(1_000, 10_000_000, "fewer decide nothing")] = 200_000,
    seed: Seed = 0,
    broken: Literal["", "first order only"] = "",
) -> list[Part]:
    """Noise on one key moves the mean of its weight, by the second-order law."""
    g = torch.Generator().manual_seed(seed)
    Q, K, V = (torch.randn(3, n, generator=g, dtype=torch.float64) for n in (3, keys, keys))
    _, A, _ = parts(Q, K, V, beta)
    law = torch.zeros(3) if broken else key_noise_mean(Q, K, V, 0, sigma, beta)
    j = int(law.abs().argmax()) if not broken else 0

    def change(n: int) -> torch.Tensor:
        ε = sigma * torch.randn(n // 2, 3, generator=g, dtype=torch.float64)
        ε = torch.cat([ε, -ε])  # antithetic: the first order cancels
        K_moved = with_column(K.expand(len(ε), -1, -1), 0, K[:, 0] + ε)
        return parts(Q, K_moved, V, beta)[1][:, 0, j] - A[0, j]

    slack = 0.25 * abs(float(key_noise_mean(Q, K, V, 0, sigma, beta)[j]))
    wanted = Bounds(float(law[j]) - slack, float(law[j]) + slack)
    sentence = "The mean of the weight moves by ½β²σ²‖q‖² a(1 − a)(1 − 2a), within a quarter of it"
    return [
        measured(
            sentence,
            change,
            wanted,
            what="mean change of the weight",
            most=samples,
            reference="second-order Taylor expansion",
        )
    ]
