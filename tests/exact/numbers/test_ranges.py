"""Signs that a formula has whatever its letters are."""

import random

import pytest
import torch

from workings import exact
from workings.errors import UndecidedError
from workings.exact.numbers.ball import enclosure_at
from workings.exact.numbers.ranges import possible_signs
from workings.exact.numbers.value import letters

SIGNS = {
    "w^2 + 1": {1},
    "w^2": {0, 1},
    "-w^2": {0, -1},
    "w^2 - 2w + 2": {1},
    "w^2 - 2w + 1": {0, 1},
    "w^2 - 2w": {-1, 0, 1},
    "w^4 + w + 1": {1},
    "w^4 - w + 1/10": {-1, 0, 1},
    "w^2 + x^2 - w*x": {0, 1},
    "w^2 + w*x + x^2 + w + x + 1": {1},
    "-w^2 - x^2 - 1": {-1},
    "w*x - 1": {-1, 0, 1},
    "1/(1 + e^-w) * (1 - 1/(1 + e^-w))": {1},
    "1/w": {-1, 1},
    "1/w^2": {1},
    "w^2/(1 + w^2)": {0, 1},
    "1 - w^2/(1 + w^2)": {1},
    "2 + sin(w)": {1},
    "1 + sin(w)": {0, 1},
    "tanh(w) - 1": {-1},
    "1 - tanh(w)^2": {1},
    "cosh(w) - 1": {0, 1},
    "abs(w) + 1": {1},
    "sqrt(w) + 1": {-1, 0, 1},
    "sqrt(w^2 + 1) - 1/2": {-1, 0, 1},
    "sqrt(w^2 + 1) + 1": {1},
    "w^2 + 1/10^30": {1},
    "w^3": {-1, 0, 1},
    "log(1 + e^w)": {1},
    "log(1 + w^2)": {0, 1},
    "log(w^2 + 1) - 1": {-1, 0, 1},
    "log(1/(1 + e^w))": {-1},
    "e^(w^2) - 1": {0, 1},
    "1 - e^(-w^2 - 1)": {1},
    "tanh(w^2 + 1)": {1},
    "atan(-w^2)": {-1, 0},
    "sinh(w)": {-1, 0, 1},
}


@pytest.mark.parametrize("text", SIGNS)
def test_by_hand(text):
    assert possible_signs(exact(text).elements()[0]) == SIGNS[text]


@pytest.mark.parametrize("text", SIGNS)
def test_no_point_has_another_sign(text):
    v, draw = exact(text).elements()[0], random.Random(0)
    for _ in range(200):
        ball = enclosure_at(v, {name: draw.choice((1, -1)) * draw.randint(0, 3000) / 1000 for name in letters(v)}, 128)
        if ball.is_finite() and not ball.contains(0):
            assert (1 if ball > 0 else -1) in SIGNS[text]


def test_comparisons_that_no_letter_changes():
    w = exact.symbols("w_any")
    assert bool(w**2 + 1 > 0) and bool(w**2 >= 0) and not bool(w**2 < 0) and bool(w**2 + 1 != 0)
    assert torch.relu(w**2).text() == abs(w**2).text() == torch.maximum(w**2, -(w**2)).text() == "w_any²"
    assert torch.relu(w**2).assumptions == ()
    for undecided in (lambda: w > 0, lambda: w**2 > 0, lambda: w == 0):
        with pytest.raises(UndecidedError):
            undecided()


def test_gradients_of_generic_letters():
    p, q, r = exact.symbols("p_g q_g r_g")
    a = torch.stack([p, q, r]).requires_grad_()
    a.cumprod(0).sum().backward()
    assert exact.equal(a.grad, torch.stack([q * r + q + 1, p * r + p, p * q]))
    assert a.grad.substitute(p_g=0, q_g=2, r_g=3).tolist() == [9, 0, 0]
    v = exact.symbols("v_g").requires_grad_()
    v.abs().backward()
    assert v.grad.text() == "v_g/abs(v_g)"
    b = torch.stack([p, q]).requires_grad_()
    b.norm().backward()
    assert b.grad.substitute(p_g=3, q_g=4).tolist() == [0.6, 0.8]


def test_the_gradient_of_a_maximum_says_where_it_holds():
    w = exact.symbols("w_max").requires_grad_()
    torch.maximum(w**2, -(w**2)).backward()
    assert w.grad.text() == "2w_max"
