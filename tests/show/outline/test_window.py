"""The first window of a convolution and of a pooling stands under it, with its numbers."""

import pytest
import torch
import torch.nn.functional as F

from workings import exact, show
from workings.check import check

IMAGE = torch.arange(16.0).reshape(1, 1, 4, 4)
KERNEL = torch.tensor([[[[1.0, 0.0], [0.0, -2.0]]]])


def lines(function, *args):
    return [line.strip() for line in show(function, *args).text().split("\n")]


def test_a_convolution_by_hand():
    # 0·1 + 1·0 + 4·0 − 5·2 + 1/2 = −9.5
    def f(x, w, b):
        y = F.conv2d(x, w, b)
        return y

    text = lines(f, IMAGE, KERNEL, torch.tensor([0.5]))
    assert "y[0, 0, 0, 0] = Σ (window ⊙ kernel) + bias = Σ (⎡0  1⎤ ⊙ ⎡1   0⎤) + 0.5 = −9.5" in text


def test_zeros_around_an_image_are_in_its_window():
    def f(x, w):
        y = F.conv2d(x, w, padding=1, stride=2)
        return y

    text = lines(f, IMAGE + 1, KERNEL)
    assert "y[0, 0, 0, 0] = Σ (window ⊙ kernel) = Σ (⎡0  0⎤ ⊙ ⎡1   0⎤) = −2" in text


def test_one_axis_and_no_batch():
    def f(x, w):
        y = F.conv1d(x, w)
        return y

    assert "y[0, 0] = Σ (window ⊙ kernel) = Σ ([1, 2] ⊙ [3, −1]) = 1" in lines(f, exact([[1, 2, 5]]), exact([[[3, -1]]]))


@pytest.mark.parametrize(("pool", "written"), [("max_pool2d", "max(⎡0  1⎤) = 5"), ("avg_pool2d", "mean(⎡0  1⎤) = 2.5")])
def test_pooling(pool, written):
    def f(x):
        y = getattr(F, pool)(x, 2)
        z = F.max_pool2d(x, 2) if pool == "max_pool2d" else F.avg_pool2d(x, 2)
        return y + z

    assert any(line.startswith("z[0, 0, 0, 0] = ") and line.endswith(written) for line in lines(f, IMAGE))


@pytest.mark.parametrize(
    ("x", "w", "options"),
    [
        (torch.ones(1, 2, 3, 3), torch.ones(1, 2, 2, 2), {}),
        (torch.ones(1, 1, 9, 9), torch.ones(1, 1, 5, 5), {}),
        (torch.ones(1, 1, 9, 9), torch.ones(1, 1, 3, 3), {"dilation": 2}),
    ],
    ids=["channels", "large", "dilated"],
)
def test_a_window_that_is_no_small_matrix_is_left_out(x, w, options):
    def f(x, w):
        y = F.conv2d(x, w, **options)
        return y

    assert not any("window" in line for line in lines(f, x, w))


def test_it_is_read_by_check():
    def f(x, w):
        y = F.conv2d(x, w)
        return y

    report = check(show(f, IMAGE, KERNEL).markdown(), kind="markdown")
    assert report.findings("note") == [] and report.results.counts.unread == 0


def test_in_latex():
    def f(x, w):
        y = F.conv2d(x, w)
        return y

    assert r"y[0, 0, 0, 0] &= \sum (\mathrm{window} \odot \mathrm{kernel})" in show(f, IMAGE, KERNEL).latex()
