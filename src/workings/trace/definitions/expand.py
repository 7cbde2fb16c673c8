"""From a fused call to its written-out definition, and how the two compare."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torch import Tensor, nn

from workings.exact.tensor.equality import equal
from workings.exact.tensor.exact_tensor import ExactTensor
from workings.trace.definitions.definition import Definition, NotCovered, Refusal
from workings.trace.formula.operation import OPERATIONS, Layer, Operation
from workings.trace.tensors.difference import largest_difference

__all__ = ["Definition", "Refusal", "compare", "definition_of", "entry_of"]

Entry = Callable[..., Definition]
"""Gives the definition of a call with these arguments, or refuses an option."""


def definition_of(call: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Definition | Refusal:
    """The written-out definition of calling a PyTorch function or module with these arguments.

    >>> import torch
    >>> x = torch.tensor([0.0, 0.0])
    >>> definition_of(torch.softmax, (x, -1))()
    tensor([0.5000, 0.5000])
    >>> definition_of(nn.LSTM(2, 2, num_layers=3), (torch.zeros(4, 2),))
    Refusal(reason='LSTM is not written out for num_layers=3.')
    """
    entry, name = entry_of(call)
    if entry is None:
        return Refusal(f"{name} has no written-out definition.")
    given = (call, *args) if isinstance(call, nn.Module) else args
    try:
        return entry(*given, **(kwargs or {}))
    except NotCovered as reason:
        return Refusal(f"{name} is not written out for {reason}.")
    except TypeError as error:
        return Refusal(f"{name} is not written out for these arguments: {error}.")


def entry_of(call: Any) -> tuple[Entry | None, str]:
    """The table's entry and the name of the call; a subclass with a forward of its own is another computation.

    So is a module whose weight is computed whenever it is read, and may then be another: `parametrizations.spectral_norm`.
    """
    if not isinstance(call, nn.Module):
        return (OPERATIONS.definitions.get(call) if callable(call) else None), getattr(call, "__name__", repr(call))
    own = type(call)
    if "parametrizations" in call._modules:
        return None, own.__name__
    same = (OPERATIONS.layers[cls] for cls in own.__mro__ if cls in OPERATIONS.layers and cls.forward is own.forward)
    return next((entry for row, layer in same if (entry := layer_entry(row, layer))), None), own.__name__


def layer_entry(row: Operation, layer: Layer) -> Entry | None:
    """The entry of a layer: its own, or that of the function it calls with its parameters and options."""
    if layer.definition is not None or layer.parameters is None:
        return layer.definition
    define = [*row.definitions.values()][-1:]
    names = layer.parameters.split(), layer.options.split()

    def entry(module: nn.Module, *args: Any) -> Definition:
        own, options = ([getattr(module, name) for name in part] for part in names)
        return define[0](*args, *own, **dict(zip(names[1], options, strict=True)))

    return entry if define else None


def compare(fused: Any, expanded: Any) -> str:
    """A sentence on how the written-out result compares with the fused one.

    >>> import torch
    >>> compare(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.5]))
    'compared with the fused result: largest difference 0.5'
    """
    return f"compared with the fused result: {_verdict(list(_tensors(fused)), list(_tensors(expanded)))}"


def _verdict(fused: list[Tensor], expanded: list[Tensor]) -> str:
    """Equal and how that is known for exact tensors, the largest difference for floats."""
    if [x.shape for x in fused] != [x.shape for x in expanded]:
        shapes = [" and ".join(str([*x.shape]) for x in xs) for xs in (fused, expanded)]
        return f"different shapes, {shapes[0]} against {shapes[1]}"
    pairs = list(zip(fused, expanded, strict=True))
    if any(isinstance(x, ExactTensor) for pair in pairs for x in pair):
        return _exactly(pairs)
    return f"largest difference {max((largest_difference(*pair) for pair in pairs), default=0.0):.2g}"


def _exactly(pairs: list[tuple[Tensor, Tensor]]) -> str:
    """Whether exact tensors are equal, by the weakest of the proofs."""
    proofs = [equal(*pair) for pair in pairs]
    if any(proof.equal is False for proof in proofs):
        return "different"
    return next((proof.how for proof in proofs if proof.equal is None), "equal, proved")


def _tensors(value: Any) -> Iterator[Tensor]:
    """The tensors in a result: itself, or those in its tuples, in order."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from _tensors(part)
