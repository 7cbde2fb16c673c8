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
    **dict.fromkeys(("data_ptr", "const_data_ptr", "untyped_storage", "storage", "_typed_storage"), NO_POINTER),
    **dict.fromkeys(("apply_", "map_", "map2_"), _refuse("does not hand its numbers to a function that takes floats")),
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


# ---- one tensor given the data of another
def _set_data(x: Any, new: Any) -> None:
    """`x.data = new`: PyTorch moves the shape and strides; the payload must follow, or x would keep its old values."""
    new = exact(new)
    with torch._C.DisableTorchFunctionSubclass():
        _T.data.__set__(x, new)  # type: ignore[attr-defined]
    x.payload, x.shared = new.payload, new.shared


def _set(x: Any, *source: Any, **options: Any) -> Any:
    """`x.set_(y)`, as parametrizations of a module use it, for two exact tensors; memory as such is refused."""
    if len(source) != 1 or options or not isinstance(x, ExactTensor) or not isinstance(source[0], ExactTensor):
        NO_POINTER()
    _set_data(x, source[0])
    return x


def _may_share_data(x: Any, y: Any) -> bool:
    """Whether `x.data = y` can be. `Module._apply` asks, and where it cannot, gives the module another parameter."""
    return isinstance(x, ExactTensor) == isinstance(y, ExactTensor)


def _check_data(x: Any, new: Any) -> bool:
    """What PyTorch asks before `x.data = new`, which calls nobody else if x is an ordinary tensor."""
    if not _may_share_data(x, new):
        raise TypeError(
            f"x.data = … would give an ordinary {x.dtype} tensor the memory of an exact one, which holds no numbers. "
            "Assign the tensor itself, or turn the module exact: exact.exactify(module)."
        )
    with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(_SUBCLASSES)):
        return torch._has_compatible_shallow_copy_type(x, new)


_SUBCLASSES = torch._C.DispatchKey.PythonTLSSnapshot
"""The dispatch key of calls that tensor subclasses take part in, and no others."""
_LIBRARY = torch.library.Library("aten", "IMPL")
_LIBRARY.impl("_has_compatible_shallow_copy_type", _check_data, _SUBCLASSES.name)
OVERRIDES[_T.data.__set__] = _set_data  # type: ignore[attr-defined]
OVERRIDES[torch._has_compatible_shallow_copy_type] = _may_share_data
OVERRIDES[_T.set_] = _set
ExactTensor.set_ = _set  # type: ignore[assignment, method-assign]
ExactTensor.is_shared = lambda x: False  # type: ignore[method-assign]


def _new(x: Any, *given: Any) -> Any:
    """The old `x.new(2, 3)`, `x.new(y.shape)` and `x.new([1, 2])`: exact, as x is."""
    if given and not isinstance(given[0], (int, torch.Size)):
        return _new_tensor(x, *given)
    return x.new_zeros(*(given or (0,)))


def _new_tensor(x: Any, data: Any, *, dtype: torch.dtype | None = None, requires_grad: bool = False, **rest: Any) -> Any:
    """`x.new_tensor(data)`: a copy, exact as x is."""
    return exact(data).detach().clone().to(dtype or x.dtype).requires_grad_(requires_grad)


OVERRIDES[_T.new], OVERRIDES[_T.new_tensor] = _new, _new_tensor


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
