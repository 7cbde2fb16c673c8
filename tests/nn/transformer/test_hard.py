"""Hard selection and the gradients it gives."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from workings import exact
from workings.nn.temperature import softmax, softmax_jacobian
from workings.nn.transformer.hard import (
    argmax_weights,
    gumbel_noise,
    gumbel_softmax,
    pass_through,
    score_gradient,
    straight_through,
)

S = torch.tensor([1.0, -2.0, 5.0, 0.0], dtype=torch.float64)
G = torch.tensor([1.0, 2.0, -1.0, 0.5], dtype=torch.float64)


@pytest.mark.parametrize(("s", "a"), [("1 -2 5 0", "0 0 1 0"), ("5 -2 5 0", "1/2 0 1/2 0")])
def test_ties_share(s, a):
    assert exact.equal(argmax_weights(exact(s)), exact(a))
    assert argmax_weights(exact(s).float64()).tolist() == exact(a).tolist()


def test_other_axis():
    s = torch.tensor([[1.0, 4.0], [3.0, 4.0]])
    assert argmax_weights(s, dim=0).tolist() == [[0, 0.5], [1, 0.5]]


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=6))
def test_it_is_the_limit_of_softmax(s):
    s = torch.tensor(s, dtype=torch.float64)
    assert_close(softmax(s, T=1e-3), argmax_weights(s))


def test_masked_scores_get_nothing():
    assert argmax_weights(torch.tensor([-torch.inf, 0.0, 0.0])).tolist() == [0, 0.5, 0.5]


def test_forward_passes_agree():
    a = argmax_weights(S)
    assert straight_through(S).equal(a)
    assert_close(softmax(S, beta=1e3), a)
    assert_close(gumbel_softmax(S, T=1e-4, generator=torch.Generator().manual_seed(0)).round(), a)


def test_straight_through_is_exactly_one_hot_in_floats():
    s = torch.randn(200, 7)
    assert set(straight_through(s).unique().tolist()) == {0.0, 1.0}


def test_gradients_to_the_scores():
    assert score_gradient(argmax_weights, S, G).tolist() == [0, 0, 0, 0]
    J = softmax_jacobian(S)
    assert_close(score_gradient(softmax, S, G), J.mT @ G)
    assert_close(score_gradient(straight_through, S, G), J.mT @ G)
    assert_close(score_gradient(lambda s: straight_through(s, T=2.0), S, G), softmax_jacobian(S, T=2.0).mT @ G)


def test_gumbel_gradient_is_that_of_softmax_at_the_noisy_scores():
    noise = gumbel_noise(S, torch.Generator().manual_seed(3))
    draw = score_gradient(lambda s: gumbel_softmax(s, T=2, generator=torch.Generator().manual_seed(3)), S, G)
    assert_close(draw, softmax_jacobian(S + noise, T=2).mT @ G)


def test_exact_straight_through():
    # p = (1/4, 3/4), J = 3/16 [[1, −1], [−1, 1]]; g = (1, 0) gives (3/16, −3/16)
    s = exact("0 log(3)")
    assert exact.equal(straight_through(s), exact("0 1"))
    assert exact.equal(score_gradient(straight_through, s, exact("1 0")), exact("3/16 -3/16"))


def test_gumbel_draws_follow_the_softmax():
    s = torch.log(torch.tensor([0.2, 0.3, 0.5])).expand(20000, 3)
    draws = argmax_weights(gumbel_softmax(s, T=0.5, generator=torch.Generator().manual_seed(0)))
    assert_close(draws.mean(0), torch.tensor([0.2, 0.3, 0.5]), atol=0.01, rtol=0)


def test_a_seed_repeats_the_draw():
    draws = [gumbel_softmax(S, generator=torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)]
    assert draws[0].equal(draws[1]) and not draws[0].equal(draws[2])


def test_an_identity_layer_passes_on():
    assert pass_through(S).equal(S)
    X = torch.randn(2, 3, 4)
    assert pass_through(X).equal(X)
    assert exact.equal(pass_through(exact("w_hard 2")), exact("w_hard 2"))
