"""What a formula means by the values it was computed with: NumPy divides a variance by n, PyTorch by n − 1."""

import numpy as np
import pytest
import torch

import workings
from workings.trace.formula.evaluate import evaluate

X = np.array([[1.0, 2.0], [3.0, 8.0], [4.0, 5.0]])


def spreads(x):
    a = x.var(axis=0)
    b = np.std(x, axis=0)
    c = np.var(x, axis=0, ddof=1)
    d = (x - 1).var()
    e = x.std(ddof=1)
    return a, b, c, d, e


def test_numpys_variances_are_what_their_formulas_say():
    work = workings.show(spreads, X)
    for name in "acd":
        step = work.step(name)
        operands = {text: torch.as_tensor(value) for text, value in step.operands.items()}
        assert evaluate(step.formula, operands).numpy() == pytest.approx(np.asarray(step.result)), name
    text = work.text()
    assert "a = var(x, axis 0, over n)" in text and "b = std(x, axis 0, over n)" in text
    assert "c = var(x, axis 0, over n − 1)" in text and "d = var(x − 1, over n)" in text and "e = std(x, over n − 1)" in text


def test_pytorchs_variances_stay_as_they_are():
    def mixed(x, array):
        a = x.var(dim=0)
        b = torch.from_numpy(array).var(dim=0)
        c = x.var(dim=0, unbiased=False)
        return a + b + c

    text = workings.show(mixed, torch.tensor(X), X).text()
    assert "a = var(x, axis 0) =" in text and "c = var(x, axis 0, over n) =" in text
    assert "over n" not in text.split("b = ")[1].split("c = ")[0]


def test_the_divisor_in_latex_and_mathml():
    work = workings.show(spreads, X)
    assert r"\text{over }n - 1" in work.latex()
    assert "over" in work.html()
