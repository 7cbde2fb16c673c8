"""Logistic regression: proofs of separability, the loss along a ray, minimisers where there are any."""

from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from workings import exact
from workings.course.logistic import along_ray, descent, falling_direction, newton, penalised_loss, separation
from workings.errors import BudgetError, DomainError
from workings.exact.tensor import farkas
from workings.nn.objectives.losses import logistic_loss

X = torch.tensor([[1.0, 2.0], [1.0, 1.0], [1.0, -1.0], [1.0, -3.0]], dtype=torch.float64)
y = torch.tensor([1.0, 1.0, -1.0, -1.0], dtype=torch.float64)
w = torch.tensor([0.0, 1.0], dtype=torch.float64)
MIXED = torch.tensor([1.0, -1.0, 1.0, -1.0], dtype=torch.float64)


@st.composite
def problems(draw):
    n, d = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    rows = draw(st.lists(st.lists(st.integers(-2, 2), min_size=d, max_size=d), min_size=n, max_size=n))
    signs = draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n))
    return torch.tensor(rows, dtype=torch.float64), torch.tensor(signs, dtype=torch.float64)


def test_the_loss_along_the_ray():
    α = torch.tensor([0, 1, 2, 5, 10], dtype=torch.float64)
    expected = torch.tensor([2.77259, 0.802039, 0.274482, 0.0134764, 9.07999e-05], dtype=torch.float64)
    assert_close(along_ray(w, X, y, α), expected, atol=0, rtol=1e-5)


def test_the_infimum_is_not_attained():
    L = along_ray(w, X, y, torch.tensor([1.0, 10.0, 100.0, 700.0]).double())
    assert (L.diff() < 0).all() and (L > 0).all() and L[-1] < 1e-300


def test_the_loss_along_the_ray_in_letters():
    # margins 2, 1, 1, 3; the derivative at α = 1 is −2/(1 + e²) − 2/(1 + e) − 3/(1 + e³)
    α = exact.symbols("a_ray", shape=1).requires_grad_()
    along_ray(exact("0 1"), exact(X), exact(y), α).sum().backward()
    at_one = α.grad.substitute(**{"a_ray_1": 1})
    assert exact.equal(at_one[0], exact("-2/(1 + e^2) - 2/(1 + e) - 3/(1 + e^3)"))
    assert_close(at_one.float64().item(), -0.918566, atol=1e-6, rtol=0)


def test_separable_data_come_with_a_separating_direction():
    found = separation(X, y)
    assert found and found.certificate is None
    assert (y * (X @ found.w.float64()) > 0).all()


def test_inseparable_data_come_with_a_certificate():
    found = separation(X, MIXED)
    assert not found and found.w is None
    λ = found.certificate
    assert exact.equal((λ.unsqueeze(1) * exact(MIXED.unsqueeze(1) * X)).sum(dim=0), exact.zeros(2)).how == "proved"
    assert exact.equal(λ.sum(), exact("1")) and (λ >= 0).all()


@settings(max_examples=60)
@given(problems())
def test_the_answer_is_always_a_proof(problem):
    X, y = problem
    A = (y.unsqueeze(1) * X).tolist()
    found = separation(X, y)
    if found:
        w = found.w.fraction()
        assert all(sum(a * v for a, v in zip(row, w, strict=True)) > 0 for row in A)
    else:
        λ = found.certificate.fraction()
        assert sum(λ) == 1 and min(λ) >= 0
        assert all(sum(v * Fraction(row[j]) for v, row in zip(λ, A, strict=True)) == 0 for j in range(X.shape[1]))
    falling = falling_direction(X, y)
    if falling is not None:
        margins = [sum(a * v for a, v in zip(row, falling.fraction(), strict=True)) for row in A]
        assert min(margins) >= 0 and max(margins) > 0
    assert falling is not None or not found  # what separates strictly also falls


@settings(max_examples=60)
@given(problems())
def test_newton_finds_the_minimiser_exactly_where_there_is_one(problem):
    X, y = problem
    if falling_direction(X, y) is None:
        fit = newton(X, y)
        assert fit.gradient < 1e-8
    else:
        with pytest.raises(DomainError, match="has no minimiser"):
            newton(X, y)


def test_newton_does_not_stall_where_the_loss_no_longer_changes():
    # close to the minimiser a step lowers the loss by less than rounding, and has to be taken all the same
    rows = [[2, 2, 0], [-2, -1, 0], [2, 1, 1], [2, 2, -1], [2, 1, 1], [0, 2, 1], [-2, -2, 1]]
    fit = newton(torch.tensor(rows).double(), torch.tensor([1, -1, 1, 1, -1, -1, 1]).double())
    assert fit.gradient < 1e-8 and fit.steps < 30


@pytest.mark.parametrize("basis", [[0, 0, 0], [0, 1, 4], [0, 2, 3]], ids=["singular", "negative", "another"])
def test_a_bad_guess_of_floats_does_no_harm(monkeypatch, basis):
    monkeypatch.setattr(farkas, "float_basis", lambda M, b: list(basis))
    assert separation(X, y) and not separation(X, MIXED)
    λ = separation(X, MIXED).certificate
    assert (λ >= 0).all() and exact.equal((λ * exact(MIXED)) @ exact(X), exact.zeros(2))


