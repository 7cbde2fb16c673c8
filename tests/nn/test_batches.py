"""A batch of any shape gives what its members give one by one, in floats and exactly."""

import pytest
import torch
from torch.testing import assert_close

from workings import course, exact, nn
from workings.nn.objectives.contrastive import normalised


def whole(*shape):
    """Small whole numbers, none of them 0."""
    found = torch.randint(1, 4, shape, generator=torch.Generator().manual_seed(sum(shape)))
    return (found * (1 - 2 * (found == 2).long())).double()


def columns(*batch):
    return whole(*batch, 2, 2), whole(*batch, 2, 3), whole(*batch, 1, 3)


SQUARE = whole(2, 2, 3, 3)
CASES = {
    "clip_loss": (nn.clip_loss, SQUARE),
    "clip_gradient": (nn.clip_gradient, SQUARE),
    "clip_loss_both_ways": (nn.clip_loss_both_ways, SQUARE),
    "siglip_loss": (nn.siglip_loss, SQUARE),
    "siglip_gradient": (nn.siglip_gradient, SQUARE),
    "similarities": (nn.similarities, whole(2, 2, 3, 2), whole(2, 2, 4, 2)),
    "normalised": (normalised, whole(2, 2, 3, 2)),
    "cosine_map": (nn.cosine_map, whole(2, 2, 3, 2)),
    "attention_query": (nn.attention_query, whole(2, 2, 2), whole(2, 2, 3, 2), whole(2, 2, 3, 1)),
    "two_queries": (course.two_queries, whole(2, 2, 2), whole(2, 2, 2), whole(2, 2, 3, 2), whole(2, 2, 3, 1)),
    "key_noise": (lambda Q, K, V, ε: course.key_noise(Q, K, V, 1, ε, beta=2), *columns(2, 2), whole(2, 2, 2)),
    "key_noise_mean": (lambda Q, K, V: course.key_noise_mean(Q, K, V, 2, 3), *columns(2, 2)),
    "query_noise": (lambda Q, K, V, ε: course.query_noise(Q, K, V, 1, ε, beta=2), *columns(2, 2), whole(2, 2, 2)),
    "key_scaling": (lambda Q, K, V: course.key_scaling(Q, K, V, 1, 2), *columns(2, 2)),
    "key_scaling_change": (lambda Q, K, V: course.key_scaling_change(Q, K, V, -1, 2), *columns(2, 2)),
    "softmax_jacobian": (nn.softmax_jacobian, whole(2, 2, 3), whole(2, 2, 1)),
}


def one_by_one(function, *given):
    found = [[function(*(x[i, j] for x in given)) for j in range(2)] for i in range(2)]
    return torch.stack([torch.stack(row) for row in found])


@pytest.mark.parametrize("name", CASES)
def test_a_batch_is_its_members(name):
    function, *given = CASES[name]
    assert_close(function(*given), one_by_one(function, *given))


@pytest.mark.parametrize("name", CASES)
def test_an_exact_batch_is_its_members_and_the_floats(name):
    function, *given = CASES[name]
    found = function(*map(exact, given))
    assert exact.equal(found, one_by_one(function, *map(exact, given)))
    assert_close(found.float64(), function(*given))


@pytest.mark.parametrize("numbers", [lambda x: x, exact])
def test_one_query_or_one_noise_for_a_whole_batch(numbers):
    Q, K, V = (numbers(x) for x in columns(2))
    ε = numbers(whole(2))
    for function in (course.key_noise, course.query_noise):
        assert (function(Q, K, V, 0, ε) == torch.stack([function(Q[i], K[i], V[i], 0, ε) for i in range(2)])).all()
    q, K, V = numbers(whole(2)), numbers(whole(2, 3, 2)), numbers(whole(3, 1))
    found = nn.attention_query(q, K, V)
    one = torch.stack([nn.attention_query(q, K[i], V) for i in range(2)])
    assert (found - one == 0).all() if numbers is exact else torch.allclose(found, one)


def test_the_kernel_of_a_batch_of_pairs_has_its_gradient():
    S = SQUARE.clone().requires_grad_()
    for loss, gradient in ((nn.clip_loss, nn.clip_gradient), (nn.siglip_loss, nn.siglip_gradient)):
        (found,) = torch.autograd.grad(loss(S).sum(), S)
        assert_close(found, gradient(S).detach())
        assert torch.autograd.gradcheck(loss, S)
