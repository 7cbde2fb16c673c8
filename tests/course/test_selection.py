"""Copying and averaging by attention: closed forms against attention itself, and the variance of one and two heads."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from workings import exact
from workings.course.selection import (
    averaging_query,
    averaging_strength,
    averaging_weight,
    copy_weight,
    gap_for,
    normal_mean,
    one_head_weight,
    projection,
    two_head_weight,
    two_queries,
    winner_bound,
)
from workings.nn.transformer.dot_product import attention_query


def doubles(values):
    return torch.tensor(values, dtype=torch.float64)


def test_average_of_two():
    # q = λ(k_1 + k_2) over ten orthonormal keys
    λ = exact("1 5 10")
    assert_close(averaging_weight(λ, 10).float64(), doubles([0.202305, 0.486878, 0.499909]), atol=1e-6, rtol=0)
    K = exact.eye(10)
    for k in range(3):
        α = attention_query(averaging_query(K[0], K[1], λ[k]), K, K)
        assert exact.equal(α[:2], averaging_weight(λ[k], 10).expand(2))


def test_the_strength_for_a_tolerance():
    assert exact.equal(averaging_weight(averaging_strength(exact("1/100"), 10), 10), exact("49/100"))


def test_two_queries():
    # e¹⁰ / (9 + e¹⁰) in each head
    a = copy_weight(exact("10"), 10)
    assert exact.equal(a, exact("exp(10)/(9+exp(10))"))
    assert_close(a.float64(), doubles(0.999592), atol=1e-6, rtol=0)
    K = exact.eye(10)
    c = two_queries(10 * K[0], 10 * K[1], K, K)
    assert exact.equal(c[0], (a + (1 - a) / 9) / 2)
    assert exact.equal(c[0], c[1])


@given(st.lists(st.floats(-3, 0), min_size=1, max_size=5), st.floats(0.1, 3), st.floats(0.1, 4))
def test_the_bound_of_the_winner(others, gap, beta):
    s = doubles([gap, *others]) * beta
    bound = winner_bound(doubles(gap), len(s), beta).item()
    assert s.softmax(-1)[0].item() >= bound - 1e-12


def test_the_bound_is_reached_by_ties_behind_the_winner():
    assert exact.equal(winner_bound(exact("log(6)"), 3), exact("log(6) 0 0").softmax(-1)[0])
    assert exact.equal(winner_bound(gap_for(exact("999/1000"), 50, 2), 50, 2), exact("999/1000"))


@pytest.mark.parametrize(
    ("λ", "one_mean", "one_var", "first_mean", "two_var", "given_mean", "given_var"),
    [
        (5, 0.497315, 0.149029, 0.402143, 0.0219351, 0.433696, 0.0110968),
        (10, 0.49999, 0.195321, 0.437439, 0.0203133, 0.473107, 0.00582473),
        (20, 0.5, 0.222019, 0.450726, 0.0191648, 0.488276, 0.00284116),
        (100, 0.5, 0.24436, 0.458943, 0.0183068, 0.497919, 0.000546307),
    ],
)
def test_one_head_jumps_and_two_do_not(λ, one_mean, one_var, first_mean, two_var, given_mean, given_var):
    # γ ~ N(0, ½), six keys; the table's means leave out what the second head gives to v_a, ½ / (e^λ + 5)
    def moments(f, above=-torch.inf):
        mean = normal_mean(f, 0.5, above)
        return mean.item(), normal_mean(lambda γ: (f(γ) - mean) ** 2, 0.5, above).item()

    second = (0.5 / (doubles(λ).exp() + 5)).item()
    mean, var = moments(lambda γ: one_head_weight(λ, γ, 6))
    assert (mean, var) == (pytest.approx(one_mean, abs=1e-5), pytest.approx(one_var, rel=1e-5))
    mean, var = moments(lambda γ: two_head_weight(λ, γ, 6))
    assert (mean - second, var) == (pytest.approx(first_mean, abs=1e-5), pytest.approx(two_var, rel=1e-5))
    mean, var = moments(lambda γ: two_head_weight(λ, γ, 6), above=-1.0)
    assert (mean - second, var) == (pytest.approx(given_mean, abs=1e-5), pytest.approx(given_var, rel=1e-5))


def test_closed_forms_are_what_attention_does():
    μ = exact.eye(6)
    K = torch.cat((exact("3/2") * μ[:1], μ[1:]))  # γ = ½
    one = attention_query(2 * (μ[0] + μ[1]), K, μ)[0]
    assert exact.equal(one, one_head_weight(2, exact("1/2"), 6))
    two = two_queries(2 * μ[0], 2 * μ[1], K, μ)[0]
    assert exact.equal(two, two_head_weight(2, exact("1/2"), 6))


def test_the_mean_of_a_normal():
    assert_close(normal_mean(lambda γ: γ**4, 0.5), doubles(3 * 0.25))
    assert_close(normal_mean(lambda γ: γ, 1.0, above=0.0), doubles((2 / torch.pi) ** 0.5))


def test_projection_takes_one_summand_out():
    basis = torch.linalg.qr(torch.randn(7, 5, dtype=torch.float64)).Q
    A, B = basis[:, :3], basis[:, 3:]
    M = projection(A)
    v_a, v_b = A @ doubles([1.0, -2, 3]), B @ doubles([4.0, 5])
    assert_close(M @ (v_a + v_b), v_a)
    assert_close(M @ M, M)
    assert_close(M, M.T)
    assert torch.linalg.matrix_rank(M) == 3
    slanted = B[:, :1] + A[:, :1]  # no longer orthogonal: something of v_b comes through
    assert not torch.allclose(M @ slanted, torch.zeros(7, 1, dtype=torch.float64))


def test_projection_exactly():
    M = projection(exact("3/5; 4/5"))
    assert exact.equal(M, exact("9/25 12/25; 12/25 16/25"))
    assert exact.equal(M @ exact([-1, 7]), exact("3 4"))
