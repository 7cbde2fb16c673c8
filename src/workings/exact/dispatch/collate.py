"""Batches of exact tensors: a `DataLoader` stacks them, in a worker process too, where PyTorch would use shared memory."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data._utils.collate import default_collate_fn_map

from workings.exact.tensor.exact_tensor import ExactTensor


def _stack(batch: list[torch.Tensor], *, collate_fn_map: Any = None) -> torch.Tensor:
    return torch.stack(batch)


default_collate_fn_map[ExactTensor] = _stack
