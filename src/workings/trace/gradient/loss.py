"""The number that is differentiated: which one, and its gradients by autograd."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map

from workings.errors import WorkingsError, did_you_mean
from workings.trace.gradient.choice import Candidate, assigned_candidates, candidates, chosen
from workings.trace.gradient.scope import Scope, Value, value_of
from workings.trace.gradient.tensor_hooks import TensorHooks
from workings.trace.tensors.dense import dense

_FREED = "backward through the graph a second time"
_CHANGED = "modified by an inplace operation"
"""What PyTorch says of a graph that is gone, and of one that no longer holds."""


class GradientError(WorkingsError):
    """A gradient that cannot be had: name the loss, and say what to do."""


@dataclass
class Loss:
    """The loss L: its name, its value, ∂L/∂v for each value v (by its key), and the names of these."""

    name: str
    value: Value
    totals: dict[Hashable, Tensor | None] = field(default_factory=dict)
    names: dict[Hashable, str] = field(default_factory=dict)
    paths: dict[Hashable, str] = field(default_factory=dict)
    """The parameters by their paths, and what layers inside a library's modules gave."""
    inner: dict[int, Scope] = field(default_factory=dict)
    """The insides of calls, by the identity of the call's step."""
    modules: Mapping[str, nn.Module] = field(default_factory=dict)
    """The modules that were called, by their paths."""
    hooks: TensorHooks = field(default_factory=lambda: TensorHooks(()))
    """The hooks of tensors that change gradients on their way."""
    others: list[str] = field(default_factory=list)
    """Numbers that the code returned and that could have been differentiated in its place."""

    def symbol(self, name: str) -> str:
        """∂L/∂name"""
        return f"∂{self.name}/∂{name}"

    def total(self, value: Value) -> Tensor | None:
        return self.totals.get(value.key)

    @property
    def origins(self) -> list[Tensor]:
        """The tensors at the beginning of autograd's graph that it was made of."""
        return list(origins(self.value))


def require_gradients(given: Any, copies: bool = False) -> Any:
    """What is given, with tensors of real numbers that autograd follows: the caller's own stay as they are.

    If some of them require a gradient already, the caller has chosen, and the others are constants. `copies` lets code
    change them in place, which autograd forbids for the tensors it starts from.

    >>> x, c = require_gradients((torch.ones(2), torch.tensor(1)))
    >>> x.requires_grad, c.requires_grad
    (True, False)
    """
    tensors = [t for t in tree_leaves(given) if isinstance(t, Tensor) and t.is_floating_point()]
    chosen = any(t.requires_grad for t in tensors)

    def one(value: Any) -> Any:
        if not isinstance(value, Tensor) or not value.is_floating_point():
            return value
        started = value if chosen else value.detach().requires_grad_()
        return started.clone() if copies and started.requires_grad and started.is_leaf else started

    return tree_map(one, given)


_Named = list[tuple[str, Value]]


def find_loss(found: list[Scope], name: str | Tensor | None, result: Any = None) -> Loss:
    """The loss of this name, or this tensor; or the one among what the code returned or calls a loss (`choice.py`); or the
    last result of the outermost scope that is one number."""
    if isinstance(name, Tensor):
        value = value_of(name)
        return Loss(_name_of(found, value) or "L", value)
    results = [pair for scope in found for statement in scope.statements for pair in statement.made]
    returned = _returned_loss(found, result)
    if not results and returned is None:
        raise GradientError("Backward needs a loss, but no statement was recorded that made a tensor.")
    if name:
        loss = _named_loss(found, results, name)
    elif returned is not None and (not results or not isinstance(result, Tensor)):
        loss = Loss(_name_of(found, returned.value) or returned.name, returned.value)
        loss.others = [name for name in _returned_names(found, result) if name != loss.name]
    else:
        loss = _last_number(found[0], results)
    tensor = loss.value.tensor
    if tensor.numel() != 1:
        how = f", for example L = {loss.name}.sum()," if loss.name.isidentifier() else " to one number L in the code,"
        raise GradientError(
            f"Backward needs one number, but {loss.name} has shape {[*tensor.shape]}. Sum it{how} and differentiate L."
        )
    if not loss.value.varies:
        raise GradientError(
            f"The gradient of {loss.name} needs a tensor that requires one, and {loss.name} depends on none. "
            f"{_IF_COMPLEX if _is_complex(found) else ''}Pass one with requires_grad=True, outside torch.no_grad()."
        )
    return loss


_IF_COMPLEX = "Inputs of complex numbers do not vary by themselves. "


