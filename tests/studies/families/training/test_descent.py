"""Learning rates: the course's numbers, and the sharpness against the whole Hessian."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from workings import exact
from workings.errors import WorkingsError
from workings.studies.families.training.batched_networks import BatchedNetworks
from workings.studies.families.training.descent import _edge_of_quadratic, _step, learning_rate


def test_one_step_with_three_rates() -> None:
    found = [_step(exact("3/10"), exact(rate), "").text() for rate in ("1/10", "1", "3")]
    assert found == ["31/50", "7/2", "99/10"]


def test_the_edge_of_a_quadratic_moves_with_the_gradient() -> None:
    found, steepest = _edge_of_quadratic(seed=3, factor=1.0)
    assert found == pytest.approx(2 / steepest, rel=5e-3)
    halved, _ = _edge_of_quadratic(seed=3, factor=1.5)
    assert halved == pytest.approx(4 / 3 / steepest, rel=5e-3)


def test_the_sharpness_is_the_largest_eigenvalue_of_the_hessian() -> None:
    g = torch.Generator().manual_seed(0)
    networks = BatchedNetworks(2, [1, 3, 1], g)
    x = torch.linspace(-1, 1, 5, dtype=torch.float64)[:, None]
    y = x**2
    found = networks.sharpness(lambda: networks.squared_losses(x, y), networks.parameters, g, turns=400)

    def loss(*parameters: torch.Tensor) -> torch.Tensor:
        W, b, V, c = parameters
        return ((torch.tanh(x @ W + b) @ V + c - y) ** 2).mean() / 2

    for i in range(2):
        given = tuple(p[i].detach() for p in networks.parameters)
        blocks = torch.autograd.functional.hessian(loss, given)
        rows = [torch.cat([block.reshape(p.numel(), -1) for block in row], 1) for p, row in zip(given, blocks, strict=True)]
        assert_close(found[i], torch.linalg.eigvalsh(torch.cat(rows)).abs().max(), rtol=1e-3, atol=0)


def test_a_start_beyond_the_picture_is_refused() -> None:
    with pytest.raises(WorkingsError, match=r"start goes from -2 to 3: other starts leave the picture; got 4.0."):
        learning_rate(start=4.0)
