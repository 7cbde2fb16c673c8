"""Depth: the laws of a stack against an expectation by hand, gradients through time against the course's figures."""

from math import sqrt

import pytest
import torch
from torch.testing import assert_close

from workings import exact
from workings.errors import WorkingsError
from workings.studies.families.training.batch_norm import _normalised
from workings.studies.families.training.depth import _jacobian, _law, _layer, _shortcut, stability_grid
from workings.studies.families.training.gradients import _last_state, _lstm_gradient, _through_layers
from workings.studies.families.training.skip_connections import _Stacks


def test_each_kind_of_layer_by_hand():
    # W = −I, x = (3, 4): relu(x) W = −x; rms = √12.5
    x, W = torch.tensor([[3.0, 4.0]]), -torch.eye(2)[None]
    unit = x / sqrt(12.5)
    assert_close(_layer("plain", x, W), -x)
    assert_close(_layer("residual", x, W), 0 * x)
    assert_close(_layer("norm", x, W), -unit, atol=1e-5, rtol=0)
    assert_close(_layer("pre-norm residual", x, W), x - unit, atol=1e-5, rtol=0)
    assert_close(_layer("post-norm residual", x, -2 * W), unit, atol=1e-5, rtol=0)


def test_the_laws_of_two_layers_by_hand():
    # s = 2: plain 4, residual √5², pre-norm √(1 + 2 · 4)
    found = [_law(kind, 2.0, 2) for kind in ("plain", "residual", "norm", "pre-norm residual", "post-norm residual")]
    assert found == pytest.approx([4, 5, 2, 3, 1])


def test_the_counterexample():
    assert _jacobian(lambda x: _shortcut(x, lambda x: -x, ""), 2).text() == exact("0 0; 0 0").text()
    assert _jacobian(lambda x: _shortcut(x, lambda x: -x, "shortcut left out"), 2).text() == exact("-1 0; 0 -1").text()


def test_states_of_the_linear_unit():
    last, states = _last_state(exact("2"), exact("1 1"), exact("0"), "")
    assert (last.text(), states.text()) == ("3", "[0  1  3]")


def test_a_gate_without_bias_halves():
    assert _lstm_gradient(4, 0.0, "") == pytest.approx(1 / 16)
    assert _lstm_gradient(4, 9.0, "bias at the wrong gate") == pytest.approx(1 / 16)


def test_the_law_of_relu_layers_keeps_gradients():
    _, law = _through_layers("relu", 2.0, depth=4, width=32, seed=0, times=1)
    assert_close(law, torch.ones(5, dtype=torch.float64))
    _, law = _through_layers("relu", 0.5, depth=4, width=32, seed=0, times=1)
    assert_close(law, 0.5 ** torch.arange(5, dtype=torch.float64))  # χ = ½ · ½


def test_a_shortcut_around_a_layer_of_zeros_is_no_layer():
    g = torch.Generator().manual_seed(0)
    x, y = torch.randn(5, 64, generator=g), torch.arange(5)
    deep = _Stacks(3, 4, residual=True, g=g)
    for pair in deep.layers:
        for p in pair:
            p.data.zero_()
    found = deep.losses(x, y)
    deep.layers = []
    assert_close(deep.losses(x, y), found)


def test_fixed_statistics_change_nothing():
    H = torch.tensor([[1.0], [3.0]])
    assert_close(_normalised(H, "fixed"), H)
    assert_close(_normalised(H, ""), torch.tensor([[-1.0], [1.0]]))


def test_a_shallow_stack_is_refused():
    with pytest.raises(WorkingsError) as caught:
        stability_grid(depth=3)
    assert str(caught.value) == "depth goes from 8 to 200: a few layers show nothing; got 3."
