"""Costs of recurrent and attention layers, and forward passes in training and in generation."""

import pytest
import torch
from torch import nn

from workings.course.counts import attention_cost, count_passes, projection_operations, recurrent_cost
from workings.errors import DomainError


def test_operations_per_layer():
    d, lengths = 512, (50, 512, 4096)
    assert [recurrent_cost(n, d).operations for n in lengths] == [13107200, 134217728, 1073741824]
    assert [attention_cost(n, d).operations for n in lengths] == [1280000, 134217728, 8589934592]


def test_attention_is_cheaper_exactly_when_n_is_below_d():
    for n in range(1, 40):
        for d in range(1, 40):
            assert (attention_cost(n, d).operations < recurrent_cost(n, d).operations) == (n < d)


def test_steps_in_a_row_and_paths():
    assert (recurrent_cost(50, 8).sequential, attention_cost(50, 8).sequential) == (50, 1)
    assert (recurrent_cost(50, 8).path, attention_cost(50, 8).path) == (50, 1)


def test_the_projections_come_on_top():
    assert projection_operations(50, 512) == 4 * recurrent_cost(50, 512).operations


def test_passes_are_counted_and_the_model_is_left_as_it_was():
    layer = nn.Linear(2, 2)
    with count_passes(layer) as passes:
        layer(torch.zeros(2))
    layer(torch.zeros(2))
    assert passes.count == 1 and not layer._forward_hooks


def test_a_layer_without_tokens():
    for cost in (recurrent_cost, attention_cost, projection_operations):
        with pytest.raises(DomainError) as error:
            cost(0, 8)
        assert str(error.value) == "A layer has n ≥ 1 tokens of width d ≥ 1, not n = 0 and d = 8."
