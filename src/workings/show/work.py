"""`Work`: a captured computation that shows itself."""

from __future__ import annotations

import difflib
import re
import shutil
import sys
from dataclasses import replace
from typing import Any

import torch

from workings.errors import WorkingsError
from workings.show.options import Options
from workings.trace.formula import Apply, Leaf
from workings.trace.record import Trace
from workings.trace.step import Step

_TURN = re.compile(r"turn \d+\.")


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
    def text(self, **choices: Any) -> str:
        """The worked solution for a terminal."""
        from workings.show.text import text

        return text(self, self._chosen(choices))

    def latex(self, **choices: Any) -> str:
        """The worked solution as a LaTeX fragment."""
        from workings.show.latex import latex

        return latex(self, self._chosen(choices))

    def markdown(self, **choices: Any) -> str:
        """The worked solution as Markdown."""
        from workings.show.markdown import markdown

        return markdown(self, self._chosen(choices))

    def html(self, **choices: Any) -> str:
        """The worked solution as one self-contained page."""
        from workings.show.html import html

        return html(self, self._chosen(choices))

    def json(self) -> str:
        """The steps as JSON, to be read with `Work.from_json`."""
        from workings.show.json_form import to_json

        return to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Work:
        """Read what `json` wrote."""
        from workings.show.json_form import from_json

        return as_work(from_json(text))

    def _chosen(self, choices: dict[str, Any]) -> Options:
        for name in ("only", "hide"):
            if name in choices:
                choices[name] = frozenset([choices[name]] if isinstance(choices[name], str) else choices[name])
        try:
            return replace(self.options, **choices)
        except TypeError:
            known = ", ".join(Options.__dataclass_fields__)
            raise WorkingsError(f"Unknown choice among {', '.join(choices)}; there are: {known}.") from None

    def __str__(self) -> str:
        return self.text(width=shutil.get_terminal_size((100, 24)).columns)

    def __repr__(self) -> str:
        return self.text(width=shutil.get_terminal_size((100, 24)).columns, colour=sys.stdout.isatty())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self.html()}

    # ---- asking
    def step(self, address: str) -> Step:
        """The step at an address such as `A` or `blocks.1.attn.S`; the last one where a name was assigned again."""
        found = [s for s in self.steps() if s.address == address]
        plain = [s for s in self.steps() if s.address and _TURN.sub("", s.address).partition("#")[0] == address]
        if not found and not plain:
            near = difflib.get_close_matches(address, [s.address for s in self.steps() if s.address], 3)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            raise WorkingsError(f"No step is called {address!r}.{hint}")
        return plain[-1] if plain else found[-1]

    def __getitem__(self, address: str) -> Any:
        return self.step(address).result

    def why(self, address: str, index: tuple[int, ...] = ()) -> str:
        """How one cell came about: its value, the formula, and the operands it was made of, down to the inputs."""
        from workings.show.why import why

        return why(self, self.step(address), tuple(index))

    def diff(self, other: Trace) -> str:
        """The first statement whose result differs in another run."""
        from workings.show.diff import diff

        return diff(self, other)

    def backward(self, loss: str | None = None) -> Work:
        """Add the backward pass: ∂L/∂name for every named value, under the line that caused it."""
        from workings.trace.backward import backward

        backward(self, loss)
        return self


def as_work(trace: Trace, options: Options | None = None) -> Work:
    """A trace with its printers."""
    work = Work(**vars(trace))
    work.options = options or Options()
    return work


def show(
    function: Any,
    *args: Any,
    depth: int | None = None,
    backward: bool = False,
    loss: str | None = None,
    options: Options | None = None,
    **kwargs: Any,
) -> Work:
    """Run a function or module and return its worked solution.

    `depth` 1 records the statements of the function itself, 2 also those of your own functions and modules (recorded
    but folded
    unless you ask for it), 3 those of library modules, 4 fused operations too. `backward=True` adds the gradients.
    """
    if not callable(function):
        raise WorkingsError(f"show takes a function or a module, not {type(function).__name__}.")
    from workings.trace.capture import capture

    if backward:
        args, kwargs = torch.utils._pytree.tree_map(_with_grad, (args, kwargs))
    options = options or Options(depth=depth or 1)
    work = as_work(capture(function, *args, depth=depth or 2, **kwargs), options)
    if not backward or work.error is not None:
        return work
    return work.backward(loss or _summed(work))


def _summed(work: Work) -> str | None:
    """A result of several numbers is summed to one, in a step of its own, so that it has a gradient."""
    result = work.result
    if not isinstance(result, torch.Tensor) or result.numel() == 1 or not work.root.children:
        return None
    top = work.root.children[0]
    last = top.children[-1] if top.children else top
    name = last.formula.text if isinstance(last.formula, Leaf) else "output"
    total = result.sum()
    step = Step("assign", "L", f"L = {name}.sum()", Apply("sum", (Leaf(name),)), {name: result.detach()}, total.detach())
    step.live, step.lives = total, {name: result}
    step.address, step.note = "L", "added here: the result is summed, so that there is one number to differentiate"
    top.children.append(step)
    return "L"


def _with_grad(value: Any) -> Any:
    """Inputs that can have a gradient get one, on a copy: the caller's tensors stay as they are."""
    if not isinstance(value, torch.Tensor) or not value.is_floating_point() or value.requires_grad:
        return value
    return value.detach().requires_grad_()


class trace:  # a context manager, named like one
    """Record the statements of a block.

    >>> import torch, workings
    >>> x = torch.tensor([1.0, 2.0])
    >>> with workings.trace() as work:
    ...     y = x * x
    >>> isinstance(work, workings.show.Work)
    True
    """

    def __init__(self, depth: int = 2) -> None:
        self.depth = depth

    def __enter__(self) -> Work:
        from workings.trace.block import Block

        self.work = as_work(Trace(Step("root")))
        self.block = Block(self.work, self.depth)
        self.block.begin(sys._getframe(1))
        return self.work

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        self.block.end(error)
