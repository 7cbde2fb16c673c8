"""A letter that a rule introduces is never one that the program has."""

import pytest
import torch
import torch.nn.functional as F

from workings import show


def normalise(s):
    y = F.layer_norm(s, (3,))
    L = (y * s).sum()
    return L


def gelu(t):
    y = F.gelu(t, approximate="tanh")
    L = y.sum()
    return L


def attend(A):
    y = F.scaled_dot_product_attention(A, A, A)
    L = (y * y).sum()
    return L


@pytest.mark.parametrize(("function", "letters"), [(normalise, ["s′"]), (gelu, ["t′"]), (attend, ["A′", "∂L/∂A′"])])
def test_another_letter_is_taken(function, letters):
    x = torch.randn(1, 2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    lines = show(function, x, backward=True).text().splitlines()
    for letter in letters:
        assert any(line.startswith(f"  {letter} = ") for line in lines)
    own = next(iter(function.__code__.co_varnames))
    assert sum(line.startswith(f"  ∂L/∂{own} = ") for line in lines) == 1
    assert sum("rule checked: largest difference" in line for line in lines) >= 2
