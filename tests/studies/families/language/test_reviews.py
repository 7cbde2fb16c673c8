"""The reviews that the grammar writes, and what their edits keep."""

import random

import pytest
import torch

from workings.errors import WorkingsError
from workings.studies.families.language import reviews
from workings.studies.families.language.reviews import misclassified_reviews

WRITTEN = reviews._written(200, 0.3, random.Random(0))


def test_labels_by_hand():
    praise, blame = reviews._Clause("plot", "", "good"), reviews._Clause("cast", "", "good", negated=True)
    assert (praise.verdict, blame.verdict, str(blame)) == (1, -1, "the cast is not good")
    assert reviews._Review((praise, praise, blame)).label == 1  # two of three
    assert reviews._Review((praise, praise, blame), but=True).label == 0  # what stands after «but»
    assert str(reviews._Review((praise, blame), but=True)) == "the plot is good, but the cast is not good."


def test_edits_keep_the_label():
    for one in WRITTEN:
        assert one.without_negation().label == one.label == one.with_other_things().label
        assert " not " not in str(one.without_negation())
    assert any(one.has_negation for one in WRITTEN) and any(one.but for one in WRITTEN)


def test_pairs_have_the_same_words_and_opposite_labels():
    pairs = reviews._pairs()
    for a, b in zip(pairs[::2], pairs[1::2], strict=True):
        assert sorted(reviews._plain(str(a))) == sorted(reviews._plain(str(b))) and a.label + b.label == 1


def test_leave_one_out_is_gradient_times_input_for_a_linear_network_alone():
    assert reviews._identity_error(3, hidden=False) < 1e-12 < 1e-6 < reviews._identity_error(3, hidden=True)


def test_it_learns_what_needs_no_order():
    network = reviews._trained(reviews._written(1000, 0.0, random.Random(1)), reviews._plain, 200, 0)
    plain = [one for one in reviews._written(300, 0.0, random.Random(2)) if not one.but]
    assert network.mistaken(plain).double().mean() < 0.1
    five = reviews._five(network, WRITTEN)
    assert [one.truth for one in five] == [1, 1, 0, 0, 0] and all(one.taken != one.truth for one in five)
    assert all(WRITTEN[one.number].label == one.truth for one in five)
    assert torch.equal(
        network.p(WRITTEN[:3]).argmax(1) != torch.tensor([r.label for r in WRITTEN[:3]]), network.mistaken(WRITTEN[:3])
    )


def test_out_of_range():
    with pytest.raises(WorkingsError) as error:
        misclassified_reviews(seeds=3)
    said = "seeds goes from 7 to 50: fewer than seven trials decide nothing at 0.01; got 3."
    assert str(error.value) == said
