"""The parameters of a study, read from the signature of its function.

    sigma: Annotated[float, Range(0.01, 1, "the laws are about small noise")] = 0.3

A parameter has a default, a type (int, float, bool, text, or `Literal` for a choice) and, if it is a number, a range with
the reason for it. `broken` is the one that says which mechanism is broken: its choices are the negative controls.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from workings.errors import WorkingsError, did_you_mean

BROKEN = "broken"
SEED = "seed"
_WORDS: dict[Any, str] = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


@dataclass(frozen=True)
class Range:
    """From `low` to `high`, and why a study is not about values beyond.

    >>> print(Range(0, 2**31), Range(0.01, 0.5), sep="; ")
    0 to 2,147,483,648; 0.01 to 0.5
    """

    low: float
    high: float
    why: str = ""

    def __str__(self) -> str:
        return " to ".join(f"{end:,.0f}" if abs(end) >= 10_000 else f"{end:g}" for end in (self.low, self.high))


@dataclass(frozen=True)
class Parameter:
    """One parameter: what it may be, and what it is if nothing is said."""

    name: str
    kind: type[Any]
    default: Any
    range: Range | None = None
    choices: tuple[str, ...] = ()
    help: str = ""

    def check(self, value: Any) -> Any:
        """The value, if it suits; otherwise an error with the allowed range and why."""
        if self.kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, self.kind) or isinstance(value, bool) != (self.kind is bool):
            raise WorkingsError(f"{self.name} is {_WORDS[self.kind]}; got {value!r}.")
        if self.choices and value not in self.choices:
            raise WorkingsError(f"{self.name} is one of {', '.join(map(repr, self.choices))}; got {value!r}.")
        if self.range is not None and not self.range.low <= value <= self.range.high:
            why = f": {self.range.why}" if self.range.why else ""
            raise WorkingsError(f"{self.name} goes from {self.range}{why}; got {value!r}.")
        return value

    def json(self) -> dict[str, Any]:
        """What a page needs to offer a control."""
        kept: dict[str, Any] = {"name": self.name, "type": self.kind.__name__, "default": self.default, "help": self.help}
        if self.range:
            kept |= {"low": self.range.low, "high": self.range.high, "why": self.range.why}
        return kept | ({"choices": list(self.choices)} if self.choices else {})


def parameters_of(function: Callable[..., Any]) -> dict[str, Parameter]:
    """The parameters of a study's function, by name."""
    hints = typing.get_type_hints(function, include_extras=True)
    return {one.name: _parameter(function.__name__, one, hints) for one in inspect.signature(function).parameters.values()}


def checked(parameters: Mapping[str, Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters with the values given; the others are what they are by default."""
    for name in given:
        if name not in parameters:
            hint = did_you_mean(name, parameters, f"It has: {', '.join(parameters)}.")
            raise WorkingsError(f"The study has no parameter {name!r}.{hint}")
    return {name: one.check(given.get(name, one.default)) for name, one in parameters.items()}


def _parameter(study: str, one: inspect.Parameter, hints: Mapping[str, Any]) -> Parameter:
    if one.default is one.empty or one.name not in hints:
        lacks = "a type" if one.name not in hints else "a default"
        raise WorkingsError(f"Every parameter of a study has a type and a default; {one.name} of {study} has not {lacks}.")
    kind, *notes = (
        typing.get_args(hints[one.name]) if typing.get_origin(hints[one.name]) is typing.Annotated else [hints[one.name]]
    )
    choices = typing.get_args(kind) if typing.get_origin(kind) is Literal else ()
    kind = str if choices else kind
    if kind not in _WORDS:
        words = ", ".join(known.__name__ for known in _WORDS)
        raise WorkingsError(f"A parameter is one of {words} or a Literal of texts; {one.name} of {study} is {kind}.")
    range = next((note for note in notes if isinstance(note, Range)), None)
    if kind in (int, float) and range is None:
        hint = f"{one.name}: Annotated[{kind.__name__}, Range(low, high, why)]"
        raise WorkingsError(f"A number needs a range, with the reason for it: write `{hint}` in {study}.")
    help = next((note for note in notes if isinstance(note, str)), "")
    return Parameter(one.name, kind, one.default, range, choices, help)
