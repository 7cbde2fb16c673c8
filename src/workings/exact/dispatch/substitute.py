"""Put values in for letters: the same formulas, rebuilt in normal form, if what they rest on still holds.

A comparison that a sample value decided holds at the new values too (then it is proved, and no longer assumed), still
depends on letters, or is contradicted: the formula is another one there, and the substitution is refused.
"""

from __future__ import annotations

from typing import Any

from workings.errors import UndecidedError
from workings.exact.dispatch.scalar import RULES, scalar
from workings.exact.dispatch.sums import dot, product_of, sum_of
from workings.exact.numbers.assume import Assumption, is_cut, recording
from workings.exact.numbers.build import build
from workings.exact.numbers.names import keywords
from workings.exact.numbers.refine import samples_of
from workings.exact.numbers.rounding import to_float
from workings.exact.numbers.sign import sign
from workings.exact.numbers.value import Value, bottom_up, letter_nodes, letters, rational
from workings.exact.tensor.arena import ARENA, payload_of
from workings.exact.tensor.exact_tensor import ExactTensor, SharedNotes
from workings.exact.tensor.make import letter_name, value_from


def substitute(x: ExactTensor, given: dict[str, Any]) -> ExactTensor:
    """The same formulas with other values for letters, rebuilt in normal form."""
    with ARENA.working(), recording() as made:
        new = {letter_name(name, name): value_from(v, None) for name, v in given.items()}
        notes = _notes_after(x, new)
        done = _with(x.elements(), new)
        payload = payload_of([done[v] for v in x.elements()], x.shape)
        return ExactTensor(payload, dtype=x.dtype, shared=SharedNotes(frozenset((*notes, *made))))


def _with(values: list[Value], new: dict[str, Value]) -> dict[Value, Value]:
    """Each value, and each part of it, with values for letters, by their names."""
    done: dict[Value, Value] = {}
    for part in bottom_up(*values):
        done[part] = _rebuild(part, new, done) if part.free else part
    return done


def _rebuild(v: Value, new: dict[str, Value], done: dict[Value, Value]) -> Value:
    if v.kind == "letter":
        return new.get(v.args[0], v)
    if v.kind == "add":
        return sum_of([scalar("mul", rational(c), done[t]) for c, t in v.args])
    if v.kind == "mul":
        return product_of([scalar("pow", done[base], rational(r)) for base, r in v.args])
    if v.kind == "dot":
        return dot(tuple(done[x] for x in v.args[0]), tuple(done[y] for y in v.args[1]))
    function = scalar if v.kind in RULES else build
    return function(v.kind, *[done[a] for a in v.args])


def _notes_after(x: ExactTensor, new: dict[str, Value]) -> list[Assumption]:
    """What the result rests on after the substitution; an error where that contradicts what x rests on."""
    kept = []
    for note in x.assumptions:
        if note.kind == "order" and is_cut(note):
            raise UndecidedError(
                "This result rests on more comparisons than are kept, so that none can be checked at other values. "
                f"Compute it again with symbols({keywords(sorted(new), '…')})."
            )
        concerned = note.expression is not None and note.value is not None and letters(note.expression) & set(new)
        if not concerned or _still_depends(note, new):
            kept.append(note)
    return kept


def _still_depends(note: Assumption, new: dict[str, Value]) -> bool:
    """Whether the comparison depends on letters at the new values, too; False where it is proved there."""
    assert note.expression is not None and note.value is not None
    there = _with([note.expression], new)[note.expression]
    if any(one.sample is None for one in letter_nodes(there)):
        return True
    if note.relation == "≈":
        holds = to_float(there) == to_float(note.value)
    else:
        with recording(outwards=False):
            relation = "<=>"[sign(there - note.value) + 1]
            holds = relation == note.relation or (note.relation == "≠" and relation != "=")
    if not holds:
        raise UndecidedError(_contradiction(note, new))
    return there.free


def _contradiction(note: Assumption, new: dict[str, Value]) -> str:
    assert note.expression is not None and note.value is not None
    said = f"{note.expression.text()} {note.relation} {note.value.text()}"
    where = f" in {note.where}" if note.where else ""
    at = ", ".join(f"{name} = {v.text()}" for name, v in new.items())
    again = ", ".join(f"{name}={v.text()}" for name, v in new.items() if name in letters(note.expression))
    return (
        f"This result rests on {said}, decided at {samples_of(note.expression)}{where}; with {at} that is not so, and the "
        f"formula is another one. Compute it again with symbols({again})."
    )
