"""Packed and padded sequences."""

import copy

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from workings import exact


@pytest.mark.parametrize("make", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("options", [{}, {"bidirectional": True}, {"batch_first": True}])
def test_packed_sequences(make, options):
    torch.manual_seed(0)
    plain, data = make(2, 2, **options).double(), torch.randn(2, 2, 2, dtype=torch.float64)
    first = options.get("batch_first", False)
    results = []
    for net, x in ((plain, data.clone()), (exact.exactify(copy.deepcopy(plain)), exact(data))):
        x.requires_grad_()
        packed = pack_padded_sequence(x, torch.tensor([1, 2]), batch_first=first, enforce_sorted=False)
        y, lengths = pad_packed_sequence(net(packed)[0], batch_first=first, total_length=3, padding_value=-1.0)
        (slope,) = torch.autograd.grad((y * y).sum(), x)
        results.append([torch.tensor(t.tolist()) for t in (y, slope, lengths)])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_an_encoder_with_padding_in_evaluation():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(2, 2, 2, dropout=0.0, batch_first=True).double()
    encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).double().eval()
    x, hidden = torch.tensor([[[1.0, 2.0], [0.5, 0.0]]], dtype=torch.float64), torch.tensor([[False, True]])
    expected = encoder(x, src_key_padding_mask=hidden)
    fast = nn.TransformerEncoder(layer, 1).double().eval()
    fast.load_state_dict(encoder.state_dict())
    found = exact.exactify(fast)(exact(x), src_key_padding_mask=hidden)
    torch.testing.assert_close(found.float64()[:, 0], expected[:, 0])
