"""The models of the course, one per file, made of `workings.nn`.

`decoding` writes text with them (search, and how one token more is computed), `weights` exchanges checkpoints with
transformers and torch.nn. The public names are those of `__init__.pyi`; they load when they are first used.
"""

from workings.lazy import lazy
from workings.own_code import mark_readable

mark_readable(__path__)
__getattr__, __dir__, __all__ = lazy(__name__)
