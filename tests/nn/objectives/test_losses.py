"""Losses and their gradients: by hand, against PyTorch, exact and float alike."""

from math import log

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from workings import exact
from workings.errors import DomainError, ShapeError
from workings.nn.objectives import losses

θ = [0.0, 1.0, 2.0]
Y = [0.0, 1.0, 0.0]
# ŷ = (1, e, e²)/(1 + e + e²); the true class is the second.
GRADIENT = "1/(1 + e + e^2)  -1 + e/(1 + e + e^2)  e^2/(1 + e + e^2)"
ROUNDED = [0.0900306, -0.755272, 0.665241]
WITHOUT_SUM = [0.0, -0.755272, 0.0]

X = [[1.0, 2.0], [1.0, 1.0], [1.0, -1.0], [1.0, -3.0]]
SIGNS = [1.0, 1.0, -1.0, -1.0]


def double(values):
    return torch.tensor(values, dtype=torch.float64)


def test_cross_entropy_by_hand():
    # −log(e/(1 + e + e²)) = log(1 + e + e²) − 1
    assert exact.equal(losses.softmax_cross_entropy(exact(θ), exact(Y)), exact("log(1 + e + e^2) - 1"))
    assert_close(losses.softmax_cross_entropy(double(θ), double(Y)).item(), 1.4076059644443806)


def test_the_gradient_is_the_prediction_less_the_truth():
    G = losses.softmax_cross_entropy_gradient(exact(θ), exact(Y))
    assert exact.equal(G, exact(GRADIENT)) and exact.equal(G, exact(GRADIENT)).how == "proved"
    assert_close(G.float64(), double(ROUNDED), atol=1e-6, rtol=1e-6)


def test_the_gradient_is_autograds_in_letters():
    z = exact.symbols("z_ce", shape=3).requires_grad_()
    losses.softmax_cross_entropy(z, exact(Y)).backward()
    assert exact.equal(z.grad, losses.softmax_cross_entropy_gradient(z.detach(), exact(Y)))


def test_the_chain_rule_needs_its_sum():
    T = losses.chain_rule_terms(exact(θ), exact(Y))
    assert exact.equal(T.sum(dim=0), exact(GRADIENT))
    printed = T.diagonal()  # what is left when the sum is dropped
    assert_close(printed.float64(), double(WITHOUT_SUM), atol=1e-6, rtol=1e-6)
    assert not exact.equal(printed, exact(GRADIENT))


@given(st.lists(st.floats(-30, 30), min_size=2, max_size=5), st.data())
def test_the_gradient_sums_to_zero_and_points_away_from_the_truth(scores, data):
    true = data.draw(st.integers(0, len(scores) - 1))
    y = F.one_hot(torch.tensor(true), len(scores)).double()
    G = losses.softmax_cross_entropy_gradient(double(scores), y)
    assert abs(G.sum().item()) < 1e-12
    assert all((g <= 0) == (k == true) for k, g in enumerate(G.tolist()))


@pytest.mark.parametrize("shape", [(3,), (4, 3), (2, 4, 3)])
def test_the_kernel_agrees_with_the_equations(shape):
    torch.manual_seed(0)
    z, y = torch.randn(shape).double(), torch.rand(shape).double().softmax(-1)
    written = losses.softmax_cross_entropy.__definition__(z, y)
    assert written.shape == shape[:-1]
    assert_close(losses.softmax_cross_entropy(z, y), written)


def test_cross_entropy_of_far_scores_stays_finite():
    z, y = torch.tensor([1000.0, 0.0]), torch.tensor([0.0, 1.0])
    assert losses.softmax_cross_entropy(z, y) == losses.softmax_cross_entropy.__definition__(z, y) == 1000


