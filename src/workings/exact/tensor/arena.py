"""The arena: which values the payloads of living tensors name, and nothing else.

A payload is a float64 tensor of handles; a handle is the serial number of a value. Handles, not objects, so that a payload
is an ordinary tensor: views, strides, indexing, in-place writes and what autograd saves are PyTorch's own. They are doubles
because kernels that move data take those everywhere (whole numbers are exact up to 2⁵³), and 0 and 1 are the handles of the
numbers 0 and 1, so that `zeros`, `ones` and `eye` make payloads as they are.

A tensor of handles keeps no Python object alive. The arena does: it holds the value of every handle of every living
payload, and drops the rest, at once when the last tensor dies, otherwise whenever the graph has doubled since the last
sweep. It knows payloads by weak references only; autograd decides how long they live. Sweeping happens only between
operations, because inside one, values are held by handles that no payload has yet.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence

import torch
from torch.utils._python_dispatch import _disable_current_modes

from workings.exact.numbers.value import GRAPH, INF, LOCK, NAN, NEG_INF, ONE, ZERO, Value

_PERMANENT = (ZERO, ONE, INF, NEG_INF, NAN)
_SMALLEST_SWEEP = 100_000
_UNHELD = 2
"""References to a node that only the graph holds: the graph's own, and the question's."""


def unseen_by_modes() -> contextlib.AbstractContextManager[object]:
    """Nothing that watches PyTorch's calls sees those of the block: handles are no numbers."""
    below = torch._C._len_torch_dispatch_stack()
    above = torch._C._len_torch_function_stack()
    if not below and not above:
        return contextlib.nullcontext()
    stack = contextlib.ExitStack()
    if above:
        stack.enter_context(torch._C.DisableTorchFunction())
    if below:
        stack.enter_context(_disable_current_modes())
    return stack


class _Arena:
    """Handles to values, for the payloads that are alive."""

    def __init__(self) -> None:
        self.values: dict[int, Value] = {v.serial: v for v in _PERMANENT}
        self.payloads: dict[int, weakref.ref[torch.Tensor]] = {}
        self.registered = 0
        self.busy = False
        self.sweep_at = _SMALLEST_SWEEP

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Make values and payloads inside this block.

        No other thread does meanwhile, nothing is swept, and no dispatch mode sees the payloads (a payload is not a tensor
        of numbers). Python's cycle collector rests: values have no cycles, and its walks over them would double the time.
        """
        with LOCK:
            if self.busy:
                with unseen_by_modes():
                    yield
                return
            if len(GRAPH.nodes) > self.sweep_at:
                self.sweep()
            self.busy = True
            collecting = gc.isenabled()
            gc.disable()
            try:
                with unseen_by_modes():
                    yield
            finally:
                self.busy = False
                if collecting:
                    gc.enable()

    def register(self, payload: torch.Tensor) -> None:
        """Keep the values of this payload as long as it lives."""
        number = self.registered  # not id(payload), which the next tensor may have; not a WeakSet, which compares tensors
        self.registered += 1
        self.payloads[number] = weakref.ref(payload, functools.partial(self._forget, number))

    def _forget(self, number: int, _: object, ending: Callable[[], bool] = sys.is_finalizing) -> None:
        """A payload is no more. While Python ends there is nothing to tidy, and this module's names may be gone already."""
        if ending():
            return
        self.payloads.pop(number, None)
        if not self.payloads and LOCK.acquire(blocking=False):  # a finaliser must not wait for the thread it interrupted
            try:
                if not self.busy:
                    self.sweep()
            finally:
                LOCK.release()

    def sweep(self) -> None:
        """Drop every value that no living payload needs and nobody holds."""
        storages = {}
        for ref in list(self.payloads.values()):
            payload = ref()
            if payload is not None:
                storages[payload.untyped_storage()._cdata] = _whole(payload)
        handles = set().union(*(whole.tolist() for whole in storages.values()))
        kept = [self.values[h] for h in handles if h in self.values]  # a float finds its int
        self.values = {v.serial: v for v in (*_PERMANENT, *kept)}
        del kept  # a reference of our own would count below
        # The graph holds every node, so the count of references says who else does: a formula that is kept, or a value in
        # somebody's variable.
        nodes = GRAPH.nodes
        for key in reversed(list(nodes)):  # formulas before their parts
            if sys.getrefcount(nodes[key]) <= _UNHELD:
                del nodes[key]
        self.sweep_at = max(_SMALLEST_SWEEP, 2 * len(nodes))


ARENA = _Arena()


def _whole(payload: torch.Tensor) -> torch.Tensor:
    """The memory of a payload: what `as_strided` or `resize_` may bring to light, not only what it shows now."""
    return torch.empty(0, dtype=torch.float64).set_(payload.untyped_storage())


@contextlib.contextmanager
def zeros_where_it_grows(payload: torch.Tensor) -> Iterator[None]:
    """New memory of a payload that grows in place names 0: what happens to stand there is no handle."""
    before = payload.untyped_storage().nbytes() // payload.element_size()
    yield
    _whole(payload)[before:] = 0


def values_of(payload: torch.Tensor) -> list[Value]:
    """The values a payload names, in row-major order."""
    table = ARENA.values
    return [table[h] for h in payload.reshape(-1).tolist()]


def payload_of(vs: Sequence[Value], shape: Sequence[int]) -> torch.Tensor:
    """A payload that names these values."""
    table = ARENA.values
    for v in vs:
        table[v.serial] = v
    return torch.tensor([v.serial for v in vs], dtype=torch.float64).reshape(tuple(shape))


def handle_of(v: Value) -> float:
    """The handle of one value."""
    ARENA.values[v.serial] = v
    return float(v.serial)


def live() -> dict[str, int]:
    """How much is alive: payloads of tensors, values they name, nodes of the graph."""
    return {"payloads": len(ARENA.payloads), "values": len(ARENA.values), "nodes": len(GRAPH.nodes)}
