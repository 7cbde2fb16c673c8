"""Every ATen operation on exact tensors arrives here and is answered by the first mechanism that fits:

rule          a rule of its own (`operation.RULES`)
view, Move    data movement: the real kernel on the handles
Order         sorting, maxima, pooling: the real kernel on exact ranks
Linear        fixed linear maps: the real kernel, probed with one-hot inputs
Elementwise   a rule per element (`scalar.py`)
otherwise     PyTorch's own decomposition, or a clear error

The order is from the particular to the general. A rule comes first, so that it can take an operation out of any table
below (zeros_like moves nothing but has to know the label). Among the tables those that compute least come first: moving
handles cannot be wrong about numbers, ranks only compare, and a linear map is probed once for each input. Decompositions
come last, because PyTorch's are written for floats: they subtract maxima and split at thresholds.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from workings.errors import DomainError
from workings.exact.dispatch import move
from workings.exact.dispatch.elementwise import elementwise
from workings.exact.dispatch.linear import LINEAR, linear
from workings.exact.dispatch.memory import NO_POINTER, check_wanted_as_number
from workings.exact.dispatch.mode import ExactFactories
from workings.exact.dispatch.operation import (
    RULES,
    arguments,
    call,
    carry_notes,
    is_exact,
    label_of,
    schema_of,
    state,
    use_label,
)
from workings.exact.dispatch.order import ORDER, order
from workings.exact.dispatch.random import RANDOM, draw
from workings.exact.dispatch.write import refusal
from workings.exact.numbers.assume import recording
from workings.exact.numbers.letter import HOMONYMS, check_one_meaning
from workings.exact.tensor.arena import ARENA, zeros_where_it_grows
from workings.exact.tensor.exact_tensor import ExactTensor
from workings.exact.tensor.lift import payload
from workings.exact.tensor.noted import notes_among, without_notes

_aten = torch.ops.aten
_META = torch.device("meta")


def dispatch(func: Any, args: Any, kwargs: Any) -> Any:
    """Answer one operation, and carry assumptions and dtype labels to its results."""
    if func is _aten._local_scalar_dense.default:
        check_wanted_as_number()
    given = notes_among((args, kwargs))
    if given:
        args, kwargs = without_notes((args, kwargs))
    with ARENA.working(), use_label(label_of(args, kwargs)), recording() as made:
        result = _answer(func, args, kwargs)
        if HOMONYMS.exist:
            for x in tree_flatten(result)[0]:
                check_one_meaning(x.elements() if is_exact(x) else ())
        return carry_notes(args, kwargs, given | made, result)


def _answer(func: Any, args: Any, kwargs: Any) -> Any:
    if kwargs.get("device") == _META:  # only a shape is wanted: forward-mode AD sizes its zero tangents so
        return func(args[0].payload, *args[1:], **{"dtype": state.label, **kwargs})
    schema = schema_of(func)
    own = RULES.get(f"{schema.name}.{schema.overload}") or RULES.get(schema.name)
    if own is not None and not schema.outs:
        result = own(*args, **kwargs)
        if result is not NotImplemented:
            return result
    if schema.outs:  # before in_place: an out= form writes into an argument too, but not into its first
        return _into_outs(func, args, kwargs)
    if torch.Tag.inplace_view in func.tags:  # x.t_(): the tensor itself changes shape, so a result to copy would not do
        if schema.name == "set_":
            NO_POINTER()
        with zeros_where_it_grows(args[0].payload):
            func(args[0].payload, *args[1:], **kwargs)
        return torch.utils._python_dispatch.return_and_correct_aliasing(func, args, kwargs, args[0])
    if schema.name in RANDOM:  # before in_place: x.uniform_() has no functional form that draws the same numbers
        return draw(func, args, kwargs)
    if schema.in_place:
        return _in_place(func, args, kwargs)
    if schema.view:
        return move.view(func, arguments(func, args, kwargs))
    return _functional(func, args, kwargs)


def _functional(func: Any, args: Any, kwargs: Any) -> Any:
    name = schema_of(func).name
    given = arguments(func, args, kwargs)
    if name in move.MOVE and not given.get("accumulate") and not given.get("reduce"):  # those two add handles up
        return move.move(func, given)
    if name in ORDER:
        return order(func, given)
    if name in LINEAR and not given.get("reduce"):
        return linear(func, given)
    result = elementwise(name, args, kwargs)
    if result is not NotImplemented:
        return result
    return _decompose(func, args, kwargs)


def _in_place(func: Any, args: Any, kwargs: Any) -> Any:
    """Run the functional form and write its result into the first argument."""
    schema = schema_of(func)
    if schema.name.startswith("_foreach_"):  # lists of tensors, as optimizers use them: PyTorch's loop over each
        return _decompose(func, args, kwargs)
    target = args[0]
    if isinstance(target, (list, tuple)):
        raise _unsupported_error(
            func, "it is a fused kernel for lists of tensors. An optimizer runs without it when made with fused=False"
        )
    if not is_exact(target) and target.is_floating_point():
        raise refusal(schema.name, target)
    functional = getattr(getattr(torch.ops, func.namespace), schema.name[:-1])
    result = functional(*args, **kwargs)  # pow_.Scalar is pow.Tensor_Scalar: the arguments choose the overload
    if is_exact(target):
        target.payload.copy_(payload(result))
        if is_exact(result):
            target.shared.notes |= result.shared.notes
    elif is_exact(result) and schema.name not in _TRUNCATING:
        raise DomainError(
            f"{schema.name} gives exact values, which a tensor of {target.dtype} cannot hold: use x.to(torch.float64)."
        )
    else:
        target.copy_(_plain(result, target.dtype))
    return target


_TRUNCATING = frozenset(("copy_", "fill_"))
"""What writes the whole part of a number into integers, in PyTorch too."""


def _plain(result: Any, dtype: torch.dtype) -> torch.Tensor:
    return _aten._to_copy.default(result, dtype=dtype) if is_exact(result) else result


def _into_outs(func: Any, args: Any, kwargs: Any) -> Any:
    """`out=`: run the overload without it, then copy."""
    schema = schema_of(func)
    given = arguments(func, args, kwargs)
    outs = [given.pop(name) for name in schema.outs]
    wanted = tuple(name for name in schema.names if name not in schema.outs)
    packet = getattr(getattr(torch.ops, func.namespace), schema.name)
    for overload in packet.overloads():
        candidate = getattr(packet, overload)
        found = schema_of(candidate)
        if found.names == wanted and not found.outs and not found.in_place:
            results = call(candidate, given)
            results = results if isinstance(results, (tuple, list)) else (results,)
            for out, result in zip(outs, results, strict=True):
                _write(out, result)
            return outs[0] if len(outs) == 1 else tuple(outs)
    raise _unsupported_error(func, "its out= form has no functional twin")


def _write(out: torch.Tensor, result: Any) -> None:
    if not isinstance(out, ExactTensor):
        if out.is_floating_point() and is_exact(result):
            raise refusal("out=", out)
        out.resize_(result.shape).copy_(result)
        return
    if out.shape != result.shape:
        out.resize_(result.shape)
    out.payload.copy_(payload(result))


@functools.cache
def _decompositions() -> dict[Any, Any]:
    from torch._decomp import core_aten_decompositions, decomposition_table

    fused = {_aten._weight_norm_interface_backward.default: _aten._weight_norm_differentiable_backward}
    return {**decomposition_table, **core_aten_decompositions(), **fused}


_KEYS = (
    torch._C.DispatchKey.CompositeExplicitAutograd,
    torch._C.DispatchKey.CompositeExplicitAutogradNonFunctional,
)


def _decompose(func: Any, args: Any, kwargs: Any) -> Any:
    with _refuse_recursion(func, args, kwargs), ExactFactories():
        written = _decompositions().get(func)
        if written is not None:
            return written(*args, **kwargs)
        if func._can_decompose():
            return func.decompose(*args, **kwargs)
        for key in _KEYS:
            if func.has_kernel_for_dispatch_key(key):
                return func._op_dk(key, *args, **kwargs)
    raise _unsupported_error(func, "it has no rule here and PyTorch has no decomposition for it")


@contextlib.contextmanager
def _refuse_recursion(func: Any, args: Any, kwargs: Any) -> Iterator[None]:
    """Guard against decompositions that lead back to themselves."""
    # The same operation on other tensors is no cycle: a decomposition may recurse to smaller ones.
    key = (func, tuple(id(t) for t in tree_flatten((args, kwargs))[0] if is_exact(t)))
    if key in state.running:
        raise _unsupported_error(func, "its decomposition leads back to itself")
    state.running.append(key)
    try:
        yield
    finally:
        state.running.pop()


def _unsupported_error(func: Any, why: str) -> DomainError:
    return DomainError(
        f"{func} is outside the exact domain: {why}. Leave exact values before this step with x.float64(), "
        "or write the step in supported operations."
    )
