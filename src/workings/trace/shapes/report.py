"""Shapes, parameters and multiply-adds of a model, layer by layer, each with its arithmetic.

A copy of the model runs once, so nothing of the model changes. Unless it is small, the copy has no numbers: it runs on
PyTorch's `meta` device, where tensors have shapes only. Code that asks for a number (`.item()`, a branch on a value) makes
it run on a full copy instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from workings.errors import WorkingsError
from workings.trace.shapes.arithmetic import Shape, parameters_of, product, size_of
from workings.trace.shapes.counters import Calls, MultiplyAdds, without_shortcuts
from workings.trace.shapes.explain import Explanation, explain
from workings.trace.shapes.layer_text import layer_call

_WHOLE = (nn.MultiheadAttention,)
"""Layers with parts that they use by themselves: shown as one."""

SMALL = 2**16
"""A model and inputs with no more numbers than this run as they are."""

_LARGE = 2**28
"""Inputs with more entries are not given real numbers."""


@dataclass(frozen=True)
class Layer:
    """One call of a leaf layer, or a parameter that belongs to none; `memory` is the output's, in bytes."""

    path: str
    kind: str
    input: Shape | None = None
    output: Shape | None = None
    arithmetic: str = ""
    parameters: int = 0
    parameter_arithmetic: str = "0"
    multiply_adds: int = 0
    memory: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failure:
    """The layer or function that failed (`path` is empty outside a layer), why, and what to try if that is known."""

    path: str
    kind: str
    error: Exception
    explanation: Explanation | None


@dataclass(frozen=True)
class ShapeReport:
    """What `shapes` found. With a `failure`, the layers are those before it and the totals are theirs."""

    name: str
    inputs: tuple[Shape, ...]
    layers: tuple[Layer, ...]
    parameters: int
    multiply_adds: int
    memory: int
    notes: tuple[str, ...] = ()
    failure: Failure | None = None


def shapes(module: nn.Module, *inputs: Tensor) -> ShapeReport:
    """Run `module` once on tensors of the shapes of `inputs`, without changing it.

    >>> report = shapes(nn.Sequential(nn.Flatten(), nn.Linear(144, 10)), torch.zeros(1, 16, 3, 3))
    >>> [(layer.arithmetic, layer.parameter_arithmetic) for layer in report.layers]
    [('16·3·3 = 144', '0'), ('144 → 10', '144·10 + 10 = 1450')]
    """
    if not _light(module, inputs):
        run = _Run(_evaluation_copy(module, _skeleton))
        run(*(torch.empty(x.shape, dtype=x.dtype, device="meta") for x in inputs))
        explained = run.failure is not None and run.failure.explanation is not None
        if run.failure is None or explained or any(x.numel() > _LARGE for x in inputs):
            return run.report(inputs)
    run = _Run(_evaluation_copy(module, lambda module: {}))
    run(*(x.detach().clone(memory_format=torch.contiguous_format) for x in inputs))
    return run.report(inputs)


def _light(module: nn.Module, inputs: tuple[Tensor, ...]) -> bool:
    """Whether to run a full copy at once: for a small model that is quicker, and lazy parameters have no shape before."""
    tensors = [*module.parameters(), *module.buffers(), *inputs]
    if any(map(is_lazy, tensors)):
        return True
    ordinary = all(type(x) in (Tensor, nn.Parameter, nn.Buffer) for x in tensors)  # exact tensors take their time
    return ordinary and sum(x.numel() for x in tensors) <= SMALL


def _evaluation_copy(module: nn.Module, replacements: Callable[[nn.Module], dict[int, Any]]) -> nn.Module:
    """A copy in evaluation mode, in which some tensors are replaced."""
    try:
        return deepcopy(module, replacements(module)).eval()
    except Exception as error:
        raise WorkingsError(f"{type(module).__name__} cannot be copied, and running it might change it: {error}") from error


