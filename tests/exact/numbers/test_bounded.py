"""Values that outgrow every page stay exact and certified."""

import pytest
import torch

from workings import exact


def test_rationals_that_square_sixty_times():
    # (3/7)^(2^60): log₁₀ = 2^60 · log₁₀(3/7) = −424248348962234450.52…
    x = exact("3/7")
    for _ in range(60):
        x = x * x
    assert x.decimals(5) == "3.0010e-424248348962234451"
    assert x.item() == 0.0


def test_formulas_that_square_sixty_times():
    x = exact("sqrt(2)/3")
    for _ in range(60):
        x = x * x + x
    assert x.decimals(5) == "1.4190e70762912516440875"
    assert "formula of" in x.text()


def test_letters_that_outgrow_the_page():
    w = exact.symbols("w").requires_grad_()
    x = w
    for _ in range(40):
        x = x * x / (1 + x)
    x.backward()
    assert w.grad.free_symbols == {"w"}
    assert len(w.grad.text()) < 500
    # at w = 1: x ← x²/(1 + x) from 1
    value, slope = 1.0, 1.0
    for _ in range(5):
        value, slope = value**2 / (1 + value), slope * (value**2 + 2 * value) / (1 + value) ** 2
    y = exact("w", requires_grad=True)
    z = y
    for _ in range(5):
        z = z * z / (1 + z)
    z.backward()
    assert abs(y.grad.substitute(w=1).item() - slope) < 1e-12


def test_towers_of_exponentials_do_not_hang():
    x = exact("9")
    for _ in range(6):
        x = x.exp()
    assert x.item() == float("inf")
    assert len(x.text()) < 200


def test_a_deep_graph_is_evaluated_without_recursion():
    x = exact("1/2")
    for _ in range(5000):
        x = (x + 1).sin()
    assert x.item() == pytest.approx(0.9345632107520243, abs=1e-12)


def test_gpt_size_products_are_shared():
    torch.manual_seed(0)
    a = exact(torch.randint(-3, 4, (16, 64))).exp()
    y = a @ a.mT
    assert y[0, 1].elements()[0].kind in ("dot", "add")
    torch.testing.assert_close(y.float64(), a.float64() @ a.float64().mT)
