"""Formulas too long to read are written in the names of what they were computed from."""

import torch

import workings
from workings import exact


def batch_norm(H, gamma, beta):
    mu = H.mean(dim=0)
    var = ((H - mu) ** 2).mean(dim=0)
    x_hat = (H - mu) / torch.sqrt(var)
    y = gamma * x_hat + beta
    return y


def work(**options):
    return workings.show(batch_norm, exact.symbols("h", shape=(3, 1)), *exact.symbols("g b"), **options)


def test_a_batch_norm_in_letters():
    text = work().text()
    assert "y = γ·x̂ + β = g·x̂ + b = ⎡g·x̂_{1,1} + b⎤  (3×1)" in text
    assert "\n  = ⎡(2h_{1,1} − h_{2,1} − h_{3,1})/(3√var_1)⎤  (3×1)\n" in text
    assert "nodes" not in text


def test_in_latex():
    latex = work().latex()
    assert r"\begin{bmatrix} g {\hat{x}}_{1,1} + b \\" in latex
    assert "zzz" not in latex and "nodes" not in latex


def test_the_names_stand_for_the_values():
    """g·x̂ + b with the values of x̂ put in is y."""
    found = work()
    y, x = found["y"], found["x_hat"]
    assert exact.equal(y, exact.symbols("g") * x + exact.symbols("b"))


def test_short_values_are_written_out():
    def f(a):
        y = 2 * a + 1
        return y

    assert "y = 2·a + 1 = [2p + 1  2q + 1]" in workings.show(f, exact("p q")).text().replace("2·[p, q] + 1 = ", "")


def test_numbers_are_never_named():
    def f(x):
        p = x.softmax(0)
        q = p.softmax(0)
        return q

    text = workings.show(f, exact("1 2 3")).text()
    assert "p_1" not in text and "≈ [" in text


def test_gradients_too():
    text = work(backward=True).text()
    assert "∂L/∂x̂ = ∂L/∂y·γ" in text and "∂L/∂μ_1/3" in text
