"""Training: one loop for every model, recipes by name, runs that resume exactly.

Names load when they are first used: the help of the command line needs no PyTorch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workings.train.loop.engine import fit as fit
    from workings.train.loop.judging import History as History
    from workings.train.run.run import Run as Run
    from workings.train.settings import Training as Training

__all__ = ["History", "Run", "Training", "fit"]

_HOMES = {"History": "loop.judging", "Run": "run.run", "Training": "settings", "fit": "loop.engine"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'workings.train' has no attribute {name!r}")
    value = getattr(import_module(f"workings.train.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
