"""The layers of the course as equations: each function states them, one a line, and PyTorch's kernel runs outside `show`.

`norms`, `transformer`, `vision`, `recurrent` hold functions and the modules that keep their weights; `objectives` what is
minimised, `update` how a parameter moves. Imports `workings.equations`, never `workings.models` or `workings.show`. The
public names are those of `__init__.pyi`; they load when they are first used.
"""

from workings.lazy import lazy
from workings.own_code import mark_readable

mark_readable(__path__)
__getattr__, __dir__, __all__ = lazy(__name__)
