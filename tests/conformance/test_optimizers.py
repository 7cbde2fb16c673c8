"""Three steps of every optimizer on exact parameters agree with float64."""

import inspect
from fractions import Fraction

import pytest
import torch

from conformance import optimizers
from workings import exact

TRIALS = {trial.name: trial for trial in optimizers.trials()}
QUICK = {
    "SGD(lr=0.1, momentum=0.9, nesterov=True, foreach=False)",
    "SGD(lr=0.1, momentum=0.9, nesterov=True, foreach=True)",
    "Adam(lr=0.1, foreach=False)",
    "Adam(lr=0.1, foreach=True)",
    "AdamW(lr=0.1, weight_decay=0.1, foreach=False)",
    "SGD under CosineAnnealingLR",
}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in QUICK else pytest.mark.slow) for n in TRIALS])
def test_an_optimizer_agrees_with_float64(name):
    row = optimizers.check(TRIALS[name])
    assert (row.status, row.reason) == ("pass", "")


def test_the_quick_trials_exist():
    assert TRIALS.keys() >= QUICK


def test_every_optimizer_of_pytorch_is_named():
    found = {name for name, value in vars(torch.optim).items() if inspect.isclass(value)} - {"Optimizer"}
    assert found == optimizers.VARIANTS.keys()


def test_a_step_by_hand():
    # loss = (w − 3)²/2 at w = 1: the gradient is −2, and 1 + 1/10 · 2 = 6/5.
    w = torch.nn.Parameter(exact(1))
    optimizer = torch.optim.SGD([w], lr=0.1)
    ((w - 3) ** 2 / 2).backward()
    optimizer.step()
    assert w.fraction() == Fraction(6, 5)


def test_adams_first_step_is_the_learning_rate_by_hand():
    # m̂ = g and v̂ = g², so the step is lr · g/(|g| + ε) = 1/10 · 2/2 with ε = 0.
    w = torch.nn.Parameter(exact(1))
    optimizer = torch.optim.Adam([w], lr=0.1, eps=0)
    (w * w).backward()
    optimizer.step()
    assert w.fraction() == Fraction(9, 10)


def test_a_wrong_step_is_reported(monkeypatch):
    monkeypatch.setattr(optimizers, "exact", lambda t: exact(t) * exact("1000001/1000000"))
    row = optimizers.check(TRIALS["SGD(lr=0.1, foreach=False)"])
    assert row.status == "differs"
    assert row.reason.startswith("loss before step 1: off by")
