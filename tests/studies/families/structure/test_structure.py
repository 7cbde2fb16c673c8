"""Structure: the figures of the course, counts against their formulas, and constructions against PyTorch."""

import pytest
import torch
from torch.testing import assert_close

from workings import exact
from workings.errors import WorkingsError
from workings.models.vit import ViT
from workings.nn.transformer.multihead import MultiHeadAttention
from workings.studies.families.structure.constructions import _floats, _own_weight, _slipped
from workings.studies.families.structure.costs import _Layers, _longest_chain, _multiplications, layer_costs
from workings.studies.families.structure.equivariance import _dedupe_logits, _residuals, _spread
from workings.studies.families.structure.length_extrapolation import _answers, _texts
from workings.studies.families.structure.positions import _pattern, _turned
from workings.studies.families.structure.streaming import _stream
from workings.studies.families.structure.vision_structure import (
    _attention_distance,
    _pixels_seen,
    _shuffle_effect,
    _smooth_positions,
)


def test_the_decoder_of_the_course_on_three_orders():
    for text in ("D A A <START>", "A D A <START>", "A A D <START>"):
        assert _dedupe_logits(text, "").tolist() == [1.5, 0.75, 1.5, 0.75, 0, 0]


def test_positions_break_equivariance_in_every_form():
    found = _residuals(7, seed=2)
    assert found.pop("none") < 1e-12
    assert min(found.values()) > 1e-3


def test_two_layers_without_a_mask_do_not_see_the_order():
    assert _spread(4, 2, seed=1, broken="no causal mask") < 1e-12 < _spread(4, 2, seed=1, broken="")


def test_weights_on_itself_by_hand():
    # e^{log 3}/(e^{log 3} + 3) = ½; keys at 60° have scores ½: √3/(√3 + 3)
    ones = torch.ones(4, dtype=torch.float64)
    assert float(_own_weight(torch.tensor(3.0).log(), ones, "")[0]) == pytest.approx(1 / 2)
    assert float(_own_weight(torch.tensor(3.0).log(), ones, "overlapping keys")[0]) == pytest.approx(3**0.5 / (3**0.5 + 3))


def test_the_slips_of_a_convolving_head():
    w = exact("1/4 1/2 1/4")
    assert _floats(_slipped(3, w, "mask left out"))[0] == pytest.approx([1 / 2, 1 / 4, 1 / 4])
    assert _floats(_slipped(3, exact("1 1 1"), "bias without the logarithm"))[0] == pytest.approx([1 / 2, 1 / 2, 0])


def test_multiplications_and_chains_by_hand():
    layers = _Layers(5, 3, torch.Generator().manual_seed(0))
    assert _multiplications(layers.attend) == 2 * 5 * 5 * 3
    assert _multiplications(layers.recur) == 2 * 5 * 3 * 3
    assert _longest_chain(layers.attend()) == 2
    assert _longest_chain(layers.recur()) == 5


def test_a_quarter_turn():
    # ω = π/2, one place on: (sin 0, cos 0) = (0, 1) becomes (1, 0)
    assert_close(
        _turned(torch.tensor([0.0, 1.0]), 1, torch.tensor([torch.pi / 2])), torch.tensor([1.0, 0.0]), atol=1e-6, rtol=0
    )


def test_a_pattern_sums_to_one_wherever_it_stands():
    g = torch.Generator().manual_seed(0)
    X = torch.randn(4, 6, generator=g, dtype=torch.float64)
    tables = {"bias": torch.randn(5, generator=g).double(), "learned": torch.randn(7, 6, generator=g).double()}
    for name in ("relative bias", "ALiBi", "RoPE", "sinusoids", "learned table"):
        assert_close(_pattern(name, X, 3, tables).sum(-1), torch.ones(4, dtype=torch.float64))


def test_a_stream_that_forgets_sees_one_token():
    torch.manual_seed(0)
    layer = MultiHeadAttention(4, 2).double()
    X = torch.randn(1, 3, 4, dtype=torch.float64)
    with torch.no_grad():
        alone = torch.cat([layer(X[:, t : t + 1]) for t in range(3)], 1)
        assert_close(_stream(layer, X, forget=True), alone)
        assert_close(_stream(layer, X, forget=False), layer(X, causal=True))


def test_answers_of_both_tasks_by_hand():
    tokens = torch.tensor([[4, 1, 2, 5, 4, 0, 2]])
    assert _answers(tokens, "index").tolist() == [[5] * 7]
    # places 3 … 6 hold 5 4 0 2; three places back stand 4 1 2 5
    assert _answers(tokens, "distance").tolist() == [[-1, -1, -1, 0, 0, 0, 0]]
    assert _answers(torch.tensor([[4, 1, 2, 4]]), "distance").tolist() == [[-1, -1, -1, 1]]


def test_texts_of_the_distance_task_have_both_answers():
    y = _answers(_texts(200, 12, "distance", torch.Generator().manual_seed(0)), "distance")
    assert 0.4 < float((y == 1).sum() / (y >= 0).sum()) < 0.6  # 0.4 + 0.6/6


def test_a_kernel_of_three_sees_nine_pixels():
    conv = torch.nn.Conv2d(1, 2, 3, padding=1)
    assert _pixels_seen(conv, torch.randn(1, 1, 9, 9), 4) == 9


def test_shuffled_patches():
    g = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    order = torch.arange(16).roll(1)
    assert _shuffle_effect(False, order, g) < 1e-12 < 1e-3 < _shuffle_effect(True, order, g)
    assert _shuffle_effect(True, torch.arange(16), g) == 0


def test_equal_weights_look_at_the_mean_distance():
    torch.manual_seed(0)
    model = ViT(32, 4, width=8, depth=1, heads=2, classes=2, channels=1, positions=False, pool="mean").double()
    with torch.no_grad():
        model.blocks[0].attention.W_QKV.zero_()
    found, uniform = _attention_distance(model, torch.randn(1, 1, 32, 32).double(), None)
    assert found == pytest.approx(uniform)


def test_smooth_positions_have_a_row_for_each_place():
    assert _smooth_positions(3, 5).shape == (15, 3)


def test_a_wide_layer_is_refused():
    with pytest.raises(WorkingsError) as caught:
        layer_costs(width=1000)
    assert str(caught.value) == "width goes from 8 to 256: wider ones take long to count; got 1000."
