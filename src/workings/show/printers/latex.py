r"""The worked solution in LaTeX: for any LaTeX with amsmath and amssymb, each display also for KaTeX.

\begin{align*}
S &= \frac{Q \, K^{\top}}{\sqrt{d}} \\ &= \begin{bmatrix} … \end{bmatrix}
\end{align*}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

from workings.show.options import Options
from workings.show.outline.equation import Equation, code_beside, latex_equation, text_equation
from workings.show.outline.outline import Line, flat_turns, outline
from workings.show.printers.text import branch, closing, operand_descriptions
from workings.show.value.value import latex_of
from workings.show.write.escape import latex_text
from workings.show.write.names import latex_name, without_self
from workings.trace.record import Trace

_ROOM = 64
"""Characters of plain text that fill a line of a page; beyond it, an equation goes on in the next line."""

_DEEPEST_QUOTE = 5

PACKAGES = r"\usepackage{amsmath, amssymb}"
PREAMBLE = rf"""\documentclass{{article}}
\usepackage[a4paper, margin=2cm]{{geometry}}
{PACKAGES}
\setlength{{\parindent}}{{0pt}}
\allowdisplaybreaks
"""


def latex(trace: Trace, options: Options | None = None) -> str:
    """The steps as a fragment, to be put into a document; its first line says which packages that needs."""
    return f"% needs {PACKAGES}\n\n{_body(trace, options or Options())}"


def document(trace: Trace, options: Options | None = None) -> str:
    """The steps as a document of their own, which any LaTeX compiles."""
    return f"{PREAMBLE}\\begin{{document}}\n\n{_body(trace, options or Options())}\n\\end{{document}}\n"


def _body(trace: Trace, options: Options) -> str:
    return "\n\n".join(_parts(trace, options)) + "\n"


def _parts(trace: Trace, options: Options) -> Iterator[str]:
    """The paragraphs; what is inside a step stands in an environment of its own."""
    before = 0
    for level, kind, content in sections(trace, options):
        yield from _edges(before, level)
        yield content if kind == "prose" else starred(content)
        before = level
    yield from _edges(before, 0)
    yield from (_latex_prose(line) for line in closing(trace, options))


def _edges(before: int, level: int) -> Iterator[str]:
    yield from (rf"\end{{{_environment(deep)}}}" for deep in range(before, level, -1))
    yield from (rf"\begin{{{_environment(deep)}}}" for deep in range(before + 1, level + 1))


def _environment(level: int) -> str:
    """LaTeX nests no more than six lists, and a quote is one."""
    return "quote" if level <= _DEEPEST_QUOTE else "sloppypar"


def starred(display: str) -> str:
    r"""aligned and gathered, which KaTeX knows inside $$, as the displays align* and gather* of a page."""
    for inner, outer in (("aligned", "align*"), ("gathered", "gather*")):
        if display.startswith(rf"\begin{{{inner}}}") and display.endswith(rf"\end{{{inner}}}"):
            body = display[len(rf"\begin{{{inner}}}") : -len(rf"\end{{{inner}}}")]
            return rf"\begin{{{outer}}}{body}\end{{{outer}}}"
    return rf"\[{display}\]"


def sections(trace: Trace, options: Options) -> Iterator[tuple[int, str, str]]:
    """Displays (what stands between $$ and $$) and prose in the order they are read, each with its level."""
    for (level, kind), group in groupby(flat_turns(outline(trace, options)), lambda line: (line.level, line.kind)):
        lines = list(group)
        if kind == "input":
            yield level, "display", gathered_display(lines, options)
        else:
            yield from ((level, *part) for line in lines for part in _WRITERS[kind](line, options))


# ---------------------------------------------------------------------------------------------- displays


def gathered_display(lines: list[Line], options: Options) -> str:
    """Inputs, as many in a row as a page holds."""
    rows: list[list[str]] = [[]]
    used = 0
    for line in lines:
        needed = _width(text_equation(line, options)) + 4
        if rows[-1] and used + needed > _ROOM:
            rows, used = [*rows, []], 0
        rows[-1].append(_flat(latex_equation(line, options)))
        used += needed
    inside = " \\\\\n".join(r" \qquad ".join(row) for row in rows)
    return f"\\begin{{gathered}}\n{inside}\n\\end{{gathered}}"


def _flat(found: Equation) -> str:
    return found.head + "".join(f" {sign} {value}" for sign, value in found.forms)


def aligned_display(line: Line, options: Options) -> str:
    """One equation, going on in the next line where a page ends."""
    found, measure = latex_equation(line, options), text_equation(line, options)
    lead = "&" if not found.left else f" &{found.lead.strip()} " if found.lead == " = " else rf"{found.lead}&"
    first = found.left + (lead + found.links[0] if found.links else "")
    pieces = [("=", link) for link in found.links[1:]] + found.forms
    widths = [_columns(block) for block in (*measure.links[1:], *(block for _, block in measure.forms))]
    used = len(measure.left) + len("".join(measure.links[:1]))
    out, marked = first, bool(found.links)
    for (sign, piece), needed in zip(pieces, [*widths, *[0] * len(pieces)], strict=False):
        if marked and used + needed > _ROOM:
            out, used = f"{out} \\\\\n&", 0
        out, marked, used = f"{out} {'' if marked else '&'}{sign} {piece}", True, used + needed + 3
    return f"\\begin{{aligned}}\n{out}\n\\end{{aligned}}"


def _columns(block: str) -> int:
    return max(map(len, block.split("\n")))


def _width(found: Equation) -> int:
    return _columns(found.head) + sum(3 + _columns(block) for _, block in found.forms)


# ---------------------------------------------------------------------------------------------- prose


def _latex_prose(words: str) -> str:
    """A remark on a line of its own."""
    return rf"\noindent {latex_text(without_self(words))}"


def _equation(line: Line, options: Options) -> Iterator[tuple[str, str]]:
    if code := code_beside(line.step):
        yield "prose", rf"\noindent\texttt{{{latex_text(code)}}}"
    yield "display", aligned_display(line, options)


def _title(line: Line, options: Options) -> Iterator[tuple[str, str]]:
    title = latex_text(without_self(line.text))
    yield "prose", rf"\noindent\textbf{{{title}}}"
    if line.valued and line.step.result is not None:
        yield "display", rf"{latex_name(line.step.name or line.step.source)} = {latex_of(line.step.result, options)}"


def _note(line: Line, options: Options) -> Iterator[tuple[str, str]]:
    yield "prose", rf"\noindent\textit{{{latex_text(line.text)}}}"


def _branch(line: Line, options: Options) -> Iterator[tuple[str, str]]:
    yield "prose", rf"\noindent\texttt{{{latex_text(branch(line))}}}"


def _error(line: Line, options: Options) -> Iterator[tuple[str, str]]:
    step = line.step
    yield "prose", rf"\noindent\textbf{{fails:}} \texttt{{{latex_text(without_self(step.source))}}}"
    shapes = [rf"{latex_name(name)} &\colon \text{{{latex_text(words)}}}" for name, words in operand_descriptions(step)]
    if shapes:
        yield "display", "\\begin{aligned}\n" + " \\\\\n".join(shapes) + "\n\\end{aligned}"
    if step.note:
        yield "prose", _latex_prose(step.note)


_WRITERS: dict[str, Callable[[Line, Options], Iterator[tuple[str, str]]]] = {
    "equation": _equation,
    "branch": _branch,
    "title": _title,
    "fold": _note,
    "note": _note,
    "error": _error,
}
"""How each kind of line is written; inputs are gathered."""
