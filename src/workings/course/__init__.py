"""Exercises of the course that are no layers or models: constructions, perturbations, selection, dedupe-and-sort, counts.

May import `nn`, `models` and `show`. The public names are those of `__init__.pyi`; they load when they are first used.
"""

from workings.lazy import lazy
from workings.own_code import mark_readable

mark_readable(__path__)
__getattr__, __dir__, __all__ = lazy(__name__)
