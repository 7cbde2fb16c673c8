"""`Result`: what a study gave, which prints itself."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from typing import Any

from workings.studies.outcome import Outcome


@dataclass(frozen=True, repr=False)
class Result(Outcome):
    """A study that was run. Print it, open it in a notebook, or write it: `text`, `markdown`, `latex`, `html`, `json`."""

    def text(self, *, width: int = 100, colour: bool = False) -> str:
        """For a terminal."""
        from workings.studies.report.text import text

        return text(self, width, colour)

    def markdown(self) -> str:
        """Markdown; pictures are named, with their figures in `json`."""
        from workings.studies.report.markdown import markdown

        return markdown(self)

    def latex(self, *, standalone: bool = False) -> str:
        """A LaTeX fragment, or a document that stands alone."""
        from workings.studies.report.latex import document, latex

        return (document if standalone else latex)(self)

    def html(self) -> str:
        """One self-contained page with its pictures."""
        from workings.studies.report.html import html

        return html(self)

    def json(self) -> str:
        """Everything, to be read with `Result.from_json`."""
        from workings.studies.report.json_form import to_json

        return to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Result:
        """Read what `json` wrote."""
        from workings.studies.report.json_form import from_json

        return cls(**vars(from_json(text)))

    def __str__(self) -> str:
        return self.text(width=shutil.get_terminal_size((100, 24)).columns)

    def __repr__(self) -> str:
        return self.text(colour=sys.stdout.isatty())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from workings.studies.report.html import in_cell

        return {"text/plain": str(self), "text/markdown": self.markdown(), "text/html": in_cell(self)}
