"""One case of the module tables: a program, its inputs, and its run in float64 and on exact tensors.

Inputs are multiples of 1/8 and parameters of 1/4, so that both runs start from the same numbers. All results are
compared, and the gradients of a weighted sum of them with respect to inputs and parameters.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from conformance.row import Pair, Row, row
from workings import exact

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """A program. `inputs` are shapes (of random numbers, differentiated), tensors (as they are) or anything else.

    `reference` is what float64 runs instead where PyTorch's own kernel is not accurate to float64; `note` says so.
    """

    name: str
    build: Callable[[], nn.Module | None]
    inputs: Sequence[Any]
    call: Callable[..., Any]
    reference: Callable[..., Any] | None = None
    note: str = ""


def module(name: str, build: Callable[[], nn.Module], *inputs: Any, **options: Any) -> Case:
    """A case that calls a module."""
    return Case(name, build, inputs, options.pop("call", plainly), **options)


def plainly(m: nn.Module, *inputs: Any) -> Any:
    return m(*inputs)


def function(name: str, call: Callable[..., Any], *inputs: Any, **options: Any) -> Case:
    """A case that calls a function."""
    return Case(name, lambda: None, inputs, lambda _, *args: call(*args), **options)


def check(case: Case) -> Row:
    """Run one case both ways."""
    return row(case.name, lambda: (pairs(case), [case.note] if case.note else []))


def pairs(case: Case) -> list[Pair]:
    """Results and gradients, exact beside float64."""
    torch.manual_seed(0)
    reference = snapped(case.build())
    ours = exactified(copy.deepcopy(reference))
    inputs = [numbers(x) for x in case.inputs]
    expected = run(case.reference or case.call, reference, inputs)
    found = run(case.call, ours, [exactly(x) for x in inputs])
    if found.keys() != expected.keys():
        raise ValueError(f"results {sorted(found)} instead of {sorted(expected)}")
    return [Pair(name, found[name], expected[name]) for name in expected]


def snapped(m: nn.Module | None) -> nn.Module | None:
    """The module in float64 with parameters and buffers at multiples of 1/4."""
    if m is None:
        return None
    m = m.double()
    with torch.no_grad():
        for t in [*m.parameters(), *m.buffers()]:
            if t.is_floating_point():
                t.copy_((t * 4).round() / 4)
    return m


def exactified(m: nn.Module | None) -> nn.Module | None:
    return None if m is None else exact.exactify(m)


def numbers(x: Any) -> Any:
    """A shape becomes random multiples of 1/8 between −2 and 2, without 0, to be differentiated."""
    if not (isinstance(x, tuple) and all(isinstance(n, int) for n in x)):
        return x
    signs = torch.randint(0, 2, x) * 2 - 1
    return (torch.randint(1, 17, x) / 8 * signs).double().requires_grad_()


def exactly(x: Any) -> Any:
    """The same tensor, exact."""
    if not (isinstance(x, torch.Tensor) and x.is_floating_point()):
        return x
    return exact(x.detach(), requires_grad=x.requires_grad)


def run(call: Callable[..., Any], m: nn.Module | None, inputs: list[Any]) -> dict[str, Any]:
    """Results and gradients by name."""
    found = tree_leaves(call(m, *inputs))
    results = {f"result {i + 1}": t for i, t in enumerate(found) if isinstance(t, torch.Tensor)}
    wanted = {f"gradient of input {i + 1}": x for i, x in enumerate(inputs) if is_leaf(x)}
    if m is not None:
        wanted |= {f"gradient of {name}": p for name, p in m.named_parameters() if p.requires_grad}
    heads = [t for t in results.values() if t.requires_grad]
    if not heads or not wanted:
        return results
    grads = torch.autograd.grad(heads, list(wanted.values()), [weights(t) for t in heads], allow_unused=True)
    return {**results, **dict(zip(wanted, grads, strict=True))}


def is_leaf(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.requires_grad


def is_exact(x: Any) -> bool:
    return isinstance(x, exact.ExactTensor)


def weights(t: torch.Tensor) -> torch.Tensor:
    """The weight of each entry in the loss: −3/2, −1/2, 1/2, …"""
    plain = (torch.arange(t.numel()) % 5 - 1.5).double().reshape(t.shape)
    return exact(plain).to(t.dtype) if is_exact(t) else plain.to(t.dtype)
