"""Worked examples: losses and their gradients, contrastive and variational ones, perplexity."""

import torch

from tests.course.examples.golden import VALUES, agrees, example
from workings import exact
from workings.course import bayes, evidence
from workings.course.discrete import mean_log
from workings.course.logistic import along_ray, falling_direction
from workings.models import gradients
from workings.models.mlp import Weights, forward
from workings.nn import (
    bits,
    chain_rule_terms,
    clip_gradient,
    clip_loss,
    logistic_loss,
    logistic_loss_gradient,
    margin,
    per_longer_unit,
    perplexity,
    perplexity_from_log,
    siglip_gradient,
    siglip_loss,
    similarities,
    softmax_cross_entropy_gradient,
)


@example("clip-loss")
def test_clip_loss(given):
    return {"L": clip_loss(given.S)}


@example("clip-gradient")
def test_clip_gradient(given):
    return {"dL_dS": clip_gradient(given.S)}


@example("clip-signs", numbers=["float"])
def test_clip_signs(given):
    random = torch.Generator().manual_seed(0)
    signs = [clip_gradient(3 * torch.randn(N, N, generator=random)).sign() for N in given["N"] for _ in range(20)]
    match = {int(s) for S in signs for s in S.diagonal()}
    rest = {int(s) for S in signs for s in S[~torch.eye(len(S), dtype=torch.bool)]}
    assert len(match) == len(rest) == 1
    return {"k_eq_i": match.pop(), "k_ne_i": rest.pop()}


@example("siglip")
def test_siglip(given):
    return {"L": siglip_loss(given.S), "dL_dS": siglip_gradient(given.S)}


@example("calibration")
def test_calibration(given):
    shifted = given.S + given.row_shift[:, None]
    return {
        "clip_before": clip_loss(given.S),
        "clip_after": clip_loss(shifted),
        "siglip_before": siglip_loss(given.S),
        "siglip_after": siglip_loss(shifted),
    }


@example("temperature")
def test_temperature(given):
    N = given["N"]
    F = given.tensor([[1, 0], [0, 1]])
    τ = given.tau[1]

    def by_embedding(τ):
        """∂S/∂F summed: how much an embedding's scores move with it."""
        leaf = F.detach().requires_grad_()
        return torch.autograd.grad(similarities(leaf, F, τ).sum(), leaf)[0]

    return {
        "margin": margin(exact("tau"), N, exact("L")),
        "table": torch.stack([margin(τ, N, given.loss) for τ in given.tau]),
        "gradient_times_tau": (by_embedding(τ) * τ)[0, 0],
    }


@example("elbo")
def test_elbo(given):
    found = evidence(given.p_z, given.p_x_given_z, given.q_z)
    return {
        "p_x": bayes(given.p_z, given.p_x_given_z).evidence,
        "log_p_x": found.log_evidence,
        "ELBO": found.elbo,
        "KL_q_posterior": found.kl_to_posterior,
        "ELBO_plus_KL": found.elbo + found.kl_to_posterior,
        "ELBO_minus_KL": found.elbo - found.kl_to_posterior,
    }


@example("nested-expectation")
def test_nested_expectation(given):
    joint = bayes(given.p_z, given.p_x_given_z).joint
    inner = mean_log(given.q_z, given.q_z)  # a constant, so its own expectation
    return {"value": mean_log(given.q_z, joint) - inner}


@example("separable")
def test_separable(given):
    X, y, w = given.X, given.y, given.w
    assert falling_direction(X, y) is not None
    assert given.numbers == "float" or logistic_loss(1000 * w, X, y) > 0  # the infimum is not attained
    far = along_ray(*(exact(given[name]).float64() for name in ("w", "X", "y")), torch.tensor([1000.0]))
    return {
        "L_along_ray": along_ray(w, X, y, given.alpha),
        "derivative_at_1": logistic_loss_gradient(w, X, y) @ w,
        "limit": far[0],
    }


@example("chain-rule-line45")
def test_chain_rule(given):
    y = given.tensor([int(i == given["true_class_index"]) for i in range(3)])
    return {
        "correct": softmax_cross_entropy_gradient(given.theta, y),
        "as_printed": chain_rule_terms(given.theta, y).diagonal(),
    }


@example("mlp-input-gradient")
def test_mlp_input_gradient(given):
    weights = Weights(given.W1, given.b1[0], given.W2, given.b2[0])
    h, y_hat = forward(given.x, weights)
    found = gradients(given.x, given.y, weights)
    return {"h": h, "y_hat": y_hat, "J": found.J, "dJ_dx": found.x}


@example("perplexity-base")
def test_perplexity_base(given):
    found = [perplexity(given.p, t) for t in given.bases]
    assert all(torch.isclose(a, found[0]) for a in found)
    return {"perplexity": found[0]}


@example("cross-model-perplexity", numbers=["float"], digits=3)  # the logarithms are rounded, and are raised to powers
def test_cross_model_perplexity(given):
    PP = torch.stack([perplexity_from_log(-n) for n in given.nats.flatten()]).reshape(2, 2)
    assert agrees(bits(given.nats), VALUES["cross-model-perplexity"]["outputs"]["bits"], 5)
    return {
        "perplexity": PP,
        "bits": bits(given.nats),
        "ratio_wiki_over_shakespeare": PP[:, 1] / PP[:, 0],
        "char_to_word_at_5_5_chars": per_longer_unit(PP[1, 0], given["characters_per_word"]),
    }
