"""Edges of the rows: what passes no gradient, which cells a cell needs, options of layers, messages."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.trace.gradient.test_adjoint import COMPARED, a, disagreement, normal, op
from workings import show
from workings.trace.gradient.contribution import _source


@pytest.mark.parametrize(
    "constant",
    [op("order", a, dim=-1), op("ones", shape=(2, 3)), op("zeros", shape=(2, 3))],
    ids=lambda part: part.op,
)
def test_no_gradient_flows_into_what_does_not_vary(constant):
    assert disagreement(op("mul", a, constant), {"a": normal(2, 3)}) < COMPARED


def test_an_embedded_number_needs_its_token_and_its_column():
    def table(W):
        i = torch.tensor([[0, 2, 1], [1, 1, 0]])
        y = F.embedding(i, W)
        return y

    work = show(table, torch.arange(12.0).view(3, 4))
    said = str(work.why("y", (1, 2, 3)))
    assert "i[1, 2] = 0" in said and "W[:, 3] = [3  7  11]" in said, said


@pytest.mark.parametrize(
    ("product", "left", "right", "message"),
    [
        (torch.mm, (2, 3, 4), (2, 4, 3), "mm needs two tensors of 2 axes and received [2, 3, 4] and [2, 4, 3]"),
        (torch.mm, (2, 3), (2, 3), "[2, 3] @ [2, 3] needs 3 = 2"),
        (torch.bmm, (2, 3), (3, 2), "bmm needs two tensors of 3 axes and received [2, 3] and [3, 2]"),
        (torch.bmm, (2, 3, 4), (5, 4, 3), "bmm needs as many matrices on both sides and received 2 and 5"),
        (torch.bmm, (2, 3, 4), (2, 3, 4), "needs 4 = 3"),
    ],
)
def test_a_product_of_the_wrong_axes_says_what_it_needs(product, left, right, message):
    def multiply(a, b):
        y = product(a, b)
        return y

    assert message in " ".join(show(multiply, torch.ones(left), torch.ones(right)).text().split())


def test_up_to_four_sources_are_named():
    assert _source(["a", "b", "c", "d", "a"]) == "a, b, c, d"
    assert _source(["a", "b", "c", "d", "e"]) == "a … e"


@pytest.mark.parametrize(
    "layer",
    [
        nn.GELU(approximate="tanh"),
        nn.ELU(0.5),
        nn.Conv2d(1, 2, 3, padding=1, stride=2, bias=False),
        nn.LayerNorm(4, eps=0.5),
        nn.Softmax(dim=-1),
        nn.MSELoss(reduction="sum"),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_options_of_layers_reach_their_rules(layer):
    layer = layer.double()

    def loss(x):
        y = layer(x, torch.ones_like(x)) if isinstance(layer, nn.MSELoss) else layer(x)
        L = (y * y).sum()
        return L

    x = torch.randn(1, 1, 4, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    text = show(loss, x, backward=True).text()
    assert text.count("rule checked") >= 2 and "the rule is not written out" not in text, text


def test_an_option_may_stand_as_an_argument():
    def loss(x):
        y = F.elu(x, 0.5)
        L = y.sum()
        return L

    text = show(loss, torch.tensor([-1.0, 2.0], dtype=torch.float64), backward=True).text()
    assert text.count("rule checked") == 2
