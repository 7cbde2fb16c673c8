"""Losses that are added: the function given as `loss=`, and those whose backward() the code calls itself."""

import pytest
import torch
from torch import nn

import workings
from workings.trace.gradient.loss import GradientError

X = torch.tensor([[1.0, 2.0], [3.0, -1.0]])


def several(x):
    a = x.sum()
    b = (x * x).sum()
    return a, b


def test_a_function_of_the_result_is_differentiated():
    work = workings.show(several, X, backward=True, loss=lambda a, b: a * b)
    assert work["∂L/∂x"].tolist() == (15 + 5 * 2 * X).tolist()  # a = 5, b = 15: b·1 + a·2x
    assert "L = loss(output[0], output[1])" in work.step("L").source
    whole = workings.show(several, X, backward=True, loss=lambda r: r[0] + r[1])
    assert whole["∂L/∂x"].tolist() == (1 + 2 * X).tolist()
    assert "rule checked" in work.text()


def test_a_loss_with_statements_shows_them():
    def error(y):
        d = y - 1
        L = (d * d).sum()
        return L

    def double(x):
        y = 2 * x
        return y

    work = workings.show(double, X, backward=True, loss=error)
    assert work.step("L").source == "L = error(y)"
    assert work["∂L/∂x"].tolist() == (4 * (2 * X - 1)).tolist()
    assert [s.name for s in work.steps() if s.kind == "assign"] == ["y", "L", "d", "L"]


def test_a_loss_that_does_not_fit_message():
    with pytest.raises(
        GradientError, match=r"^loss=loss is to make one number of the result, .* and made shape \[2, 2\]\.$"
    ):
        workings.show(lambda x: x * 2, X, backward=True, loss=lambda y: y)
    with pytest.raises(GradientError, match=r"^loss=loss fails on the result: "):
        workings.show(lambda x: x * 2, X, backward=True, loss=lambda y: y @ torch.ones(3))


def training(x, steps=1):
    w = torch.zeros(2, requires_grad=True)
    descent = torch.optim.SGD([w], lr=0.1)
    for _ in range(steps):
        descent.zero_grad()
        loss = ((x @ w - 1) ** 2).sum()
        loss.backward()
        descent.step()
    return loss


def test_a_function_that_calls_backward_and_step_itself():
    work = workings.show(training, X, 2, backward=True)
    assert work.error is None
    lines = [s for s in work.steps() if s.name in ("∂loss/∂w", "∂loss#2/∂w")]  # each turn has a loss of its own
    found = [s.result.tolist() for s in lines]
    first = -2 * X.sum(dim=0)  # at w = 0, 2 Xᵀ(Xw − 1)
    second = 2 * X.T @ (X @ (-0.1 * first) - 1)
    assert found == [first.tolist(), pytest.approx(second.tolist())]
    assert [s.name for s in work.steps() if s.kind == "update" and s.source == "SGD"] == ["w", "w"]
    assert all("rule checked" in s.note for s in lines)
    assert training(X, 2).item() == pytest.approx(work.result.item())


def test_a_training_step_in_a_block():
    torch.manual_seed(0)
    model = nn.Linear(2, 1)
    descent = torch.optim.SGD(model.parameters(), lr=0.1)
    with workings.trace() as work:
        y = model(X)
        loss = (y**2).mean()
        loss.backward()
        descent.step()
    assert work["∂loss/∂y"].tolist() == y.detach().tolist()  # 2y / 2
    assert torch.allclose(work["∂loss/∂model.weight"], model.weight.grad)
    assert work.backward() is work
    assert [s.name for s in work.steps() if s.kind == "update" and s.source == "SGD"] == ["model.weight", "model.bias"]
    assert "rule checked" in work.text()


def test_of_several_results_the_first_that_varies():
    def both(x):
        z = x * 2
        n = torch.tanh(z)
        return z, n, torch.tensor([3])

    work = workings.show(both, X, backward=True)
    assert work["∂L/∂x"].tolist() == torch.full((2, 2), 2.0).tolist()
    note = "added here: the sum of z, one of 3 results; loss= chooses another number to differentiate"
    assert work.step("L").note == note
    assert workings.show(both, X, backward=True, loss=lambda z, n, k: n.sum()).step("L").result.item() != work["L"].item()
