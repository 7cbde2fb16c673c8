"""The book: a page for each study, and an index of all with their verdicts and dates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from workings.atomic import write_text
from workings.show.write.markup import element, escaped
from workings.studies.claim import Verdict
from workings.studies.outcome import Outcome
from workings.studies.report.html import badge, html, page, table
from workings.studies.report.lines import MARKS

_BACK = '<p class="kicker"><a href="index.html">All studies</a></p>'


def write_book(folder: Path, outcomes: Sequence[Outcome]) -> Path:
    """Write all pages into a folder; the index's path."""
    folder.mkdir(parents=True, exist_ok=True)
    for outcome in outcomes:
        write_study(folder, outcome)
    path = folder / "index.html"
    write_text(path, _index(outcomes))
    return path


def write_study(folder: Path, outcome: Outcome) -> None:
    """The page of one study in the book."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / f"{outcome.name}.html", html(outcome, _BACK))


def _index(outcomes: Sequence[Outcome]) -> str:
    counts = Counter(claim.verdict for outcome in outcomes for claim in outcome.claims)
    said = "".join(element("span", f"{MARKS[v]} {counts[v]} {v}", class_=f"verdict {v}") for v in Verdict if counts[v])
    lead = f"{len(outcomes)} studies, {sum(counts.values())} claims, each with a negative control in which it must fail."
    rows = [_row(outcome) for outcome in sorted(outcomes, key=_place)]
    listed = table("Studies", ["rows", "study", "verdict", "claims", "date", "seconds"], rows)
    head = element("h1", "The studies") + element("p", escaped(lead), class_="about") + element("div", said, class_="counts")
    return page("The studies", head + listed)


def _place(outcome: Outcome) -> tuple[str, int, str]:
    """In the order of the course."""
    row = outcome.rows[0] if outcome.rows else "Z0"
    return row[0], int(row[1:] or 0), outcome.name


def _row(outcome: Outcome) -> list[str]:
    link = element("a", escaped(outcome.title), href=f"{outcome.name}.html")
    counts = Counter(claim.verdict for claim in outcome.claims)
    kinds = ", ".join(f"{counts[v]} {v}" for v in Verdict if counts[v])
    cells = [escaped(" ".join(outcome.rows)), link, badge(outcome.verdict), escaped(kinds), escaped(outcome.date[:10])]
    return [*(element("td", cell) for cell in cells), element("td", f"{outcome.seconds:.1f}", class_="number")]