def _skeleton(module: nn.Module) -> dict[int, Any]:
    """For each parameter and buffer, a tensor of the same shape and type without numbers."""
    memo: dict[int, Any] = {}
    for tensor in [*module.parameters(), *module.buffers()]:
        empty = torch.empty(tensor.shape, dtype=tensor.dtype, device="meta")
        memo[id(tensor)] = nn.Parameter(empty, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else empty
    return memo


@dataclass
class _Run:
    """One forward pass of a copy, and what its layers did."""

    module: nn.Module
    layers: list[Layer] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failure: Failure | None = None
    counter: MultiplyAdds = field(default_factory=MultiplyAdds)
    calls: Calls = field(default_factory=Calls)
    owners: dict[Tensor, str] = field(default_factory=dict)
    open: list[tuple[str, nn.Module, tuple[Any, ...], dict[str, Any], int]] = field(default_factory=list)

    def __call__(self, *inputs: Tensor) -> None:
        """Run the module with every leaf layer watched."""
        for path, layer in _leaves(self.module):
            layer.register_forward_pre_hook(self.entering(path), with_kwargs=True)
            layer.register_forward_hook(self.leaving, with_kwargs=True, always_call=False)
        with without_shortcuts(), self.counter, self.calls:
            try:
                self.module(*inputs)
            except Exception as error:
                self.failure = self.failure_of(error)

    def entering(self, path: str) -> Callable[..., None]:
        def hook(layer: nn.Module, args: Any, kwargs: Any) -> None:
            self.open.append((path, layer, args, kwargs, self.counter.count))

        return hook

    def leaving(self, layer: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        """Write the layer down."""
        path, *_, before = self.open.pop()
        x, y = _first_shape((args, kwargs)), _first_shape(output)
        size = size_of(layer, x, y) if x is not None and y is not None else size_of(layer, (), ())
        own, shared = self.own_parameters(path, layer)
        self.layers.append(
            Layer(
                path=path,
                kind=layer_call(layer),
                input=x,
                output=y,
                arithmetic=size.arithmetic,
                parameters=sum(p.numel() for p in own),
                parameter_arithmetic=parameters_of(layer, own),
                multiply_adds=self.counter.count - before,
                memory=sum(t.numel() * t.element_size() for t in _tensors(output)),
                warnings=(*size.warnings, *shared),
            )
        )

    def own_parameters(self, path: str, layer: nn.Module) -> tuple[list[nn.Parameter], list[str]]:
        """The layer's parameters that no layer had before, and a remark about the others."""
        parameters = list(layer.parameters())
        own = [p for p in parameters if p not in self.owners]
        others = dict.fromkeys(self.owners[p] for p in parameters if p in self.owners)
        self.owners |= dict.fromkeys(own, path)
        return own, [f"shares parameters with {other or 'the model'}: counted once" for other in others]

    def failure_of(self, error: Exception) -> Failure:
        """The innermost layer or call at fault."""
        path, kind, calls = "", "", []
        if self.open:
            path, layer, args, kwargs, _ = self.open[-1]
            kind = layer_call(layer)
            calls.append((layer, args, kwargs))
        if self.calls.failed is not None and self.calls.error is error:
            calls.append(self.calls.failed)
            kind = kind or getattr(self.calls.failed[0], "__name__", "")
        found = (explain(error, *call, before=self.shape_before_flattening(call[1])) for call in calls)
        return Failure(path, kind, error, next((e for e in found if e is not None), None))

    def shape_before_flattening(self, args: tuple[Any, ...]) -> Shape | None:
        """What the failing call's input was before it was flattened."""
        x = _first_shape(args)
        return self.calls.before_flattening(x[-1]) if x else None

    def report(self, inputs: tuple[Tensor, ...]) -> ShapeReport:
        """The finished report; parameters of no layer that ran get rows of their own."""
        rest = [] if self.failure else [(n, p) for n, p in self.module.named_parameters() if p not in self.owners]
        layers = [*self.layers, *(Layer(n, "Parameter", None, None, "", p.numel(), _own_parameters(p)) for n, p in rest)]
        outside = self.counter.count - sum(layer.multiply_adds for layer in layers)
        notes = [f"{outside} of the multiply-adds are outside the layers."] if outside and not self.failure else []
        if any("counted once" in text for layer in layers for text in layer.warnings):
            notes.append("Shared parameters are counted once.")
        return ShapeReport(
            name=type(self.module).__name__,
            inputs=tuple(tuple(x.shape) for x in inputs),
            layers=tuple(layers),
            parameters=sum(layer.parameters for layer in layers),
            multiply_adds=self.counter.count,
            memory=sum(layer.memory for layer in layers),
            notes=tuple(notes),
            failure=self.failure,
        )


def _own_parameters(p: Tensor) -> str:
    return f"{product(p.shape)} = {p.numel()}" if p.dim() > 1 else f"{p.numel()}"


def _leaves(module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Layers without parts of their own, with their paths, each once."""
    whole = {id(part) for m in module.modules() if isinstance(m, _WHOLE) for part in m.modules() if part is not m}
    for path, layer in module.named_modules():
        if id(layer) not in whole and (isinstance(layer, _WHOLE) or not any(layer.children())):
            yield path, layer


def _tensors(value: Any) -> Iterator[Tensor]:
    """The tensors in nested tuples, lists and dictionaries."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _tensors(part)


def _first_shape(value: Any) -> Shape | None:
    """The shape of the first tensor in `value`."""
    return next((tuple(x.shape) for x in _tensors(value)), None)
