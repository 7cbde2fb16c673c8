"""`show(function, *args)` runs a function or module, unmodified, and returns its worked solution, a `Work`.

    >>> import torch
    >>> from workings import show
    >>> def loss(w):
    ...     y = 4 * w + 1
    ...     L = (y - 3) ** 2 / 2
    ...     return L
    >>> print(show(loss, torch.tensor(1.0), only="L", backward=True)["∂L/∂w"])
    tensor(8.)

`Work` prints itself as text, LaTeX, Markdown, HTML and JSON; `Options` are the formatting options.

Rooms, each importing only from those before it: `write` (blocks, decimals, names, escapes), `formula` (every notation),
`value` (by size), `outline` (what is shown, in which order), `printers` (one per output), `ask` (why, diff, addresses).
"""

from workings.show.options import Options
from workings.show.work import Work, show

__all__ = ["Options", "Work", "show"]


def __dir__() -> list[str]:
    return sorted(__all__)
