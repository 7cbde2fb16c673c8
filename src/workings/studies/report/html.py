"""The report as one self-contained page: claims with their intervals, pictures for light and dark grounds, worked cases."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from itertools import groupby

from workings.page.document import asset, cell, document
from workings.show.options import Options
from workings.show.printers.html import solution
from workings.show.write.markup import element, escaped
from workings.studies.claim import Claim, Verdict
from workings.studies.outcome import Outcome
from workings.studies.parts import Cell, Part, Table, Text, Worked
from workings.studies.pictures.draw import svg
from workings.studies.pictures.kinds import PICTURES, Picture
from workings.studies.pictures.style import DARK, LIGHT
from workings.studies.report import lines
from workings.studies.report.interval import interval


def html(outcome: Outcome, before: str = "") -> str:
    """The page; `before` is markup that stands above it, such as the way back to the book."""
    return page(outcome.title, before + _body(outcome))


def in_cell(outcome: Outcome) -> str:
    """The same for the output of a notebook's cell."""
    return cell(element("div", _body(outcome), class_="study"), _style())


def page(title: str, body: str) -> str:
    """A page of the studies."""
    return document(title, element("main", body, class_="study"), _style(), "")


def _style() -> str:
    return asset("workings.show", "page.css") + asset("workings.studies", "study.css")


def badge(verdict: Verdict) -> str:
    """A verdict with its sign and colour."""
    return element("span", f"{lines.MARKS[verdict]} {verdict}", class_=f"verdict {verdict}")


def _body(outcome: Outcome) -> str:
    rows = f"{' '.join(outcome.rows)} · " if outcome.rows else ""
    kicker = element("p", escaped(f"{rows}{outcome.name}"), class_="kicker")
    about = element("p", escaped(outcome.about), class_="about") if outcome.about else ""
    head = element("header", element("div", kicker + element("h1", escaped(outcome.title)) + about) + badge(outcome.verdict))
    broken = outcome.settings.get("broken")
    warning = element("p", escaped(f"Broken on purpose: {broken}. Its claims must fail."), class_="broken") if broken else ""
    claims = element("ul", "".join(_claim(outcome, claim) for claim in outcome.claims), class_="claims")
    others = [part for part in outcome.parts if not isinstance(part, Claim)]
    shown = "".join(_grouped(others))
    return head + warning + claims + shown + _facts(outcome)


def _grouped(parts: Sequence[Part]) -> Iterator[str]:
    """The parts in their order; pictures that follow each other stand side by side."""
    for drawn, members in groupby(parts, key=lambda part: isinstance(part, PICTURES)):
        if drawn:
            yield element("div", "".join(_picture(one) for one in members if isinstance(one, PICTURES)), class_="pictures")
        else:
            yield from map(_part, members)


def _claim(outcome: Outcome, claim: Claim) -> str:
    control = lines.control(outcome, claim)
    fine = "good" if outcome.failing_controls(claim) else "none"
    said = [
        element("p", escaped(claim.sentence), class_="sentence"),
        element("p", escaped(claim.evidence), class_="evidence"),
        interval(claim),
        element("p", escaped(lines.decided(claim)), class_="how"),
        element("p", escaped(control[:1].upper() + control[1:]), class_=f"control {fine}") if control else "",
    ]
    return element("li", element("div", badge(claim.verdict)) + element("div", "".join(said)))


def _picture(picture: Picture) -> str:
    """The picture twice: the reader's ground decides which is seen."""
    light, dark = (_data(svg(picture, theme)) for theme in (LIGHT, DARK))
    image = f'<img src="{light}" alt="{escaped(picture.title)}">'
    both = f'<picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">{image}</picture>'
    note = element("figcaption", escaped(picture.note)) if picture.note else ""
    return element("figure", both + note)


def _data(text: str) -> str:
    return f"data:image/svg+xml;base64,{b64encode(text.encode()).decode()}"


def _part(part: Part) -> str:
    match part:
        case Table():
            return table(part.title, part.columns, [[_td(value) for value in row] for row in part.rows], part.note)
        case Worked(title=title, work=work):
            inner = solution(work, Options(), title, alone=False)
            return element("details", element("summary", escaped(title)) + inner, open="")
        case Text(text=words):
            return element("p", escaped(words), class_="about")
    return ""


def _td(value: Cell) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return element("td", escaped(lines.cell(value)), **({"class_": "number"} if number else {}))


def table(title: str, columns: Sequence[str], rows: list[list[str]], note: str = "") -> str:
    """A table whose cells are markup already; on a phone it scrolls by itself."""
    is_number = [all("number" in row[i][:20] for row in rows) for i in range(len(columns))]
    head = "".join(
        element("th", escaped(name), **({"class_": "number"} if number else {}))
        for name, number in zip(columns, is_number, strict=True)
    )
    body = "".join(element("tr", "".join(row)) for row in rows)
    whole = element("table", element("thead", element("tr", head)) + element("tbody", body))
    below = element("p", escaped(note), class_="note") if note else ""
    return element("h2", escaped(title)) + element("div", whole, class_="scroll", tabindex="0") + below


def _facts(outcome: Outcome) -> str:
    shown = {name: value for name, value in outcome.settings.items() if name != "broken" or value}
    pairs = "".join(
        element("div", element("dt", escaped(name)) + element("dd", escaped(lines.cell(value))))
        for name, value in shown.items()
    )
    made = element("p", escaped(lines.made(outcome)), class_="made")
    return element("h2", "Parameters") + element("dl", pairs, class_="parameters") + made
