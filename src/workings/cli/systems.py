"""`workings systems`: the catalogue of the course, and what runs, shows and verifies each of its systems.

The rows are data, in `systems.toml`; the table, one row in full, and docs/systems.md are printed from them. A study says
itself which rows it is about, and verifies them. What a row does not name is not there yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer

from workings.cli.output import say
from workings.errors import WorkingsError

NOT_YET = "not yet"
_FAMILIES = {
    "A": "Attention",
    "B": "Heads and self-attention",
    "C": "The Transformer",
    "D": "Vision Transformer",
    "E": "Recurrent networks",
    "F": "Optimisation",
    "G": "Normalisation",
    "H": "Losses and classifiers",
    "I": "Convolutional networks",
    "J": "Auto-encoders and Bayes",
    "K": "Language",
    "L": "Figures and questions",
}
_HEAD = """# The systems

What `workings` runs, shows and verifies, row by row. An import is written with dots: `workings.nn.attention` is
`from workings.nn import attention`. Every command here is run by the tests, every import is imported, and every test named
exists and can fail; a study is a claim with a control in which it must fail. A command that names `runs/…` follows those of
its row that train, in a new folder; `a.txt` and `b.txt` are texts of your own. The settings are tiny, to try the commands:
leave them out to train well. This page is written by `workings systems --markdown`.
"""


@dataclass(frozen=True)
class System:
    """A row: what runs it (imports or commands), what shows it (a command), what verifies it (studies, tests)."""

    id: str
    name: str
    runs: tuple[str, ...] = ()
    shows: str = ""
    studies: tuple[str, ...] = ()
    """The studies about it, by name."""
    tests: tuple[str, ...] = ()
    exits: int = 0
    """The exit code of what shows it; 2 where it shows a mistake."""

    @property
    def verifies(self) -> tuple[str, ...]:
        """Commands of studies, then tests."""
        return (*(f"workings study {name}" for name in self.studies), *self.tests)

    @property
    def family(self) -> str:
        return self.id[0]


def catalogue() -> dict[str, System]:
    """Every system by its id, in the order of the course.

    >>> catalogue()["A1"].name
    'Scaled dot-product attention, tokens as rows'
    """
    import tomllib

    from workings.studies.index import entries

    about: dict[str, list[str]] = {}
    for entry in entries().values():
        for row in entry.rows:
            about.setdefault(row, []).append(entry.name)
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {id: _system(id, row, about.get(id, [])) for id, row in rows.items()}


def _system(id: str, row: dict[str, Any], studies: list[str]) -> System:
    return System(
        id,
        str(row["name"]),
        tuple(row.get("runs", ())),
        str(row.get("shows", "")).strip(),
        tuple(studies),
        tuple(row.get("verifies", ())),
        int(row.get("exits", 0)),
    )


def systems(
    which: Annotated[list[str] | None, typer.Argument(metavar="ID…", help="Rows in full (A1), or a family (A).")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print docs/systems.md.")] = False,
) -> None:
    """List the systems of the course, and what runs and shows each.

    \b
    Examples:
      workings systems
      workings systems C8
    """
    rows = catalogue()
    if markdown:
        say(page(rows), nl=False)
    elif not which:
        say(_table(list(rows.values())))
    elif [id.upper() for id in which] == [which[0].upper()] and which[0].upper() in _FAMILIES:
        say(_table([row for row in rows.values() if row.family == which[0].upper()]))
    else:
        say("\n\n".join(in_full(_row_of(rows, id)) for id in which))


def _row_of(rows: dict[str, System], id: str) -> System:
    """The row of this id.

    >>> _row_of(catalogue(), "a1").id
    'A1'
    """
    if id.upper() not in rows:
        last = {family: list(members)[-1] for family, members in groupby(rows, key=lambda id: id[0])}
        there = ", ".join(f"{family}1 to {id}" for family, id in last.items())
        raise WorkingsError(f"There is no system {id!r}: there are {there}.")
    return rows[id.upper()]


def _table(rows: list[System]) -> str:
    """A line for each system, shortened; how many there are."""
    cells = [("id", "system", "runs", "shows", "verifies"), *(_short(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]
    counts = [sum(bool(getattr(row, key)) for row in rows) for key in ("runs", "shows", "verifies")]
    end = f"{len(rows)} systems: {counts[0]} run, {counts[1]} are shown, {counts[2]} are verified."
    return "\n".join([lines[0], "─" * sum([*widths, 8]), *lines[1:], "", end, "A row in full: workings systems A1"])


def _short(row: System) -> tuple[str, str, str, str, str]:
    """The cells of a line: the first of several, without what all have in common."""
    runs = [_brief(run) if " " in run else run.removeprefix("workings.") for run in row.runs]
    tests = dict.fromkeys(test.removeprefix("tests/").partition("::")[0] for test in row.tests)
    verifies = _first_of([*row.studies, *tests])
    return row.id, row.name, _first_of(runs), _brief(row.shows) if row.shows else NOT_YET, verifies


def _brief(command: str) -> str:
    """A command without its arguments.

    >>> _brief("workings shapes workings.models:StreetDigits --input 1x1x32x32"), _brief("workings show softmax s=1")
    ('shapes StreetDigits', 'show softmax')
    """
    _, verb, what, *_ = command.split()
    return f"{verb} {what.rpartition(':')[2].removeprefix('runs/').removesuffix('-1')}"


def _first_of(names: list[str]) -> str:
    """
    >>> _first_of(["softmax", "entropy"]), _first_of([])
    ('softmax, …', 'not yet')
    """
    return names[0] + (", …" if len(names) > 1 else "") if names else NOT_YET


def in_full(row: System) -> str:
    """Everything about one system."""
    cells = {"runs": row.runs, "shows": (row.shows,) if row.shows else (), "verifies": row.verifies}
    lines = [f"{row.id}  {row.name}"]
    for key, values in cells.items():
        lines += [f"  {'' if i else key:9} {value}" for i, value in enumerate(values or (NOT_YET,))]
    return "\n".join(lines)


def page(rows: dict[str, System]) -> str:
    """The text of docs/systems.md."""
    parts = [_HEAD]
    for family, members in groupby(rows.values(), key=lambda row: row.family):
        lines = [_in_markdown(row) for row in members]
        head = [f"## {family}. {_FAMILIES[family]}\n", "| | system | runs | shows | verifies |", "|---|---|---|---|---|"]
        parts.append("\n".join([*head, *lines, ""]))
    return "\n".join(parts)


def _in_markdown(row: System) -> str:
    cells = [row.runs, (row.shows,) if row.shows else (), row.verifies]
    return f"| {row.id} | {row.name} | {' | '.join('<br>'.join(f'`{cell}`' for cell in of) or NOT_YET for of in cells)} |"
