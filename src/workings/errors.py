"""Errors that tell the user what was needed, what came, and what to do."""


class WorkingsError(Exception):
    """The base of every error this library raises on purpose."""


class ShapeError(WorkingsError):
    """Shapes that do not fit the equation: name the equation, the shapes and the axis that differs."""


class DomainError(WorkingsError):
    """An operation with no exact value here, such as log(0) or an eigenvalue."""


class UndecidedError(WorkingsError):
    """A comparison whose answer depends on letters: name the assumption that would decide it."""


class BudgetError(WorkingsError):
    """Values that outgrew the time or size they were allowed."""


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
        return f"{self.reason}\n  {line.rstrip()}\n  {' ' * (self.position - start)}^"
