"""Which of several numbers is the loss: what a training step would differentiate.

return q, perplexity, loss           loss: it is called so
return recon, kl, recon + kl         the sum, to which the others lead
return torch.exp(a), a               the one that most parameters lead to, then the first
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from torch import Tensor
from torch.utils._pytree import tree_flatten_with_path

from workings.trace.gradient.scope import Scope, Value, value_of

_LOSSES = frozenset("loss losses cost objective nll elbo criterion L J".split())
"""Words that call a number a loss."""


class Candidate(NamedTuple):
    """A number that could be differentiated, and what it is called: in the result, else in the code."""

    name: str
    value: Value


def candidates(result: Any, found: list[Scope]) -> list[Candidate]:
    """The numbers in what the code returned that autograd has a graph of."""
    if not isinstance(result, (Mapping, tuple, list, Tensor)) and hasattr(result, "__dict__"):
        result = vars(result)
    numbers = ((path, t) for path, t in tree_flatten_with_path(result)[0] if isinstance(t, Tensor) and is_number(t))
    return [Candidate(_own_word(path) or _name(found, tensor), value_of(tensor)) for path, tensor in numbers]


def assigned_candidates(scope: Scope) -> list[Candidate]:
    """The numbers of a function that are called a loss."""
    made = (Candidate(name, value) for statement in scope.statements for name, value in statement.made)
    return [one for one in made if is_called_loss(one.name) and is_number(one.value.tensor)]


def chosen(given: list[Candidate]) -> Candidate | None:
    """The loss among numbers; None where there is none.

    Totals come first: numbers called a loss that others of them lead to, and numbers without a name that at least two lead
    to. Then what is called a loss, then what most tensors at the beginning of the graph lead to, then the first.
    """
    if not given:
        return None
    behind = [_reaches(one.value) for one in given]

    def rank(number: int) -> tuple[int, bool, bool, int, int]:
        name = given[number].name
        parts = [one for one in given if one.value.key in behind[number] and is_called_loss(one.name)]
        is_total = len(parts) >= (1 if is_called_loss(name) else 2)
        beginnings = sum(isinstance(key, int) for key in behind[number])
        return len(parts) if is_total else 0, is_called_loss(name), name == "loss", beginnings, -number

    return given[max(range(len(given)), key=rank)]


def is_number(tensor: Tensor) -> bool:
    """Whether this is one number that can be differentiated."""
    return tensor.numel() == 1 and tensor.requires_grad and tensor.is_floating_point()


def is_called_loss(name: str) -> bool:
    """Whether a name says so.

    >>> [is_called_loss(name) for name in ("loss", "out.recon_loss", "klLoss", "L", "perplexity", "gloss")]
    [True, True, True, True, False, False]
    """
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name.rpartition(".")[2])
    return any(word in _LOSSES or word.lower() in _LOSSES for word in words)


def _own_word(path: tuple[Any, ...]) -> str:
    """What the result calls a number: a key or a field, no place."""
    words = [str(getattr(part, "key", getattr(part, "name", ""))) for part in path]
    return words[-1] if words else ""


def _name(found: list[Scope], tensor: Tensor) -> str:
    key = value_of(tensor).key
    return next((scope.names[key].partition("#")[0] for scope in found if key in scope.names), "")


def _reaches(value: Value) -> set[Hashable]:
    """The keys of the values that lead to this one: places in autograd's graph, tensors at its beginning."""
    seen: set[Hashable] = set()
    queue = [value.edge.node] if value.edge is not None else []
    visited = set(queue)
    while queue:
        for after, number in queue.pop().next_functions:
            if after is None:
                continue
            seen.add(id(after.variable) if hasattr(after, "variable") else (after, number))
            if after not in visited:
                visited.add(after)
                queue.append(after)
    return seen
