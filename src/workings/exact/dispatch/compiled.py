"""`torch.compile` leaves exact tensors alone: what they take part in runs as it is written.

PyTorch's compiler reads the Python code that runs and would read ours. It skips functions that are marked so; the marks are
put on without loading the compiler, which takes seconds.
"""

from __future__ import annotations

from typing import Any

from torch._C._dynamo.eval_frame import _FrameAction, _FrameExecStrategy, set_code_exec_strategy

from workings.exact.tensor.exact_tensor import ExactTensor

_SKIP = _FrameExecStrategy(_FrameAction.SKIP, _FrameAction.SKIP)


def _skip(function: Any) -> None:
    function._torchdynamo_disable = True
    function._torchdynamo_disable_msg = "exact tensors are not compiled: they run as they are written"
    set_code_exec_strategy(function.__code__, _SKIP)


for _member in vars(ExactTensor).values():
    _function = getattr(_member, "__func__", _member)
    if hasattr(_function, "__code__"):
        _skip(_function)
