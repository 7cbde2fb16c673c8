"""Bayes' rule and the evidence decomposition, exactly."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from workings import exact
from workings.course.discrete import bayes, derivation, evidence, mean_log
from workings.errors import DomainError, ShapeError
from workings.nn.objectives.variational import kl

PRIOR, LIKELIHOOD, Q = "1/2 1/4 1/4", "1/2 1/4 3/4", "1/4 1/4 1/2"
tables = st.lists(st.floats(-3, 3), min_size=3, max_size=3).map(lambda v: torch.tensor(v, dtype=torch.float64))


@pytest.fixture
def example():
    return exact(PRIOR), exact(LIKELIHOOD), exact(Q)


def test_bayes_by_hand(example):
    table = bayes(*example[:2])
    assert exact.equal(table.joint, exact("1/4 1/16 3/16"))
    assert exact.equal(table.evidence, exact("1/2"))
    assert exact.equal(table.posterior, exact("1/2 1/8 3/8"))
    assert exact.equal(table.posterior.sum(), exact("1"))


def test_the_evidence_taken_apart(example):
    parts = evidence(*example)
    assert exact.equal(parts.log_evidence, exact("-log(2)"))
    assert exact.equal(parts.elbo, exact("log(3/8)/2 - log(4)/4"))
    assert exact.equal(parts.kl_to_posterior, exact("log(4/3)/2"))
    assert exact.equal(parts.elbo + parts.kl_to_posterior, parts.log_evidence).how == "proved"
    assert exact.equal(parts.log_likelihood - parts.kl_to_prior, parts.elbo).how == "proved"
    rounded = [part.float64().item() for part in parts[:3]]
    assert rounded == pytest.approx([-0.693147, -0.836988, 0.143841], abs=1e-6)


def test_the_wrong_minus(example):
    parts = evidence(*example)
    wrong = parts.elbo - parts.kl_to_posterior
    assert wrong.float64().item() == pytest.approx(-0.980829, abs=1e-6)
    assert not exact.equal(wrong, parts.log_evidence)


def test_every_line_of_the_proof_holds(example):
    lines = derivation(*example)
    assert len(lines) == 6 and all(line.holds for line in lines)
    floats = derivation(*(table.float64() for table in example))
    assert all(line.holds for line in floats)


def test_the_line_with_the_wrong_minus_is_found(example):
    for tables in (example, [table.float64() for table in example]):
        lines = derivation(*tables, slip=True)
        assert [line.says for line in lines if not line.holds] == ["ELBO − KL(q‖p(z|x))"]


def test_an_expectation_inside_an_expectation(example):
    # E_q[log p(x,z) − E_q[log q]] is the bound as well: the inner mean is a number
    prior, likelihood, q = example
    inner = mean_log(q, q)
    nested = (q * (torch.log(prior * likelihood) - inner)).sum()
    assert exact.equal(nested, exact("log(3/8)/2 - log(4)/4"))
    assert exact.equal(nested, evidence(*example).elbo)


@settings(max_examples=25)
@given(tables, tables, tables)
def test_the_bound_is_a_bound(a, b, c):
    prior, likelihood, q = a.softmax(-1), b.sigmoid(), c.softmax(-1)
    parts = evidence(prior, likelihood, q)
    assert parts.elbo <= parts.log_evidence + 1e-12
    assert_close(parts.elbo + parts.kl_to_posterior, parts.log_evidence)
    assert_close(parts.log_likelihood - parts.kl_to_prior, parts.elbo)
    assert_close(parts.kl_to_prior, kl(q, prior))
    posterior = bayes(prior, likelihood).posterior
    assert_close(evidence(prior, likelihood, posterior).elbo, parts.log_evidence)


@pytest.mark.parametrize("make", [exact, lambda text: exact(text).float64()], ids=["exact", "float"])
def test_values_that_never_occur(make):
    # z = 1 has no prior, and q never takes it
    parts = evidence(make("1/2 0 1/2"), make("1/2 1/2 0"), make("1 0 0"))
    assert bool(torch.isclose(torch.as_tensor(parts.log_evidence.item()), torch.tensor(0.25).log()))
    assert parts.kl_to_posterior.item() == 0
    assert all(line.holds for line in derivation(make("1/2 0 1/2"), make("1/2 1/2 0"), make("1 0 0")))


def test_letters():
    p, a, b = exact.symbols("p_b a_b b_b")
    one = exact("1")
    table = bayes(torch.stack([p, one - p]), torch.stack([a, b]))
    assert exact.equal(table.posterior[0], exact("p_b*a_b/(p_b*a_b + (1 - p_b)*b_b)"))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: bayes(torch.tensor([0.5, 0.6]), torch.ones(2)),
            DomainError,
            "The prior needs probabilities ≥ 0 that sum to 1; [0.5, 0.6000000238418579] sums to 1.1.",
        ),
        (
            lambda: evidence(exact("1/2 1/2"), exact("1 1"), exact("3/2 -1/2")),
            DomainError,
            "The q needs probabilities ≥ 0 that sum to 1; [1.5, -0.5] sums to 1.",
        ),
        (
            lambda: bayes(torch.tensor([0.5, 0.5]), torch.ones(3)),
            ShapeError,
            "bayes needs prior as [k] and likelihood as [k]: k (values of the latent) is 2 in prior [2], "
            "but 3 in likelihood [3].",
        ),
        (
            lambda: bayes(torch.ones(1, 1), torch.ones(1, 1)),
            ShapeError,
            "The prior needs one probability for each value of z, so one axis; it is [1, 1].",
        ),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message
