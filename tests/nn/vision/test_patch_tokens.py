"""Patches: the linear form equals the convolution, and positions follow the grid."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from workings import exact
from workings.errors import ShapeError, WorkingsError
from workings.nn.vision.patch_tokens import (
    cosine_map,
    grid_of,
    patch_embedding,
    patch_embedding_conv,
    patches,
    resampled,
    resampled_positions,
)


def test_the_usual_numbers():
    X = patches(torch.zeros(3, 224, 224), 16)
    assert grid_of(224, 224, 16) == (14, 14)
    assert X.shape == (196, 768)


def test_patches_by_hand():
    image = exact.arange(8).reshape(1, 2, 4)
    # [0 1 2 3; 4 5 6 7] in two 2×2 patches
    assert exact.equal(patches(image, 2), exact("0 1 4 5; 2 3 6 7"))


@settings(max_examples=20)
@given(
    seed=st.integers(0, 99), grid=st.tuples(st.integers(1, 3), st.integers(1, 3)), P=st.integers(1, 4), bias=st.booleans()
)
def test_all_forms_agree(seed, grid, P, bias):
    torch.manual_seed(seed)
    image = torch.rand(2, 3, grid[0] * P, grid[1] * P, dtype=torch.float64)
    W = torch.rand(5, 3 * P * P, dtype=torch.float64) / (3 * P * P)
    b = torch.rand(5, dtype=torch.float64) if bias else None
    conv = F.conv2d(image, W.reshape(5, 3, P, P), b, stride=P).flatten(2).mT
    for form in (patch_embedding, patch_embedding.__definition__, patch_embedding_conv):
        found = form(image, W, b, P)
        assert found.shape == (2, grid[0] * grid[1], 5)
        assert (found - conv).abs().max() < 1e-14


def test_at_full_size():
    torch.manual_seed(0)
    image, W = torch.rand(3, 224, 224, dtype=torch.float64), torch.randn(8, 768, dtype=torch.float64) / 768
    difference = patch_embedding.__definition__(image, W, None, 16) - patch_embedding_conv(image, W, None, 16)
    assert difference.abs().max() < 1e-14


def test_exact_forms_agree():
    image, W, b = exact.arange(32).reshape(2, 4, 4), exact.arange(16).reshape(2, 8) / 3, exact("1/2 w_pt1")
    assert exact.equal(patch_embedding(image, W, b, 2), patch_embedding_conv(image, W, b, 2))


def test_the_gradient():
    image = torch.rand(1, 4, 4, dtype=torch.float64, requires_grad=True)
    W = torch.rand(2, 4, dtype=torch.float64, requires_grad=True)
    for form in (patch_embedding, patch_embedding_conv):
        assert torch.autograd.gradcheck(lambda image, W, form=form: form(image, W, None, 2), (image, W))


def test_what_does_not_tile():
    with pytest.raises(ShapeError) as error:
        patches(torch.zeros(3, 225, 230), 16)
    assert str(error.value) == (
        "Patches of 16×16 must tile the image: 225×230 leaves 1 rows and 6 columns over. "
        "Resize or pad the image, or choose another patch size."
    )


@pytest.mark.parametrize("form", [patch_embedding, patch_embedding.__definition__, patch_embedding_conv])
def test_weights_of_another_patch(form):
    with pytest.raises(ShapeError) as error:
        form(torch.zeros(3, 8, 8), torch.zeros(5, 16), None, 4)
    assert str(error.value) == "X Wᵀ needs one column of W for each number of a patch: 3·4·4 = 48, but W is [5, 16]."


@pytest.mark.parametrize("how", ["bilinear", "bicubic"])
def test_resampled_positions(how):
    E = torch.randn(1 + 14 * 14, 8)
    assert torch.equal(resampled_positions(E, (14, 14), (14, 14), how), E)
    new = resampled_positions(E, (14, 14), (24, 20), how)
    assert new.shape == (1 + 24 * 20, 8) and torch.equal(new[0], E[0])
    image = E[1:].reshape(14, 14, 8).permute(2, 0, 1)[None]
    expected = F.interpolate(image, size=(24, 20), mode=how, align_corners=False)[0].permute(1, 2, 0).reshape(-1, 8)
    torch.testing.assert_close(new[1:], expected)


def test_a_ramp_stays_a_ramp():
    # 0 1 2 3 along the columns; bilinear at the half places of a grid of 8: 0, ¼, ¾, 5/4, …, 3
    E = exact.arange(4).reshape(4, 1)
    found = resampled(E, (1, 4), (1, 8), "bilinear")
    assert exact.equal(found, exact("0; 1/4; 3/4; 5/4; 7/4; 9/4; 11/4; 3"))
    torch.testing.assert_close(resampled(E.float64(), (1, 4), (1, 8), "bilinear"), found.float64())


def test_shrinking_averages():
    # from 8 to 2, plain sampling looks between entries 1 and 2 only; smoothed, entry 0 counts too
    E = torch.tensor([1.0, 0, 0, 0, 0, 0, 0, 0]).reshape(8, 1)
    assert resampled(E, (1, 8), (1, 2), "bilinear", antialias=False).abs().max() == 0
    assert resampled(E, (1, 8), (1, 2), "bilinear")[0] > 0.1
    assert resampled(E, (8, 1), (2, 1), "bilinear")[0] > 0.1


def test_messages_about_positions():
    with pytest.raises(WorkingsError) as error:
        resampled(torch.zeros(4, 1), (2, 2), (3, 3), "nearest")
    assert str(error.value) == "Positions are resampled by bilinear or bicubic, not by 'nearest'."
    with pytest.raises(ShapeError) as error:
        resampled_positions(torch.zeros(4, 1), (2, 2), (3, 3))
    assert str(error.value) == "A grid of 2×2 has 4 positions, but there are 3 vectors."


def test_cosine_map():
    # (3, 4)·(4, 3) = 24 over 5·5
    assert exact.equal(cosine_map(exact("3 4; 4 3")), exact("1 24/25; 24/25 1"))
