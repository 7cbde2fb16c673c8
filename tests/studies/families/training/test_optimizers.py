"""Ravines: the law of momentum against the eigenvalues of its step."""

from __future__ import annotations

from cmath import sqrt as complex_sqrt

import pytest
import torch

from workings.errors import WorkingsError
from workings.studies.families.training.optimizers import _largest_rate, _path, _shrinks_by, ravine


@pytest.mark.parametrize("rate, alpha", [(0.01, 0.0), (0.015, 0.5), (0.03, 0.9)])
def test_a_path_shrinks_by_the_largest_root(rate: float, alpha: float) -> None:
    # r² − (1 + α − ηλ) r + α = 0 for λ = 1 and λ = 100
    roots = []
    for curvature in (1, 100):
        b = 1 + alpha - rate * curvature
        roots += [abs(b + sign * complex_sqrt(b * b - 4 * alpha)) / 2 for sign in (1, -1)]
    path = _path(torch.tensor([1.0, 1.0]).double(), torch.tensor([1.0, 100.0]).double(), rate, alpha, 1500, "")
    assert _shrinks_by(path) == pytest.approx(max(roots), abs=2e-3)


def test_the_largest_rates_by_hand() -> None:
    assert _largest_rate(16, 0.0, "") == pytest.approx(1 / 8, rel=2e-3)  # 2/16
    assert _largest_rate(16, 0.5, "") == pytest.approx(3 / 16, rel=2e-3)  # 2 · 1.5/16


def test_a_round_bowl_is_refused() -> None:
    with pytest.raises(WorkingsError) as caught:
        ravine(kappa=1.0)
    assert (
        str(caught.value) == "kappa goes from 4 to 1000: a round bowl is no ravine, a narrower one takes minutes; got 1.0."
    )
