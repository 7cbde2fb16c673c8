"""What happened, as data: a tree of steps.

A step is one executed statement (or a call, a module's forward, a loop, a turn of it): the author's name for the result, the
source, the formula, the operands as they were, the result, where it stands, and the steps inside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from workings.trace.formula.targets import Target, unpack
from workings.trace.formula.tree import Formula

RULE_CHECKED = "rule checked"
"""How the note of a gradient begins whose rule gave autograd's numbers."""

UPDATE_CHECKED, CLIPPING_CHECKED = "update checked", "clipping checked"
CHECKED = (RULE_CHECKED, UPDATE_CHECKED, CLIPPING_CHECKED)
"""How remarks begin that say no more than that the numbers agree."""

KINDS = frozenset(
    """
    root input assign return expression call module loop turn branch expansion gradient update operation error folded
    """.split()
)


CONTAINERS = (list, tuple, dict)
"""Kinds of values whose entries are recorded one by one."""
_LONGEST = 120
"""Characters of an exception's message beside a statement."""


def _caught_note(error: BaseException | None) -> str:
    """The remark on a statement that an exception left, after which the code went on.

    >>> _caught_note(ValueError("4 is too much"))
    'raised ValueError, which was caught: 4 is too much'
    """
    if error is None:
        return "raised an exception, which was caught"
    message = " ".join(str(error).split())
    message = message if len(message) <= _LONGEST else f"{message[: _LONGEST - 1]}…"
    return f"raised {type(error).__name__}, which was caught" + (f": {message}" if message else "")


@dataclass(frozen=True)
class Where:
    """A place in a source file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Syntax:
    """What the source of a statement says beside its formula."""

    targets: tuple[Target, ...] = ()
    """What stands before each equals sign, or what a loop gives values to."""
    is_augmented: bool = False
    """Whether it is `y += e`."""
    changes: Target | None = None
    """What it changes in place by a method: h of `h.mul_(2)`."""
    items: Formula | None = None
    """What a loop goes through."""

    @property
    def target(self) -> Target | None:
        """The last target, whose names the parts of the result are called by."""
        return self.targets[-1] if self.targets else None


NO_SYNTAX = Syntax()


@dataclass(frozen=True)
class Numbers:
    """Which value of a name a statement reads and makes, where gradients tell several apart: h#3 = h#2 + 1."""

    read: dict[str, int] = field(default_factory=dict)
    made: dict[str, int] = field(default_factory=dict)


NO_NUMBERS = Numbers()


@dataclass(slots=True)
class Step:
    """One step.

    `kind` is one of `KINDS`; `name` the target as written (`A`, `self.h`, `a, b`), a module's path, a loop's header;
    `count` is the number of a turn, or how many steps a folded one stands for;
    `formula` is the right-hand side, or None; `operands` maps the texts of its leaves to values at that moment; `result` is
    the value at that moment (a tensor is a detached copy; `live` is the tensor itself, in the autograd graph, `lives` are
    the operands themselves); `note` is a remark such as «not shown: …» or «rule checked: largest difference 0».
    """

    kind: str
    name: str = ""
    source: str = ""
    formula: Formula | None = None
    operands: dict[str, Any] = field(default_factory=dict)
    result: Any = None
    where: Where | None = None
    children: list[Step] = field(default_factory=list)
    note: str = ""
    address: str = ""
    count: int = 0
    is_stopped: bool = False
    """Whether an exception, which was caught, kept it from having a value."""
    numbers: Numbers = NO_NUMBERS
    syntax: Syntax = field(default=NO_SYNTAX, repr=False, compare=False)
    live: Any = field(default=None, repr=False, compare=False)
    lives: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def stop(self, error: BaseException | None) -> None:
        """An exception left it, and was caught."""
        self.note, self.live, self.is_stopped = _caught_note(error), None, True

    def named_results(self) -> list[tuple[str, Any, Any]]:
        """The parts of its result by their names, each as it is and as it was."""
        target = self.syntax.target
        return unpack(target, self.name if target is None else target.text, self.live, self.result)

    def walk(self) -> Iterator[Step]:
        """This step and all inside it, in the order they happened."""
        yield self
        for child in self.children:
            yield from child.walk()
