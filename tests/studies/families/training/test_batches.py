"""Batches: counted by hand, and the noise of a batch against a closed form."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch

from workings.errors import WorkingsError
from workings.studies.families.training.batch_worth import _Regression
from workings.studies.families.training.batches import _all_batches, _epoch_mean, epochs, gradient_noise


def test_ten_examples_in_fours_by_hand() -> None:
    (epoch,) = epochs(10, 4, 1, seed=0)
    assert [len(batch) for batch in epoch] == [4, 4, 2]
    assert sorted(place for batch in epoch for place in batch) == list(range(10))
    (epoch,) = epochs(10, 4, 1, seed=0, broken="last batch dropped")
    assert [len(batch) for batch in epoch] == [4, 4]


def test_a_small_last_batch_counts_too_much_if_batches_are_weighted_alike() -> None:
    # means 1/2 and 2: weighted 2 and 1 their mean is 1; alike it is 5/4
    assert _epoch_mean([[0, 1], [2]], alike=False) == 1
    assert _epoch_mean([[0, 1], [2]], alike=True) == Fraction(5, 4)


def test_all_pairs_of_three_gradients() -> None:
    assert _all_batches([Fraction(1), Fraction(2), Fraction(6)], 2, "") == [Fraction(3, 2), Fraction(7, 2), 4]


def test_the_best_rate_is_the_minimum_of_the_expected_loss() -> None:
    # one coordinate, x = 1: per-example gradients −y; L = ½(θ − y)²; G = −2, H = 1, Σ = 1, so η* = 4/(4 + 1/B)
    task = _Regression(torch.ones(2, 1).double(), torch.tensor([1.0, 3.0]).double(), "")
    assert task.rate(1) == pytest.approx(4 / 5)
    assert task.noise / task.curvature == pytest.approx(1 / 4)
    draws = task.progress(20_000, 2, torch.Generator().manual_seed(0))
    assert float(draws.mean()) == pytest.approx(1 / (1 + 1 / 8), abs=0.01)


def test_a_batch_of_one_is_refused() -> None:
    with pytest.raises(WorkingsError, match=r"batch goes from 2 to 256: one example is the unit of the noise; got 1."):
        gradient_noise(batch=1)