def _is_complex(found: list[Scope]) -> bool:
    """Whether a statement reads complex numbers."""
    return any(v.tensor.is_complex() for scope in found for statement in scope.statements for v in statement.read.values())


def _returned_loss(found: list[Scope], result: Any) -> Candidate | None:
    """What the code returned, if it is a tensor; else the loss among it, or the one that the code computed on the way."""
    if isinstance(result, Tensor):
        name = "L" if result.numel() == 1 else "the result"
        return Candidate(name, value_of(result)) if result.is_floating_point() else None
    given = chosen(candidates(result, found)) or chosen(
        assigned_candidates(found[0]) if found and result is not None else []
    )
    return given and Candidate(given.name or "L", given.value)


def _returned_names(found: list[Scope], result: Any) -> list[str]:
    """What the code calls the numbers that it returned."""
    names = (_name_of(found, one.value) for one in candidates(result, found))
    return [name for name in dict.fromkeys(names) if name]


def _name_of(found: list[Scope], value: Value) -> str:
    """What the code calls a value."""
    return next((_own_name(scope, value) for scope in found if value.key in scope.names), "")


def _own_name(scope: Scope, value: Value, otherwise: str = "") -> str:
    """The name of a value in a scope, with its number only where another tensor has the name too: ∂h#3/∂h#2, ∂loss/∂h."""
    name = scope.names.get(value.key, otherwise)
    plain, number, _ = name.partition("#")
    others = (known for key, known in scope.names.items() if key != value.key)
    return name if number and any(known.partition("#")[0] == plain for known in others) else plain


def _named_loss(found: list[Scope], results: _Named, name: str) -> Loss:
    outer = [pair for statement in found[0].statements for pair in statement.made] if found else []
    for known, value in (*reversed(outer), *reversed(results)):
        if known == name or any(scope.names.get(value.key) == name for scope in found):
            return Loss(_name_of(found, value) or name, value)
    names = list(dict.fromkeys(known for known, _ in results if known))
    hint = did_you_mean(name, names, f"There are {', '.join(names)}.")
    raise GradientError(f"Backward was asked for '{name}', but no statement assigns a tensor of that name.{hint}")


def _last_number(scope: Scope, results: _Named) -> Loss:
    own = [pair for statement in scope.statements for pair in statement.made] or results
    last = next((p for p in reversed(own) if p[1].tensor.numel() == 1 and p[1].tensor.is_floating_point()), own[-1])
    name = _own_name(scope, last[1], last[0])
    return Loss(name or ("L" if last[1].tensor.numel() == 1 else "the result"), last[1])


def origins(value: Value) -> Iterator[Tensor]:
    """The tensors at the beginning of autograd's graph that a value was made of."""
    queue = [value.edge.node] if value.edge is not None else []
    seen = set(queue)
    while queue:
        node = queue.pop()
        if hasattr(node, "variable"):
            yield node.variable
        following = [after for after, _ in node.next_functions if after is not None and after not in seen]
        seen.update(following)
        queue += following


def gradients(loss: Loss, values: Iterable[Value]) -> dict[Hashable, Tensor | None]:
    """∂L/∂v for each value, by its key; None where L does not depend on it."""
    wanted = [value for value in values if value.varies]
    found = autograd_gradients([loss.value], wanted, [torch.ones_like(loss.value.tensor)], loss.name) if wanted else ()
    return {value.key: gradient for value, gradient in zip(wanted, found, strict=True)}


def autograd_gradients(
    results: list[Value], wanted: list[Value], upstream: list[Tensor], name: str
) -> tuple[Tensor | None, ...]:
    """Autograd's gradients, the graph kept."""
    try:
        found = torch.autograd.grad(  # tensors and edges may stand side by side, though the signature does not say so
            [value.place for value in results],  # type: ignore[arg-type]
            [value.place for value in wanted],  # type: ignore[arg-type]
            upstream,
            retain_graph=True,
            allow_unused=True,
        )
        return tuple(g if g is None or g.layout is torch.strided else dense(g) for g in found)
    except RuntimeError as error:
        if _FREED in str(error):
            raise GradientError(
                f"The gradient of {name} needs the graph, but backward() in the code has freed it. "
                f"Leave backward() out, or write {name}.backward(retain_graph=True)."
            ) from error
        if _CHANGED in str(error):
            raise GradientError(
                f"The gradient of {name} needs the graph, but a tensor of it was changed in place afterwards, as "
                "optimizer.step() changes the parameters. End the recording before that, or show a function that "
                "returns the loss."
            ) from error
        reason = str(error).split(" Hint:")[0]
        raise GradientError(f"The gradient of {name} cannot be computed: {reason}") from error
