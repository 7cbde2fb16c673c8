"""After gradients were wanted of copies of the inputs: the author's own tensors do not lead to these copies.

`show(f, x, backward=True)` gives f an x that requires a gradient, though the author's does not. What f stores or changes in
place (a running mean, a cache) is then made of that x in autograd's graph, which it is not after a plain run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from torch import Tensor
from torch.utils._pytree import tree_leaves

from workings.trace.replay.holding import ATOMS, rules
from workings.trace.replay.saved_state import MOST_OBJECTS, SavedState


def cut(saved: SavedState, given: Any, own: Any) -> None:
    """Take the tensors within reach out of autograd's graph, where it starts from nothing but what was given in place of the
    author's own."""
    mine, theirs = tree_leaves(given), tree_leaves(own)
    starts = [start for t in mine if isinstance(t, Tensor) for start in _starts(t)]
    copies = [start for start in starts if all(start is not t for t in theirs)]
    if copies:
        _Cut(saved, copies, [*zip(mine, theirs, strict=False)]).everywhere()


class _Cut:
    def __init__(self, saved: SavedState, starts: Collection[Tensor], pairs: list[tuple[Any, Any]]) -> None:
        self.saved_state, self.ours = saved, {id(t) for t in starts}
        self.given = {id(given) for given, _ in pairs}
        self.instead = {id(given): (given, own) for given, own in pairs if isinstance(given, Tensor) and given.is_leaf}

    def everywhere(self) -> None:
        known = [one.tensor for one in self.saved_state.tensors.values() if id(one.tensor) not in self.given]
        for tensor in [base for t in known for base in (t, None if t.is_inference() else t._base) if base is not None]:
            if not tensor.is_leaf and not tensor._is_view() and self.leads_to_ours(tensor):
                tensor.detach_()
        waiting, seen = [held for held, _ in self.saved_state.held.values()], set[int]()
        while waiting and len(seen) < MOST_OBJECTS:
            value = waiting.pop()
            if id(value) not in seen and not isinstance(value, (*ATOMS, Tensor)):
                seen.add(id(value))
                waiting += value if isinstance(value, tuple) else self._members(value)

    def _members(self, value: Any) -> list[Any]:
        """The members of an object, which now holds tensors without a graph in place of those that lead to ours."""
        members: list[Any] = []
        for rule in rules(value):
            content = rule.read(value)
            found = rule.members(content)
            members += found
            if any(self.leads_to_ours(t) for member in found for t in _tensors(member)):
                rule.write(value, self._renew(content))
        return members

    def _renew(self, value: Any) -> Any:
        if type(value) is tuple:
            return tuple(map(self._renew, value))
        if not isinstance(value, Tensor) or not self.leads_to_ours(value):
            return value
        return self.instead.setdefault(id(value), (value, value.detach()))[1]

    def leads_to_ours(self, tensor: Tensor) -> bool:
        """Whether its graph starts from our copies alone; one from a parameter too is there after a plain run."""
        return tensor.requires_grad and all(id(start) in self.ours for start in _starts(tensor))


def _tensors(member: Any) -> list[Tensor]:
    """A tensor, or those in a tuple."""
    if type(member) is tuple:
        return [t for part in member for t in _tensors(part)]
    return [member] if isinstance(member, Tensor) else []


def _starts(tensor: Tensor) -> Iterator[Tensor]:
    """The tensors that autograd's graph of this one starts from."""
    if tensor.grad_fn is None and tensor.requires_grad:
        yield tensor
    waiting: list[Any] = [tensor.grad_fn]
    seen = set[Any]()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):  # where a gradient is accumulated
            yield node.variable
        waiting += [before for before, _ in node.next_functions]
