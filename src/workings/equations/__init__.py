"""PyTorch's fused operations written out, with its options: one equation a line, in the letters of the papers.

`trace.definitions` says which PyTorch function or module each one defines, and traces it like anybody's code, so a line is
what a reader would write. `workings.nn` runs those that it has in the same form (layer and RMS norm, recurrent cells,
losses, windows) and states the others in the letters of the course. Imports nothing of
`workings` above `errors` and `written_out`.
"""

from workings.lazy import lazy
from workings.own_code import mark_readable

mark_readable(__path__)
__getattr__, __dir__, __all__ = lazy(__name__)
