'''A study: a plain function with typed, ranged, defaulted parameters that returns claims, tables and pictures.

    @study(rows=("A10",))
    def root_d(
        d: Annotated[int, Range(2, 512, "the law is about any width")] = 64,
        seed: Seed = 0,
        broken: Literal["", "no division by √d"] = "",
    ) -> list[Part]:
        """Dividing by √d keeps the variance of scores at 1."""
        ...

`broken` names the mechanism that is broken in a negative control. Each claim must fail in one of the controls: a study that
cannot fail shows nothing, and is not registered.
'''

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, TypeAlias

from workings.errors import WorkingsError
from workings.studies.parameters import BROKEN, SEED, Parameter, Range, checked, parameters_of
from workings.studies.parts import Part

Seed: TypeAlias = Annotated[int, Range(0, 2**31, "a seed is a whole number of 31 bits"), "seed of all randomness"]


@dataclass(frozen=True)
class Study:
    """A registered study. `run` of `workings.studies` runs it, with its controls."""

    function: Callable[..., list[Part]]
    rows: tuple[str, ...]
    """The rows of the catalogue that it is about."""
    thorough: Mapping[str, Any] = field(default_factory=dict)
    """Other defaults, for tight bounds."""
    trains: bool = False
    """Whether it trains models: it may take minutes, and its tests may err more often."""

    @property
    def name(self) -> str:
        """As on the command line: key-noise."""
        return self.function.__name__.replace("_", "-")

    @property
    def title(self) -> str:
        """What it is about: the first line of the function's docstring."""
        return inspect.getdoc(self.function).partition("\n")[0].rstrip(".")  # type: ignore[union-attr]

    @property
    def about(self) -> str:
        """What else the docstring says."""
        return inspect.getdoc(self.function).partition("\n")[2].strip()  # type: ignore[union-attr]

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """All parameters by name, with `seed` and `broken`."""
        return parameters_of(self.function)

    @property
    def controls(self) -> tuple[str, ...]:
        """The ways to break it."""
        return tuple(way for way in self.parameters[BROKEN].choices if way)

    def settings(self, given: Mapping[str, Any], *, thorough: bool = False) -> dict[str, Any]:
        """Every parameter with its value, in range."""
        return checked(self.parameters, {**(self.thorough if thorough else {}), **given})

    def __call__(self, **given: Any) -> list[Part]:
        """What the function returns for these parameters, without its controls."""
        return self.function(**self.settings(given))


def study(
    *, rows: tuple[str, ...] = (), thorough: Mapping[str, Any] | None = None, trains: bool = False
) -> Callable[[Callable[..., list[Part]]], Study]:
    """Register a function as a study, if it has what a study needs."""

    def register(function: Callable[..., list[Part]]) -> Study:
        made = Study(function, tuple(rows), dict(thorough or {}), trains)
        _check_study(made)
        return made

    return register


def _check_study(made: Study) -> None:
    """A study says what it is about, has a seed, can be broken, and reads which way it is."""
    name = made.function.__name__
    if not inspect.getdoc(made.function):
        raise WorkingsError(f"A study says what it is about: {name} has no docstring.")
    for needed in (SEED, BROKEN):
        if needed not in made.parameters:
            raise WorkingsError(f"A study has the parameters seed and broken; {name} has no {needed}.")
    if not made.controls:
        way = 'broken: Literal["", "no scale"] = ""'
        raise WorkingsError(f"A study needs a way to be broken, in which its claims fail, such as `{way}`; {name} has none.")
    if made.parameters[BROKEN].default != "":
        raise WorkingsError(f'A study is whole unless it is told otherwise: write broken = "" in {name}.')
    code = made.function.__code__
    if BROKEN in code.co_varnames and not _reads(made.function, BROKEN):
        raise WorkingsError(f"{name} never looks at its parameter broken, so that breaking it would change nothing.")
    checked(made.parameters, made.thorough)


def _reads(function: Callable[..., Any], name: str) -> bool:
    """Whether the function, or a function inside it, reads this argument."""
    import dis

    code = function.__code__
    return name in code.co_cellvars or any(
        one.opname.startswith("LOAD_FAST") and name in (one.argval if isinstance(one.argval, tuple) else (one.argval,))
        for one in dis.get_instructions(code)
    )
