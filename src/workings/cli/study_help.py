"""The help of `workings study`: its options, the parameters of one study with their ranges, and the list of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workings.cli.output import option
from workings.errors import WorkingsError

if TYPE_CHECKING:
    from workings.studies.definition import Study

FLAGS = {
    "list": "list the studies",
    "all": "run all studies",
    "thorough": "tight bounds: larger defaults, more time",
    "no_control": "leave out the negative controls",
    "fresh": "run again what was run before",
    "markdown": "print Markdown",
    "latex": "print LaTeX",
    "standalone": "print LaTeX as a document of its own",
    "json": "print JSON",
    "help": "show this message",
}
VALUES = {
    "html": ("FILE", "write a self-contained page; with --all, a folder of pages"),
    "pictures": ("FOLDER", "write the pictures as SVG and PNG"),
    "row": ("ID", "with --list or --all: only the studies about a row of the catalogue, such as A16"),
    "new": ("NAME", "write NAME.py, the beginning of a study of your own"),
}


def listed(row: str | None) -> str:
    """A line for each study, or for those about a row of the catalogue."""
    from workings.studies.index import about_row, entries

    chosen = about_row(row) if row else [*entries().values()]
    if not chosen:
        raise WorkingsError(f"No study is about {row}. `workings study --list` lists them all.")
    widths = max(len(entry.name) for entry in chosen), max(len(" ".join(entry.rows)) for entry in chosen)
    lines = [
        f"{entry.name:{widths[0]}}  {' '.join(entry.rows):{widths[1]}}  {entry.title}{'  (trains)' if entry.trains else ''}"
        for entry in chosen
    ]
    return "\n".join([*lines, "", f"{len(chosen)} studies. Run one: workings study {chosen[0].name}"])


def manual(made: Study | None = None) -> str:
    """The help of the command, or of one study: its parameters with their ranges, and how it is broken."""
    rows = [(f"{option(name)} {word}", help) for name, (word, help) in VALUES.items()]
    rows += [(option(name), help) for name, help in FLAGS.items()]
    if made is None:
        head = [
            "Usage: workings study [STUDY] [OPTIONS]",
            "",
            "Run a claim of the course, or one of your own (FILE.py:NAME), as an experiment that can fail.",
            "Each study is run whole, and broken on purpose: broken, its claims must fail.",
            "",
            "Examples:",
            "  workings study --list",
            "  workings study root-d",
            "  workings study key-noise --sigma 0.2 --html key-noise.html",
            "  workings study --all --html book",
            "",
            "Options:",
        ]
        return "\n".join([*head, *_rows(rows)])
    own = [(_flag(one), _meaning(one)) for one in made.parameters.values()]
    head = [f"Usage: workings study {made.name} [OPTIONS]", "", made.title + "."]
    about = ["", made.about] if made.about else []
    example = f"  workings study {made.name} --html {made.name}.html"
    return "\n".join([*head, *about, "", "Example:", example, "", "Parameters:", *_rows(own), "", "Options:", *_rows(rows)])


def _flag(parameter: Any) -> str:
    words = {int: " N", float: " X", str: " TEXT", bool: ""}
    return option(parameter.name) + words[parameter.kind]


def _meaning(parameter: Any) -> str:
    limits = str(parameter.range or "")
    choices = " | ".join(repr(choice) for choice in parameter.choices if choice)
    facts = "; ".join(filter(None, [f"default: {parameter.default}" if parameter.default != "" else "", limits, choices]))
    return f"{parameter.help}  [{facts}]".strip() if facts else parameter.help


def _rows(rows: Sequence[tuple[str, str]]) -> list[str]:
    wide = min(26, max(len(name) for name, _ in rows))
    return [f"  {name:{wide}}  {meaning}".rstrip() for name, meaning in rows]
