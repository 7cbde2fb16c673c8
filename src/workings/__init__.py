"""Deep learning that shows its work.

    from workings import exact, show

    show(attention, exact("1 0; 0 1"), K, V)      the worked solution of a call, statement by statement
    with workings.trace() as work: …              the same for a block of code
    workings.nn, workings.models                  the layers and models of the course
    workings.train, workings.check                training, and finding the wrong line of a worked solution
    workings.studies                              claims of the course as experiments that can fail

Names load when they are first used, so that `import workings` costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

from workings.front import CALLABLE, ExactPackage, ShowPackage, TracePackage
from workings.version import __version__

TYPE_CHECKING = False  # type checkers know the name; importing `typing` for it would take three quarters of the time
if TYPE_CHECKING:
    from typing import Any

    from workings import check as check
    from workings import course as course
    from workings import equations as equations
    from workings import models as models
    from workings import nn as nn
    from workings import studies as studies
    from workings import train as train
    from workings.errors import WorkingsError as WorkingsError
    from workings.exact import ExactTensor as ExactTensor

exact: ExactPackage
show: ShowPackage
trace: TracePackage

__all__ = [
    "ExactTensor",
    "WorkingsError",
    "__version__",
    "check",
    "course",
    "equations",
    "exact",
    "models",
    "nn",
    "show",
    "studies",
    "trace",
    "train",
]

_PACKAGES = frozenset({"check", "course", "equations", "exact", "models", "nn", "show", "studies", "trace", "train"})
_NAMES = {"ExactTensor": "workings.exact", "WorkingsError": "workings.errors"}


class _Front(ModuleType):
    """Python binds a package in its parent when it has imported it: that is when a callable one becomes callable."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in CALLABLE and isinstance(value, ModuleType):
            value.__class__ = CALLABLE[name]
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Front


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"workings.{name}")
    if name not in _NAMES:
        raise AttributeError(f"module 'workings' has no attribute {name!r}")
    value = getattr(import_module(_NAMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
