"""What a reader may ask of the checker."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """How documents are checked."""

    run_code: bool = False
    """Run the code listings of a document, in a process with limits of its own; otherwise they are only parsed."""
