"""Values as they are at one moment."""

from __future__ import annotations

from typing import Any

import torch

COPIED = 1 << 16
"""Tensors of up to this many elements are copied; larger ones are kept by reference."""


class Snapshots:
    """Copies of values. A tensor that has not changed since it was last copied shares that copy."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[int, torch.Tensor, torch.Tensor]] = {}
        self.by_reference: list[tuple[int, torch.Tensor]] = []

    def take(self, value: Any) -> Any:
        """The value now: later in-place changes do not reach it (unless it is very large)."""
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if type(value) in (list, tuple):
            return type(value)(self.take(item) for item in value)
        if type(value) is dict:
            return {key: self.take(item) for key, item in value.items()}
        return value

    def _tensor(self, value: torch.Tensor) -> torch.Tensor:
        version = 0 if value.is_inference() else value._version
        found = self.known.get(id(value))
        if found is not None and found[0] == version and found[1] is value:
            return found[2]
        now = value.detach()
        if value.numel() <= COPIED:
            now = now.clone()
        else:
            self.by_reference.append((version, value))
        self.known[id(value)] = (version, value, now)
        return now

    def changed(self) -> bool:
        """Whether a tensor that was too large to copy was changed in place after it was recorded."""
        return any(value._version != version for version, value in self.by_reference if not value.is_inference())
