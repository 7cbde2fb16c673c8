"""Masks by hand, and how they combine."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from workings.errors import DomainError, ShapeError
from workings.nn.transformer.masks import causal_mask, padding_mask, window_mask


def test_causal():
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_causal_with_older_keys():
    # 2 queries at positions 2 and 3 of 4
    assert causal_mask(2, 4).int().tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert causal_mask(1, 4).all()


@given(st.integers(1, 6), st.integers(0, 6))
def test_the_last_rows_of_the_full_mask(n, older):
    assert causal_mask(n, n + older).equal(causal_mask(n + older)[older:])


@pytest.mark.parametrize(("k", "covered"), [(1, 1), (3, 3), (4, 5), (5, 5)])
def test_an_even_window_covers_one_more(k, covered):
    assert window_mask(9, k)[4].sum().item() == covered


@given(st.integers(1, 8), st.integers(1, 12), st.booleans())
def test_window_is_the_distance_rule(n, k, causal):
    M = window_mask(n, k, causal)
    for i in range(n):
        for j in range(n):
            assert M[i, j].item() == (abs(j - i) <= k // 2 and not (causal and j > i))


def test_a_wide_window_is_everything():
    assert window_mask(5, 9).all() and not window_mask(5, 7).all()


def test_no_window_of_zero():
    with pytest.raises(DomainError) as error:
        window_mask(3, 0)
    assert str(error.value) == "A window needs a width of at least 1, not 0: each query sees its own key."


def test_padding():
    M = padding_mask(torch.tensor([2, 3]), 3)
    assert M.shape == (2, 1, 3)
    assert M.int().tolist() == [[[1, 1, 0]], [[1, 1, 1]]]


def test_padding_longer_than_the_tokens():
    with pytest.raises(ShapeError) as error:
        padding_mask(torch.tensor([2, 4]), 3)
    assert str(error.value) == "The sequences are n = 3 tokens wide, but a length of 4 was given."


def test_masks_combine():
    M = causal_mask(3) & padding_mask(torch.tensor([2]), 3)
    assert M.int().tolist() == [[[1, 0, 0], [1, 1, 0], [1, 1, 0]]]
