"""What a notebook gets of a work, an exact tensor, an answer: `text/plain`, `text/html`, `text/latex`.

Front ends take the richest they know. Jupyter, VS Code, Colab and marimo show the HTML, which is MathML with its font and
has no script; nbconvert takes the LaTeX for a PDF.
"""

from __future__ import annotations

from workings.exact import ExactTensor
from workings.page.document import asset, cell
from workings.show.options import Options
from workings.show.printers.html import solution, title_of
from workings.show.printers.latex import latex
from workings.show.printers.text import text
from workings.show.value.html_value import ValueOptions, value_markup
from workings.show.value.value import latex_of
from workings.show.write.markup import element
from workings.trace.record import Trace

Bundle = dict[str, str]


def of_work(trace: Trace, options: Options) -> Bundle:
    body = solution(trace, options, title_of(trace), alone=False)
    return {"text/plain": text(trace, options), "text/html": in_cell(body), "text/latex": latex(trace, options)}


def of_exact(tensor: ExactTensor) -> Bundle:
    """The exact values and their decimals."""
    options = Options()
    body = element("div", value_markup(tensor, ValueOptions(options), alone=True), class_="pieces")
    written = f"$\\displaystyle {latex_of(tensor, options)}$"
    return {"text/plain": repr(tensor), "text/html": in_cell(element("div", body, class_="work")), "text/latex": written}


def in_cell(body: str) -> str:
    """HTML of a work, or of a part of one, as the output of a cell."""
    return cell(body, asset("workings.show", "page.css"))
