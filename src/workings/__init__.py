"""Deep learning that shows its work.

Names load when they are first used, so that `import workings` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from workings.lazy import CALLS

if TYPE_CHECKING:
    from workings import exact as exact
    from workings import show as show
    from workings import trace as trace
    from workings.errors import WorkingsError as WorkingsError
    from workings.exact import ExactTensor as ExactTensor

__version__ = "0.1.0"
__all__ = ["ExactTensor", "WorkingsError", "__version__", "exact", "show", "trace"]

_MODULES = frozenset({"exact", "show", "trace"})
CALLS["workings.trace"] = "workings.show.work", "trace"
_NAMES = {"ExactTensor": "workings.exact", "WorkingsError": "workings.errors"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"workings.{name}")
    if name not in _NAMES:
        raise AttributeError(f"module 'workings' has no attribute {name!r}")
    value = getattr(import_module(_NAMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
