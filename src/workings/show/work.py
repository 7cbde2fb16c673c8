"""`Work`: a captured computation that shows itself."""

from __future__ import annotations

import functools
import inspect
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import torch

from workings.errors import WorkingsError, did_you_mean
from workings.show.options import DEEPEST, MOST_SAVED, Formatting, Labels, Options, check_whole
from workings.show.outline.outline import check_names
from workings.trace.code.arguments import check_unambiguous
from workings.trace.record import Trace
from workings.trace.step import Step

if TYPE_CHECKING:
    from workings.show.ask.answer import Answer


class Work(Trace):
    """The steps of a computation. Print it, open it in a notebook, ask it for values by name.

    >>> import torch, workings
    >>> def f(x):
    ...     y = x * x
    ...     return y + 1
    >>> work = workings.show(f, torch.tensor([1.0, 2.0]))
    >>> work["y"]
    tensor([1., 4.])
    """

    options: Options = Options()

    # ---- printing
    def text(self, **formatting: Unpack[Formatting]) -> str:
        """The worked solution for a terminal."""
        from workings.show.printers.text import text

        return text(self, self._with_choices(formatting))

    def latex(self, *, standalone: bool = False, **formatting: Unpack[Formatting]) -> str:
        """The worked solution as a LaTeX fragment, whose first line names the packages it needs; or as a document that
        stands alone."""
        from workings.show.printers.latex import document, latex

        return (document if standalone else latex)(self, self._with_choices(formatting))

    def markdown(self, **formatting: Unpack[Formatting]) -> str:
        """The worked solution as Markdown."""
        from workings.show.printers.markdown import markdown

        return markdown(self, self._with_choices(formatting))

    def html(self, **formatting: Unpack[Formatting]) -> str:
        """The worked solution as one self-contained page."""
        from workings.show.printers.html import html

        return html(self, self._with_choices(formatting))

    def json(self, most: int | None = MOST_SAVED) -> str:
        """The steps as JSON, to be read with `Work.from_json`; of a tensor of more than `most` entries, a summary of it.

        `most=None` keeps every tensor whole.
        """
        from workings.show.printers.json_form import to_json

        return to_json(self, most)

    @classmethod
    def from_json(cls, text: str) -> Work:
        """Read what `json` wrote."""
        from workings.show.printers.json_form import from_json

        return _as_work(from_json(text))

    def __eq__(self, other: object) -> bool:
        """Whether two works have the same steps with the same names, formulas and values: they are saved alike.

        Tensors are compared bit by bit (large ones by their SHA-256), exact ones by their values, and an object that JSON
        cannot hold by its `repr`. How a work is printed (its options) is no part of it. A work can grow (`backward`), so it
        has no hash.
        """
        from workings.show.printers.json_form import to_data

        return to_data(self) == to_data(other) if isinstance(other, Work) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def _with_choices(self, formatting: Formatting) -> Options:
        options = _options_with(self.options, formatting)
        check_names(self, options)
        return options

    def __str__(self) -> str:
        return self.text(width=shutil.get_terminal_size((100, 24)).columns)

    def __repr__(self) -> str:
        return self.text(width=shutil.get_terminal_size((100, 24)).columns, colour=sys.stdout.isatty())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from workings.show.printers.notebook import of_work

        return of_work(self, self.options)

    # ---- asking
    def step(self, address: str) -> Step:
        """The step at an address such as `A`, `blocks.1.attn.S` or `∂L/∂A`; the last one where a name was assigned again."""
        from workings.show.ask.find import find_step

        return find_step(self, address)

    def __getitem__(self, address: str) -> Any:
        return self.step(address).result

    def why(self, address: str, index: int | tuple[int, ...] = ()) -> Answer:
        """How one cell came about: its value, the formula, and the operands it was made of, down to the inputs."""
        from workings.show.ask.why import why

        return why(self, self.step(address), (index,) if isinstance(index, int) else tuple(index))

    def diff(self, other: Trace) -> Answer:
        """The first statement whose result differs in another run."""
        from workings.show.ask.diff import diff

        if not isinstance(other, Trace):
            raise WorkingsError(f"diff compares with another work, not {type(other).__name__}.")
        return diff(self, other)

    def backward(self, loss: str | None = None) -> Work:
        """Add the backward pass: ∂L/∂name for every named value, under the line that caused it.

        `loss` is the name of a number in the code. Where the code calls `backward()` itself, the gradients are there.
        """
        if loss is None and self.is_differentiated:
            return self
        from workings.trace.gradient.backward import backward

        target = backward(self, loss)
        if loss is None and not isinstance(self.result, torch.Tensor) and self.result is not None:
            others = " or ".join(f"loss={name!r}" for name in target.others[:_FEW]) or "loss='name'"
            self.notes.append(f"differentiated: {target.name}; {others} chooses another number")
        return self


