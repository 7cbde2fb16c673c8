"""What a notebook gets of a report: text, HTML, and its findings as a LaTeX list."""

from __future__ import annotations

from workings.check.document.report_data import ReportData
from workings.check.report.html import in_cell
from workings.check.report.text import line_text
from workings.show.write.escape import latex_text


def of_report(result: ReportData, text: str) -> dict[str, str]:
    return {"text/plain": text, "text/html": in_cell(result), "text/latex": _latex(result)}


def _latex(result: ReportData) -> str:
    """The findings with what they say; no formula of the document, which may be no LaTeX at all, is put in as it is."""
    found = [
        rf"\item {latex_text(line_text(result, finding))}, {finding.level}: \texttt{{{latex_text(finding.says)}}}. "
        f"{latex_text(finding.why)}"
        for finding in result.findings()
    ]
    closing = latex_text(str(result.coverage))
    return "\n".join([r"\begin{itemize}", *found, r"\end{itemize}", closing] if found else [closing])
