"""`with exact.mode():` tensors created inside are exact.

A factory that is given numbers (`full`, `arange`, `linspace`) is answered from these, not from the floats that PyTorch makes
of them. `torch.tensor([0.1])` has its numbers only above the dispatcher: the public mode listens there too.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from workings.exact.numbers.assume import assume, recording
from workings.exact.tensor.arena import ARENA
from workings.exact.tensor.exact_tensor import HOOKS, ExactTensor, SharedNotes
from workings.exact.tensor.lift import lift_as_is, lift_float, lift_number, lift_tensor
from workings.exact.tensor.make import arange, exact, full, linspace

_RANDOM_FACTORIES = frozenset(("rand", "randn", "normal"))
_CONSTANTS = frozenset(("lift_fresh", "scalar_tensor"))


class ExactFactories(TorchDispatchMode):
    """Factories below autograd give exact tensors, as PyTorch's decompositions need it."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here; saying so spares importing PyTorch's compiler, which takes two seconds."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tensors = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)]
        if any(isinstance(t, ExactTensor) for t in tensors):
            return HOOKS.dispatch(func, args, kwargs)
        result = func(*args, **kwargs)
        name = func._schema.name.split("::")[1]
        if name in _FROM_NUMBERS and type(result) is torch.Tensor and result.is_floating_point():
            return _of_numbers(name, args, result.dtype)
        from_integers = name == "_to_copy" and not tensors[0].is_floating_point()  # mask.to(float64) creates floats
        if tensors and name not in _CONSTANTS and not from_integers:
            return result
        return tree_map(lambda t: _exact(t, name), result)


class mode:  # a context manager, named like one
    """Make the floating-point tensors that are created inside the block exact.

    >>> import torch
    >>> from workings import exact
    >>> with exact.mode():
    ...     h = torch.zeros(2)
    ...     c = torch.tensor([0.1, 0.25])
    >>> h[0] = exact("1/3")
    >>> print(h.text(), c.text())
    [1/3  0] [1/10  1/4]
    """

    def __enter__(self) -> mode:
        self._open = contextlib.ExitStack()
        self._open.enter_context(ExactFactories())
        self._open.enter_context(_Literals())
        return self

    def __exit__(self, *reason: Any) -> None:
        self._open.close()


class _Literals(TorchFunctionMode):
    """Numbers in a call of torch.tensor are read as they are written."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in (torch.tensor, torch.as_tensor, torch.asarray) and args and isinstance(args[0], (float, list, tuple)):
            dtype = kwargs.get("dtype") or torch.get_default_dtype()
            if dtype.is_floating_point and _has_floats(args[0]):
                made = exact(args[0]).to(dtype)
                return made.requires_grad_(bool(kwargs.get("requires_grad")))
        return func(*args, **kwargs)


def _has_floats(data: Any) -> bool:
    if isinstance(data, (list, tuple)):
        return any(map(_has_floats, data))
    return isinstance(data, (float, ExactTensor))


_FROM_NUMBERS = {"full": 1, "scalar_tensor": 0, "arange": None, "linspace": None}
"""Factories that are given numbers, and where the one number stands."""


def _of_numbers(name: str, args: Any, dtype: torch.dtype) -> Any:
    if name == "arange":
        return arange(*args, dtype=dtype)
    if name == "linspace":
        return linspace(*args, dtype=dtype)
    with ARENA.working(), recording() as made:
        number = args[_FROM_NUMBERS[name]]
        value = lift_float(number, masks=False) if isinstance(number, float) else lift_number(number)
        x = full(args[0] if name == "full" else (), value, dtype=dtype)
        x.shared.notes |= made
        return x


def _exact(t: Any, factory: str) -> Any:
    if type(t) is not torch.Tensor or not t.is_floating_point():
        return t
    with ARENA.working(), recording() as made:
        if "empty" in factory:
            payload = torch.zeros(t.shape, dtype=torch.float64)  # never show uninitialised memory as values
        elif factory in _RANDOM_FACTORIES:
            payload = lift_as_is(t)
            assume("random", f"{factory} drew {t.numel()} numbers")
        else:
            payload = lift_tensor(t, masks=False)  # a mask may still be built by products
        return ExactTensor(payload, dtype=t.dtype, shared=SharedNotes(frozenset(made)))
