"""The front door: packages that are also functions, with the types that editors and type checkers see.

`workings.exact`, `workings.show` and `workings.trace` are packages of files, and people call them: `exact("1 0; 0 1")`,
`show(attention, Q, K, V)`, `with trace():`. Python calls a module if its class says how, so `workings` gives each of them
one of these classes when it is imported. What stands under `TYPE_CHECKING` in a class are the names that the package offers
anyway; a test compares the two.
"""

from __future__ import annotations

from types import ModuleType

from workings.page.notebook import register

TYPE_CHECKING = False  # see `workings/__init__.py`
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import workings.exact as _exact
    import workings.show as _show
    import workings.trace as _trace
    from workings.show.work import Recording

    class _Package:
        """To type checkers, a module has any attribute; these packages have only those they are told of here."""
else:
    _Package = ModuleType


class ExactPackage(_Package):
    """Makes `exact("1 0; 0 1")` an exact tensor, as `exact.exact` does."""

    def __call__(self, data: Any, *, requires_grad: bool = False, recover: bool | None = None) -> _exact.ExactTensor:
        """An exact tensor of text, numbers, nested lists or another tensor."""
        from workings.exact import exact

        return exact(data, requires_grad=requires_grad, recover=recover)

    if TYPE_CHECKING:
        Assumption = _exact.Assumption
        ExactTensor = _exact.ExactTensor
        Proof = _exact.Proof
        arange = staticmethod(_exact.arange)
        equal = staticmethod(_exact.equal)
        exact = staticmethod(_exact.exact)
        exactify = staticmethod(_exact.exactify)
        eye = staticmethod(_exact.eye)
        from_json = staticmethod(_exact.from_json)
        full = staticmethod(_exact.full)
        linspace = staticmethod(_exact.linspace)
        live = staticmethod(_exact.live)
        mode = staticmethod(_exact.mode)
        ones = staticmethod(_exact.ones)
        recording = staticmethod(_exact.recording)
        symbols = staticmethod(_exact.symbols)
        zeros = staticmethod(_exact.zeros)


class ShowPackage(_Package):
    """Makes `show(function, *args)` the worked solution of a call, as `show.show` does."""

    def __call__(
        self,
        function: Any,
        *args: Any,
        depth: int | None = None,
        backward: bool = False,
        loss: str | Callable[..., Any] | None = None,
        options: _show.Options | None = None,
        **kwargs: Any,
    ) -> _show.Work:
        """Run a function or module and return its worked solution."""
        from workings.show import show

        return show(function, *args, depth=depth, backward=backward, loss=loss, options=options, **kwargs)

    if TYPE_CHECKING:
        Options = _show.Options
        Work = _show.Work
        show = staticmethod(_show.show)


class TracePackage(_Package):
    """Makes `with trace() as work:` record the statements of a block."""

    def __call__(self, depth: int | None = None) -> Recording:
        """A context whose statements become a `Work`; `depth` as in `show`."""
        from workings.show.work import Recording

        return Recording(depth)

    if TYPE_CHECKING:
        Step = _trace.Step
        Trace = _trace.Trace
        Where = _trace.Where
        capture = staticmethod(_trace.capture)
        OPERATIONS = _trace.OPERATIONS


CALLABLE: dict[str, Any] = {"exact": ExactPackage, "show": ShowPackage, "trace": TracePackage}
"""Which packages of `workings` can be called."""


def _display_exact(tensor: Any) -> dict[str, str]:
    from workings.show.printers.notebook import of_exact

    return of_exact(tensor)


register("exact tensor", _display_exact)
