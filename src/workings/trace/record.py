"""A finished capture: the steps, and how it compares with the plain run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from workings.trace.step import Step


class Agreement(NamedTuple):
    """How a capture compares with an unmodified run: in words, the largest difference, and whether they match."""

    text: str
    difference: float | None = None
    matches: bool | None = None


@dataclass
class Trace:
    """What `capture` returns.

    `result` is the caller's own return value. `agreement` says how the capture compares with an unmodified run
    («matches the unmodified run (largest difference 0)»); `difference` is that largest difference, None where the run could
    not be repeated, and `matches` whether it is rounding alone (None where nothing was compared). `error` is the exception
    that stopped the code, if one did; its step is the last one, of kind `error`.
    `first_bad` is the first step whose result has a NaN or an infinity that its operands had not;
    `first_nan` the first with a NaN, where that is a later one: an infinity may be meant, a NaN is not.
    """

    root: Step
    result: Any = None
    agreement: str = ""
    difference: float | None = None
    error: BaseException | None = None
    first_bad: Step | None = field(default_factory=lambda: None)
    notes: list[str] = field(default_factory=list)
    first_nan: Step | None = field(default_factory=lambda: None)
    matches: bool | None = None
    is_differentiated: bool = field(default=False, repr=False, compare=False)
    """Whether the code itself called `loss.backward()`, and the gradients were added then."""
    modules: dict[str, Any] = field(default_factory=dict, repr=False)
    """The modules that were called and their parts, by their paths: the backward pass names their parameters by these."""
    undo: Callable[[], None] | None = field(default=None, repr=False, compare=False)
    """Of code that failed: puts everything it changed back to how it was before, for another attempt."""
    cut: Callable[[Any], None] | None = field(default=None, repr=False, compare=False)
    """Takes the author's tensors out of autograd's graph where it starts from nothing but copies of these arguments."""

    def later(self, **found: Callable[[Trace], Any]) -> None:
        """Fields that are found out of this trace when somebody asks for them."""
        self.__dict__["_later"] = found
        for name in found:
            self.__dict__.pop(name, None)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            found = self.__dict__.get("_later", {})
            if name not in found:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            self.__dict__[name] = found[name](self)
            return self.__dict__[name]

    def steps(self) -> Iterator[Step]:
        """Every step in the order it happened, without the root."""
        steps = self.root.walk()
        next(steps)
        return steps