_FEW = 3
"""Numbers that are offered in place of the one that was differentiated."""


def _options_with(options: Options, choices: Mapping[str, Any]) -> Options:
    """The options with these choices in place of their own."""
    known, given = Options.__dataclass_fields__, dict(choices)
    if unknown := [name for name in given if name not in known]:
        hint = did_you_mean(unknown[0], known)
        raise WorkingsError(f"There is no formatting option {unknown[0]!r}; there are: {', '.join(known)}.{hint}")
    for name in {"only", "hide"} & given.keys():
        given[name] = frozenset([given[name]] if isinstance(given[name], str) else given[name])
    if "labels" in given:
        given["labels"] = _labels(given["labels"])
    return replace(options, **given) if given else options


def _labels(given: Any) -> Labels:
    """{−2: rows, −1: columns} as the options keep it; one list names both axes of a square matrix."""
    pairs = given.items() if isinstance(given, Mapping) else [(axis, given) for axis in (-2, -1)]
    if isinstance(given, str) or any(axis not in (-2, -1) for axis, _ in pairs):
        raise WorkingsError("labels are {-2: names of the rows, -1: names of the columns}, or one list for both.")
    return tuple((axis, tuple(map(str, names))) for axis, names in pairs)


def _as_work(trace: Trace, options: Options | None = None) -> Work:
    """A trace with its printers."""
    work = Work(trace.root)
    work.__dict__ = {**vars(trace), "options": options or Options()}  # also what it finds out only when it is asked
    return work


def show(
    function: Any,
    *args: Any,
    depth: int | None = None,
    backward: bool = False,
    loss: str | Callable[..., Any] | None = None,
    options: Options | None = None,
    **kwargs: Any,
) -> Work:
    """Run a function or module and return its worked solution.

    `depth` 1 records and prints the statements of the function itself, 2 (the default) also those of your own functions and
    modules, 3 those of library modules, 4 fused operations too. `backward=True` adds the gradients: of `loss`, the name of a
    number in the code or a function that makes one of the result; of the number whose `backward()` the code calls.
    A function that has a parameter of one of these names gets it by `functools.partial(function, depth=…)`. The choices of
    `Options` (`digits=6`, `only="A"`) can be given here too, where the function has no parameter of that name.
    """
    if not callable(function):
        raise WorkingsError(f"show takes a function or a module, not {type(function).__name__}.")
    while isinstance(function, functools.partial):
        function, args, kwargs = function.func, (*function.args, *args), {**function.keywords, **kwargs}
    ours = {"depth": depth, "backward": backward or None, "loss": loss, "options": options}
    given = {name: value for name, value in ours.items() if value is not None}
    check_unambiguous(inspect.unwrap(function), args, kwargs, **given)
    choices = {name: kwargs[name] for name in _choices(function, kwargs)}
    kwargs = {name: value for name, value in kwargs.items() if name not in choices}
    options = _options_with(options or Options(), choices)
    recorded = 2 if depth is None else depth
    check_whole("depth", recorded, 1, DEEPEST)
    work = _capture_varying(function, args, kwargs, recorded) if backward else _capture(function, args, kwargs, recorded)
    work.options = options
    if work.error is not None:
        _explain_in_names(work)
    if backward and "is not differentiable with respect to" in str(work.error):
        work.notes.append("mark the inputs that vary with requires_grad=True; the others are constants")
    try:
        if backward and work.error is None and (loss is not None or not work.is_differentiated):
            _differentiate(work, loss, recorded)
    finally:
        if work.cut is not None:
            work.cut((args, kwargs))
            work.cut = None
    check_names(work, options)
    return work


