"""One key or query moves: the figures of the worked example, and the remainders that the claims rest on."""

from math import sqrt

import pytest
import torch

from workings.errors import WorkingsError
from workings.studies import run
from workings.studies.decide.certified import ends
from workings.studies.families.attention import perturbation
from workings.studies.families.attention.key_scaling import key_scaling
from workings.studies.families.attention.perturbation import FOURTH, SECOND, THIRD, key_noise, query_noise


def claim(parts, words):
    return next(part for part in parts if words in getattr(part, "sentence", ""))


def test_largest_derivatives_of_the_logistic_function():
    # σ⁽ᵏ⁾ over a fine grid, by autograd
    x = torch.linspace(-8, 8, 400_001, dtype=torch.float64, requires_grad=True)
    y = torch.sigmoid(x)
    largest = []
    for _ in range(4):
        (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        largest.append(y.abs().max().item())
    assert largest == pytest.approx([1 / 4, SECOND, THIRD, FOURTH], abs=1e-4)
    assert all(found <= bound + 1e-12 for found, bound in zip(largest[1:], (SECOND, THIRD, FOURTH), strict=True))


def test_mean_of_gaussian_noise_on_a_key():
    # a = ¾, s = ½: second order −3/256 = −0.0117188; the integral itself is −0.0108736
    low, high = ends(perturbation._certified_mean(0.75, 0.5))
    assert low == pytest.approx(-0.0108736, abs=1e-7) and high - low < 1e-12


def test_the_integral_is_what_draws_average_to():
    parts = key_noise(sigma=0.5, beta=2.0, weight=0.3, samples=200_000, seed=3)
    integral = claim(parts, "The mean of the weight moves")
    draws = claim(parts, "Draws of the noise")
    low, high = draws.interval
    assert low < integral.interval[0] < high


def test_fractions_of_the_two_point_noise():
    worked = key_noise()[-1].work.text()
    for fraction in ("3/4", "6/7", "3/5", "51/70", "−3/140"):
        assert fraction in worked
    assert "left [15/16]" in claim(key_noise(broken="no renormalisation"), "51/70").evidence


def test_a_query_moves_one_column_and_a_key_all_of_them():
    table = next(part for part in query_noise() if hasattr(part, "columns") and hasattr(part, "note") and part.rows)
    assert [row[1:3] for row in table.rows] == [[1, 1], [3, 3]]


def test_weights_of_a_key_that_doubles():
    # scores 1, −1, 0 become 2, −2, 0: σ(2), σ(−2), ½
    parts = key_scaling(alpha=2.0)
    assert "to 0.8808, 0.1192, 0.5" in claim(parts, "rises").evidence
    h = next(part for part in parts if hasattr(part, "columns"))
    assert [row[2] for row in h.rows] == pytest.approx([0.880797, 0.119203, 0.5], abs=1e-6)


@pytest.mark.parametrize("sigma, beta", [(0.02, 0.2), (0.5, 2.0)])
def test_the_laws_hold_to_the_ends_of_their_ranges(sigma, beta):
    result = run(key_noise, {"sigma": sigma, "beta": beta, "keys": 2})
    assert {claim.verdict.value for claim in result.claims} == {"holds"}


def test_noise_out_of_range():
    with pytest.raises(WorkingsError) as error:
        key_noise(sigma=3.0)
    said = "sigma goes from 0.02 to 0.5: the laws are about small noise; beyond, higher orders count; got 3.0."
    assert str(error.value) == said
    assert pytest.approx(1 / (6 * sqrt(3))) == SECOND
