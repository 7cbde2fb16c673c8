"""Rules of single operations: a number a person can check for each, and float64 where a kernel's convention matters."""

import itertools

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from workings import exact
from workings.errors import ShapeError


def same(x, text):
    """Every element of `x` is, as a formula, the element written in `text`."""
    return x.elements() == exact(text).elements()


# ---- orthogonal polynomials
POLYNOMIALS = {
    # at x = 1/2, n = 3
    "chebyshev_polynomial_t": "-1",  # 4x³ − 3x
    "chebyshev_polynomial_u": "-1",  # 8x³ − 4x
    "chebyshev_polynomial_v": "-1",  # 8x³ − 4x² − 4x + 1
    "chebyshev_polynomial_w": "-1",  # 8x³ + 4x² − 4x − 1
    "hermite_polynomial_h": "-5",  # 8x³ − 12x
    "hermite_polynomial_he": "-11/8",  # x³ − 3x
    "laguerre_polynomial_l": "-7/48",  # (−x³ + 9x² − 18x + 6)/6
    "legendre_polynomial_p": "-7/16",  # (5x³ − 3x)/2
    "shifted_chebyshev_polynomial_t": "0",  # T₃(0)
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_a_polynomial_of_degree_three(name):
    assert same(getattr(torch.special, name)(exact("1/2"), exact("3")), POLYNOMIALS[name])


def test_a_degree_is_cut_towards_zero():
    # −1/2 is cut to 0, so P₀ = 1; a negative degree gives 0.
    assert same(torch.special.legendre_polynomial_p(exact("3 3 3"), exact("-1/2 5/2 -1")), "1 13 0")


# ---- functions
def test_softplus_with_a_threshold():
    # The default threshold is a kernel's shortcut; a lower one is a wish: 3·1 > 1/5, so the branch x.
    assert same(F.softplus(exact("1 -1"), beta=3, threshold=0.2), "1 log(1+e^(-3))/3")
    assert same(F.softplus(exact("30")), "log(1+e^30)")


def test_frexp():
    mantissa, exponent = torch.frexp(exact("6 -1/3 0 1"))
    assert same(mantissa, "3/4 -2/3 0 1/2")
    assert exponent.tolist() == [3, -1, 0, 1]


def test_zeta_of_negative_places():
    # Σ 1/(k − 1/2)² from k = 0: 4 + 4 + 4/9 + … = 4 + π²/2; a root of a negative number is not real.
    v = torch.special.zeta(exact("2 3/2"), exact("-1/2 -1/2"))
    assert v.float64()[0].item() == pytest.approx(4 + torch.pi**2 / 2, abs=1e-12)
    assert v.float64()[1].isnan()


# ---- histograms
def test_histc_puts_the_right_end_into_the_last_bin():
    assert same(torch.histc(exact("0 1/3 2/3 1 2"), bins=3, min=0, max=1), "1 1 2")


def test_no_bins_are_refused():
    with pytest.raises(ShapeError, match="A histogram needs at least 1 bin; 0 were asked for"):
        torch.histc(exact("1 2"), 0)


def test_histogram_as_a_density():
    # Bins [0, 1) and [1, 3]: one and two of three numbers, widths 1 and 2.
    hist, edges = torch.histogram(exact("1/2 1 2"), exact("0 1 3"), density=True)
    assert same(hist, "1/3 1/3")
    assert same(edges, "0 1 3")


def test_histogram_in_two_dimensions():
    hist, _ = torch.histogramdd(exact("0 0; 1 1; 1 0"), [2, 2], weight=exact("1/2 1/3 1/5"))
    assert same(hist, "1/2 0; 1/5 1/3")


# ---- segments and bags
def test_segments():
    x = exact("1 2 3 4").requires_grad_()
    y = torch.segment_reduce(x, "prod", lengths=torch.tensor([1, 3, 0]), initial=2)
    assert same(y, "2 48 2")  # 2·1, 2·2·3·4, 2
    (grad,) = torch.autograd.grad(y.sum(), x)
    assert same(grad, "2 24 16 12")


def test_maxima_of_a_segment_share_the_gradient():
    x = exact("5 5 1").requires_grad_()
    y = torch.segment_reduce(x, "max", lengths=torch.tensor([3]))
    assert same(torch.autograd.grad(y.sum(), x)[0], "1/2 1/2 0")


@pytest.mark.parametrize(("mode", "expected"), [("sum", "4 6; 0 0"), ("mean", "2 3; 0 0"), ("max", "3 4; 0 0")])
def test_bags_of_embeddings(mode, expected):
    table = exact("1 2; 3 4; 5 6").requires_grad_()
    y = F.embedding_bag(torch.tensor([0, 1]), table, torch.tensor([0, 2]), mode=mode)
    assert same(y, expected)
    (grad,) = torch.autograd.grad(y.sum(), table)
    assert same(grad, {"sum": "1 1; 1 1; 0 0", "mean": "1/2 1/2; 1/2 1/2; 0 0", "max": "0 0; 1 1; 0 0"}[mode])


# ---- losses
def test_multilabel_margin():
    # Target class 1; others: 1 − 2 + 1/2 < 0 and 1 − 2 + 3 = 2; divided by 3 classes.
    loss = F.multilabel_margin_loss(exact("1/2 2 3"), torch.tensor([1, -1, -1]))
    assert same(loss, "2/3")


# ---- sampling
def test_a_point_between_four_pixels():
    # The middle of a 2×2 image: the mean of its pixels.
    image = exact("1 2; 3 5").reshape(1, 1, 2, 2)
    assert same(F.grid_sample(image, exact("0 0").reshape(1, 1, 1, 2), align_corners=False).reshape(1), "11/4")


MODES = [(2, "bilinear"), (2, "nearest"), (2, "bicubic"), (3, "bilinear"), (3, "nearest")]
CASES = [(*m, *c) for m, c in itertools.product(MODES, itertools.product(("zeros", "border", "reflection"), (True, False)))]


@pytest.mark.parametrize(("axes", "mode", "padding", "align"), CASES)
def test_sampling_against_float64(axes, mode, padding, align):
    draw = torch.Generator().manual_seed(1)
    image = torch.randint(-8, 9, (1, 2, *[3, 2, 2][:axes]), generator=draw).double() / 8
    grid = torch.randint(-24, 25, (1, *[2] * axes, axes), generator=draw).double() / 16
    grid.view(-1)[:3] = torch.tensor([1.0, -1.0, 0.0])  # at the borders of cells
    results = []
    for x, g in ((image, grid), (exact(image), exact(grid))):
        x, g = x.clone().requires_grad_(), g.clone().requires_grad_()
        y = F.grid_sample(x, g, mode, padding, align)
        results.append((y.detach(), *torch.autograd.grad(y.square().sum(), (x, g))))
    for plain, found in zip(*results, strict=True):
        assert torch.allclose(found.float64(), plain, atol=1e-12)


# ---- Fourier
def test_irfft_of_four():
    # y_j = (1 + 2·2 cos(πj/2) + 3 cos(πj))/4
    assert same(torch.fft.irfft(exact("1 2 3")), "2 -1/2 0 -1/2")
    assert same(torch.fft.hfft(exact("1 2 3"), norm="forward"), "2 -1/2 0 -1/2")


def test_transforms_against_float64():
    x = torch.tensor([[1.0, 2, -1], [0.5, 0, 3], [2, 1, 1]], dtype=torch.float64)
    for f in (torch.fft.irfft2, torch.fft.hfft2, torch.fft.irfftn, torch.fft.hfftn):
        for options in ({}, {"norm": "ortho"}, {"s": (2, 5), "dim": (0, 1)}):
            assert torch.allclose(f(exact(x), **options).float64(), f(x, **options), atol=1e-12)


def test_stft_against_float64():
    x = torch.tensor([1.0, 2, -1, 0.5, 3, 0, 1, 2], dtype=torch.float64)
    options = {"n_fft": 4, "hop_length": 2, "window": torch.tensor([0.5, 1, 1, 0.5], dtype=torch.float64)}
    expected = torch.view_as_real(torch.stft(x, return_complex=True, **options))
    options["window"] = exact(options["window"])
    assert torch.allclose(torch.stft(exact(x), return_complex=False, **options).float64(), expected, atol=1e-12)


# ---- what in-place operations and the mode do
def test_an_in_place_power():
    assert same(exact("2 3").pow_(2), "4 9")


def test_a_mask_made_a_number_inside_the_mode_is_exact():
    with exact.mode():
        weights = torch.tensor([True, False]).to(torch.float64)
    weights.mul_(exact("1/3"))
    assert same(weights, "1/3 0")


def test_an_embedding_with_a_largest_norm():
    table = nn.Embedding(3, 2, max_norm=1.0).double()
    with torch.no_grad():
        table.weight.copy_(torch.tensor([[3.0, 4.0], [0.5, 0.0], [6.0, 8.0]]))
    found = exact.exactify(table)(torch.tensor([0, 1]))
    # The row (3, 4) has the length 5: it is divided by 5 + 10⁻⁷.
    assert same(found[0], exact("3 4") / (5 + exact("1e-7")))
    assert found[1].tolist() == [0.5, 0]
    assert table.weight[2].tolist() == [6, 8]


def test_bincount_of_weights():
    counts = torch.bincount(torch.tensor([0, 2, 2]), weights=exact("1 1/2 1/3"), minlength=4)
    assert same(counts, exact("1 0 5/6 0"))
