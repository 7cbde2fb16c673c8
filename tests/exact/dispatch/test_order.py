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


def test_letters_are_ordered_at_their_sample_values_and_that_is_noted():
    p, q = exact.symbols(p_sorted=0.3, q_sorted=0.2)  # a letter keeps its sample value while any tensor uses it
    found = torch.stack([p, q, exact("7")]).sort()
    assert found.indices.tolist() == [1, 0, 2]
    notes = [str(note) for note in exact(found.values).assumptions]
    assert any(note.endswith("(decided at p_sorted = 3/10, q_sorted = 1/5)") for note in notes)
    assert exact(torch.stack([p, p * p / p]).unique()).text() == "[p_sorted]"
