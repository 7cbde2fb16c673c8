"""Textbook equations, each once: one equation a line, in the letters of the papers.

`workings.nn` runs them with its checks and PyTorch's kernels (`workings.fused`). `trace.definitions` says which PyTorch
function or module each one defines, and traces it like anybody's code; where PyTorch has other conventions, its form is a
special case of the equation (`scaled_dot_product_attention` of `attention`). Imports nothing of `workings` above `fused`.
"""

from workings.lazy import lazy
from workings.own_code import mark_readable

mark_readable(__path__)
__getattr__, __dir__, __all__ = lazy(__name__)
