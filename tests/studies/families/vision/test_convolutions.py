"""Convolutions, heads, pooling, house numbers: counts by hand, the listing's faults, and the stand-in for SVHN."""

import pytest
import torch
from scipy.io import loadmat

from workings.errors import WorkingsError
from workings.studies import Table
from workings.studies.families.vision.cnn_head import LISTING, _mends, head_as_convolution, wrong_linear
from workings.studies.families.vision.convolutions import _reads, conv_counts, conv_sizes
from workings.studies.families.vision.house_numbers import house_numbers
from workings.studies.families.vision.pooling import pooling
from workings.train.data.images import images
from workings.train.data.streets import street_scenes, write_svhn


def claims(parts):
    return {part.sentence: part for part in parts if hasattr(part, "sentence")}


def table(parts):
    return next(part for part in parts if isinstance(part, Table))


def test_sizes_by_hand():
    rows = {tuple(row[:4]): tuple(row[4:]) for row in table(conv_sizes(settings=20)).rows}
    assert rows[128, 3, 1, 0] == (126, 0) and rows[128, 5, 3, 0] == (42, 0) and rows[128, 4, 3, 0] == (42, 1)


def test_how_often_entries_are_read():
    # 6 entries, kernel 3, stride 2: places 0 and 2
    assert _reads(6, 3, 2, 0).tolist() == [1, 1, 2, 1, 1, 0]


def test_the_count_without_biases_is_3688():
    found = claims(conv_counts(settings=5, broken="biases forgotten"))
    assert "200 + 0 + 2048 + 0 + 1440 = 3688" in next(one.evidence for text, one in found.items() if "3722" in text)


def test_the_two_commas():
    assert _mends(LISTING) == [(3, 6)]
    assert _mends(LISTING.replace("nn.AvgPool2d(4)", "nn.AvgPool2d(4),")) == [(6,)]


def test_the_linear_layer_names_both_sizes():
    found = claims(wrong_linear())
    assert any("2x144 and 120x10" in one.evidence for one in found.values())


def test_a_head_with_features_that_fit_is_no_fault():
    assert any(one.verdict == "fails" for one in claims(wrong_linear(features=144)).values())


def test_the_map_of_a_larger_image():
    assert "5×3" in table(head_as_convolution(images=1)).note


def test_pictures_that_do_not_move_do_not_change():
    assert table(pooling(samples=1_000)).rows[0] == [0, 0.0, 0.0, 0.0]


def test_street_scenes_are_read_as_svhn(tmp_path):
    write_svhn(tmp_path, 60, 20, torch.Generator().manual_seed(1))
    raw = loadmat(tmp_path / "train_32x32.mat")
    assert raw["X"].shape == (32, 32, 3, 60) and {*raw["y"].flatten().tolist()} <= {*range(1, 11)}
    read = images(str(tmp_path))
    assert read.x.shape == (60, 1, 32, 32) and read.x_test.shape == (20, 1, 32, 32)
    assert read.y.tolist() == [label % 10 for label in raw["y"].flatten().tolist()]


def test_scenes_come_from_their_seed():
    one, other, again = (street_scenes(5, torch.Generator().manual_seed(seed)) for seed in (0, 1, 0))
    assert torch.equal(one[0], again[0]) and torch.equal(one[1], again[1]) and not torch.equal(one[0], other[0])


def test_a_folder_of_ones_own(tmp_path):
    write_svhn(tmp_path, 300, 20, torch.Generator().manual_seed(2))
    parts = house_numbers(folder=str(tmp_path))
    assert sum(row[1] for row in table(parts).rows) == 300
    assert any(str(tmp_path) in getattr(part, "text", "") for part in parts)
    with pytest.raises(WorkingsError, match="neither a data set"):
        house_numbers(folder=str(tmp_path / "nowhere"))


def test_out_of_range():
    with pytest.raises(WorkingsError, match=r"window goes from 2 to 4: of pictures of 8×8; got 5\."):
        pooling(window=5)
