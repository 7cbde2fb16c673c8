"""Put values in for letters: the same formulas, rebuilt in normal form."""

from __future__ import annotations

from typing import Any

from workings.exact.dispatch.scalar import RULES, scalar
from workings.exact.dispatch.sums import dot, product_of, sum_of
from workings.exact.numbers.assume import recording
from workings.exact.numbers.build import build
from workings.exact.numbers.value import Value, bottom_up, letter, rational
from workings.exact.tensor.arena import ARENA, payload_of
from workings.exact.tensor.exact_tensor import ExactTensor, SharedNotes
from workings.exact.tensor.make import letter_name, value_from


def substitute(x: ExactTensor, given: dict[str, Any]) -> ExactTensor:
    """The same formulas with other values for letters, rebuilt in normal form."""
    with ARENA.working(), recording() as made:
        table = {letter(letter_name(name, name)): value_from(v, None) for name, v in given.items()}
        done: dict[Value, Value] = dict(table)
        for v in bottom_up(*x.elements()):
            if v not in done:
                done[v] = _rebuild(v, done) if v.free else v
        payload = payload_of([done[v] for v in x.elements()], x.shape)
        return ExactTensor(payload, dtype=x.dtype, shared=SharedNotes(x.shared.notes | frozenset(made)))


def _rebuild(v: Value, done: dict[Value, Value]) -> Value:
    if v.kind == "letter":
        return v
    if v.kind == "add":
        return sum_of([scalar("mul", rational(c), done[t]) for c, t in v.args])
    if v.kind == "mul":
        return product_of([scalar("pow", done[base], rational(r)) for base, r in v.args])
    if v.kind == "dot":
        return dot(tuple(done[x] for x in v.args[0]), tuple(done[y] for y in v.args[1]))
    function = scalar if v.kind in RULES else build
    return function(v.kind, *[done[a] for a in v.args])
