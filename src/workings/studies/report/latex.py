r"""The report in LaTeX: a section with its claims as a list, tables as `tabular`, worked cases as displays.

Curves are drawn by pgfplots, so that a homework can hold them as they are; other pictures are named, and `--html` has them.
"""

from __future__ import annotations

from math import isfinite

from workings.show.write.escape import latex_text
from workings.studies.claim import Claim
from workings.studies.outcome import Outcome
from workings.studies.parts import Part, Table, Text, Worked
from workings.studies.pictures.kinds import Curves, Line
from workings.studies.report.lines import MARKS, cell, control, decided, made, settings

_PACKAGES = r"\usepackage{amsmath, amssymb, pgfplots}"
_PREAMBLE = rf"""\documentclass{{article}}
\usepackage[a4paper, margin=2cm]{{geometry}}
{_PACKAGES}
\pgfplotsset{{compat=1.16}}
\setlength{{\parindent}}{{0pt}}
\allowdisplaybreaks
"""
_SIGNS = {"✓": r"$\checkmark$", "✗": r"$\times$", "?": "?"}


def latex(outcome: Outcome) -> str:
    """The report as a fragment; its first line says which packages it needs."""
    return f"% needs {_PACKAGES}\n\n{_body(outcome)}"


def document(outcome: Outcome) -> str:
    """The report as a document of its own."""
    return f"{_PREAMBLE}\\begin{{document}}\n\n{_body(outcome)}\n\\end{{document}}\n"


def _body(outcome: Outcome) -> str:
    sign = _SIGNS[MARKS[outcome.verdict]]
    parts = [
        rf"\section*{{{latex_text(outcome.title)}}}",
        rf"\texttt{{{latex_text(outcome.name)}}} {latex_text(' '.join(outcome.rows))}: {sign} \textbf{{{outcome.verdict}}}",
        latex_text(outcome.about) if outcome.about else "",
        r"\begin{itemize}" + "\n" + "\n".join(_claim(outcome, claim) for claim in outcome.claims) + "\n" + r"\end{itemize}",
        *(_part(part) for part in outcome.parts if not isinstance(part, Claim)),
        latex_text(f"Parameters: {settings(outcome)}. {made(outcome)}"),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _claim(outcome: Outcome, claim: Claim) -> str:
    lines = [claim.evidence, decided(claim), control(outcome, claim)]
    rest = r" \\ ".join(latex_text(line) for line in lines if line)
    sign = _SIGNS[MARKS[claim.verdict]]
    return rf"\item {sign} \textbf{{{claim.verdict}}}: {latex_text(claim.sentence)} \\ {rest}"


def _part(part: Part) -> str:
    match part:
        case Table():
            return _table(part)
        case Worked(title=title, work=work):
            shown = work.latex().partition("\n")[2].strip()
            return rf"\paragraph{{{latex_text(title)}}}" + f"\n\n{shown}"
        case Text(text=words):
            return latex_text(words)
        case Curves():
            return _plot(part)
        case Claim():
            return ""
    return rf"\emph{{Picture: {latex_text(part.title)}}}"


def _table(part: Table) -> str:
    right = [all(not isinstance(row[i], str) for row in part.rows) for i in range(len(part.columns))]
    rows = [r" & ".join(latex_text(cell(value)) for value in row) + r" \\" for row in part.rows]
    head = " & ".join(latex_text(name) for name in part.columns) + r" \\ \hline"
    spec = "".join("r" if one else "l" for one in right)
    body = "\n".join([rf"\begin{{tabular}}{{{spec}}}", head, *rows, r"\end{tabular}"])
    note = f"\n\n{latex_text(part.note)}" if part.note else ""
    return rf"\textbf{{{latex_text(part.title)}}}" + "\n\n" + body + note


def _plot(part: Curves) -> str:
    """The lines as pgfplots draws them."""
    kind = {("log", "log"): "loglogaxis", ("log", "linear"): "semilogxaxis", ("linear", "log"): "semilogyaxis"}
    axis = kind.get((part.xscale, part.yscale), "axis")
    names = {"title": part.title, "xlabel": part.xlabel, "ylabel": part.ylabel}
    options = ", ".join(f"{key}={{{latex_text(value)}}}" for key, value in names.items() if value)
    drawn = "\n".join(_line(part, line) for line in part.lines)
    return (
        "\\begin{tikzpicture}\n"
        f"\\begin{{{axis}}}[width=0.8\\linewidth, height=6cm, {options}, legend pos=outer north east]\n"
        f"{drawn}\n\\end{{{axis}}}\n\\end{{tikzpicture}}"
    )


def _line(part: Curves, line: Line) -> str:
    points = " ".join(f"({x:.6g},{y:.6g})" for x, y in zip(part.x, line.y, strict=True) if isfinite(x) and isfinite(y))
    style = "dashed, mark=none" if line.dashed else "only marks" if line.points else ""
    return rf"\addplot+[{style}] coordinates {{{points}}}; \addlegendentry{{{latex_text(line.name)}}}"
