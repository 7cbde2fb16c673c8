"""Two towers: shapes, the temperature, and pairs that learn to find each other."""

from math import log

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from workings import exact
from workings.errors import DomainError, ShapeError
from workings.models.clip import CLIP, SigLIP
from workings.nn.objectives.contrastive import clip_loss_both_ways, siglip_loss


def model_of(kind, **options):
    torch.manual_seed(0)
    return kind(nn.Linear(4, 6), nn.Linear(3, 5), image_width=6, text_width=5, width=2, **options)


def plain(kind, **options):
    """No towers and no projection: the inputs are the embeddings, before they are normalised."""
    model = kind(nn.Identity(), nn.Identity(), image_width=2, text_width=2, width=2, **options).double()
    nn.init.eye_(model.image_projection.weight)
    nn.init.eye_(model.text_projection.weight)
    return model


def test_scores_are_cosines_over_the_temperature():
    images, texts = torch.tensor([[3.0, 4.0]]).double(), torch.tensor([[1.0, 0.0], [0.0, 2.0]]).double()
    S = plain(CLIP, τ=0.5)(images, texts)
    assert_close(S, torch.tensor([[1.2, 1.6]]).double(), atol=1e-6, rtol=0)
    S = plain(SigLIP, τ=0.5)(images, texts)
    assert_close(S, torch.tensor([[1.2, 1.6]]).double() - 10, atol=1e-6, rtol=0)


def test_an_exact_model_gives_exact_scores():
    model = plain(CLIP, τ=1.0)
    S = exact.exactify(model)(exact("3 4; 1 0"), exact("4 3; 0 2"))
    assert exact.equal(S, exact([["24/25", "4/5"], ["4/5", "0"]]))


def test_the_losses_are_those_of_the_scores():
    x, t = torch.randn(5, 4), torch.randn(5, 3)
    for kind, loss in ((CLIP, clip_loss_both_ways), (SigLIP, siglip_loss)):
        model = model_of(kind)
        assert_close(model.loss(x, t), loss(model(x, t)))


def test_the_scale_is_held_while_training_and_can_come_down_again():
    model = plain(CLIP)
    with torch.no_grad():
        model.s.fill_(log(1000.0))
    # one wrong pair: a lower scale is better
    model.loss(torch.tensor([[1.0, 0.0], [0.0, 1.0]]).double(), torch.tensor([[0.0, 1.0], [1.0, 0.0]]).double()).backward()
    assert_close(model.τ.item(), 0.01, atol=1e-8, rtol=0)
    assert model.s.grad > 0


def test_recall_goes_both_ways():
    # cosines [[1, 0], [2/√5, 1/√5]]: the second image takes the first text, but each text finds its image
    images, texts = torch.tensor([[1.0, 0.0], [2.0, 1.0]]).double(), torch.eye(2).double()
    assert plain(CLIP).recall(images, texts) == (0.5, 1.0)


@pytest.mark.parametrize("kind", [CLIP, SigLIP])
def test_pairs_learn_to_find_each_other(kind):
    torch.manual_seed(0)
    model = kind(nn.Identity(), nn.Identity(), image_width=6, text_width=5, width=4)
    hidden = torch.randn(16, 4)
    images, texts = hidden @ torch.randn(4, 6), hidden @ torch.randn(4, 5)
    before = model.loss(images, texts).item()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(150):
        optimizer.zero_grad()
        model.loss(images, texts).backward()
        optimizer.step()
    assert model.loss(images, texts).item() < before / 4
    assert min(model.recall(images, texts)) > 0.9
    assert model.recall(images, texts[torch.arange(15, -1, -1)], k=1)[0] < 0.3


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"width": 0},
            ShapeError,
            "The towers and the common space need a width of at least 1: image_width = 2, text_width = 2, width = 0.",
        ),
        (
            {"τ": 0.0},
            DomainError,
            "The temperature starts at 1/100 or above, where the scale is held; τ = 0.",
        ),
    ],
)
def test_messages(options, error, message):
    settings = {"image_width": 2, "text_width": 2, "width": 2} | options
    with pytest.raises(error) as raised:
        CLIP(nn.Identity(), nn.Identity(), **settings)
    assert str(raised.value) == message
