"""Data sizes and fine-tuning: the laws on paper, the matched compute, and what freezing keeps."""

from math import inf

import pytest
import torch

from workings.errors import WorkingsError
from workings.studies.families.vision import data_size as sizes
from workings.studies.families.vision import fine_tuning as tuning
from workings.studies.families.vision.data_size import crossover, power_law, small_vit, trained
from workings.train.data.images import digits


def test_laws_on_paper():
    a, b = power_law([10, 100, 1000], [0.4, 0.2, 0.1])  # halves for each factor 10: b = log₁₀ 2
    assert (a, b) == pytest.approx((0.8, 0.30103), rel=1e-4)
    assert crossover((0.8, 0.5), (0.2, 0.25)) == pytest.approx(256)  # 0.8/√256 = 0.05 = 0.2/256^¼
    assert crossover((0.8, 0.2), (0.2, 0.25)) == inf


def test_compute_is_matched():
    c, v = sizes._operations(sizes._cnn()), sizes._operations(small_vit(10))
    assert abs(c / v - 1) < 0.2


def test_a_frozen_body_stays_and_a_free_one_moves():
    torch.manual_seed(0)
    data, body = digits(), small_vit(10)
    y = data.y % 5
    for frozen in (True, False):
        model = tuning._beginning(body, "frozen", frozen)
        trained(model, data.x[:40], y[:40], 3, 0.01)
        assert (tuning._moved(body, model) == 0) is frozen
        assert model.head.weight.shape == (5, 16)


def test_out_of_range():
    with pytest.raises(WorkingsError) as error:
        tuning.fine_tuning(labels=500)
    assert str(error.value) == "labels goes from 10 to 60: the claims are about few labels; got 500."
