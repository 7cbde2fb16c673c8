"""The arena: which values the payloads of living tensors name, and nothing else.

A payload is a float64 tensor of handles; a handle is the serial number of a value. The arena keeps the value of every handle
of every living payload, and drops the rest: at once when the last tensor dies, otherwise whenever the graph has doubled since
the last sweep. Sweeping happens only between operations.
"""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Iterator, Sequence

import torch
from torch.utils._python_dispatch import _disable_current_modes

from workings.exact.value import GRAPH, INF, LOCK, NAN, NEG_INF, ONE, ZERO, Value, operands

_PERMANENT = (ZERO, ONE, INF, NEG_INF, NAN)
_SMALLEST_SWEEP = 20_000




class Arena:
    """Handles to values, for the payloads that are alive."""

    def __init__(self) -> None:
        self.values: dict[int, Value] = {v.serial: v for v in _PERMANENT}
        self.payloads: dict[int, weakref.ref[torch.Tensor]] = {}
        self.registered = 0
        self.busy = 0
        self.sweep_at = _SMALLEST_SWEEP

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Make values and payloads inside this block.

        No other thread does meanwhile, nothing is swept, and no dispatch mode sees the payloads (a payload is not a tensor of
        numbers).
        """
        with LOCK:
            if self.busy == 0 and len(GRAPH.nodes) > self.sweep_at:
                self.sweep()
            self.busy += 1
            try:
                if torch._C._len_torch_dispatch_stack():
                    with _disable_current_modes():
                        yield
                else:
                    yield
            finally:
                self.busy -= 1

    def register(self, payload: torch.Tensor) -> None:
        """Keep the values of this payload as long as it lives."""
        number = self.registered
        self.registered += 1
        self.payloads[number] = weakref.ref(payload, functools.partial(self._gone, number))

    def _gone(self, number: int, _: object) -> None:
        self.payloads.pop(number, None)
        if not self.payloads and LOCK.acquire(blocking=False):
            try:
                if self.busy == 0:
                    self.sweep()
            finally:
                LOCK.release()

    def sweep(self) -> None:
        """Drop every value that no living payload needs."""
        handles: set[float] = set()
        for ref in list(self.payloads.values()):
            payload = ref()
            if payload is not None:
                handles.update(payload.reshape(-1).tolist())
        roots = [self.values[h] for h in handles]  # type: ignore[index]  # a float finds its int
        self.values = {v.serial: v for v in (*_PERMANENT, *roots)}
        needed = set(_PERMANENT)
        todo = roots
        while todo:
            v = todo.pop()
            if v not in needed:
                needed.add(v)
                todo.extend(operands(v))
        GRAPH.nodes = {key: v for key, v in GRAPH.nodes.items() if v in needed or v.kind in ("letter", "const")}
        self.sweep_at = max(_SMALLEST_SWEEP, 2 * len(GRAPH.nodes))


ARENA = Arena()


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
