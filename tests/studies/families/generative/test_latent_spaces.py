"""Two kinds of auto-encoders on digits: the figures by hand, and one short training."""

import pytest
import torch

from workings.errors import WorkingsError
from workings.models import AutoEncoder
from workings.studies.families.generative.latent_spaces import _distance, _trained, latent_spaces
from workings.train.data.images import digits


def test_the_distance_to_the_nearest_picture():
    x = torch.tensor([[0.0, 0.0], [3.0, 4.0]])
    # (0, 1) is 1 from the first; (3, 0) is 3 from the first, 4 from the second
    assert _distance(torch.tensor([[0.0, 1.0], [3.0, 0.0]]), x) == 2


def test_training_lowers_the_error():
    torch.manual_seed(0)
    x = digits().x.flatten(1)
    model = AutoEncoder(64, 4, [16])
    before = float(model.loss(x).detach())
    assert float(_trained(model, x, 60).loss(x).detach()) < 0.5 * before


def test_too_few_seeds_decide_nothing():
    with pytest.raises(
        WorkingsError, match=r"seeds goes from 7 to 50: fewer than seven trials decide nothing at 0\.01; got 3"
    ):
        latent_spaces(seeds=3)
