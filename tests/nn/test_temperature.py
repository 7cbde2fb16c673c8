"""Softmax with β and T, its Jacobian, and how sharp a probability vector is."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from workings import exact
from workings.errors import DomainError, WorkingsError
from workings.nn.temperature import effective_keys, entropy, softmax, softmax_jacobian, variance

VECTORS = st.lists(st.floats(-30, 30), min_size=1, max_size=6)


def doubles(values):
    return torch.tensor(values, dtype=torch.float64)


def test_softmax_of_1_2_3():
    # e^(1−1) : e^(2−1) : e^(3−1) = 1 : e : e², and their sum is 1 + e + e²
    p = softmax(exact("1 2 3"))
    assert exact.equal(p, exact("1/(1+e+e^2) e/(1+e+e^2) e^2/(1+e+e^2)"))
    assert [round(x, 6) for x in p.tolist()] == [0.090031, 0.244728, 0.665241]


@pytest.mark.parametrize(
    ("multiplier", "rounded"), [(1, [0.09, 0.24, 0.67]), (2, [0.02, 0.12, 0.87]), (3, [0.00, 0.05, 0.95])]
)
def test_larger_logits_are_sharper(multiplier, rounded):
    p = softmax(doubles([1, 2, 3]), beta=multiplier)
    assert [round(x, 2) for x in p.tolist()] == rounded


def test_three_times_the_logits():
    p = softmax(exact("3 6 9"))
    assert exact.equal(p, exact("1/(1+e^3+e^6) e^3/(1+e^3+e^6) e^6/(1+e^3+e^6)"))
    assert exact.equal(p, softmax(exact("1 2 3"), beta=3))
    assert_close(p.float64(), doubles([0.00235563, 0.0473142, 0.95033]), atol=5e-7, rtol=0)


def test_temperature_10():
    p = softmax(exact("4 3 2 1"), T=10)
    sum_ = "(exp(1/10) + exp(1/5) + exp(3/10) + exp(2/5))"
    assert exact.equal(p, exact([f"exp({x})/{sum_}" for x in ("2/5", "3/10", "1/5", "1/10")]))
    assert_close(p.float64(), doubles([0.288651, 0.261183, 0.236328, 0.213838]), atol=1e-6, rtol=0)
    assert_close(softmax(doubles([4, 3, 2, 1]), T=1), doubles([0.643914, 0.236883, 0.0871443, 0.0320586]), atol=1e-6, rtol=0)


def test_a_large_temperature_is_a_small_beta():
    s = exact("1 2 3")
    assert exact.equal(softmax(s, T=10), softmax(s, beta=exact("1/10")))
    assert_close(softmax(s, T=10).float64(), doubles([0.30061, 0.332225, 0.367165]), atol=1e-6, rtol=0)
    assert_close(softmax(s, T=exact("1/10")).float64()[2], doubles(0.999955), atol=1e-6, rtol=0)


def test_a_temperature_without_a_short_inverse_stays_exact():
    # e^(T/T) : e^0 = e : 1; the float 1/T would not be the one of 1000/123457
    p = softmax(exact([123.457, 0]), T=123.457)
    assert exact.equal(p, exact("e/(1+e) 1/(1+e)"))
    assert {note.kind for note in p.assumptions} == {"recovered"}


def test_letters():
    p = softmax(exact("0 1"), beta=exact("b_softmax"))
    assert exact.equal(p[1], exact("exp(b_softmax)/(1 + exp(b_softmax))"))
    q = softmax(exact("0 1"), T=exact("t_softmax"))
    assert exact.equal(q[1], exact("exp(1/t_softmax)/(1 + exp(1/t_softmax))"))


@given(VECTORS, st.floats(0.1, 5), st.floats(-20, 20))
def test_positive_sums_to_one_and_ignores_shifts(s, beta, shift):
    p = softmax(doubles(s), beta)
    assert (p > 0).all()
    assert_close(p.sum(), doubles(1.0))
    assert_close(softmax(doubles(s) + shift, beta), p, rtol=1e-9, atol=1e-12)


def test_huge_scores_are_stable_and_tiny_weights_underflow_only_in_floats():
    assert softmax(doubles([1000.0, 0.0])).tolist() == [1.0, 0.0]
    assert exact.equal(softmax(exact("1000 0"))[1], exact("1/(1 + exp(1000))"))


def test_other_axis():
    S = torch.randn(3, 4, dtype=torch.float64)
    assert_close(softmax(S, 2.0, dim=0), torch.softmax(2 * S, dim=0))
    assert_close(softmax(S), torch.softmax(S, dim=1))


@pytest.mark.parametrize("T", [0, -1, 0.0])
def test_no_temperature_of_zero(T):
    with pytest.raises(DomainError) as error:
        softmax(doubles([1, 2]), T=T)
    assert str(error.value) == f"Softmax needs a temperature T > 0, not {T}. Its limit for T → 0 is argmax_weights(s)."


def test_no_infinite_beta():
    with pytest.raises(DomainError) as error:
        softmax(doubles([1, 2]), beta=math.inf)
    assert str(error.value) == "Softmax needs a finite β. Its limit for β → ∞ is argmax_weights(s)."


def test_not_both():
    with pytest.raises(WorkingsError) as error:
        softmax(doubles([1, 2]), beta=1, T=1)
    assert str(error.value) == "Softmax takes the inverse scale β or the temperature T = 1/β, not both: leave one out."


def test_jacobian_of_0_1_2():
    J = softmax_jacobian(exact("0 1 2"))
    n = "(1+e+e^2)^2"
    rows = [["e*(1+e)", "-e", "-e^2"], ["-e", "e*(1+e^2)", "-e^3"], ["-e^2", "-e^3", "(1+e)*e^2"]]
    assert exact.equal(J, exact([[f"({x})/{n}" for x in row] for row in rows]))


@pytest.mark.parametrize(("multiplier", "norm"), [(1, 0.38939), (2, 0.21298), (3, 0.0912086)])
def test_the_jacobian_vanishes_as_the_softmax_saturates(multiplier, norm):
    assert_close(softmax_jacobian(multiplier * doubles([1, 2, 3])).norm(), doubles(norm), atol=1e-6, rtol=0)


@pytest.mark.parametrize("how", [{}, {"beta": 2.5}, {"T": 0.7}])
def test_jacobian_is_that_of_autograd(how):
    s = torch.randn(2, 4, dtype=torch.float64)
    for row, J in zip(s, softmax_jacobian(s, **how), strict=True):
        assert_close(J, torch.autograd.functional.jacobian(lambda x: softmax(x, **how), row))


def test_entropy_and_effective_keys():
    # ½ log 2 + ½ log 2 = log 2; the third key has no weight and adds nothing
    assert exact.equal(entropy(exact("1/2 1/2 0")), exact("log(2)"))
    assert exact.equal(effective_keys(exact("1/2 1/2 0")), exact("2"))
    assert exact.equal(entropy(exact("0 1 0")), exact("0"))
    p = softmax(torch.randn(5, 3, dtype=torch.float64))
    assert_close(entropy(p), torch.distributions.Categorical(p).entropy())


@pytest.mark.parametrize(
    ("p", "value"),
    [("1/4 1/4 1/4 1/4", "0"), ("97/100 1/100 1/100 1/100", "108/625"), ("1 0 0 0", "3/16")],
)
def test_variance(p, value):
    # (0.97 − 0.25)² + 3 (0.01 − 0.25)² = 0.5184 + 0.1728 = 0.6912, a quarter of it 0.1728
    assert exact.equal(variance(exact(p)), exact(value))
    assert_close(variance(exact(p).float64()), exact(value).float64())


@given(VECTORS)
def test_variance_lies_between_uniform_and_one_hot(s):
    n = len(s)
    assert -1e-12 <= variance(softmax(doubles(s))).item() <= (n - 1) / n**2 + 1e-12
