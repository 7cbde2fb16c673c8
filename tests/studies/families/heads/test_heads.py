"""Several values and heads: the tabulated means and variances, and integrals against another quadrature."""

import pytest
import torch

from workings.course.selection import normal_mean, one_head_weight, two_head_weight
from workings.errors import WorkingsError
from workings.studies.families.heads.heads import random_length, two_heads
from workings.studies.families.heads.mixtures import averaging_query, projection, random_keys


def claim(parts, words):
    return next(part for part in parts if words in getattr(part, "sentence", ""))


def table(parts, words=""):
    return next(part for part in parts if hasattr(part, "columns") and hasattr(part, "rows") and words in part.title)


def test_variances_of_one_head_and_of_two():
    # λ: one head, two heads, two heads with a positive score
    true = {
        5: (0.149029, 0.0219351, 0.0110968),
        10: (0.195321, 0.0203133, 0.00582473),
        20: (0.222019, 0.0191648, 0.00284116),
    }
    rows = {row[0]: row for row in table(two_heads(), "The weight of v_a").rows}
    for λ, variances in true.items():
        assert rows[λ][2::2] == pytest.approx(variances, abs=1e-6)


def test_certified_integrals_are_those_of_a_plain_quadrature():
    rows = {row[0]: row for row in table(two_heads(variance=0.7), "The weight of v_a").rows}
    for λ in (7.0, 20.0):
        mean = normal_mean(lambda γ, λ=λ: two_head_weight(λ, γ, 6), 0.7)
        square = normal_mean(lambda γ, λ=λ: two_head_weight(λ, γ, 6) ** 2, 0.7)
        assert rows[λ][3:5] == pytest.approx([mean.item(), (square - mean**2).item()], abs=1e-8)


def test_the_variance_of_one_head_is_above_its_law():
    rows = table(random_length(), "Variance of the weight").rows
    assert all(found >= law for _, found, law in rows)
    assert rows[-1][1] == pytest.approx(0.24436, abs=1e-5)


def test_a_weight_is_the_logistic_function_up_to_a_small_rest():
    γ = torch.linspace(-3, 3, 1001, dtype=torch.float64)
    for λ, n in ((5.0, 6), (8.0, 40)):
        difference = (one_head_weight(λ, γ, n) - torch.sigmoid(λ * γ)).abs().max().item()
        assert difference <= (n - 2) * torch.exp(torch.tensor(-λ)).item() / 4 + 1e-12


def test_probability_of_a_negative_score():
    assert "closed form 0.0786" in claim(two_heads(), "is negative").evidence


def test_weights_of_a_query_that_averages():
    rows = {row[0]: row[2] for row in table(averaging_query()).rows}
    assert [rows[λ] for λ in (1, 5, 10)] == pytest.approx([0.202305, 0.486878, 0.499909], abs=1e-6)


def test_a_projection_leaks_the_cosine():
    assert [row[1] for row in table(projection()).rows] == pytest.approx([row[2] for row in table(projection()).rows])


def test_noise_that_is_too_large_for_an_average():
    rows = {row[0]: row for row in table(random_keys()).rows}
    assert rows[0.1][1] == pytest.approx(0.1**2 / 8, rel=0.15) and rows[5.0][1] > 0.15


def test_a_variance_out_of_range():
    with pytest.raises(WorkingsError) as error:
        two_heads(variance=0.01)
    said = "variance goes from 0.4 to 1: with less, the score hardly ever turns negative; got 0.01."
    assert str(error.value) == said
