"""Layer, RMS and batch normalisation: exact by hand, against PyTorch, and what they leave unchanged."""

from math import sqrt

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn, tensor
from torch.testing import assert_close

from workings import exact, show
from workings.errors import DomainError, ShapeError
from workings.nn import (
    BatchNorm,
    LayerNorm,
    RMSNorm,
    batch_norm,
    batch_norm_test,
    batch_statistics,
    layer_norm,
    rms_norm,
)

BATCH = [[[1, 5, 3], [7, 2, 8]], [[4, 6, 9], [3, 5, 7]], [[2, 8, 4], [6, 3, 5]], [[9, 1, 6], [4, 9, 2]]]
AS_PRINTED = [BATCH[0], [[4, 5, 9], [3, 5, 7]], *BATCH[2:]]
VARIANCE = [9.5, 6.5, 5.25, 2.5, 7.1875, 5.25]


def proved(found, text):
    return exact.equal(found, exact(text) if isinstance(text, (str, list)) else text)


def seeded(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# batch norm, training


def test_statistics_of_a_batch_by_hand():
    # entry (0, 0): (1 + 4 + 2 + 9) / 4 = 4 and ((−3)² + 0² + (−2)² + 5²) / 4 = 38/4
    mu, var = batch_statistics(exact(BATCH))
    assert proved(mu, "4 5 11/2; 5 19/4 11/2")
    assert proved(var, "19/2 13/2 21/4; 5/2 115/16 21/4")
    assert mu.text() == exact("4 5 11/2; 5 19/4 11/2").text()


def test_an_entry_read_wrongly_shows_in_its_own_statistics_only():
    mu, var = batch_statistics(exact(AS_PRINTED))
    assert proved(mu, "4 19/4 11/2; 5 19/4 11/2")
    assert proved(var, "19/2 99/16 21/4; 5/2 115/16 21/4")
    assert proved(batch_norm(exact(AS_PRINTED))[0][0, 1], "sqrt(11)/33")  # 0 when the entry is 6


@pytest.mark.parametrize(
    ("sample", "values"),
    [
        (0, "-3*sqrt(38)/19 0 -5*sqrt(21)/21; 2*sqrt(10)/5 -11*sqrt(115)/115 5*sqrt(21)/21"),
        (2, "-2*sqrt(38)/19 3*sqrt(26)/13 -sqrt(21)/7; sqrt(10)/5 -7*sqrt(115)/115 -sqrt(21)/21"),
        (3, "5*sqrt(38)/19 -4*sqrt(26)/13 sqrt(21)/21; -sqrt(10)/5 17*sqrt(115)/115 -sqrt(21)/3"),
    ],
)
def test_a_batch_is_normalised_exactly(sample, values):
    assert proved(batch_norm(exact(BATCH))[sample], values)


def test_a_normalised_batch_has_mean_0_and_variance_1():
    mu, var = batch_statistics(batch_norm(exact(BATCH)))
    assert proved(mu, exact.zeros(2, 3)) and proved(var, exact.ones(2, 3))


@pytest.mark.parametrize("eps", [0.0, 1e-5])
@pytest.mark.parametrize("variance", ["population", "sample"])
def test_exact_and_float_batch_norm_agree(variance, eps):
    H, gamma, beta = exact(BATCH), exact("2 1 1; 1 3 1"), exact("0 1 0; 0 0 5")
    floats = [x.float64() for x in (H, gamma, beta)]
    found = batch_norm(H, gamma, beta, eps, variance)
    assert_close(batch_norm(*floats, eps, variance), found.float64())
    assert_close(batch_norm.__definition__(*floats, eps, variance), found.float64())


def test_batch_norm_equals_torch_in_training():
    H, gamma, beta = seeded(5, 4), seeded(4, seed=1), seeded(4, seed=2)
    theirs = F.batch_norm(H, None, None, gamma, beta, training=True, eps=1e-5)
    assert_close(batch_norm(H, gamma, beta, eps=1e-5), theirs)
    assert_close(batch_norm(H[:, 0], eps=1e-5), F.batch_norm(H, None, None, training=True)[:, 0])  # scalars


def test_the_sample_variance_divides_by_n_minus_1():
    _, var = batch_statistics(exact("1; 3; 8"), variance="sample")
    assert proved(var[0], "13")  # ((−3)² + (−1)² + 4²) / 2
    assert_close(batch_statistics(seeded(5, 3), "sample")[1], seeded(5, 3).var(dim=0))


def test_batch_norm_shows_mean_and_variance():
    text = show(batch_norm, exact("1 5; 3 1")).text()
    assert "μ = mean(H, axis 0) = " in text and "[2  3]" in text
    assert "var = Σ((H − μ)², axis 0) / n" in text
    assert "Y = (H − μ) / √(var + eps)" in text
    assert "matches the unmodified run" in text


# batch norm, test


@pytest.mark.parametrize(
    ("sample", "values"),
    [
        ("3 4 6; 5 4 7", "-sqrt(38)/19 -sqrt(26)/13 sqrt(21)/21; 0 -3*sqrt(115)/115 sqrt(21)/7"),
        ("8 7 5; 6 8 3", "4*sqrt(38)/19 2*sqrt(26)/13 -sqrt(21)/21; sqrt(10)/5 13*sqrt(115)/115 -5*sqrt(21)/21"),
    ],
)
def test_a_test_sample_uses_the_stored_statistics(sample, values):
    mu, var = batch_statistics(exact(BATCH))
    assert proved(batch_norm_test(exact(sample), mu, var), values)
    stored = [x.float64() for x in (exact(sample), mu, var)]
    assert_close(batch_norm_test(*stored), exact(values).float64())


def test_scale_and_shift_at_test_time():
    one = tensor([1.0])
    assert_close(batch_norm_test(5 * one, 3 * one, 4 * one, 10 * one, 7 * one), tensor([17.0]))
    assert_close(batch_norm_test(5 * one, 3 * one, 3 * one, eps=1.0), one)


def test_torch_stores_the_sample_variance_so_its_test_values_are_short_by_the_root_of_three_quarters():
    H, test = tensor(BATCH, dtype=torch.float64).flatten(1), tensor([[3.0, 4, 6, 5, 4, 7]], dtype=torch.float64)
    theirs = nn.BatchNorm1d(6, momentum=1.0, eps=1e-12, dtype=torch.float64)
    theirs(H)
    ours = BatchNorm(6, momentum=1.0, eps=1e-12).double()
    ours(H)
    assert_close(ours.var, tensor(VARIANCE, dtype=torch.float64))
    assert_close(theirs.running_var, tensor(VARIANCE, dtype=torch.float64) * 4 / 3)
    assert_close(theirs.eval()(test), ours.eval()(test) * sqrt(3 / 4))
    expected = tensor([[-0.280976, -0.339683, 0.188982, 0.0, -0.242272, 0.566947]], dtype=torch.float64)
    assert_close(theirs(test), expected, atol=1e-6, rtol=0)


def test_the_module_that_stores_the_sample_variance_is_torchs():
    theirs, ours = nn.BatchNorm1d(3, dtype=torch.float64), BatchNorm(3, variance="sample").double()
    for seed in range(3):
        H = seeded(5, 3, seed=seed)
        assert_close(ours(H), theirs(H))
    assert_close(ours.mu, theirs.running_mean)
    assert_close(ours.var, theirs.running_var)
    assert_close(ours.eval()(H), theirs.eval()(H))


def test_a_module_trains_and_tests_exactly():
    norm = exact.exactify(BatchNorm(2, 3, momentum=1.0, eps=0.0).double())
    assert proved(norm(exact(BATCH)), batch_norm(exact(BATCH)))
    assert proved(norm.mu, "4 5 11/2; 5 19/4 11/2") and proved(norm.var, "19/2 13/2 21/4; 5/2 115/16 21/4")
    norm.eval()
    assert proved(norm(exact([[[3, 4, 6], [5, 4, 7]]]))[0][0], "-sqrt(38)/19 -sqrt(26)/13 sqrt(21)/21")


def test_running_statistics_move_by_the_momentum_and_stay_out_of_the_gradient():
    norm = BatchNorm(1, momentum=0.25)
    norm(tensor([[1.0], [3.0]], requires_grad=True))
    assert_close(norm.mu, tensor([0.5]))  # ¾ · 0 + ¼ · 2
    assert_close(norm.var, tensor([1.0]))  # ¾ · 1 + ¼ · 1
    assert not norm.mu.requires_grad and set(norm.state_dict()) == {"gamma", "beta", "mu", "var"}
    assert not list(BatchNorm(1, affine=False).parameters())


# layer norm and RMS norm


def test_layer_norm_by_hand():
    # μ = 3, σ² = ((−2)² + 0 + 2²) / 3 = 8/3, so n = (−1, 0, 1) · √(3/2)
    x, gamma, beta = exact("1 3 5"), exact("2 1 1"), exact("0 7 0")
    assert proved(layer_norm(x, gamma, beta, eps=0.0), "-sqrt(6) 7 sqrt(6)/2")
    assert proved(layer_norm(x, eps=0.0), "-sqrt(6)/2 0 sqrt(6)/2")


def test_rms_norm_by_hand():
    # the mean square of (1, 7) is 25
    assert proved(rms_norm(exact("1 7"), exact("10 1"), eps=0.0), "2 7/5")


@pytest.mark.parametrize("scaled", [True, False])
def test_norms_equal_torch_and_their_equations(scaled):
    x, gamma, beta = seeded(2, 3, 4), *((seeded(4, seed=1), seeded(4, seed=2)) if scaled else (None, None))
    theirs = F.layer_norm(x, [4], gamma, beta, 1e-3)
    assert_close(layer_norm(x, gamma, beta, 1e-3), theirs)
    assert_close(layer_norm.__definition__(x, gamma, beta, 1e-3), theirs)
    theirs = F.rms_norm(x, [4], gamma, 1e-3)
    assert_close(rms_norm(x, gamma, 1e-3), theirs)
    assert_close(rms_norm.__definition__(x, gamma, 1e-3), theirs)


def test_exact_and_float_layer_norm_agree():
    x, gamma, beta = exact("1 3 5; 2 2 8"), exact("2 1 1"), exact("0 7 0")
    floats = [t.float64() for t in (x, gamma, beta)]
    assert_close(layer_norm(*floats), layer_norm(x, gamma, beta).float64())
    assert_close(rms_norm(*floats[:2]), rms_norm(x, gamma).float64())


@pytest.mark.parametrize("norm", [layer_norm, layer_norm.__definition__])
def test_the_gradient_of_layer_norm(norm):
    x, gamma, beta = (t.requires_grad_() for t in (seeded(2, 4), seeded(4, seed=1), seeded(4, seed=2)))
    assert torch.autograd.gradcheck(norm, (x, gamma, beta))


@pytest.mark.parametrize("norm", [rms_norm, rms_norm.__definition__])
def test_the_gradient_of_rms_norm(norm):
    assert torch.autograd.gradcheck(norm, (seeded(2, 4).requires_grad_(), seeded(4, seed=1).requires_grad_()))


@pytest.mark.parametrize("norm", [batch_norm, batch_norm.__definition__])
@pytest.mark.parametrize("eps", [0.0, 1e-3])
def test_the_gradient_of_batch_norm(norm, eps):
    x, gamma, beta = (t.requires_grad_() for t in (seeded(4, 2, 3), seeded(2, 3, seed=1), seeded(2, 3, seed=2)))
    assert torch.autograd.gradcheck(norm, (x, gamma, beta, eps))


@given(st.floats(0.1, 10), st.floats(-10, 10), st.integers(0, 99))
def test_layer_norm_does_not_see_a_scale_or_a_shift(a, c, seed):
    x = seeded(3, 5, seed=seed)
    assert_close(layer_norm(a * x + c, eps=0.0), layer_norm(x, eps=0.0), atol=1e-6, rtol=1e-6)
    assert_close(rms_norm(a * x, eps=0.0), rms_norm(x, eps=0.0))


def test_rms_norm_sees_a_shift():
    assert not torch.allclose(rms_norm(seeded(5) + 1), rms_norm(seeded(5)))


def test_layer_norm_of_a_token_does_not_depend_on_the_batch_and_batch_norm_does():
    H = seeded(4, 5)
    other = torch.cat([H[:1], 10 * H[1:]])
    assert_close(layer_norm(other)[0], layer_norm(H)[0])
    assert not torch.allclose(batch_norm(other)[0], batch_norm(H)[0])


def test_modules_begin_as_the_plain_norms_and_learn_scale_and_shift():
    x = seeded(2, 4).float()
    assert_close(LayerNorm(4)(x), F.layer_norm(x, [4]))
    assert_close(RMSNorm(4, eps=1e-2)(x), F.rms_norm(x, [4], eps=1e-2))
    norm = LayerNorm(4, eps=1e-2)
    with torch.no_grad():
        norm.gamma.copy_(tensor([1.0, 2, 3, 4]))
        norm.beta.fill_(5)
    assert_close(norm(x), F.layer_norm(x, [4], norm.gamma, norm.beta, 1e-2))
    assert len(list(norm.parameters())) == 2 and len(list(RMSNorm(4).parameters())) == 1


# messages


def test_layer_norm_without_a_shift():
    norm = LayerNorm(3, bias=False).double()
    assert [name for name, _ in norm.named_parameters()] == ["gamma"]
    x, γ = seeded(2, 3), seeded(3, seed=1)
    with torch.no_grad():
        norm.gamma.copy_(γ)
    assert_close(norm(x), γ * F.layer_norm(x, (3,)))


def test_a_scale_of_the_wrong_width():
    with pytest.raises(ShapeError) as error:
        layer_norm(seeded(2, 4), None, seeded(3))
    assert str(error.value) == (
        "layer_norm needs x as […, d] and beta as [d]: d (width of a token) is 4 in x [2, 4], but 3 in beta [3]."
    )
    with pytest.raises(ShapeError, match=r"is 4 in x \[2, 4\], but 1 in gamma \[1\]\.$"):
        rms_norm(seeded(2, 4), seeded(1))


@pytest.mark.parametrize("norm", [batch_norm, batch_norm.__definition__])
def test_an_unknown_variance(norm):
    with pytest.raises(DomainError) as error:
        norm(seeded(2, 4), variance="biased")
    assert str(error.value) == (
        "The variance of a batch is 'population' (divide by n) or 'sample' (by n − 1), not 'biased'."
    )
    with pytest.raises(DomainError) as error:
        BatchNorm(4, variance="biased")
    assert str(error.value) == "The stored variance is 'population' (divide by n) or 'sample' (by n − 1), not 'biased'."


def test_a_batch_too_small_for_its_variance():
    with pytest.raises(DomainError) as error:
        batch_statistics(seeded(1, 4), "sample")
    assert str(error.value) == ("The sample variance divides by n − 1: give at least 2 samples on the first axis, not 1.")
    with pytest.raises(DomainError) as error:
        batch_norm(seeded(0, 4))
    assert str(error.value) == ("The population variance divides by n: give at least 1 sample on the first axis, not 0.")
    assert_close(batch_norm(seeded(1, 4), eps=1.0), torch.zeros(1, 4, dtype=torch.float64))


def test_statistics_of_another_shape():
    with pytest.raises(ShapeError) as error:
        batch_norm_test(seeded(5, 4), seeded(1), seeded(4))
    assert str(error.value) == (
        "(H − μ) / √(σ² + ε) needs a mean and a variance for each entry of a sample: H is [5, 4], "
        "but μ is [1] and σ² is [4]."
    )


def test_batch_norm_with_stored_statistics_is_the_test_form():
    H, mu, var = torch.tensor([[1.0, 5.0], [3.0, 9.0]]), torch.tensor([1.0, 1.0]), torch.tensor([4.0, 16.0])
    assert batch_norm(H, mu=mu, var=var).tolist() == batch_norm_test(H, mu, var).tolist() == [[0, 1], [1, 2]]
