"""Contrastive losses: the numbers of the worked example, laws against autograd, and what each control breaks."""

from math import log

import pytest
import torch
from torch.testing import assert_close

from workings.errors import WorkingsError
from workings.nn import siglip_loss
from workings.nn.objectives.contrastive import clip_loss, clip_loss_both_ways
from workings.studies import Curves, Heatmap, Table
from workings.studies.families.losses.calibration import calibration
from workings.studies.families.losses.contrastive import both_ways_gradient, clip_slopes, siglip_slopes
from workings.studies.families.losses.contrastive_scale import _trained, contrastive_batch, contrastive_temperature

S = torch.tensor([[2.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 3.0]], dtype=torch.float64)


def part(parts, kind):
    return next(part for part in parts if isinstance(part, kind))


def test_the_gradients_of_the_worked_example():
    clip, siglip = part(clip_slopes(), Heatmap), part(siglip_slopes(), Heatmap)
    assert clip.values[0] == pytest.approx([-0.111586, 0.0300102, 0.0815762], abs=1e-6)
    assert siglip.values[0] == pytest.approx([-0.0397343, 0.166667, 0.243686], abs=1e-6)


def test_a_spurious_sum_gives_all_rows_one_gradient():
    wrong = [part for part in clip_slopes() if isinstance(part, Heatmap)][1]
    assert wrong.values[0] == wrong.values[1] == wrong.values[2]
    curve = part(clip_slopes(), Curves)
    right, spurious = (line.y for line in curve.lines)
    assert right[-1] < 0.1 * right[0] and spurious[-1] > 0.5 * spurious[0]


def test_margins_for_a_loss_of_a_tenth():
    rows = {row[0]: row[-1] for row in part(contrastive_temperature(steps=100), Table).rows}
    assert rows[1.0] == pytest.approx(7.79343, abs=1e-5)
    assert rows[0.07] == pytest.approx(0.54554, abs=1e-5)
    assert rows[0.01] == pytest.approx(0.0779343, abs=1e-6)


def test_a_pair_in_growing_batches():
    rows = part(contrastive_batch(match=log(3.0), rival=0.0, most=8), Table).rows
    # softmax: 3/(3 + N − 1) − 1; sigmoid: 3/4 − 1
    assert [row[1] for row in rows] == pytest.approx([3 / 4 - 1, 3 / 6 - 1, 3 / 10 - 1])
    assert [row[2] for row in rows] == pytest.approx([-1 / 4] * 3)
    assert [row[3] for row in rows] == pytest.approx([1, 1, 1])
    assert [row[4] for row in rows] == pytest.approx([2, 6, 14])  # (N − 1) ½ / ¼


def test_the_shift_of_the_worked_example():
    shifted = S + torch.tensor([[1.0], [-2.0], [0.5]])
    assert float(clip_loss(S)) == pytest.approx(0.376299, abs=1e-6) == float(clip_loss(shifted))
    assert float(siglip_loss(S)) == pytest.approx(1.96263, abs=1e-5)
    assert float(siglip_loss(shifted)) == pytest.approx(2.58705, abs=1e-5)
    claim = next(part for part in calibration(worlds=2, steps=500) if "same shift" in getattr(part, "sentence", ""))
    assert claim.interval[0] == pytest.approx(2.58705 - 1.96263, abs=1e-5)


def test_the_gradient_in_both_directions_is_autograds():
    leaf = S.clone().requires_grad_()
    assert_close(both_ways_gradient(S), torch.autograd.grad(clip_loss_both_ways(leaf), leaf)[0])


def test_a_reliability_diagram_lies_on_the_diagonal_for_siglip_alone():
    diagram = part(calibration(worlds=2), Curves)
    off = {
        line.name: max(abs(y - x) for x, y in zip(diagram.x, line.y, strict=True) if y == y) for line in diagram.lines[1:]
    }
    assert off["SigLIP"] < 0.15 < off["CLIP, one direction"]


def test_the_least_loss_of_two_pairs():
    # opposite unit vectors have the cosines 1 and −1; at τ = ½ the scores are 2 and −2
    found, least = _trained(2, 0.5, 200, "", seed=0)
    opposite = torch.tensor([[2.0, -2.0], [-2.0, 2.0]], dtype=torch.float64)
    assert least == pytest.approx(float(clip_loss(opposite)))
    assert found == pytest.approx(least, rel=0.05)


@pytest.mark.parametrize(
    ("study", "given", "message"),
    [
        (contrastive_batch, {"most": 4}, r"most goes from 8 to 4096: the largest batch; got 4\."),
        (clip_slopes, {"pairs": 1}, r"pairs goes from 2 to 64: a pair alone has loss 0; got 1\."),
        (calibration, {"worlds": 1}, r"worlds goes from 2 to 50: one world may be lucky; got 1\."),
    ],
)
def test_out_of_range(study, given, message):
    with pytest.raises(WorkingsError, match=message):
        study(**given)
