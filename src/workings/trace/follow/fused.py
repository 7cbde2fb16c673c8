"""Depth 4 in a block: a fused operation runs as it is, then its written-out definition is recorded beside it."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

from torch.overrides import TorchFunctionMode

from workings.trace.capture.fused import fused_function, record_expansion
from workings.trace.capture.recorder import Recorder
from workings.trace.follow.frame import Follower


class Expander(TorchFunctionMode):
    """Sees PyTorch's functions as they are called; those of a statement that is followed are written out."""

    def __init__(self, recorder: Recorder, followers: Mapping[types.FrameType, Follower]) -> None:
        super().__init__()
        self.recorder, self.followers = recorder, followers

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not self.recorder.muted and self._is_followed() and fused_function(func) is not None:
            record_expansion(self.recorder, func, args, kwargs or {}, result)
        return result

    def _is_followed(self) -> bool:
        """Rewritten code, such as the forward of a module, writes its own fused operations out."""
        return any(follower.innermost.open is self.recorder.stack[-1] for follower in self.followers.values())
