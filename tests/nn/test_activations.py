"""Activations: slopes against autograd, and the laws of their tails."""

from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from workings import exact
from workings.errors import WorkingsError
from workings.nn.activations import (
    SLOPES,
    activation,
    relu_slope,
    sigmoid_slope,
    sigmoid_tail,
    tanh_slope,
    tanh_tail,
)


@pytest.mark.parametrize("name", SLOPES)
@settings(max_examples=20)
@given(x=st.floats(-15, 15).filter(bool))
def test_a_slope_is_what_autograd_finds(name, x):
    g, slope = activation(name)
    x = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    (found,) = torch.autograd.grad(g(x).clone(), x)
    torch.testing.assert_close(slope(x.detach()), found, rtol=1e-9, atol=1e-12)


def test_slopes_by_hand():
    # σ(log 2) = 2/3, so σ′ = 2/3 · 1/3 = 2/9; tanh(log 2) = (2 − ½)/(2 + ½) = 3/5, so tanh′ = 1 − 9/25 = 16/25.
    x = exact("log(2)")
    assert sigmoid_slope(x).fraction() == Fraction(2, 9)
    assert exact.equal(tanh_slope(x), exact("16/25"))


def test_relu_lets_every_positive_signal_through():
    assert relu_slope(torch.tensor([-1.0, 0.0, 1e-30, 1e30])).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(("slope", "tail", "power"), [(sigmoid_slope, sigmoid_tail, 1), (tanh_slope, tanh_tail, 2)])
@pytest.mark.parametrize("sign", [-1, 1])
def test_tails(slope, tail, power, sign):
    # σ′ = e^−x / (1 + e^−x)², so the tail is too large by the factor (1 + e^−x)²; for tanh′ by (1 + e^−2x)².
    x = sign * torch.tensor([1.0, 10.0, 30.0, 100.0, 300.0], dtype=torch.float64)
    torch.testing.assert_close(tail(x) / slope(x), (1 + torch.exp(-power * x.abs())) ** 2)


def test_exact_slopes_equal_floats():
    for _, slope in SLOPES.values():
        x = exact("-2 1/3 5")
        torch.testing.assert_close(slope(x).float64(), slope(x.float64()))


def test_unknown_name():
    with pytest.raises(WorkingsError) as error:
        activation("step")
    assert str(error.value) == "No activation is called 'step': there are tanh, sigmoid, relu, identity."
