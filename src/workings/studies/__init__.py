"""Claims of the course as experiments that can fail. A study is a function; it registers only if it can be broken.

    from workings.studies import Bounds, Claim, Range, measured, run, study

The public names are those of `__init__.pyi`; they load when they are first used.
"""

from workings.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__)
