"""Which calls change something, as far as the function itself tells."""

from __future__ import annotations

import collections
import math
import random
import types
from typing import Any

import numpy as np
import torch

CHANGEABLE = (dict, list, set, collections.deque)
_CHECKS = (
    torch._assert,
    torch._check,
    torch._check_value,
    torch._check_index,
    torch._check_type,
    torch.testing.assert_close,
)
"""They raise or do nothing, so a call alone is no effect."""
_SEEDS = (torch.manual_seed, torch.seed, np.random.seed, random.seed)
"""The state of these generators is put back."""
_COMPUTING = (torch, torch.nn.functional, torch.linalg, torch.special, torch.fft, math)
_SETTING = ("set_", "use_", "save", "_")
KEPT_BY_TENSORS = frozenset("backward register_hook register_post_accumulate_grad_hook retain_grad share_memory_".split())
"""Methods of tensors whose effect is not in their numbers; those that change the numbers end with _ and are put back."""
VALUES = (int, float, complex, str, bytes, tuple, torch.Tensor, BaseException)
_CHANGING = frozenset(
    """
    append appendleft extend extendleft insert pop popleft popitem remove clear update setdefault add discard sort reverse
    rotate intersection_update difference_update symmetric_difference_update
    """.split()
)


def changes_nothing(function: Any) -> bool:
    """`torch.broadcast_shapes`, `torch.manual_seed`: a call alone has no effect that is not put back."""
    name = str(getattr(function, "__name__", ""))
    if any(function == seed for seed in _SEEDS) or any(function is check for check in _CHECKS):
        return True
    computes = bool(name) and not name.endswith("_") and not name.startswith(_SETTING)
    return computes and any(getattr(library, name, None) is function for library in _COMPUTING)


def changes_its_owner(function: Any) -> bool:
    """`memo.pop`, `H.append`"""
    method = isinstance(function, types.BuiltinMethodType) and isinstance(function.__self__, CHANGEABLE)
    return method and function.__name__ in _CHANGING
