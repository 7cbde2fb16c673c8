"""CLIP's and SigLIP's losses: by hand, exact, their gradients, and what a shift of a row does to each."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from workings import exact
from workings.errors import DomainError, ShapeError
from workings.nn.objectives import contrastive
from workings.nn.objectives.contrastive import (
    clip_gradient,
    clip_loss,
    clip_loss_both_ways,
    margin,
    normalised,
    recall_at,
    siglip_gradient,
    siglip_loss,
    similarities,
)

S = [[2.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 3.0]]
CLIP = "-log(e^3/(1 + e + e^3))/3 - log(e^2/(1 + e + e^2))/3 - log(e/(2 + e))/3"
CLIP_GRADIENT = """
    -1/3 + e^2/(3*(1 + e + e^2))  1/(3*(1 + e + e^2))  e/(3*(1 + e + e^2));
    1/(3*(2 + e))  -1/3 + e/(3*(2 + e))  1/(3*(2 + e));
    e/(3*(1 + e + e^3))  1/(3*(1 + e + e^3))  -1/3 + e^3/(3*(1 + e + e^3))"""
CLIP_ROUNDED = [[-0.111586, 0.0300102, 0.0815762], [0.0706472, -0.141294, 0.0706472], [0.0380651, 0.0140034, -0.0520684]]
SIGLIP = """-log(1/(e^-3 + 1))/3 - log(1/(e^-2 + 1))/3 - log(1/(e^-1 + 1))/3
    - 2*log(1 - 1/(e^-1 + 1))/3 + 4*log(2)/3"""
SIGLIP_GRADIENT = """
    -1/3 + 1/(3*(e^-2 + 1))  1/6  1/(3*(e^-1 + 1));
    1/6  -1/3 + 1/(3*(e^-1 + 1))  1/6;
    1/(3*(e^-1 + 1))  1/6  -1/3 + 1/(3*(e^-3 + 1))"""
SIGLIP_ROUNDED = [[-0.0397343, 0.166667, 0.243686], [0.166667, -0.0896471, 0.166667], [0.243686, 0.166667, -0.0158086]]


def double(values):
    return torch.tensor(values, dtype=torch.float64)


def matrix(text):
    """Rows ended by ;, entries separated by two spaces."""
    return exact([[entry.strip() for entry in row.split("  ") if entry.strip()] for row in text.split(";")])


scores = st.integers(2, 4).flatmap(
    lambda n: st.lists(st.lists(st.floats(-20, 20), min_size=n, max_size=n), min_size=n, max_size=n).map(double)
)


@pytest.mark.parametrize(
    ("loss", "formula", "rounded"),
    [(clip_loss, CLIP, 0.376299), (siglip_loss, SIGLIP.replace("\n", " "), 1.96263)],
    ids=["clip", "siglip"],
)
def test_the_loss_worked_out(loss, formula, rounded):
    assert exact.equal(loss(exact(S)), exact([formula])[0])
    assert_close(loss(double(S)).item(), rounded, atol=0, rtol=1e-5)


@pytest.mark.parametrize(
    ("gradient", "formula", "rounded"),
    [(clip_gradient, CLIP_GRADIENT, CLIP_ROUNDED), (siglip_gradient, SIGLIP_GRADIENT, SIGLIP_ROUNDED)],
    ids=["clip", "siglip"],
)
def test_the_gradient_worked_out(gradient, formula, rounded):
    assert exact.equal(gradient(exact(S)), matrix(formula))
    assert_close(gradient(double(S)), double(rounded), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize(("loss", "gradient"), [(clip_loss, clip_gradient), (siglip_loss, siglip_gradient)])
def test_the_gradient_is_autograds(loss, gradient):
    s = exact.symbols("s_con", shape=(2, 2)).requires_grad_()
    loss(s).backward()
    assert exact.equal(s.grad, gradient(s.detach()))
    x = torch.randn(4, 4, dtype=torch.float64, requires_grad=True)
    loss(x).backward()
    assert_close(x.grad, gradient(x.detach()))


@given(scores)
def test_the_signs_of_both_gradients(s):
    own = torch.eye(len(s), dtype=torch.bool)
    for gradient in (clip_gradient, siglip_gradient):
        G = gradient(s)
        assert (G[own] < 0).all() and (G[~own] > 0).all()
    assert_close(clip_gradient(s).sum(dim=1), torch.zeros(len(s), dtype=torch.float64), atol=1e-12, rtol=0)


@given(scores)
def test_the_kernels_agree_with_the_equations(s):
    for loss in (clip_loss, siglip_loss):
        assert_close(loss(s), loss.__definition__(s))


def test_far_scores_stay_finite_in_both_forms():
    s = torch.tensor([[-500.0, 500.0], [500.0, -500.0]])
    assert clip_loss(s) == clip_loss.__definition__(s) == 1000
    assert siglip_loss(s) == siglip_loss.__definition__(s) == 1000


def test_both_ways_is_the_mean_of_rows_and_columns():
    s = double([[2, 0], [1, 3]])
    rows, columns = F.cross_entropy(s, torch.arange(2)), F.cross_entropy(s.T, torch.arange(2))
    assert rows != columns
    assert_close(clip_loss_both_ways(s), (rows + columns) / 2)


def test_a_shift_of_each_row_changes_siglip_and_not_clip():
    shifted = double(S) + double([[1], [-2], [0.5]])
    assert_close(clip_loss(shifted).item(), 0.376299, atol=1e-6, rtol=0)
    assert_close(siglip_loss(shifted).item(), 2.58705, atol=1e-5, rtol=0)
    shifted = exact(S) + exact([[1], [-2], ["1/2"]])
    assert exact.equal(clip_loss(shifted), clip_loss(exact(S)))
    assert not exact.equal(siglip_loss(shifted), siglip_loss(exact(S)))


def test_sigmoids_gradient_of_a_pair_does_not_depend_on_the_batch():
    torch.manual_seed(0)
    s = torch.randn(8, 8, dtype=torch.float64)
    for n in (2, 4, 8):
        assert_close(n * siglip_gradient(s[:n, :n])[0, 1], torch.sigmoid(s[0, 1]))
    assert n * clip_gradient(s)[0, 1] < 2 * clip_gradient(s[:2, :2])[0, 1]


@pytest.mark.parametrize(("τ", "expected"), [(1, 7.79343), (0.1, 0.779343), (0.07, 0.54554), (0.01, 0.0779343)])
def test_the_margin_for_a_loss_of_a_tenth(τ, expected):
    m = margin(τ, 256, 0.1)
    assert_close(m.item(), expected, atol=0, rtol=1e-5)
    # 256 pairs whose match is larger by the margin, at this temperature, have that loss
    s = torch.eye(256, dtype=torch.float64) * m / τ
    assert_close(clip_loss(s).item(), 0.1)


def test_the_margin_in_letters():
    τ, L = exact.symbols("tau_m L_m")
    assert exact.equal(margin(τ, 256, L), exact("tau_m * log(255/(e^L_m - 1))"))


def test_the_gradient_by_an_embedding_grows_as_the_temperature_falls():
    # ∂L/∂F = (∂L/∂S) G / τ; at F = 0 all scores are 0, so ∂L/∂S does not depend on τ
    f, g = torch.zeros(3, 2, dtype=torch.float64, requires_grad=True), torch.eye(3, 2, dtype=torch.float64)
    norms = []
    for τ in (1.0, 0.1):
        (G,) = torch.autograd.grad(clip_loss(similarities(f, g, τ)), f)
        norms.append(G.norm().item())
    assert_close(norms[1] / norms[0], 10.0)


def test_similarities_are_cosines_over_the_temperature():
    f, g = normalised(exact("3 4; 1 0")), normalised(exact("4 3; 0 2"))
    expected = exact([["24/25", "4/5"], ["4/5", "0"]]) / exact("tau_s")
    assert exact.equal(similarities(f, g, exact("tau_s")), expected)
    v = exact([["a_n", "b_n"]])
    assert exact.equal(normalised(v), v / exact("sqrt(a_n^2 + b_n^2)"))


@given(scores, st.integers(1, 2))
def test_recall_counts_rows_whose_match_is_among_the_first(s, k):
    first = s.topk(k, dim=1).indices
    expected = sum(i in row for i, row in enumerate(first.tolist())) / len(s)
    ties = any((row == row[i]).sum() > 1 for i, row in enumerate(s))
    assert recall_at(s, k) <= expected if ties else recall_at(s, k) == expected


def test_recall_does_not_reward_a_collapsed_model():
    assert recall_at(torch.zeros(4, 4), 1) == 0
    assert recall_at(torch.full((4, 4), torch.nan), 1) == 0
    assert recall_at(torch.eye(4), 1) == 1


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: clip_loss(torch.zeros(2, 3)), ShapeError, "clip_loss needs S as […, n, n] (pairs), but S is [2, 3]."),
        (
            lambda: siglip_loss(torch.zeros(0, 0)),
            ShapeError,
            "siglip_loss needs S as […, n, n] with n ≥ 1 (pairs), but S is [0, 0].",
        ),
        (lambda: margin(0.1, 1, 0.1), DomainError, "A margin needs N ≥ 2 pairs and a loss L > 0; N = 1, L = 0.1."),
        (
            lambda: similarities(torch.eye(2), torch.eye(2), -1),
            DomainError,
            "A temperature is positive; τ = -1. Small τ sharpens, large τ smooths.",
        ),
        (
            lambda: similarities(torch.eye(2), torch.eye(3)),
            ShapeError,
            (
                "similarities needs F as […, n, d] and G as […, m, d]: d (width of an embedding) is 2 in F [2, 2], but 3 "
                "in G [3, 3]."
            ),
        ),
        (
            lambda: recall_at(torch.zeros(2, 3), 4),
            ShapeError,
            "Recall at k needs a column for each row, and 1 ≤ k ≤ columns; S is [2, 3], k = 4.",
        ),
        (
            lambda: normalised(torch.tensor([[1.0, 0.0], [0.0, 0.0]])),
            DomainError,
            "A vector of zeros has no direction, so no cosine: the row of X at [1] is zero.",
        ),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message


def test_messages_of_both_forms():
    for form in (clip_loss.__definition__, contrastive.clip_kernel, siglip_loss.__definition__, contrastive.siglip_kernel):
        with pytest.raises(ShapeError):
            form(torch.zeros(2, 3))