def _differentiate(work: Work, loss: Any, depth: int) -> None:
    """The backward pass; where it fails, the forward work stays, and a note says why there are no gradients."""
    from workings.trace.gradient.added import add_loss, add_sum
    from workings.trace.gradient.loss import GradientError

    name = add_loss(work, loss, depth) if callable(loss) else loss or add_sum(work)
    try:
        work.backward(name)
    except GradientError as reason:
        work.notes.append(f"no gradients: {reason}")


def _choices(function: Any, kwargs: Mapping[str, Any]) -> list[str]:
    """The arguments that say how to print: they have the name of a choice, and the function takes none of that name."""
    named = [name for name in kwargs if name in Options.__dataclass_fields__]
    try:
        parameters = inspect.signature(getattr(function, "forward", function)).parameters if named else {}
    except (TypeError, ValueError):
        return []
    anything = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return [] if anything else [name for name in named if name not in parameters]


def _add_gradients(trace: Trace, loss: torch.Tensor) -> None:
    from workings.trace.gradient.added import add_gradients  # which few works need

    add_gradients(trace, loss)


def _capture(function: Any, args: Any, kwargs: Any, depth: int, varying: bool = False) -> Work:
    from workings.trace.assumed import assumption_notes
    from workings.trace.capture.capture import capture

    whole = functools.partial(function, *args, **kwargs)  # none of its arguments is taken for one of capture's own
    work = _as_work(capture(whole, depth=depth, before_backward=_add_gradients if varying else None))
    work.notes += assumption_notes(work)
    return work


_LEAF_CHANGED = "a leaf Variable that requires grad"
"""What PyTorch says when code changes a tensor in place that a gradient is wanted of."""


def _capture_varying(function: Any, args: Any, kwargs: Any, depth: int) -> Work:
    """The work on inputs that autograd follows; on copies of them where the code changes an input in place."""
    from workings.trace.gradient.loss import require_gradients

    given, named = require_gradients((args, kwargs))
    work = _capture(function, given, named, depth, varying=True)
    if _LEAF_CHANGED not in str(work.error) or work.undo is None:
        return work
    work.undo()
    given, named = require_gradients((args, kwargs), copies=True)
    again = _capture(function, given, named, depth, varying=True)
    if _LEAF_CHANGED in str(again.error):
        return work
    again.notes.append("the code changes an input in place: it changed a copy, your tensor is as it was")
    return again


def _explain_in_names(work: Work) -> None:
    """The explanation of the statement that failed, in its author's names where they are known."""
    from workings.trace.shapes.explain import in_names

    for step in work.steps():
        found = in_names(step.formula, step.operands, step.source) if step.kind == "error" else None
        if found is not None and (found.problem in step.note or ";" not in step.note):
            rest = [line for line in step.note.split("\n") if found.problem not in line]
            step.note = "\n".join([str(found), *rest])


class Recording:
    """`with workings.trace() as work:` the statements of a block.

    >>> import torch, workings
    >>> x = torch.tensor([1.0, 2.0])
    >>> with workings.trace() as work:
    ...     y = x * x
    >>> isinstance(work, workings.show.Work)
    True
    """

    def __init__(self, depth: int | None = None) -> None:
        """`depth` as in `show`; if it is given, it is also how deep the work is printed."""
        if depth is not None:
            check_whole("depth", depth, 1, DEEPEST)
        self.depth = depth

    def __enter__(self) -> Work:
        from workings.trace.follow.block import Block

        self.work = _as_work(Trace(Step("root")), Options(depth=self.depth))
        self.block = Block(self.work, 2 if self.depth is None else self.depth, _add_gradients)
        self.block.begin(sys._getframe(1))
        return self.work

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        self.block.end(error)
        if self.work.error is not None:
            _explain_in_names(self.work)
