"""Operands that are None are not in the formula."""

import torch
import torch.nn.functional as F
from torch import nn

import workings
from workings.nn import conv2d


def lines(function, *args, **options):
    """The formula of each statement: what stands after the name, up to the values."""
    text = workings.show(function, *args, **options).text(substitution="short")
    return [line.split(" = ")[1] for line in text.splitlines() if line[:1] in "yzunmk" and " = " in line]


def several(x, W, b=None):
    y = F.linear(x, W, b)
    z = F.linear(x, W, bias=None)
    u = F.linear(x, W, bias=b)
    n = F.layer_norm(x, (2,), None, None)
    m = F.layer_norm(x, (2,), weight=None, bias=b)
    k = F.layer_norm(x, (2,), b, b)
    return y + z + u + n + m + k


def test_a_bias_that_is_none_is_not_added():
    norm = "(x − μ) / √(σ² + ε)"
    assert lines(several, torch.ones(1, 2), torch.eye(2)) == ["x Wᵀ", "x Wᵀ", "x Wᵀ", norm, norm, norm]


def test_a_bias_that_is_given_is_added_where_it_belongs():
    norm = "(x − μ) / √(σ² + ε)"
    found = lines(several, torch.ones(1, 2), torch.eye(2), torch.ones(2))
    assert found == ["x Wᵀ + b", "x Wᵀ", "x Wᵀ + b", norm, f"{norm} + b", f"({norm}) ⊙ b + b"]


def test_a_convolution_without_a_bias():
    def f(x, w, b=None):
        y = F.conv2d(x, w, b)
        z = F.conv2d(x, w, b, stride=2)
        return y.sum() + z.sum()

    x, w = torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2)
    assert lines(f, x, w)[:1] == ["x ∗ w"]
    assert "conv2d(x, w, stride=2)" in workings.show(f, x, w).text()
    assert lines(f, x, w, torch.ones(1))[:1] == ["x ∗ w + b"]


def test_layers_without_a_bias_in_every_notation():
    layers = nn.Sequential(
        nn.Linear(2, 2, bias=False), nn.LayerNorm(2, elementwise_affine=False), nn.LayerNorm(2, bias=False)
    )
    work = workings.show(layers, torch.tensor([[1.0, 2.0]]), depth=3)
    assert [line.strip().split(" = ")[0] for line in work.text().splitlines() if "return input" in line or "μ" in line][
        :3
    ] == [
        "return input weightᵀ",
        "return (input − μ) / √(σ² + ε)",
        "return ((input − μ) / √(σ² + ε)) ⊙ weight",
    ]
    assert "bias" not in work.latex()
    assert "<mi>bias</mi>" not in work.html()
    assert "<mi>weight</mi>" in work.html()


def test_a_convolution_shows_its_equations_not_the_arithmetic_of_sizes():
    X, W = torch.arange(9.0).reshape(1, 1, 3, 3), torch.ones(1, 1, 2, 2)
    work = workings.show(conv2d, X, W, torch.ones(1))
    text = work.text()
    assert [line.split(" = ")[0] for line in text.splitlines() if " = " in line and line[0] in "UY"] == ["U", "Y", "Y", "Y"]
    assert not any(line.strip() in ("one_batch", "in_places", "map_size") for line in text.splitlines())
    assert "map_size" not in work.html().partition("<body")[2].partition("<script")[0]
    assert "map_size" in work.text(depth=5)


def test_the_written_out_convolution():
    def f(x, w, b):
        y = F.conv2d(x, w, b)
        return y

    text = workings.show(f, torch.arange(9.0).reshape(1, 1, 3, 3), torch.ones(1, 1, 2, 2), torch.ones(1), depth=4).text()
    found = [line.strip().split(" = ")[0] for line in text.splitlines() if " = " in line and line.strip()[0] in "UY"]
    assert found == ["U", "Y", "Y", "Y"]  # columns of windows, W U, in their places, + b
