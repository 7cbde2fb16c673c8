"""`with exact.mode():` tensors created inside are exact."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from workings.exact.numbers.assume import assume, recording
from workings.exact.tensor.arena import ARENA
from workings.exact.tensor.exact_tensor import HOOKS, ExactTensor, SharedNotes
from workings.exact.tensor.lift import lift_as_is, lift_tensor

_RANDOM_FACTORIES = frozenset(("rand", "randn", "normal"))
_CONSTANTS = frozenset(("lift_fresh", "scalar_tensor"))


class mode(TorchDispatchMode):  # a context manager, named like one
    """Make the floating-point tensors that are created inside the block exact.

    >>> import torch
    >>> from workings import exact
    >>> with exact.mode():
    ...     h = torch.zeros(2)
    >>> h[0] = exact("1/3")
    >>> print(h.text())
    [1/3  0]
    """

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
        from_integers = name == "_to_copy" and not tensors[0].is_floating_point()  # mask.to(float64) creates floats
        if tensors and name not in _CONSTANTS and not from_integers:
            return result
        return tree_map(lambda t: _exact(t, name), result)


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
