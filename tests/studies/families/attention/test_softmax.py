"""Softmax and its scale: the figures of the worked examples, and what the claims rest on."""

import pytest
import torch

from workings.errors import WorkingsError
from workings.nn.temperature import softmax, softmax_jacobian, variance
from workings.studies.families.attention.scores import dot_and_cosine, root_d
from workings.studies.families.attention.softmax import sharpening, temperature


def claim(parts, words):
    return next(part for part in parts if words in getattr(part, "sentence", ""))


def table(parts):
    return next(part for part in parts if hasattr(part, "columns") and hasattr(part, "rows") and part.rows)


def test_norms_of_the_jacobian_of_1_2_3():
    rows = table(sharpening()).rows
    assert [row[-1] for row in rows] == pytest.approx([0.38939, 0.21298, 0.0912086], abs=1e-5)
    J = torch.autograd.functional.jacobian(lambda s: s.softmax(0), 2 * torch.tensor([1.0, 2.0, 3.0]))
    assert J.norm().item() == pytest.approx(0.21298, abs=1e-5)


def test_two_decimals_of_three_softmaxes():
    assert "(0.0159, 0.1173, 0.8668)" in claim(sharpening(), "0.87").evidence


def test_trace_of_the_jacobian_bounds_its_norm():
    s = torch.randn(200, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 5
    J, p = softmax_jacobian(s), softmax(s)
    trace = 1 - (p**2).sum(-1)
    assert bool((J.flatten(1).norm(dim=1) <= trace + 1e-12).all())
    assert bool((trace <= 2 * (1 - p.amax(-1)) + 1e-12).all())


def test_variances_that_the_text_names():
    p = torch.tensor([0.97, 0.01, 0.01, 0.01], dtype=torch.float64)
    assert variance(p).item() == pytest.approx(0.1728) and variance(torch.eye(4)[0]).item() == 0.1875


def test_temperatures_of_a_worked_example():
    # scores 1, 2, 3: nearly uniform at T = 10, one-hot at T = 0.1
    s = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    assert softmax(s, T=10.0).tolist() == pytest.approx([0.30061, 0.332225, 0.367165], abs=1e-6)
    assert softmax(s, T=0.1).tolist() == pytest.approx([2.06106e-09, 4.53979e-05, 0.999955], abs=1e-6)


def test_the_false_statement_has_a_witness():
    assert claim(temperature(), "(i)").verdict == "holds"
    assert "10^-1303" in claim(temperature(), "(iv)").evidence


@pytest.mark.parametrize("components", ["uniform", "signs"])
def test_the_root_of_d_does_not_need_normal_components(components):
    verdicts = {part.verdict.value for part in root_d(components=components) if hasattr(part, "verdict")}
    assert verdicts == {"holds"}


def test_scores_with_means_and_correlation():
    # d = 32, μ = ½: 1 + ½ + 32/16 = 3.5; ρ = 0.4: 1 + 31 · 0.16 = 5.96
    parts = root_d()
    for words, law in (("mean μ", 3.5), ("correlation ρ", 5.96)):
        low, high = claim(parts, words).interval
        assert low < law < high


def test_cosines_forget_lengths():
    assert "left [3/5 4/5 1], right [3/5 4/5 1]" in claim(dot_and_cosine(), "seven times").evidence


def test_logits_that_do_not_differ():
    with pytest.raises(WorkingsError) as error:
        sharpening(logits="2 2")
    assert str(error.value) == "logits is a list of numbers that differ by 0.01 to 10, such as '1 2 3'; got '2 2'."
