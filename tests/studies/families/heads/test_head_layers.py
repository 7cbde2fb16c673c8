"""Counts of heads, a duplicated head, and ablation: what the studies rest on, without training."""

import pytest
import torch

from workings.course.dedupe import DedupeDecoder, answer_loss
from workings.course.dedupe_task import example
from workings.errors import WorkingsError
from workings.studies.families.heads import head_ablation as ablation
from workings.studies.families.heads.head_layers import duplicated_head, head_counts


def claim(parts, words):
    return next(part for part in parts if words in getattr(part, "sentence", ""))


def test_counts_of_a_worked_width():
    # width 512: 4 · 512² = 1,048,576 weights; 50 tokens: 4 · 50 · 512² + 2 · 50² · 512 = 54,988,800 multiplications
    parts = head_counts(width=512, tokens=50)
    table = next(part for part in parts if hasattr(part, "columns") and part.rows)
    assert {row[2] for row in table.rows} == {1_048_576} and {row[3] for row in table.rows} == {54_988_800}


def test_a_width_that_heads_share_in_other_ways():
    parts = head_counts(width=12, key_width=7)
    assert [part.verdict.value for part in parts if hasattr(part, "verdict")] == ["holds"] * 3
    table = next(part for part in parts if hasattr(part, "columns") and part.rows)
    assert [row[0] for row in table.rows] == [1, 2, 3, 4, 6, 12]


def test_losses_of_a_duplicated_head_are_those_of_the_decoder():
    tokens = example("DAA")
    logits = DedupeDecoder(heads=2)(tokens)
    table = next(part for part in duplicated_head() if hasattr(part, "columns") and part.rows)
    assert table.rows[1][1:] == pytest.approx([answer_loss(logits, tokens, slip).item() for slip in (False, True)])
    assert table.rows[1][1:] == pytest.approx([6.5473, 10.2114], abs=1e-4)


def test_all_neutral_projections_are_found():
    # entries −1, 0, 1: the pairs (u, l) with u + l = w number 2, 3, 2 for w = −1, 0, 1, so 7² columns over all old ones
    assert "49 neutral, 0 exceptions" in claim(duplicated_head(most=1), "No other projection").evidence


def test_a_head_left_out_is_a_summand_left_out():
    torch.manual_seed(0)
    model = ablation._Reader(heads=2)
    tokens = torch.randint(8, (4, 10))
    whole, bias = model(tokens), model.answers.bias.unflatten(0, (2, 8))
    b_O = model.answers(model.attention.b_O).unflatten(0, (2, 8))
    parts = [model(tokens, without) for without in (0, 1)]
    torch.testing.assert_close(parts[0] + parts[1] - b_O, whole)
    assert bool((bias == b_O).all())  # b_O is 0 before training


def test_answers_are_the_token_before_and_the_first():
    tokens = torch.tensor([[4, 7, 1]])
    assert ablation._answers(tokens, same=False).tolist() == [[[4, 4], [4, 4], [7, 4]]]
    assert ablation._answers(tokens, same=True).tolist() == [[[4, 4], [4, 4], [7, 7]]]


def test_too_few_trials():
    with pytest.raises(WorkingsError) as error:
        ablation.head_ablation(trials=3)
    assert str(error.value) == "trials goes from 7 to 50: seven of seven decide at α = 0.01; got 3."
