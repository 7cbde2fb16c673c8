"""Errors that tell the user what was needed, what came, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_SHOWN = 60
"""Characters of a long line shown on either side of a mistake."""


class WorkingsError(Exception):
    """The base of every error this library raises on purpose."""


class ShapeError(WorkingsError):
    """Shapes that do not fit the equation: name the equation, the shapes and the axis that differs."""


class DomainError(WorkingsError):
    """An operation with no exact value here, such as log(0) or an eigenvalue."""


class UndecidedError(WorkingsError):
    """A comparison whose answer depends on letters: name the assumption that would decide it."""


class BudgetError(WorkingsError):
    """A value too large, too small or too long for what was asked of it."""


class ParseError(WorkingsError):
    """Text that cannot be read: the character at `position` of `text` is where reading stopped.

    >>> print(ParseError("Expected a number after '+'.", text="1 + ", position=4))
    Expected a number after '+'.
      1 +
          ^
    """

    def __init__(self, reason: str, text: str, position: int) -> None:
        super().__init__(reason, text, position)
        self.reason = reason
        self.text = text
        self.position = position

    def __str__(self) -> str:
        start = self.text.rfind("\n", 0, self.position) + 1
        line = self.text[start:].partition("\n")[0].expandtabs(1)
        at = self.position - start
        first = max(0, at - _SHOWN)
        before = "…" if first else ""
        after = "…" if len(line) > at + _SHOWN else ""
        shown = before + line[first : at + _SHOWN].rstrip() + after
        return f"{self.reason}\n  {shown}\n  {' ' * (at - first + len(before))}^"


def kind_of(value: object) -> str:
    """What came, in words.

    >>> kind_of(3), kind_of(1.5), kind_of(int)
    ('an int', 'a float', 'the class int')
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def did_you_mean(name: str, known: Iterable[str | Path], otherwise: str = "", most: int = 1) -> str:
    """The end of a message about an unknown name: the known ones that are nearest, or what to say where none is near.

    Paths are compared by their file names and options without their dashes: what all share would make them look alike.

    >>> did_you_mean("stepz", ["steps", "batch"]), did_you_mean("x", ["steps"], "There is: steps."), did_you_mean("x", [])
    (' Did you mean steps?', ' There is: steps.', '')
    """
    from difflib import get_close_matches

    named = {one.lstrip("-") if isinstance(one, str) else one.name: one for one in known}
    near = [str(named[found]) for found in get_close_matches(name.lstrip("-"), named, most)]
    said = f"Did you mean {' or '.join(near)}?" if near else otherwise
    return f" {said}" if said else ""