@pytest.mark.parametrize(
    "options",
    [{}, {"reduction": "sum"}, {"w": torch.tensor([1.0, 2.0, 3.0])}, {"smoothing": 0.1}, {"ignore": 1}],
    ids=str,
)
def test_the_options_of_cross_entropy_reach_both_forms(options):
    torch.manual_seed(0)
    z, y = torch.randn(5, 3), torch.tensor([0, 1, 2, 1, 0])
    assert_close(losses.cross_entropy(z, y, **options), losses.cross_entropy.__definition__(z, y, **options))


def test_the_options_of_binary_cross_entropy_reach_both_forms():
    torch.manual_seed(0)
    z, y, w = torch.randn(5), torch.rand(5), torch.rand(5)
    options = {"w": w, "reduction": "sum", "positive": torch.tensor(2.0)}
    assert_close(
        losses.binary_cross_entropy_with_logits(z, y, **options),
        losses.binary_cross_entropy_with_logits.__definition__(z, y, **options),
    )


def test_squared_loss_in_letters():
    y_hat = exact.symbols("y_sq").requires_grad_()
    J = losses.squared_loss(y_hat, exact("3"))
    J.backward()
    assert exact.equal(J, exact("(y_sq - 3)^2 / 2"))
    assert exact.equal(y_hat.grad, losses.squared_loss_gradient(y_hat.detach(), exact("3")))
    assert exact.equal(y_hat.grad, exact("y_sq - 3"))


def test_logistic_loss_by_hand():
    # margins 2, 1, 1, 3
    L = losses.logistic_loss(exact("0 1"), exact(X), exact(SIGNS))
    assert exact.equal(L, exact("log(1 + e^-2) + 2*log(1 + e^-1) + log(1 + e^-3)"))
    assert_close(losses.logistic_loss(double([0, 1]), double(X), double(SIGNS)).item(), 0.802039, atol=1e-6, rtol=0)


def test_the_derivative_along_the_ray():
    # dL(αw)/dα at α = 1 is wᵀ∂L/∂w
    G = losses.logistic_loss_gradient(double([0, 1]), double(X), double(SIGNS))
    assert_close(G[1].item(), -0.918566, atol=1e-6, rtol=0)


def test_the_logistic_gradient_is_autograds():
    w = exact.symbols("w_log", shape=2).requires_grad_()
    losses.logistic_loss(w, exact(X), exact(SIGNS)).backward()
    assert exact.equal(w.grad, losses.logistic_loss_gradient(w.detach(), exact(X), exact(SIGNS)))


@given(st.floats(-2000, 2000))
def test_the_logistic_loss_holds_at_any_margin(m):
    w, x, y = double([m]), double([[1.0]]), double([1.0])
    written = losses.logistic_loss.__definition__(w, x, y).item()
    assert_close(losses.logistic_loss(w, x, y).item(), written, atol=1e-15, rtol=1e-9)
    assert written >= max(0, -m)


def test_message_for_labels_zero_and_one():
    with pytest.raises(DomainError) as error:
        losses.logistic_loss(double([0, 1]), double(X), double([1, 0, 1, 0]))
    assert str(error.value) == (
        "The logistic loss takes labels +1 and −1; y holds 0. Labels 0 and 1 become −1 and +1 by 2y − 1."
    )


def test_messages_of_shapes_that_do_not_fit():
    with pytest.raises(ShapeError) as error:
        losses.logistic_loss.__definition__(double([0, 1]), double(X), double([1, -1]))
    assert str(error.value) == (
        "logistic_loss needs X as [n, d] and y as [n]: n (examples) is 4 in X [4, 2], but 2 in y [2]."
    )
    message = (
        "−Σ y log ŷ needs a probability in y for each score in θ: θ is [3], y is [2]. "
        "Class indices become probabilities by torch.nn.functional.one_hot."
    )
    for form in (losses.softmax_cross_entropy, losses.softmax_cross_entropy.__definition__):
        with pytest.raises(ShapeError) as error:
            form(double(θ), double([0, 1]))
        assert str(error.value) == message


def test_log_two_for_a_coin():
    assert_close(losses.softmax_cross_entropy(double([0, 0]), double([0, 1])).item(), log(2))
