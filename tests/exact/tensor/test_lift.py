"""Floats that meet exact values: masks, data and constants."""

import copy
import math
from decimal import Decimal

import numpy as np
import pytest
import sympy
import torch
from torch import nn

from workings import exact

LOWEST = torch.finfo(torch.float32).min


def kinds(x):
    return {note.kind for note in x.assumptions}


def test_the_lowest_float_is_a_number_in_products_and_a_mask_where_it_is_added():
    mask = (1.0 - exact("1 0")) * LOWEST
    assert mask.tolist() == [0, LOWEST] and mask.assumptions == ()
    scores = exact("5 6") + mask
    assert scores.tolist() == [5, -math.inf] and kinds(scores) == {"mask"}
    assert scores.softmax(0).tolist() == [1, 0]


def test_the_lowest_float_is_a_mask_where_it_is_filled_in():
    hidden = torch.tensor([True, False])
    x = exact("1 2")
    for filled in (
        x.masked_fill(hidden, LOWEST),
        torch.where(hidden, LOWEST, x),
        torch.where(hidden, torch.tensor(LOWEST), x),
    ):
        assert filled.softmax(0).tolist() == [0, 1] and kinds(filled.softmax(0)) == {"mask"}


def test_a_mask_built_by_products_inside_mode():
    with exact.mode():
        mask = torch.full((2, 2), LOWEST)
        mask *= torch.tensor([[False, True], [False, False]])
        A = (exact("1 1; 1 1") + mask).softmax(-1)
    assert A.tolist() == [[1, 0], [0.5, 0.5]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_data_in_a_short_format_is_taken_as_it_is(dtype):
    torch.manual_seed(0)
    data = torch.randn(3000, dtype=dtype)
    x = exact("1") * data
    assert torch.equal(x.float64(), data.double())
    assert len(x.assumptions) == 1 and kinds(x) == {"rounded"}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_constants_in_a_short_format_are_read_only_when_asked(dtype):
    t = torch.tensor([0.1, 1 / 3], dtype=dtype)
    for x in (exact("1") * t, torch.stack([exact("1 1"), t])[1], exact("1 1") * np.asarray(t.float())):
        assert torch.equal(x.float64(), t.double())
    assert kinds(exact("1") * t) == kinds(exact("1") * t[0]) == {"rounded"}
    assert exact.equal(exact(t, recover=True), exact("1/10 1/3")) and kinds(exact(t, recover=True)) == {"recovered"}
    simple = exact("1") * torch.tensor([0.0, 0.5, -3, math.inf], dtype=dtype)
    assert simple.assumptions == ()


def test_inside_mode_numbers_are_read_as_they_are_written():
    with exact.mode():
        made = [torch.tensor([0.1]), torch.tensor(0.1), torch.full((1,), 0.1), torch.scalar_tensor(0.1)]
        made += [torch.arange(0, 0.2, 0.1)[1:], torch.linspace(0, 0.1, 2)[1:], torch.tensor([exact("1/10")])]
    for x in made:
        assert x.dtype == torch.float32 and x.text() in ("1/10", "[1/10]")
        assert x is made[-1] or kinds(x) == {"recovered"}


@pytest.mark.parametrize("c", ["sqrt(3) + 1/7", "1 + 10^-30", "-1/10^400"])
def test_an_exact_number_where_pytorch_takes_a_plain_one(c):
    x = exact("w").add(exact("1"), alpha=exact(c))
    assert exact.equal(x, exact("w") + exact(c)) and x.assumptions == ()
    y = exact("1").addcmul(x, x, value=exact(c))
    assert exact.equal(y, 1 + x * x * exact(c))
    assert kinds(exact("1") * exact("sqrt(3) + 1/7").item()) == {"rounded"}


def test_loaded_weights_are_taken_as_they_are():
    layer, other = nn.Linear(2, 2), nn.Linear(2, 2)
    with torch.no_grad():
        other.weight[0, 0] = 0.1
    exact.exactify(layer)
    for loaded in (layer, copy.deepcopy(layer)):
        loaded.load_state_dict(other.state_dict())
        assert torch.equal(loaded.weight.float64(), other.weight.double())
        assert loaded.weight.assumptions == ()


def test_more_kinds_of_numbers():
    x = sympy.Symbol("x", real=True)
    assert exact.equal(exact([Decimal("0.1"), sympy.sqrt(2) + x]), exact("1/10, sqrt(2) + x"))
    assert exact(range(3)).tolist() == [0, 1, 2]
    A = exact("q 1; 2 sqrt(2)")
    assert exact.equal(exact(A.sympy()), A)
    assert exact.equal(exact("1").new_tensor([0.1]), exact("1/10").reshape(1))
    assert isinstance(exact("3 0").norm(0), exact.ExactTensor)
    assert exact("3 0; 1 2").norm(0, dim=1).tolist() == [1, 2]
