"""Letters: unknown real numbers, each with a name and perhaps a sample value that decides comparisons.

Calling `symbols(v=0.3)` and later `symbols(v=-1)` makes two letters: what was computed with the first keeps it, and a
name in a text means the one that was declared last. Declared where? In the thread or coroutine that asks, if it has declared
one, else anywhere: coroutines start with the letters of the code that started them, and neither sees what others declare.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import sys
import threading
from collections.abc import Iterable
from contextvars import ContextVar

from workings.errors import UndecidedError
from workings.exact.numbers.names import spelling
from workings.exact.numbers.value import GRAPH, Rational, Value, letter_nodes, node, whole

_Key = tuple[str, str, int]
_count = itertools.count()
_newest: dict[str, _Key] = {}
_all: dict[str, list[_Key]] = {}
"""The letters that were made under a name; some may be in use no more."""


_makers: dict[_Key | None, tuple[int, int]] = {}
"""The thread and the coroutine that made a letter: only they give it its first sample value."""


def _here() -> tuple[int, int]:
    loops = sys.modules.get("asyncio")
    task = None
    if loops is not None:
        with contextlib.suppress(RuntimeError):  # no loop runs
            task = loops.current_task()
    return threading.get_ident(), id(task)


@functools.cache
def _scope(name: str) -> ContextVar[_Key | None]:
    """Which letter a name means in this thread or coroutine."""
    return ContextVar(name, default=None)


def _alive(key: _Key | None) -> Value | None:
    return None if key is None else GRAPH.nodes.get(key)


def _new(name: str, sample: Rational | None) -> Value:
    key = ("letter", name, next(_count))
    made = node(key, "letter", (name,), ())
    made.sample = None if sample is None else whole(sample)
    _makers[key] = _here()
    for old in _all.get(name, ()):
        if _alive(old) is None:
            _makers.pop(old, None)
    _all[name] = [*filter(_alive, _all.get(name, ())), key]
    HOMONYMS.exist = HOMONYMS.exist or len(_all[name]) > 1
    _newest[name] = key
    _scope(name).set(key)
    return made


def letter(name: str) -> Value:
    """The letter that a name means here."""
    return _alive(_scope(name).get()) or _alive(_newest.get(name)) or _new(name, None)


def declared_letter(name: str, sample: Rational | None) -> Value:
    """The letter of this name with this sample value (or none), which the name means from now on."""
    meant = _scope(name).get()
    own = _alive(meant)
    if own is not None and own.sample is None and sample is not None and _makers.get(meant) == _here():
        own.sample = whole(sample)  # nothing was decided at another value
        return own
    for key in (meant, *reversed(_all.get(name, ()))):
        found = _alive(key)
        if found is not None and found.sample == sample:
            _scope(name).set(key)
            return found
    return _new(name, sample)


def mean(v: Value) -> None:
    """From now on the name of this letter means it, here."""
    name = v.args[0]
    _scope(name).set(next(key for key in _all[name] if _alive(key) is v))


def stored_letter(name: str, sample: Rational | None) -> Value:
    """The letter of a tensor that was written down: the one in use that fits, or a new one."""
    found = letter(name)
    if sample is None or found.sample == sample:
        return found
    fitting = (v for v in map(_alive, _all[name]) if v is not None and v.sample == sample)
    other = next(fitting, None) or _new(name, sample)
    mean(found)
    return other


class _Homonyms:
    """Whether two letters of one name may be in use: only then formulas are looked at."""

    exist = False


HOMONYMS = _Homonyms()


def check_one_meaning(values: Iterable[Value]) -> None:
    """Refuse a formula in two letters of one name: v − v would not be 0, and nobody could read why."""
    HOMONYMS.exist = any(sum(_alive(key) is not None for key in keys) > 1 for keys in _all.values() if len(keys) > 1)
    for v in values if HOMONYMS.exist else ():
        seen: dict[str, Value] = {}
        for x in letter_nodes(v):
            first = seen.setdefault(x.args[0], x)
            if first is not x:
                raise UndecidedError(_two_meanings(x.args[0], first, x))


def _two_meanings(name: str, a: Value, b: Value) -> str:
    one, other = ("no sample value" if x.sample is None else f"the sample value {x.sample}" for x in (a, b))
    return (
        f"Two letters are named {spelling(name)} here: one has {one}, the other {other}, because `symbols` was called "
        "again. They are different unknowns. Compute again what was made with the first, or take another name."
    )
