"""Errors that tell the user what was needed, what came, and what to do."""

SHOWN = 60
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
        first = max(0, at - SHOWN)
        before = "…" if first else ""
        after = "…" if len(line) > at + SHOWN else ""
        shown = before + line[first : at + SHOWN].rstrip() + after
        return f"{self.reason}\n  {shown}\n  {' ' * (at - first + len(before))}^"
