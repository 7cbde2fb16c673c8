"""The number that is differentiated: which one, and its gradients by autograd."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches

import torch
from torch import Tensor

from workings.errors import WorkingsError
from workings.trace.flow import Scope, outputs

FREED = "backward through the graph a second time"


class GradientError(WorkingsError):
    """A gradient that cannot be had: name the loss, and say what to do."""


@dataclass
class Loss:
    """The loss L: its name, its tensor, ∂L/∂t for each tensor t (by identity), and the names of these."""

    name: str
    tensor: Tensor
    totals: dict[int, Tensor | None] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)

    def symbol(self, name: str) -> str:
        """∂L/∂name"""
        return f"∂{self.name}/∂{name}"


def find_loss(found: list[Scope], name: str | None) -> Loss:
    """The loss of this name, or the last result of the outermost scope that is one number."""
    results = [pair for scope in found for step in scope.statements for pair in outputs(step)]
    if not results:
        raise GradientError("Backward needs a loss, but no statement was recorded that made a tensor.")
    loss = _named(found, results, name) if name else _last_number(found[0], results)
    if loss.tensor.numel() != 1:
        raise GradientError(
            f"Backward needs one number, but {loss.name} has shape {[*loss.tensor.shape]}. "
            f"Sum it, for example L = {loss.name}.sum(), and differentiate L."
        )
    if not loss.tensor.requires_grad:
        raise GradientError(
            f"The gradient of {loss.name} needs a tensor that requires one, and {loss.name} depends on none. "
            "Pass one with requires_grad=True, outside torch.no_grad()."
        )
    return loss


def _named(found: list[Scope], results: list[tuple[str, Tensor]], name: str) -> Loss:
    outer = [pair for step in found[0].statements for pair in outputs(step)]
    for known, tensor in (*reversed(outer), *reversed(results)):
        if known == name:
            return Loss(name, tensor)
    names = list(dict.fromkeys(known for known, _ in results if known))
    near = get_close_matches(name, names, 1)
    hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(names)}."
    raise GradientError(f"Backward was asked for '{name}', but no statement assigns a tensor of that name. {hint}")


def _last_number(scope: Scope, results: list[tuple[str, Tensor]]) -> Loss:
    own = [pair for step in scope.statements for pair in outputs(step)] or results
    last = next((pair for pair in reversed(own) if pair[1].numel() == 1 and pair[1].is_floating_point()), own[-1])
    number = last[1].numel() == 1
    name = scope.names.get(id(last[1])) or last[0]
    return Loss(name or ("L" if number else "the result"), last[1])


def gradients(loss: Loss, tensors: Iterable[Tensor]) -> dict[int, Tensor | None]:
    """∂L/∂t for each tensor, by its identity; None where L does not depend on it."""
    wanted = [tensor for tensor in tensors if tensor.requires_grad]
    found = pulled([loss.tensor], wanted, [torch.ones_like(loss.tensor)], loss.name) if wanted else ()
    return {id(tensor): gradient for tensor, gradient in zip(wanted, found, strict=True)}


def pulled(results: list[Tensor], wanted: list[Tensor], upstream: list[Tensor], name: str) -> tuple[Tensor | None, ...]:
    """Autograd's gradients, the graph kept."""
    try:
        return torch.autograd.grad(results, wanted, upstream, retain_graph=True, allow_unused=True)
    except RuntimeError as error:
        if FREED in str(error):
            raise GradientError(
                f"The gradient of {name} needs the graph, but backward() in the code has freed it. "
                f"Leave backward() out, or write {name}.backward(retain_graph=True)."
            ) from error
        reason = str(error).split(" Hint:")[0]
        raise GradientError(f"The gradient of {name} cannot be computed: {reason}") from error
