"""Numbers of other libraries beside exact tensors: NumPy's, SymPy's, Python's fractions and long integers become exact.

Python's operators ask here first, because PyTorch's answer to an operand that it does not know is that the other library
shall try, and those make floats. NumPy's functions run as PyTorch's of the same name, or are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map

from workings.exact.tensor.exact_tensor import HOOKS, ExactTensor
from workings.exact.tensor.lift import is_library_number, library_of
from workings.exact.tensor.make import exact

_OPERATORS = (
    "add radd iadd sub rsub isub mul rmul imul truediv rtruediv itruediv floordiv rfloordiv ifloordiv mod rmod imod "
    "pow rpow ipow matmul rmatmul eq ne lt le gt ge"
).split()
_STARRED = ("__mul__", "__rmul__", "__imul__")
_LONGEST = 63
"""The bits of the integers that PyTorch takes."""


def _operand(x: Any) -> Any:
    """What an operator is given, as PyTorch takes it: exact where it is a number or an array of another library."""
    if type(x) is int:
        return exact(x) if x.bit_length() > _LONGEST else x
    if library_of(x) == "numpy" and getattr(x.dtype, "kind", "") in "fiub" and x.dtype.itemsize <= 8:
        return torch.as_tensor(x)  # read like any other ordinary tensor
    return exact(x) if isinstance(x, Fraction) or is_library_number(x) else x


def _operator(name: str) -> Callable[[Any, Any], Any]:
    plain = getattr(torch.Tensor, name)

    def operator(self: Any, other: Any) -> Any:
        if type(other) is not ExactTensor and type(other) is not float:
            given, other = other, _operand(other)
            if name in _STARRED and library_of(other) == "workings" and library_of(given) == "sympy" and other.dim() > 1:
                raise TypeError("A * B is a matrix product in SymPy, elementwise in PyTorch: write A @ x or exact(A) * x.")
        return plain(self, other)

    operator.__name__ = name
    return operator


for _name in _OPERATORS:
    if hasattr(torch.Tensor, f"__{_name}__"):
        setattr(ExactTensor, f"__{_name}__", _operator(f"__{_name}__"))
ExactTensor.__hash__ = torch.Tensor.__hash__  # type: ignore[method-assign]  # a class that says __eq__ loses it


def _run_again(func: Any, args: Any, kwargs: Any, error: Exception) -> Any:
    """The call with its long integers exact: PyTorch takes a tensor in the place of a number. Without any, it fails."""
    if not any(type(x) is int and x.bit_length() > _LONGEST for x in tree_flatten((args, kwargs))[0]):
        raise error
    lifted = tree_map(_operand, (args, kwargs))
    return func(*lifted[0], **lifted[1])


HOOKS.run_again = _run_again


# ---- NumPy's functions
_TORCH_NAMES = {"multiply": "mul", "divide": "true_divide", "power": "pow", "mod": "remainder", "conjugate": "conj"}
"""NumPy's functions whose name in PyTorch is another."""


def _ufunc(self: Any, function: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
    """np.exp(x), np.ones(2) + x: PyTorch's function of that name on exact tensors."""
    name = _TORCH_NAMES.get(function.__name__, function.__name__)
    run = getattr(torch, name, None)
    if method != "__call__" or run is None or options or out is not None:
        raise _numpy_error(function, method)
    return run(*[x if isinstance(x, torch.Tensor) else _tensor(_operand(x)) for x in inputs])


def _tensor(x: Any) -> torch.Tensor:
    return x if isinstance(x, torch.Tensor) else exact(x)


def _array_function(self: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    raise _numpy_error(function, "__call__")


def _numpy_error(function: Any, method: str) -> TypeError:
    name = function.__name__ + ("" if method == "__call__" else f".{method}")
    return TypeError(
        f"numpy.{name} would turn exact values into floats. Use the function of torch, or say that floats are meant: "
        f"numpy.{name}(x.numpy(), …)."
    )


ExactTensor.__array_ufunc__ = _ufunc  # type: ignore[attr-defined]
ExactTensor.__array_function__ = _array_function  # type: ignore[attr-defined]
ExactTensor._op_priority = 1000.0  # type: ignore[attr-defined]  # SymPy asks for it, and leaves the operation to us
