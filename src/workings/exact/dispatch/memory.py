"""What asks for a tensor's memory: an exact tensor has none that holds numbers, so each is refused, or done otherwise.

The payload holds handles, which mean nothing to anybody else: no pointer to it, no view of its bytes, no copy in shared
memory ever leaves. `ExactTensor.__new__` also has PyTorch itself refuse every pointer, for what does not ask here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import torch

from workings.errors import DomainError
from workings.exact.dispatch.operation import rule
from workings.exact.tensor.exact_tensor import OVERRIDES, ExactTensor
from workings.exact.tensor.make import exact

_OUT = "Take its nearest doubles with x.float64() or x.numpy(), or keep it exact with x.to_json()."


class _NoMemory(TypeError, RuntimeError):
    """The wrong kind of tensor; a RuntimeError too, which is what PyTorch raises for tensors without memory."""


def _refuse(words: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **options: Any) -> NoReturn:
        raise _NoMemory(f"An exact tensor {words}. {_OUT}")

    return refuse


_T = torch.Tensor
NO_POINTER = _refuse("has no memory of numbers to point at")
_NO_DLPACK = _refuse("is not shared by DLPack: it has no memory of numbers")
_NOT_SHARED = _refuse("is not put into shared memory; it goes to another process by pickling")
_REFUSED: dict[str, Callable[..., NoReturn]] = {
    **dict.fromkeys(("data_ptr", "untyped_storage", "storage", "_typed_storage", "set_"), NO_POINTER),
    **dict.fromkeys(("__dlpack__", "__dlpack_device__"), _NO_DLPACK),
    **dict.fromkeys(("share_memory_", "pin_memory"), _NOT_SHARED),
}
for _name, _refusal in _REFUSED.items():  # as methods too: Module.share_memory calls them past `__torch_function__`
    OVERRIDES[getattr(_T, _name)] = _refusal
    setattr(ExactTensor, _name, _refusal)


@rule("view.dtype")
def view_as(x: Any, dtype: torch.dtype) -> Any:
    """Bits read as another dtype; an exact value has no bits, only a label."""
    if dtype != x.dtype:
        raise DomainError(
            f"x.view({dtype}) reads the bits of a number as those of another: an exact value has none. "
            f"x.to({dtype}) converts the values."
        )
    return torch.ops.aten.alias(x)


def _set_data(x: Any, new: Any) -> None:
    """`x.data = new`: PyTorch moves the shape and strides; the payload must follow, or x would keep its old values."""
    if not isinstance(x, ExactTensor):
        raise TypeError(
            f"x.data = … would give an ordinary {x.dtype} tensor the memory of an exact one, which holds no numbers. "
            "Assign the tensor itself, or turn the module exact: exact.exactify(module)."
        )
    new = exact(new)
    with torch._C.DisableTorchFunctionSubclass():
        _T.data.__set__(x, new)  # type: ignore[attr-defined]
    x.payload, x.shared = new.payload, new.shared


OVERRIDES[_T.data.__set__] = _set_data  # type: ignore[attr-defined]


def _float(x: Any) -> float:
    """`float(x)`. torch.tensor([x, y]) asks for it too, with exact tensors out of reach: it would make floats in silence."""
    if torch._C._dispatch_tls_is_dispatch_key_excluded("Python"):
        raise TypeError(
            "torch.tensor makes ordinary floats of a list with exact tensors in it. Use exact([x, y]) or "
            "torch.stack([x, y]); for floats, torch.tensor([float(x), float(y)])."
        )
    with torch._C.DisableTorchFunctionSubclass():
        return _T.__float__(x)


OVERRIDES[_T.__float__] = _float


def check_wanted_as_number() -> None:
    """Refuse to become a plain number for a function of ordinary tensors: torch.full((2,), x) would be floats in silence.

    A call on an exact tensor goes through `__torch_function__`, which is switched off inside; where it is still on, no
    exact tensor takes part, and nobody asked for x.item() or float(x).
    """
    if torch._C._is_torch_function_enabled():
        raise TypeError(
            "An exact number was given where PyTorch takes a plain one, and no exact tensor takes part: the result would "
            "be floats. Use exact.full, exact.arange, or operators, as in x * y; if floats are meant, give float(x)."
        )
