"""Random graphs of 5 to 30 operations, in float64 and on exact tensors, forward and backward.

Inputs are small tensors of multiples of 1/8. How far float64 may be off is measured, not guessed: the graph runs again
with every intermediate result disturbed by about 1e-12 of its size, once in a random direction and once in the opposite
one. Where that moves a result, float64 is uncertain by as much; where it moves it by over 1e-6, float64 does not know
the answer (a comparison is within rounding of a tie, or almost everything cancels), and the graph is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from torch import Tensor

from conformance.graph_ops import OPS
from conformance.row import Row, plain, size
from workings import exact
from workings.errors import WorkingsError

DISTURBANCE, UNCERTAIN, FLOOR = 2.0**-40, 1e-6, 1e-11
LARGEST, MOST_ENTRIES, HEADS = 1e4, 12, 3
SHAPES = ((3,), (2, 3), (3, 2), (2, 2), (1, 3), (2, 1, 2), ())


@dataclass(frozen=True)
class Step:
    """Apply an operation to two earlier tensors (by position) and a small number."""

    op: str
    x: int
    y: int
    k: int


@dataclass(frozen=True)
class Graph:
    """Inputs, in eighths, and the steps."""

    inputs: tuple[Tensor, ...] = field(repr=False)
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        n = len(self.inputs)
        lines = [f"t{i} = {t.tolist()}" for i, t in enumerate(self.inputs)]
        lines += [f"t{n + i} = {s.op}(t{s.x}, t{s.y}, {s.k})" for i, s in enumerate(self.steps)]
        return "\n".join(lines)


@st.composite
def graphs(draw: Any, least: int = 5, most: int = 30) -> Graph:
    """Graphs whose float64 run is finite and small. An operation that would break this is left out."""
    inputs = tuple(draw(eighths(shape)) for shape in draw(st.lists(st.sampled_from(SHAPES), min_size=2, max_size=3)))
    tensors, steps = list(inputs), []
    for _ in range(draw(st.integers(least, most))):
        x, y, k = draw(recent(len(tensors))), draw(recent(len(tensors))), draw(st.integers(0, 3))
        op = draw(st.sampled_from([name for name, op in OPS.items() if op.fits(tensors[x], tensors[y])]))
        result = OPS[op].run(tensors[x], tensors[y], k)
        if 0 < result.numel() <= MOST_ENTRIES and bool((result.abs() <= LARGEST).all()):
            tensors.append(result)
            steps.append(Step(op, x, y, k))
    return Graph(inputs, tuple(steps))


def eighths(shape: Sequence[int]) -> Any:
    """Tensors of random multiples of 1/8 between −2 and 2; drawn as a seed, because hypothesis prefers zeros."""

    def drawn(seed: int) -> Tensor:
        return torch.randint(-16, 17, tuple(shape), generator=torch.Generator().manual_seed(seed)).double() / 8

    return st.integers(0, 2**31).map(drawn)


def recent(count: int) -> Any:
    """Positions, the last ones first: graphs become deep."""
    return st.integers(0, count - 1).map(lambda back: count - 1 - back)


def run(graph: Graph, inputs: Sequence[Tensor], disturbance: float = 0.0) -> list[Tensor | None]:
    """The last results, and the gradients of their weighted sum."""
    leaves = [t.detach().clone().requires_grad_() for t in inputs]
    noise = torch.Generator().manual_seed(0)
    tensors: list[Tensor] = [_disturbed(t, disturbance, noise) for t in leaves]
    for step in graph.steps:
        result = OPS[step.op].run(tensors[step.x], tensors[step.y], step.k)
        tensors.append(_disturbed(result, disturbance, noise))
    heads = [t for t in tensors[-HEADS:] if t.requires_grad]
    grads = torch.autograd.grad(heads, leaves, [_weights(t) for t in heads], allow_unused=True)
    return [*heads, *grads]


def _disturbed(t: Tensor, amount: float, noise: torch.Generator) -> Tensor:
    return t * (1 + amount * torch.randn(t.shape, generator=noise, dtype=torch.float64)) if amount else t


def _weights(t: Tensor) -> Tensor:
    weights = (torch.arange(t.numel()) % 5 - 1.5).double().reshape(t.shape)
    return exact(weights) if isinstance(t, exact.ExactTensor) else weights


@dataclass(frozen=True)
class Verdict:
    """`status` is pass, skip, differs or unsupported."""

    status: str
    reason: str = ""
    error: float = 0.0


def check(graph: Graph) -> Verdict:
    """Run a graph in float64, disturbed, and exactly."""
    expected = run(graph, graph.inputs)
    moved = [run(graph, graph.inputs, sign * DISTURBANCE) for sign in (1, -1)]
    allowed = [_uncertainty(t, others) for t, *others in zip(expected, *moved, strict=True)]
    if any(uncertainty > UNCERTAIN * _scale(t) for t, uncertainty in zip(expected, allowed, strict=True)):
        return Verdict("skip", "float64 does not know the answer")
    try:
        found = run(graph, [exact(t) for t in graph.inputs])
    except WorkingsError as reason:
        return Verdict("unsupported", str(reason))
    return _verdict(found, expected, allowed)


def _verdict(found: list[Any], expected: list[Any], allowed: list[float]) -> Verdict:
    worst = 0.0
    for i, (a, b, uncertainty) in enumerate(zip(found, expected, allowed, strict=True)):
        gap = _gap(a, b)
        if not gap <= uncertainty + FLOOR * _scale(b):
            return Verdict("differs", f"tensor {i}: {_short(a)} instead of {_short(b)}, off by {gap:.1e}", gap)
        worst = max(worst, gap / _scale(b))
    return Verdict("pass", error=worst)


def _uncertainty(t: Tensor | None, others: list[Tensor | None]) -> float:
    return max(_gap(t, other) for other in others)


def _gap(a: Tensor | None, b: Tensor | None) -> float:
    """The largest difference; a missing gradient is 0."""
    if a is None or b is None:
        return size(b if a is None else a)
    if a.shape != b.shape:
        return float("inf")
    return float((plain(a) - plain(b)).abs().max())


def _scale(t: Tensor | None) -> float:
    return 1 + size(t)


def _short(t: Any) -> str:
    return "nothing" if t is None else " ".join(str(plain(t).tolist()).split())[:100]


def rows(count: int = 300) -> Iterator[Row]:
    """One row for this many graphs."""
    verdicts: list[Verdict] = []

    @settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(graphs())
    def each(graph: Graph) -> None:
        verdicts.append(check(graph))

    each()
    passed = [v for v in verdicts if v.status == "pass"]
    skipped = sum(v.status == "skip" for v in verdicts)
    bad = [v for v in verdicts if v.status not in ("pass", "skip")]
    notes = (f"{len(passed)} agree; {skipped} skipped, where float64 does not know the answer",)
    name = f"{len(verdicts)} graphs of {len(OPS)} operations"
    if bad or not passed:
        yield Row(name, bad[0].status if bad else "differs", reason=bad[0].reason if bad else "all skipped", notes=notes)
    else:
        yield Row(name, "pass", max(v.error for v in passed), notes=notes)
