"""Draws are noted."""

import torch
import torch.nn.functional as F
from torch.func import vmap

from workings import exact


def kinds(x):
    return {note.kind for note in x.assumptions}


def test_draws_of_pytorch_are_noted_inside_mode():
    with exact.mode():
        drawn = torch.distributions.Normal(exact("0"), exact("1")).rsample()
        dropped = vmap(lambda x: F.dropout(x, 0.5), randomness="different")(exact("1 2; 3 4"))
    assert kinds(drawn) == kinds(dropped) == {"random"}


def test_rrelu_in_training():
    x = exact("1 -2").requires_grad_()
    y = F.rrelu(x, training=True)
    (slope,) = torch.autograd.grad(y.sum(), x)
    assert kinds(y) == {"random"}
    assert y[0].item() == slope[0].item() == 1
    assert exact.equal(y[1], -2 * slope[1]) and 1 / 8 <= slope[1].item() <= 1 / 3
