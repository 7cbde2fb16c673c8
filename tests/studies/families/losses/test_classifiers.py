"""Separable data and the penalty on the largest weight: the worked examples, and independent references."""

import numpy as np
import pytest
import torch
from sklearn.svm import LinearSVC

from workings.errors import WorkingsError
from workings.studies import Table
from workings.studies.families.losses.largest_weight import _subgradient, largest_weight
from workings.studies.families.losses.separable import _data, _widest_margin, separable


@pytest.mark.parametrize("seed", range(4))
def test_the_widest_margin_is_that_of_a_support_vector_machine(seed):
    data = _data(12, seed, flipped=False)
    machine = LinearSVC(C=1e6, loss="hinge", fit_intercept=False, max_iter=1_000_000, tol=1e-8, random_state=0)
    with np.errstate(all="ignore"):
        w = machine.fit(data.X.numpy(), data.y.numpy()).coef_[0]
    assert _widest_margin(data).numpy() == pytest.approx(w, rel=0.02, abs=0.02)


def test_descent_grows_and_turns():
    rows = [part for part in separable(steps=2_000) if isinstance(part, Table)][1].rows
    lengths, shares = [row[1] for row in rows], [row[3] for row in rows]
    assert lengths == sorted(lengths) and shares[-1] > 0.9


def test_four_rules_of_the_worked_example():
    rows = next(part for part in largest_weight() if isinstance(part, Table)).rows
    assert [row[2] for row in rows] == [True, False, False, False]
    assert [float(value) for value in rows[0][1].split()] == pytest.approx([0.568997, -1.9593, 0.951702], abs=1e-5)


def test_full_marks_at_a_tie_are_no_subgradient():
    g = torch.Generator().manual_seed(0)
    assert (_subgradient(False, g).verdict, _subgradient(True, g).verdict) == ("holds", "fails")


def test_out_of_range():
    with pytest.raises(WorkingsError, match=r"y goes from 0 to 1: classes are 0 and 1; got 2\."):
        largest_weight(y=2)
    with pytest.raises(WorkingsError, match=r"penalty goes from 0\.0001 to 10: λ above 0; got 0\.0\."):
        separable(penalty=0)
