"""What a work answers: text, which a notebook shows as HTML and LaTeX too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workings.show.printers.notebook import in_cell
from workings.show.write.escape import latex_text
from workings.show.write.markup import element, escaped


class Answer(str):
    """A string that displays itself: printed without quotes, in a notebook as mathematics."""

    _html: Callable[[], str]
    _latex: Callable[[], str]

    def __new__(cls, text: str, html: Callable[[], str], latex: Callable[[], str]) -> Answer:
        answer = super().__new__(cls, text)
        answer._html, answer._latex = html, latex
        return answer

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return str.__str__(self)

    def _display_(self) -> _Display:
        """marimo takes strings for text unless they say this."""
        return _Display(self._repr_mimebundle_())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._html(), "text/latex": self._latex()}


@dataclass(frozen=True)
class _Display:
    bundle: dict[str, str]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return self.bundle


def in_words(sentence: str) -> Answer:
    """An answer without formulas."""
    page = element("div", element("p", escaped(sentence)), class_="work")
    return Answer(sentence, lambda: in_cell(page), lambda: latex_text(sentence))
