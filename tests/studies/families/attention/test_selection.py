"""Hard and soft selection: the figures of the worked examples, and bounds against brute force."""

import pytest
import torch

from workings.errors import WorkingsError
from workings.nn.transformer.dot_product import attention_query
from workings.studies.families.attention.hard_selection import argmax_gradient, five_ways
from workings.studies.families.attention.selection import attention_distribution, soft_average, winner, zero_temperature


def claim(parts, words):
    return next(part for part in parts if words in getattr(part, "sentence", ""))


def test_copying_the_third_value():
    # scores 0, 0, 10: weights 1, 1, e¹⁰ over their sum; the text of the study names the output
    q, K = torch.tensor([10.0], dtype=torch.float64), torch.tensor([[0.0], [0.0], [1.0]], dtype=torch.float64)
    c = attention_query(q, K, torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 3.0]], dtype=torch.float64))
    assert c.tolist() == pytest.approx([1.99986, 2.99977], abs=5e-6)
    assert any("(1.99986, 2.99977)" in getattr(part, "text", "") for part in winner())


def test_half_the_weight_at_the_lead_of_log_m_less_1():
    # Δ = log(m − 1)/β makes the bound exactly ½, for eight keys and β = 3: log(7)/3 = 0.64864
    table = next(part for part in winner() if hasattr(part, "columns") and part.rows)
    assert table.rows[0][:2] == pytest.approx([0.5, 0.648637], abs=1e-6)


def test_a_tie_has_no_derivative():
    assert claim(zero_temperature(), "At a tie").evidence.startswith("smallest jump for h from 0.1 down to 1e−9 0.5")


def test_dropout_of_equal_weights():
    # m weights 1/m, each kept with 1 − p and enlarged: variance p/(1 − p) Σv²/m², counted over all 2⁵ masks
    v, p = torch.tensor([3.0, 1.0, 4.0, 1.0, 5.0], dtype=torch.float64), 0.3
    masks = torch.cartesian_prod(*[torch.tensor([0.0, 1.0], dtype=torch.float64)] * 5)
    chance = (p ** (1 - masks) * (1 - p) ** masks).prod(-1)
    Z = masks @ v / 5 / (1 - p)
    assert (chance @ Z).item() == pytest.approx(v.mean().item())
    assert (chance @ (Z - v.mean()) ** 2).item() == pytest.approx(p / (1 - p) * v.square().sum().item() / 25)


def test_mean_of_dropped_weights_is_kept_by_the_real_layer():
    assert claim(soft_average(dropout=0.8), "leaves the mean").verdict == "holds"


def test_summed_over_queries_the_weights_need_not_be_1():
    table = next(part for part in attention_distribution() if hasattr(part, "columns") and part.rows)
    assert all(row[-1] == pytest.approx(1) for row in table.rows[:-1])
    assert max(abs(x - 1) for x in table.rows[-1][1:-1]) > 0.1


def test_gradients_of_the_ways():
    tables = [part for part in five_ways() if hasattr(part, "columns") and part.rows]
    gradients = {row[0]: row[1:] for row in tables[1].rows}
    assert gradients["argmax"] == [0, 0, 0, 0]
    assert gradients["straight-through"] == pytest.approx(gradients["softmax, β = 1"])
    assert max(map(abs, gradients["softmax, large β"])) < 1e-9


def test_what_argmax_blocks():
    table = next(part for part in argmax_gradient(steps=50) if hasattr(part, "columns") and part.rows)
    hard, soft = (dict(zip(table.columns[1:], row[1:], strict=True)) for row in table.rows)
    assert [name for name, norm in hard.items() if norm == 0] == ["W_Q", "W_K"]
    assert min(soft.values()) > 0.02
    assert hard["W_V"] == pytest.approx(1.45702, abs=1e-5)


def test_the_loss_of_values_that_learn_through_argmax():
    assert "loss from 8.79726 to 3.54055" in claim(argmax_gradient(), "halves the loss").evidence


def test_a_share_of_dropout_out_of_range():
    with pytest.raises(WorkingsError) as error:
        soft_average(dropout=1.0)
    assert str(error.value) == "dropout goes from 0.15 to 0.9: a little dropout makes little noise; got 1.0."
