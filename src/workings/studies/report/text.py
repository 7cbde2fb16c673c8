"""The report for a terminal.

key-noise  A16  ✓ holds
Noise on one key moves the mean of its weight

  ✓ holds  The mean of the weight moves by …
           mean change 0.00547, interval 0.0042 to 0.0067 …
           test, α = 0.0001; second-order expansion
           broken (first order only), it fails, as it must
"""

from __future__ import annotations

from collections.abc import Iterator

from workings.show.write.block import indented, width, wrapped
from workings.studies.claim import Claim, Verdict
from workings.studies.outcome import Outcome
from workings.studies.parts import Part, Table, Text, Worked
from workings.studies.pictures.kinds import Curves
from workings.studies.report.lines import MARKS, cell, control, decided, made, settings, sparkline

_COLOURS = {Verdict.HOLDS: "\x1b[32m", Verdict.FAILS: "\x1b[31m", Verdict.UNDECIDED: "\x1b[33m"}
_END = "\x1b[0m"
_MARGIN = 12


def text(outcome: Outcome, columns: int = 100, colour: bool = False) -> str:
    """The whole report."""
    head = "  ".join(filter(None, [outcome.name, " ".join(outcome.rows), _verdict(outcome.verdict, colour)]))
    claims = "\n\n".join(_claim(outcome, claim, columns, colour) for claim in outcome.claims)
    others = [block for part in outcome.parts if not isinstance(part, Claim) for block in _part(part, columns)]
    broken = f"broken on purpose: {outcome.settings['broken']}" if outcome.settings.get("broken") else ""
    first = "\n".join(filter(None, [head, wrapped(outcome.title, columns), broken]))
    last = "\n".join(wrapped(line, columns) for line in (settings(outcome), made(outcome)))
    return "\n\n".join(filter(None, [first, claims, *others, last]))


def _verdict(verdict: Verdict, colour: bool) -> str:
    words = f"{MARKS[verdict]} {verdict}"
    return f"{_COLOURS[verdict]}{words}{_END}" if colour else words


def _claim(outcome: Outcome, claim: Claim, columns: int, colour: bool) -> str:
    """A claim with its evidence, how it was decided, and its control."""
    mark = _verdict(claim.verdict, colour) + " " * (_MARGIN - len(claim.verdict) - 2)
    lines = [claim.sentence, claim.evidence, decided(claim), control(outcome, claim)]
    block = "\n".join(wrapped(line, columns - _MARGIN - 2) for line in lines if line)
    return f"  {mark}{indented(block, _MARGIN + 2).lstrip()}"


def _part(part: Part, columns: int) -> Iterator[str]:
    match part:
        case Table():
            yield _table(part)
        case Worked(title=title, work=work):
            yield f"{title}\n{indented(work.text(width=columns - 2), 2)}"
        case Text(text=words):
            yield wrapped(words, columns)
        case Curves(title=title, lines=lines):
            spread = max((len(line.name) for line in lines), default=0)
            shown = [f"  {line.name:{spread}}  {sparkline(line.y)}" for line in lines]
            yield "\n".join([f"{title} (picture)", *shown])
        case _:
            yield f"{part.title} (picture)"  # type: ignore[union-attr]


def _table(part: Table) -> str:
    """Columns set apart; numbers to the right."""
    rows = [[cell(value) for value in row] for row in part.rows]
    widths = [max(width(line[i]) for line in [[*part.columns], *rows]) for i in range(len(part.columns))]
    right = [all(not isinstance(row[i], str) for row in part.rows) for i in range(len(part.columns))]

    def line(cells: list[str]) -> str:
        padded = [
            " " * (w - width(c)) + c if r else c + " " * (w - width(c)) for c, w, r in zip(cells, widths, right, strict=True)
        ]
        return "  " + "  ".join(padded).rstrip()

    lines = [part.title, line([*part.columns]), "  " + "─" * (sum(widths) + 2 * len(widths) - 2), *map(line, rows)]
    return "\n".join([*lines, part.note] if part.note else lines)
