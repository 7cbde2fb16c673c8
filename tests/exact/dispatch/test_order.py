"""Sorting and maxima of numbers beyond every double."""

import torch

from workings import exact


def test_numbers_beyond_every_double_are_ordered():
    assert torch.exp(exact("900 800 850")).argsort().tolist() == [1, 2, 0]
    x = exact("1e500 1e400 1e600 1e308")
    assert x.topk(2).indices.tolist() == [2, 0]
    assert (-x).sort().indices.tolist() == [2, 0, 1, 3]
    assert torch.exp(exact("-900 -800 -inf")).argsort().tolist() == [2, 0, 1]
    assert x.unique().numel() == 4
