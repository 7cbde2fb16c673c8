"""The neural bigram model: its gradients by hand, its evaluator, and training towards the true bigrams."""

import pytest
import torch
from torch.testing import assert_close

from workings import exact
from workings.errors import DomainError, ShapeError
from workings.models.bigram import NeuralBigram, cost_and_gradient, sampled_pairs
from workings.models.smoothing import KneserNey
from workings.nn.objectives.losses import softmax_cross_entropy


def model_of(words=6, width=3, hidden=4, **options):
    torch.manual_seed(0)
    return NeuralBigram(torch.randn(words, width), hidden, **options)


def test_cost_and_gradient_are_autograds():
    model = model_of(train_vectors=True).double()
    v, w = torch.tensor([0, 1, 1, 5]), torch.tensor([2, 3, 0, 0])
    by_hand = cost_and_gradient(model, v, w)
    cost = model.loss(v, w)
    cost.backward()
    assert_close(by_hand.J, cost.detach())
    for name in ("W_1", "b_1", "W_2", "b_2"):
        assert_close(getattr(by_hand, name), getattr(model.network, name).grad)
    E = torch.zeros_like(model.E).index_add_(0, v, by_hand.x)  # a word twice in the batch gets both shares
    assert_close(E, model.E.grad)


def test_the_vectors_are_held_fixed_unless_asked():
    assert not model_of().E.requires_grad and model_of(train_vectors=True).E.requires_grad


def test_the_evaluator_on_a_text():
    model = model_of()
    tokens = torch.tensor([0, 3, 3, 1, 5, 2, 0])
    p = model(tokens[:-1]).softmax(-1)[torch.arange(6), tokens[1:]]
    assert_close(model.perplexity(tokens), (p.double().prod() ** (-1 / 6)).item(), atol=1e-5, rtol=1e-5)
    # parts of any size give the same
    assert_close(model.log_probabilities(tokens, batch=4), model.log_probabilities(tokens))


def test_a_model_that_knows_nothing_is_as_unsure_as_there_are_words():
    model = model_of()
    with torch.no_grad():
        model.network.W_2.zero_()
    assert model.perplexity(torch.tensor([0, 1, 2, 3])) == pytest.approx(6)


def test_exact_and_float_agree():
    model = model_of(words=3, width=2, hidden=2).double()
    y = torch.tensor([[0.0, 0.0, 1.0]]).double()
    with torch.no_grad():
        floats = softmax_cross_entropy(model(torch.tensor([1])), y)
    exacts = softmax_cross_entropy(exact.exactify(model)(torch.tensor([1])), exact(y))
    assert_close(exacts.float64(), floats)


def test_training_approaches_the_counts():
    # a b a c a b a c …: after a comes b or c, after b and c comes a
    tokens = torch.tensor([0, 1, 0, 2] * 30)
    torch.manual_seed(0)
    model = NeuralBigram(torch.eye(3), hidden=8)
    seed = torch.Generator().manual_seed(0)
    optimizer = torch.optim.SGD(model.network.parameters(), lr=2.0)
    for _ in range(300):
        optimizer.zero_grad()
        model.loss(*sampled_pairs(tokens, 32, seed)).backward()
        optimizer.step()
    # the best possible: half of the words are certain, half are one of two, so √2
    assert 2**0.5 - 0.01 < model.perplexity(tokens) < 1.5
    assert abs(model.perplexity(tokens) - KneserNey(tokens, 3).perplexity(tokens)) < 0.05


def test_steps_by_the_written_gradient_are_those_of_autograd():
    tokens = torch.tensor([0, 1, 0, 2, 5, 4, 3] * 5)
    paths = []
    for by_hand in (True, False):
        model, seed = model_of().double(), torch.Generator().manual_seed(3)
        for _ in range(5):
            v, w = sampled_pairs(tokens, 4, seed)
            grads = cost_and_gradient(model, v, w)[2:]
            if not by_hand:
                grads = torch.autograd.grad(model.loss(v, w), [*model.network.weights])
            with torch.no_grad():
                for p, g in zip(model.network.weights, grads, strict=True):
                    p -= 0.5 * g
        paths.append(model.network.W_1.detach())
    assert_close(*paths)


def test_pairs_are_drawn_from_all_places_of_the_text():
    v, w = sampled_pairs(torch.arange(5), 500, torch.Generator().manual_seed(0))
    assert set(v.tolist()) == {0, 1, 2, 3} and set(w.tolist()) == {1, 2, 3, 4}
    assert (w == v + 1).all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: NeuralBigram(torch.zeros(3), 2), ShapeError, "Word vectors are a table of words × width; E is [3]."),
        (
            lambda: model_of().perplexity(torch.tensor([1])),
            DomainError,
            "Bigrams need a text of at least 2 tokens; this one has 1.",
        ),
        (
            lambda: sampled_pairs(torch.tensor([1]), 3),
            DomainError,
            "Pairs are drawn from at least 2 tokens, at least 1 at a time; 1 tokens, size = 3.",
        ),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message