def test_floats_are_taken_as_they_are():
    # 0.1 + 0.2 is above 0.3 by one rounding, and that separates
    x = torch.tensor([[0.1 + 0.2, 1.0], [0.3, 1.0]], dtype=torch.float64)
    assert separation(x, torch.tensor([1.0, -1.0], dtype=torch.float64))
    x[0, 0] = 0.3
    assert not separation(x, torch.tensor([1.0, -1.0], dtype=torch.float64))


def test_a_larger_problem_both_ways():
    torch.manual_seed(0)
    X = torch.randn(150, 10, dtype=torch.float64)
    y = torch.sign(X @ torch.randn(10, dtype=torch.float64))
    assert separation(X, y)
    y[0] = -y[0]
    found = separation(torch.cat([X, -X[:1]]), torch.cat([y, y[:1]]))  # x and −x under one label
    assert not found
    assert exact.equal(found.certificate.sum(), exact("1"))


def test_separable_data_have_no_minimiser_without_a_penalty():
    with pytest.raises(DomainError) as error:
        newton(X, y)
    assert str(error.value) == (
        "Σ log(1 + exp(−y wᵀx)) has no minimiser on these data: it falls for ever along w = [−1  1]. "
        "Add a penalty, as in λ=1, or watch it fall with descent(…)."
    )


@pytest.mark.parametrize("λ", [1.0, 1e-2, 1e-6])
def test_any_penalty_restores_the_minimiser(λ):
    fit = newton(X, y, λ)
    assert fit.gradient < 1e-8
    L = penalised_loss(fit.w, X, y, λ)
    assert_close(L, fit.loss)
    for nudge in torch.eye(2, dtype=torch.float64) * 0.1:
        assert penalised_loss(fit.w + nudge, X, y, λ) > L < penalised_loss(fit.w - nudge, X, y, λ)


@pytest.mark.parametrize("order", [1, 2, torch.inf])
def test_any_norm_turns_the_loss_up_again_along_the_ray(order):
    α = torch.logspace(-2, 3, 200, dtype=torch.float64)
    L = along_ray(w, X, y, α) + 0.01 * α * torch.linalg.vector_norm(w, order)
    lowest = int(L.argmin())
    assert 0 < lowest < 199
    assert (L[lowest:].diff() > 0).all()


def test_gradient_descent_grows_like_log_t_with_a_converging_direction():
    path = descent(X, y, rate=0.3, steps=4000)
    size = path.norm(dim=1)
    # ‖w‖ ≈ log t / margin + constant: each doubling of t adds the same amount
    added = [(size[2 * t] - size[t]).item() for t in (500, 1000, 2000)]
    assert max(added) - min(added) < 0.02 and min(added) > 0.4
    directions = path[[1000, 2000, 4000]] / size[[1000, 2000, 4000]].unsqueeze(1)
    assert (directions[2] - directions[1]).norm() < (directions[1] - directions[0]).norm() < 0.02


def test_descent_reaches_newtons_minimiser():
    path = descent(X, MIXED, rate=0.1, steps=2000)
    assert_close(path[-1], newton(X, MIXED).w, atol=1e-6, rtol=0)
    path = descent(X, y, rate=0.1, steps=2000, λ=1.0)
    assert_close(path[-1], newton(X, y, 1.0).w, atol=1e-6, rtol=0)


@pytest.mark.parametrize("λ", [0.1, 1.0])
def test_newton_agrees_with_scikit_learn(λ):
    linear_model = pytest.importorskip("sklearn.linear_model")
    torch.manual_seed(0)
    features = torch.randn(60, 4, dtype=torch.float64)
    signs = torch.sign(features @ torch.tensor([1.0, -2, 0, 1]).double() + torch.randn(60).double())
    reference = linear_model.LogisticRegression(C=1 / λ, fit_intercept=False, tol=1e-12, max_iter=10_000)
    reference.fit(features.numpy(), signs.numpy())
    assert_close(newton(features, signs, λ).w, torch.from_numpy(reference.coef_[0]), atol=1e-6, rtol=1e-6)


def test_equal_columns_are_no_obstacle():
    doubled = X[:, :1].repeat(1, 2)  # the best w is a line; Newton's step takes its shortest point
    fit = newton(doubled, MIXED)
    assert_close(fit.loss, logistic_loss(torch.zeros(2).double(), doubled, MIXED))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: newton(X, y, -1.0), DomainError, "A penalty λ/2 ‖w‖² needs λ ≥ 0; λ = -1."),
        (lambda: descent(X, y, 0.0, 3), DomainError, "Gradient descent needs a rate above 0; rate = 0."),
        (
            lambda: separation(torch.zeros(0, 2), torch.zeros(0)),
            DomainError,
            "Separability is a question about examples; X has none.",
        ),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message


def test_too_few_steps_are_an_error():
    with pytest.raises(BudgetError, match=r"^Newton's method did not reach a gradient of 1e-10 in 1 steps; it is "):
        newton(X, y, 1.0, steps=1)
