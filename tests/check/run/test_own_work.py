"""What `workings show` prints is read by `workings check`: nothing in it is found wrong, and a changed value is found."""

import random
import re
import shlex
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from workings.check import check
from workings.check.report.report import Report
from workings.cli import app

CATALOGUE = tomllib.loads((Path(__file__).parents[3] / "src/workings/cli/systems.toml").read_text(encoding="utf-8"))
FORMATS = {"--latex": "latex", "--markdown": "markdown"}
NUMBER = re.compile(r"(?<![\w.{^])(?<!axis }-)(?<!axis })[1-9]\d*(?:\.\d+)?(?![\w.])")
"""A printed number that is no index, no power and no part of a name."""
MISSED = 0.12
"""The share of changes that may go unnoticed: softmax(2x) is softmax(x) where all of x is equal."""
STEP = 5
"""Of so many systems the quick test takes one."""


def commands() -> dict[str, list[str]]:
    """For each system of the catalogue that shows something without a trained run: its command."""
    shown = {name: row.get("shows", "") for name, row in CATALOGUE.items()}
    words = {name: shlex.split(line)[1:] for name, line in shown.items() if line.startswith("workings show")}
    kept = {name: [w for w in line if w not in FORMATS and w != "--json"] for name, line in words.items()}
    return {name: line for name, line in kept.items() if not any("runs/" in word for word in line)}


def printed(command: list[str], form: str) -> Report | None:
    """What a command prints, checked; none where it shows a mistake."""
    result = CliRunner().invoke(app, [*command, form])
    return check(result.output, kind=FORMATS[form]) if result.exit_code == 0 else None


def changed(checked: Report, rng: random.Random) -> tuple[str, int] | None:
    """The text with one digit of a decided result changed, and where; none where nothing was decided."""
    text = checked.document.text
    right = [relation for relation in checked.results.relations if relation.outcome == "right"]
    ends = [(text.rfind("=", r.start, r.end), text.rfind("approx", r.start, r.end), r.end) for r in right]
    places = [found for a, b, end in ends for found in NUMBER.finditer(text, max(a, b, 0), end)]
    if not places:
        return None
    found = rng.choice(places)
    digit = str(int(found[0][0]) % 9 + 1)
    return text[: found.start()] + digit + text[found.start() + 1 :], found.start()


def is_found(text: str, place: int, kind: str) -> bool:
    """Whether something is found in the display in which a place stands."""
    display = text.count("\n\n", 0, place)
    return any(text.count("\n\n", 0, finding.start) == display for finding in check(text, kind=kind).findings("note"))


def read_all(names: list[str], luck: int = 0) -> None:
    """Check these systems in both formats; by luck, so many more changes of a sample may go unnoticed."""
    counts: Counter[str] = Counter()
    worst: list[tuple[float, str]] = []
    alarms, missed = [], []
    for name in names:
        for form, kind in FORMATS.items():
            checked = printed(commands()[name], form)
            if checked is None:
                continue
            found = checked.results.counts
            counts.update(claims=found.claims, decided=found.decided, unread=found.unread, documents=1)
            worst.append((found.decided / max(1, found.claims), f"{name} {form}: {found.decided} of {found.claims}"))
            alarms += [f"{name} {form}:{checked.document.place(f.start)} {f.why}" for f in checked.findings("likely")]
            attempt = changed(checked, random.Random(f"{name} {form}"))
            if attempt is not None:
                counts["changed"] += 1
                if not is_found(*attempt, kind):
                    missed.append(f"{name} {form}:{checked.document.place(attempt[1])}")
    print(dict(counts), *(line for _, line in sorted(worst)[:10]), f"not found: {missed}", sep="\n")
    assert alarms == []
    assert counts["unread"] == 0
    assert counts["decided"] >= 0.9 * counts["claims"] > 0
    assert len(missed) <= MISSED * counts["changed"] + luck


def test_a_sample_of_the_catalogue_passes():
    read_all(list(commands())[::STEP], luck=2)


@pytest.mark.slow
def test_the_whole_catalogue_passes():
    read_all(list(commands()))


def test_names_inside_an_opened_call_are_its_own():
    inside = "> **f**\n>\n>> $$\n>> x = 3\n>> $$\n>>\n>> **g**\n>>\n>> > $$x = 7$$\n>>\n>> $$\n>> y = x + 1 = {}\n>> $$\n\n"
    text = "$$x = 5$$\n\n" + inside + "$$z = x + 1 = {}$$\n"
    right = check(text.format(4, 6), kind="markdown")
    assert right.findings("note") == [] and right.results.counts.decided == right.results.counts.claims == 2
    assert [found.says for found in check(text.format(6, 4), kind="markdown").findings("note")] == ["x + 1 = 6", "x + 1 = 4"]
    assert [found.says for found in check(text.format(8, 6), kind="markdown").findings("note")] == ["x + 1 = 8"]


@pytest.mark.parametrize(
    "text",
    [
        r"$$Q = [1.414, 1.414]$$ $$S = Q \cdot Q = 4$$",
        r"$$v = \frac{0.3549 + 4.355}{2} = 2.355$$ $$w = 2.355 \cdot 3 = 7.066$$",
        r"$$K = \begin{bmatrix} 1 & 0 \\ 0 & 1 \\ 0.6 & 0.8 \end{bmatrix}$$",
    ],
)
def test_no_note_where_the_printed_digits_leave_it_open(text):
    assert check(text, kind="markdown").findings("note") == []
