"""The report as Markdown. Pictures stand in it as files, if a folder for them is named; otherwise by their titles."""

from __future__ import annotations

from collections.abc import Callable

from workings.show.write.escape import markdown_text
from workings.studies.claim import Claim
from workings.studies.outcome import Outcome
from workings.studies.parts import Part, Table, Text, Worked
from workings.studies.pictures.kinds import Picture
from workings.studies.report.lines import MARKS, cell, control, decided, made, settings


def markdown(outcome: Outcome, file_of: Callable[[Picture], str] | None = None) -> str:
    """The whole report; `file_of` says where a picture is."""
    parts = [
        f"# {markdown_text(outcome.title)}",
        f"`{outcome.name}` {' '.join(outcome.rows)}: **{MARKS[outcome.verdict]} {outcome.verdict}**",
        markdown_text(outcome.about) if outcome.about else "",
        *(_claim(outcome, claim) for claim in outcome.claims),
        *(_part(part, file_of) for part in outcome.parts if not isinstance(part, Claim)),
        f"Parameters: {markdown_text(settings(outcome))}",
        markdown_text(made(outcome)),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _claim(outcome: Outcome, claim: Claim) -> str:
    lines = [claim.evidence, decided(claim), control(outcome, claim)]
    rest = "".join(f"\n  - {markdown_text(line)}" for line in lines if line)
    return f"- **{MARKS[claim.verdict]} {claim.verdict}**: {markdown_text(claim.sentence)}{rest}"


def _part(part: Part, file_of: Callable[[Picture], str] | None) -> str:
    match part:
        case Table():
            return _table(part)
        case Worked(title=title, work=work):
            return f"## {markdown_text(title)}\n\n{work.markdown()}"
        case Text(text=words):
            return markdown_text(words)
        case Claim():
            return ""
    title = markdown_text(part.title)
    return f"![{title}]({file_of(part)})" if file_of else f"Picture: {title}"


def _table(part: Table) -> str:
    def row(cells: list[str]) -> str:
        return "| " + " | ".join(markdown_text(one).replace("|", "\\|") for one in cells) + " |"

    rule = "|" + "---|" * len(part.columns)
    lines = [row([*part.columns]), rule, *(row([cell(value) for value in line]) for line in part.rows)]
    note = f"\n\n{markdown_text(part.note)}" if part.note else ""
    return f"**{markdown_text(part.title)}**\n\n" + "\n".join(lines) + note
