"""Packed sequences, as `nn.utils.rnn` makes them for recurrent nets: at each time t the step of every sequence n still
running, one after the other. PyTorch's own functions write into ordinary tensors they make; these only index.
"""

from __future__ import annotations

from typing import Any

import torch

from workings.exact.tensor.exact_tensor import OVERRIDES

_FUNCTIONS = torch._C._VariableFunctions


def _running(batch_sizes: torch.Tensor) -> torch.Tensor:
    """Whether sequence n has a step at time t; the longest comes first."""
    return torch.arange(int(batch_sizes[0])) < batch_sizes[:, None]


def _pack_padded(x: Any, lengths: torch.Tensor, batch_first: bool) -> Any:
    x = x.transpose(0, 1) if batch_first else x  # t n …
    _, batch_sizes = _FUNCTIONS._pack_padded_sequence(torch.zeros(x.shape), lengths, False)  # checks the lengths too
    return x[_running(batch_sizes).nonzero(as_tuple=True)], batch_sizes


def _pad_packed(data: Any, batch_sizes: torch.Tensor, batch_first: bool, padding: float, total_length: int = -1) -> Any:
    """Every sequence in a column (or row) of its own, filled up with `padding`; and how long each one is."""
    there = _running(batch_sizes)
    step = torch.where(there, (there.reshape(-1).cumsum(0) - 1).reshape(there.shape), 0)
    padded = data[step].masked_fill(~there.reshape(*there.shape, *[1] * (data.dim() - 1)), padding)
    missing = max(total_length - len(batch_sizes), 0)
    padded = torch.cat([padded, padded.new_full((missing, *padded.shape[1:]), padding)])
    return (padded.transpose(0, 1) if batch_first else padded), there.sum(0)


OVERRIDES[_FUNCTIONS._pack_padded_sequence] = _pack_padded
OVERRIDES[_FUNCTIONS._pad_packed_sequence] = _pad_packed
