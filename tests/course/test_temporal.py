"""Gradients through time: one example in all forms, autograd, and letters."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from workings import exact
from workings.course.temporal import (
    gradient_terms,
    recursive_gradient,
    regime,
    state_gradient,
    states,
    temporal_gradient,
    three_level_gradient,
    two_level_gradient,
)
from workings.errors import ShapeError

FORMS = [recursive_gradient, two_level_gradient, three_level_gradient, temporal_gradient]
w = st.floats(-1.5, 1.5).map(lambda v: torch.tensor(v, dtype=torch.float64))
drives = st.lists(st.floats(-2, 2), min_size=3, max_size=8).map(lambda v: torch.tensor(v, dtype=torch.float64))


@pytest.mark.parametrize("form", FORMS)
def test_the_example(form):
    w, d, h = exact("0.7"), exact("0.3 -0.2 0.5 0.1 -0.4 0.6 0.2 -0.1"), exact("0.25")
    assert form(w, states(w, d, h)).item() == pytest.approx(1.39954, abs=5e-6)
    floats = form(w.float64(), states(w.float64(), d.float64(), h.float64()))
    torch.testing.assert_close(floats, form(w, states(w, d, h)).float64())


@pytest.mark.parametrize("form", FORMS)
def test_in_letters(form):
    # h₁ = w h₀ + d₁, h₂ = w h₁ + d₂, so ∂h₃/∂w = h₂ + w h₁ + w² h₀
    h = exact("p_0 p_1 p_2 p_3")
    assert exact.equal(form(exact("w_nt1"), h), exact("p_2 + w_nt1*p_1 + w_nt1^2*p_0"))


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=20)
@given(w=w, d=drives)
def test_what_autograd_finds(form, w, d):
    w = w.requires_grad_()
    h = states(w, d, torch.tensor(0.5, dtype=torch.float64))
    (found,) = torch.autograd.grad(h[-1], w)
    torch.testing.assert_close(form(w.detach(), h.detach()), found, atol=1e-10, rtol=1e-10)


def test_terms_by_hand():
    # w = 2, h = (1, 3, 5): h₁ = 3, then 2·h₀ = 2
    assert gradient_terms(torch.tensor(2.0), torch.tensor([1.0, 3.0, 5.0])).tolist() == [3, 2]


@settings(max_examples=20)
@given(w=w, T=st.integers(1, 12))
def test_the_first_state_is_worth_w_to_the_power_of_the_steps(w, T):
    h = torch.zeros((), dtype=torch.float64, requires_grad=True)
    (found,) = torch.autograd.grad(states(w, torch.ones(T, dtype=torch.float64), h)[-1], h)
    torch.testing.assert_close(state_gradient(w, T), found.abs())


def test_explode_and_vanish():
    weights = [-1.5, -1.0, 0.5, 1.0, 1.5]
    found = [state_gradient(torch.tensor(w, dtype=torch.float64), 20).item() for w in weights]
    assert found == pytest.approx([3325.26, 1.0, 9.53674e-07, 1.0, 3325.26], rel=2e-6)
    assert [regime(torch.tensor(w)) for w in weights] == ["explodes", "neither", "vanishes", "neither", "explodes"]


def test_too_few_states():
    with pytest.raises(ShapeError) as error:
        three_level_gradient(torch.tensor(1.0), torch.zeros(3))
    assert str(error.value) == (
        "This form of ∂h_t/∂w names 3 earlier states, so it needs h_0 … h_t with t ≥ 3; h is [3], so t = 2."
    )
    with pytest.raises(ShapeError, match="names 1 earlier state, so it needs"):
        temporal_gradient(torch.tensor(1.0), torch.zeros(1))
