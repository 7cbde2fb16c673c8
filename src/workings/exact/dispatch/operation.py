"""One call of an ATen operation: its schema, its arguments by name, and how to run the real kernel on stand-ins."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_flatten, tree_map

from workings.exact.numbers.assume import Notes, merge
from workings.exact.tensor.exact_tensor import ExactTensor, SharedNotes
from workings.exact.tensor.noted import with_notes

Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}
"""Operations with a rule of their own, by name (`sum`) or name and overload (`round.decimals`)."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule: it takes the operation's arguments and returns its result, or `NotImplemented` to pass."""

    def register(f: Rule) -> Rule:
        for name in names:
            RULES[name] = f
        return f

    return register


class Schema(NamedTuple):
    """What matters of an operation's schema, read once."""

    name: str
    overload: str
    names: tuple[str, ...]
    numbers: frozenset[str]
    keyword_only: frozenset[str]
    outs: tuple[str, ...]
    in_place: bool
    view: bool


@functools.cache
def schema_of(func: Any) -> Schema:
    s = func._schema
    name = s.name.split("::")[1]
    written = [a for a in s.arguments if a.alias_info is not None and a.alias_info.is_write]
    return Schema(
        name=name,
        overload=func._overloadname,
        names=tuple(a.name for a in s.arguments),
        numbers=frozenset(a.name for a in s.arguments if str(a.type) in ("number", "Optional[number]")),
        keyword_only=frozenset(a.name for a in s.arguments if a.kwarg_only),
        outs=tuple(a.name for a in written if a.kwarg_only),
        in_place=bool(written) and written[0] is s.arguments[0] and name.endswith("_") and not name.startswith("__"),
        view=any(r.alias_info is not None and not r.alias_info.is_write for r in s.returns),
    )


def arguments(func: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """The arguments by name."""
    return {**dict(zip(schema_of(func).names, args, strict=False)), **kwargs}


def call(func: Any, given: dict[str, Any]) -> Any:
    """Run an operation with arguments by name (ATen takes some of them by position only)."""
    schema = schema_of(func)
    positional = []
    rest = dict(given)
    for name in schema.names:
        if name in schema.keyword_only or name not in rest:
            break
        positional.append(rest.pop(name))
    return func(*positional, **rest)


def is_exact(x: Any) -> bool:
    return isinstance(x, ExactTensor)


_HOLDS_VALUES = frozenset(
    "self other src source value values tensors input tensor sorted_sequence boundaries elements "
    "test_elements min max data end weight".split()
)
"""Arguments whose integers are numbers to compute with; those of `index`, `offsets`, `size` … name places."""


def carries_values(name: str, x: Any) -> bool:
    """Whether this argument holds numbers to compute with (not indices or masks)."""
    if not isinstance(x, torch.Tensor):
        return False
    if is_exact(x) or x.is_floating_point():
        return True
    return name in _HOLDS_VALUES


class _State(threading.local):
    def __init__(self) -> None:
        self.label = torch.float64
        self.running: list[Any] = []


state = _State()


def wrap(result: torch.Tensor, shared: SharedNotes | None = None) -> ExactTensor:
    """An exact tensor of this payload, labelled as the running operation's operands are."""
    return ExactTensor(result, dtype=state.label, shared=shared)


def wrap_floats(result: Any, shared: SharedNotes | None = None) -> Any:
    """Payloads among an operation's results become exact tensors; indices and masks stay."""
    return tree_map(lambda t: wrap(t, shared) if _is_payload(t) else t, result)


def _is_payload(t: Any) -> bool:
    return type(t) is torch.Tensor and t.dtype == torch.float64


def run_on_stand_ins(
    func: Any,
    given: dict[str, Any],
    stand_in: Callable[[Any], torch.Tensor],
    number: Callable[[Any], float] | None = None,
) -> Any:
    """Run the real kernel with every tensor of values replaced by a float64 stand-in (handles or ranks)."""
    numbers = schema_of(func).numbers
    replaced: dict[str, Any] = {}
    for name, x in given.items():
        if name == "dtype" and x is not None:
            x = torch.float64
        elif isinstance(x, (list, tuple)) and any(isinstance(t, torch.Tensor) for t in x):
            x = [stand_in(t) if carries_values(name, t) else t for t in x]
        elif carries_values(name, x):
            x = stand_in(x)
        elif number is not None and name in numbers and x is not None:
            x = number(x)
        replaced[name] = x
    return call(func, replaced)


def label_of(args: Any, kwargs: Any) -> torch.dtype:
    """The dtype label of the result: the one asked for, else what the operands' labels promote to."""
    asked = kwargs.get("dtype")
    if isinstance(asked, torch.dtype) and asked.is_floating_point:
        return asked
    tensors = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor) and t.is_floating_point()]
    ranked = [t for t in tensors if t.dim() > 0] or tensors  # as in PyTorch, a 0-dim tensor raises nobody's dtype
    return functools.reduce(torch.promote_types, {t.dtype for t in ranked}) if ranked else torch.float64


@contextlib.contextmanager
def use_label(dtype: torch.dtype) -> Iterator[None]:
    before, state.label = state.label, dtype
    try:
        yield
    finally:
        state.label = before


def same_values(f: ExactTensor, dtype: torch.dtype) -> ExactTensor:
    """The same exact values under another dtype label."""
    return ExactTensor(f.payload.clone(), dtype=dtype, shared=SharedNotes(f.shared.notes))


def carry_notes(args: Any, kwargs: Any, made: Notes, result: Any) -> Any:
    """What the operands rest on, and what this operation assumed, goes on to the results: to masks and indices too."""
    operands = [t for t in tree_flatten((args, kwargs))[0] if is_exact(t)]
    if not made and not any(t.shared.notes for t in operands):
        return result
    notes = merge([made, *[t.shared.notes for t in operands]])

    def carry(t: Any) -> Any:
        if is_exact(t):
            t.shared.notes = merge([t.shared.notes, notes])
            return t
        # An ordinary tensor that was written into is the caller's own: a noted one would be another object.
        return t if any(t is x for x in tree_flatten((args, kwargs))[0]) else with_notes(t, notes)

    return tree_map(carry, result)
