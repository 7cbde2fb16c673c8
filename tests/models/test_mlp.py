"""The network with one hidden layer: worked example, all gradients, and the gradient checker."""

import pytest
import torch
from torch.testing import assert_close

from workings import exact
from workings.errors import DomainError, ShapeError
from workings.models import mlp
from workings.models.mlp import MLP, Weights, check_gradient, forward, gradients, loss

x = [["1", "-2"]]
y = [["0", "1"]]
W_1 = [["1/2", "-1", "1/4"], ["1", "0", "-1/2"]]
b_1 = ["0", "1/2", "-1/4"]
W_2 = [["1", "-1"], ["1/2", "1/2"], ["-1", "2"]]
b_2 = ["1/10", "-1/10"]


@pytest.fixture
def example():
    return exact(x), exact(y), Weights(exact(W_1), exact(b_1), exact(W_2), exact(b_2))


def random_network(seed=0):
    torch.manual_seed(seed)
    weights = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in [(4, 5), (5,), (5, 3), (3,)]]
    x = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    y = torch.nn.functional.one_hot(torch.tensor([0, 1, 2, 0, 1, 2]), 3).double()
    return x, y, Weights(*weights)


def test_the_worked_example(example):
    x, y, weights = example
    # x W₁ + b₁ = (−3/2, −1/2, 1)
    h, y_hat = forward(x, weights)
    assert exact.equal(h, exact([["1/(1 + e^(3/2))", "1/(1 + e^(1/2))", "e/(1 + e)"]]))
    assert_close(h.float64(), torch.tensor([[0.182426, 0.377541, 0.731059]]).double(), atol=1e-6, rtol=0)
    assert_close(y_hat.float64(), torch.tensor([[0.16406, 0.83594]]).double(), atol=1e-5, rtol=0)
    G = gradients(x, y, weights)
    assert_close(G.J.float64().item(), 0.179198, atol=1e-6, rtol=0)
    assert_close(G.x.float64(), torch.tensor([[0.000276852, 0.0973222]]).double(), atol=1e-7, rtol=1e-5)
    assert exact.equal(G.J, loss(x, y, weights))


def test_exact_and_float_agree(example):
    x, y, weights = example
    floats = gradients(x.float64(), y.float64(), Weights(*(w.float64() for w in weights)))
    for one, other in zip(gradients(*example), floats, strict=True):
        assert_close(one.float64(), other)


def test_all_gradients_are_autograds():
    x, y, weights = random_network()
    by_hand = gradients(x, y, weights)
    J = loss(x, y, weights)
    expected = torch.autograd.grad(J, [x, *weights])
    assert_close(by_hand.J, J)
    for ours, autograds in zip(by_hand[1:], expected, strict=True):
        assert_close(ours, autograds)


def test_all_gradients_pass_the_checker():
    x, y, weights = random_network(1)
    by_hand = gradients(x, y, weights)
    assert check_gradient(lambda v: loss(v, y, weights), x, by_hand.x)
    for k, name in enumerate(Weights._fields):

        def f(w, k=k):
            return loss(x, y, Weights(*(w if k == at else old for at, old in enumerate(weights))))

        check = check_gradient(f, weights[k], getattr(by_hand, name))
        assert check and check.error < 1e-6


def test_the_checker_finds_a_wrong_gradient():
    x, y, weights = random_network(2)
    G = gradients(x, y, weights).x.detach().clone()
    G[3, 2] += 1e-4
    check = check_gradient(lambda v: loss(v, y, weights), x, G)
    assert not check
    assert check.at == (3, 2)
    assert check.error == pytest.approx(1e-4, rel=0.01)


def test_the_checker_takes_autograds_gradient_if_none_is_given():
    v = torch.tensor([1.0, 2.0], dtype=torch.float64)
    check = check_gradient(lambda v: (v**3).sum(), v)
    assert check
    assert_close(check.gradient, 3 * v**2)


def test_the_checker_does_not_pass_a_nan():
    v = torch.tensor([1.0, 2.0], dtype=torch.float64)
    check = check_gradient(lambda v: (v**3).sum(), v, torch.tensor([3.0, torch.nan], dtype=torch.float64))
    assert not check and check.at == (1,)


def test_the_module_is_the_same_network():
    torch.manual_seed(0)
    model = MLP(4, 5, 3).double()
    x, y, _ = random_network()
    _, y_hat = forward(x, model.weights)
    assert_close(model(x).softmax(-1), y_hat)
    assert_close(model.loss(x, y) * len(x), loss(x, y, model.weights))
    assert_close(model.loss(x, y.argmax(1)), model.loss(x, y))


def test_the_loss_of_far_scores_is_finite():
    one = torch.ones(1, 1)
    weights = Weights(one, one[0], torch.tensor([[2000.0, 0.0]]), torch.zeros(2))
    J = gradients(one, torch.tensor([[0.0, 1.0]]), weights).J
    assert J.isfinite() and J > 1000


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: forward(torch.zeros(1, 3), MLP(2, 3, 2).weights),
            ShapeError,
            "forward needs x as [b, i] and W_1 as [i, h]: i (inputs) is 3 in x [1, 3], but 2 in W_1 [2, 3].",
        ),
        (
            lambda: mlp.loss(torch.zeros(4, 2), torch.zeros(1, 2), MLP(2, 3, 2).weights),
            ShapeError,
            "loss needs x as [b, i] and y as [b, c]: b (examples) is 4 in x [4, 2], but 1 in y [1, 2].",
        ),
        (
            lambda: MLP(0, 1, 1),
            ShapeError,
            "Each layer needs at least one unit: inputs = 0, hidden = 1, classes = 1.",
        ),
        (
            lambda: check_gradient(torch.sum, torch.zeros(2)),
            DomainError,
            "Finite differences need float64, or rounding hides the derivative; x is torch.float32. Use x.double().",
        ),
        (
            lambda: check_gradient(torch.sum, torch.zeros(2).double(), torch.zeros(3).double()),
            ShapeError,
            "A gradient has the shape of x: x is [2], the gradient is [3].",
        ),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message
