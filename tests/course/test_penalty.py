"""The squared ∞-norm penalty: by hand, against autograd, and at ties."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from workings import exact
from workings.course.penalty import infinity_gradient, infinity_penalty, largest, logistic_gradient, penalised_step
from workings.errors import DomainError, WorkingsError
from workings.nn.objectives.losses import logistic_loss_gradient

W, X = exact("1/2 -2 1"), exact("1 3/10 -7/10")
vectors = st.lists(st.floats(-4, 4), min_size=3, max_size=3).map(lambda v: torch.tensor(v, dtype=torch.float64))


def gradient_of(f, w):
    w = w.detach().clone().requires_grad_()
    return torch.autograd.grad(f(w), w)[0]


def test_gradient_and_step_by_hand():
    # w·x = ½ − 3/5 − 7/10 = −4/5, so P = 1/(1 + e^(4/5)); only w[1] = −2 is the largest, and λ·(−2) = −1/5.
    gradient = logistic_gradient(W, X, 1) + infinity_gradient(W, exact("1/10"))
    P = "1/(1 + exp(4/5))"
    assert exact.equal(gradient, exact(["-1 + " + P, "-1/2 + 3/10*" + P, "7/10 - 7/10*" + P]))
    torch.testing.assert_close(gradient.float64().tolist(), [-0.689974, -0.406992, 0.482982], rtol=0, atol=5e-7)
    new = penalised_step(W, X, 1, exact("1/10"), exact("1/10"))
    assert exact.equal(new, exact(["3/5 - 1/10*" + P, "-39/20 - 3/100*" + P, "93/100 + 7/100*" + P]))
    torch.testing.assert_close(new.float64().tolist(), [0.568997, -1.9593, 0.951702], rtol=0, atol=1e-6)


def test_the_case_split():
    # ‖(−5, 3)‖∞² = 25 and its gradient is (2·(−5), 0); λ = 2 makes (λ/2)‖w‖∞² that
    w = exact("-5 3")
    assert exact.equal(infinity_penalty(w, 2), exact("25"))
    assert exact.equal(infinity_gradient(w, 2), exact("-10 0"))
    assert exact.equal(infinity_gradient(exact("3 -5"), 2), exact("0 -10"))


@settings(max_examples=30)
@given(w=vectors, x=vectors, y=st.sampled_from([0, 1, 0.25]))
def test_the_logistic_gradient_is_what_autograd_finds(w, x, y):
    def loss(w):
        return torch.nn.functional.binary_cross_entropy_with_logits(w @ x, torch.tensor(y, dtype=torch.float64))

    torch.testing.assert_close(logistic_gradient(w, x, y), gradient_of(loss, w))


@pytest.mark.parametrize("y", [0, 1])
def test_it_is_the_logistic_gradient_of_one_example(y):
    assert exact.equal(logistic_gradient(W, X, y), logistic_loss_gradient(W, X[None], exact([2 * y - 1])))


@settings(max_examples=30)
@given(w=vectors, ties=st.booleans())
def test_the_penalty_gradient_is_what_autograd_finds_at_ties_too(w, ties):
    w = torch.cat([w, -w]) if ties else w
    found = gradient_of(lambda w: infinity_penalty(w, 0.7), w)
    torch.testing.assert_close(infinity_gradient(w, 0.7), found)


@settings(max_examples=30)
@given(w=vectors, v=vectors, ties=st.sampled_from(["average", "first"]))
def test_a_subgradient_lies_below_the_penalty(w, v, ties):
    w = torch.cat([w, w.flip(0)])
    v = torch.cat([v, v - 1])
    bound = infinity_penalty(w, 2) + infinity_gradient(w, 2, ties) @ (v - w)
    assert infinity_penalty(v, 2) >= bound - 1e-9


def test_ties():
    w = exact("3 -3 1 3")
    assert exact.equal(largest(w), exact("1/3 1/3 0 1/3"))
    assert exact.equal(largest(w, "first"), exact("1 0 0 0"))
    assert exact.equal(infinity_gradient(w, 1), exact("1 -1 0 1"))
    assert exact.equal(largest(exact("1 -3"), "refuse"), exact("0 1"))
    with pytest.raises(DomainError) as error:
        infinity_gradient(w, 1, "refuse")
    assert str(error.value) == (
        "‖w‖∞² has no gradient where the largest |w_i| is tied, as it is at w[0], w[1], w[3]. "
        "Choose a subgradient: ties='average' or ties='first'."
    )
    with pytest.raises(WorkingsError) as error:
        largest(w, "last")
    assert str(error.value) == "ties='last' is not a way to treat ties: average, first, refuse."


def test_only_the_largest_weight_shrinks():
    # x = 0 leaves the penalty alone: 4 → 3.6 → 3.24 → 2.916, then it is 3’s turn; each step takes a tenth of one
    w, x = torch.tensor([4.0, 3.0, 1.0], dtype=torch.float64), torch.zeros(3, dtype=torch.float64)
    for step in range(1, 11):
        w = penalised_step(w, x, 1, lambda_=1.0, eta=0.1)
        assert w[2] == 1
        assert (w[0] * w[1]).item() == pytest.approx(12 * 0.9**step)
        assert w[1] == 3 if step <= 3 else w[1] < 3


def test_exact_and_float_agree():
    floats = penalised_step(W.float64(), X.float64(), 1, 0.1, 0.1)
    torch.testing.assert_close(penalised_step(W, X, 1, 0.1, 0.1).float64(), floats)
