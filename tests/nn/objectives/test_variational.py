"""KL divergences and reparameterisation: closed form, PyTorch's, draws."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.distributions import Normal, kl_divergence
from torch.testing import assert_close

from workings import exact
from workings.errors import DomainError
from workings.nn.objectives.variational import (
    elbo,
    gaussian_kl,
    gaussian_kl_between,
    gaussian_kl_by_draws,
    kl,
    log_gaussian,
    reparameterised,
)

reals = st.lists(st.floats(-3, 3), min_size=3, max_size=3).map(lambda v: torch.tensor(v, dtype=torch.float64))


def test_kl_by_hand():
    # ¼ log(½) + ¼ log 2 + ½ log(4/3) = ½ log(4/3)
    q, p = exact("1/4 1/4 1/2"), exact("1/2 1/8 3/8")
    assert exact.equal(kl(q, p), exact("log(4/3)/2"))
    assert_close(kl(q.float64(), p.float64()).item(), 0.143841, atol=1e-6, rtol=0)


def test_an_outcome_never_taken_counts_zero():
    assert exact.equal(kl(exact("0 1"), exact("1/2 1/2")), exact("log(2)"))
    assert kl(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 1.0])) == 0
    assert kl(torch.tensor([0.5, 0.5]), torch.tensor([0.0, 1.0])) == torch.inf


def test_kl_in_letters():
    q = exact.symbols("q_v", shape=2)
    assert exact.equal(kl(q, exact("1/2 1/2")), (q * torch.log(2 * q)).sum())


@given(reals, reals)
def test_kl_is_never_negative_and_not_symmetric(a, b):
    q, p = a.softmax(-1), b.softmax(-1)
    assert kl(q, p) >= -1e-12
    assert abs(kl(q, q).item()) < 1e-12
    assert_close(kl(q, p), torch.nn.functional.kl_div(p.log(), q, reduction="sum"))


@given(reals, reals, reals, reals)
def test_gaussian_kl_is_pytorchs(μ, s, μ_p, s_p):
    q = Normal(μ, (s / 2).exp())
    assert_close(gaussian_kl(μ, s), kl_divergence(q, Normal(torch.zeros(3).double(), 1)).sum())
    assert_close(gaussian_kl_between(μ, s, μ_p, s_p), kl_divergence(q, Normal(μ_p, (s_p / 2).exp())).sum())
    assert_close(log_gaussian(μ_p, μ, s), q.log_prob(μ_p).sum())


def test_gaussian_kl_in_letters():
    μ, s = exact.symbols("mu_v", shape=1), exact.symbols("s_v", shape=1)
    assert exact.equal(gaussian_kl(μ, s), exact("(mu_v_1^2 + e^s_v_1 - 1 - s_v_1)/2"))
    zero = exact.zeros(1)
    assert exact.equal(gaussian_kl_between(μ, s, zero, zero), gaussian_kl(μ, s))


def test_the_closed_form_agrees_with_draws():
    μ, s = torch.tensor([0.5, -1.0], dtype=torch.float64), torch.tensor([0.3, -0.7], dtype=torch.float64)
    estimate, error = gaussian_kl_by_draws(μ, s, 20_000, torch.Generator().manual_seed(1))
    assert error < 0.02
    assert abs(estimate - gaussian_kl(μ, s)) < 3 * error


def test_a_reparameterised_draw_has_its_mean_and_spread():
    μ, s = torch.tensor([2.0]), torch.tensor([0.5]).log() * 2  # σ = ½
    z = reparameterised(μ, s, torch.randn(20_000, 1, generator=torch.Generator().manual_seed(0)))
    assert_close(z.mean().item(), 2.0, atol=0.02, rtol=0)
    assert_close(z.std().item(), 0.5, atol=0.02, rtol=0)


def test_gradients_reach_the_parameters_of_the_draw():
    μ, s = exact.symbols("mu_r s_r")
    μ, s = μ.requires_grad_(), s.requires_grad_()
    reparameterised(μ, s, exact("3")).backward()
    assert exact.equal(μ.grad, exact("1")) and exact.equal(s.grad, exact("3*e^(s_r/2)/2"))


def test_the_bound_takes_the_divergence_away():
    assert elbo(torch.tensor([-2.0]), torch.tensor([0.5])).item() == -2.5


def test_one_draw_has_no_standard_error():
    with pytest.raises(DomainError) as error:
        gaussian_kl_by_draws(torch.zeros(1), torch.zeros(1), 1)
    assert str(error.value) == "An estimate with a standard error needs at least 2 draws, not 1."
