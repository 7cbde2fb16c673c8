"""The variational auto-encoder: its bound against PyTorch's distributions and against the true evidence."""

from math import log, pi

import pytest
import torch
from torch.distributions import Bernoulli, MultivariateNormal, Normal, kl_divergence
from torch.testing import assert_close

from workings import exact
from workings.errors import DomainError, ShapeError
from workings.models.vae import VAE, bernoulli_log_likelihood, gaussian_log_likelihood


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_the_bound_is_made_of_pytorchs_distributions(likelihood):
    torch.manual_seed(0)
    model = VAE(6, 2, hidden=[5], likelihood=likelihood, variance=0.25)
    x, ε = torch.rand(4, 6).round(), torch.randn(4, 2)
    μ, s = model.encode(x)
    z = μ + (s / 2).exp() * ε
    p = Bernoulli(logits=model.decoder(z)) if likelihood == "bernoulli" else Normal(model.decoder(z), 0.5)
    bound = model.bound(x, ε)
    assert_close(bound.log_likelihood, p.log_prob(x).sum(-1))
    assert_close(bound.kl, kl_divergence(Normal(μ, (s / 2).exp()), Normal(0.0, 1.0)).sum(-1))
    assert_close(bound.elbo, bound.log_likelihood - bound.kl)
    assert_close(model.loss(x, ε), -bound.elbo.mean())


def linear_gaussian():
    """p(x|z) = N(a z + c, v): the evidence is known, N(c, a aᵀ + v I), and so is the posterior."""
    a, c, v = torch.tensor([[1.0], [-0.5]]).double(), torch.tensor([0.3, 0.1]).double(), 0.5
    model = VAE(2, 1, likelihood="gaussian", variance=v).double()
    precision = 1 + (a.T @ a).item() / v
    with torch.no_grad():
        model.decoder[0].weight.copy_(a)
        model.decoder[0].bias.copy_(c)
        mean = (a.T / v / precision).squeeze(0)
        model.encoder[0].weight.copy_(torch.stack([mean, torch.zeros(2).double()]))
        model.encoder[0].bias.copy_(torch.stack([-(mean @ c), -torch.tensor(precision).double().log()]))
    return model, MultivariateNormal(c, a @ a.T + v * torch.eye(2).double())


def test_the_bound_is_the_evidence_when_the_encoder_is_the_posterior():
    model, evidence = linear_gaussian()
    x = torch.tensor([[1.0, -1.0]]).double().expand(20_000, 2)
    torch.manual_seed(0)
    with torch.no_grad():
        bound = model.bound(x).elbo.mean().item()
    assert bound == pytest.approx(evidence.log_prob(x[0]).item(), abs=0.02)


def test_the_bound_is_below_the_evidence_otherwise():
    model, evidence = linear_gaussian()
    with torch.no_grad():
        model.encoder[0].bias += torch.tensor([0.7, 0.5]).double()
        x = torch.tensor([[1.0, -1.0]]).double().expand(20_000, 2)
        torch.manual_seed(0)
        assert model.bound(x).elbo.mean().item() < evidence.log_prob(x[0]).item() - 0.1


def test_likelihoods_by_hand():
    x, logit = torch.tensor([[1.0, 0.0]]), torch.zeros(1, 2)
    assert_close(bernoulli_log_likelihood(x, logit).item(), -2 * log(2))
    # −½ (log 2πv + (3 − 1)²/v) with v = 4
    assert_close(gaussian_log_likelihood(torch.tensor([[3.0]]), torch.tensor([[1.0]]), 4.0).item(), -(log(8 * pi) + 1) / 2)


def test_exact_and_float_agree():
    torch.manual_seed(0)
    model = VAE(2, 1).double()
    x, ε = torch.tensor([[0.0, 1.0], [1.0, 1.0]]).double(), torch.tensor([[0.5], [-1.0]]).double()
    with torch.no_grad():  # a graph would hold on to the parameters
        floats = model.bound(x, ε)
    exacts = exact.exactify(model).bound(exact(x), exact(ε))
    for one, other in zip(exacts, floats, strict=True):
        assert_close(one.float64(), other)


def test_gradients_reach_both_halves():
    model = VAE(3, 2, hidden=[4])
    model.loss(torch.rand(5, 3)).backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


def test_training_raises_the_bound_and_samples_look_like_the_data():
    torch.manual_seed(0)
    # two patterns, (1, 1, 0, 0) and (0, 0, 1, 1)
    x = torch.tensor([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]).repeat(32, 1)
    model = VAE(4, 1, hidden=[8])
    before = model.loss(x).item()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(200):
        optimizer.zero_grad()
        model.loss(x).backward()
        optimizer.step()
    assert before > 2 and model.loss(x).item() < 1.4  # log 2 = 0.69 would be perfect
    samples = model.sample(200, torch.Generator().manual_seed(0))
    pure = ((samples[:, 0] - samples[:, 1]).abs() < 0.2) & ((samples[:, 0] + samples[:, 2] - 1).abs() < 0.2)
    assert pure.float().mean() > 0.9 and 0.2 < samples[:, 0].mean() < 0.8


def test_interpolation_goes_from_one_end_to_the_other():
    torch.manual_seed(0)
    model = VAE(3, 2, likelihood="gaussian")
    a, b = torch.rand(3), torch.rand(3)
    line = model.interpolate(a, b, 5)
    ends = model.decode(model.encode(torch.stack([a, b]))[0])
    assert line.shape == (5, 3)
    assert_close(line[[0, -1]], ends)
    assert_close(line[2], ends.mean(dim=0))  # the decoder is affine here


def test_samples_repeat_with_the_seed():
    model = VAE(3, 2)
    one, two = (model.sample(4, torch.Generator().manual_seed(7)) for _ in range(2))
    assert_close(one, two)
    assert ((one > 0) & (one < 1)).all() and len(one.unique(dim=0)) == 4


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: VAE(2, 1, likelihood="poisson"),
            DomainError,
            "A VAE's likelihood is one of bernoulli, gaussian; got 'poisson'.",
        ),
        (lambda: VAE(2, 1, variance=0.0), DomainError, "The variance of p(x|z) is positive; got 0."),
        (
            lambda: VAE(2, 1).loss(torch.tensor([[0.5, 3.0]])),
            DomainError,
            "The Bernoulli likelihood needs x between 0 and 1; x goes from 0.5 to 3. Scale x, or use likelihood='gaussian'.",
        ),
        (
            lambda: VAE(2, 1).interpolate(torch.zeros(2), torch.ones(2), 1),
            ShapeError,
            "A line from a to b has at least its 2 ends; steps = 1.",
        ),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message
