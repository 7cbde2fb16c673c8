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
    a, b = exact.symbols(a=0.3, b=0.2)
    found = torch.stack([a, b, exact("7")]).sort()
    assert found.indices.tolist() == [1, 0, 2]
    notes = [str(note) for note in exact(found.values).assumptions]
    assert any(note.endswith("(decided at a = 3/10, b = 1/5)") for note in notes)
    assert exact(torch.stack([a, a * a / a]).unique()).text() == "[a]"
