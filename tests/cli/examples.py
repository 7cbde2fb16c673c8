"""The commands that help texts, README and docs show, and a process that runs some of them.

    python tests/cli/examples.py '["workings demo", "workings exact 1/3"]'

runs each with only the packages that `pip install .` brings (others cannot be imported), and prints as JSON the exit code
and the messages of each. One process for all: importing PyTorch takes longer than most of them.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import sys
import tomllib
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path
from typing import Any


def of_help(text: str) -> list[str]:
    """The commands behind `Example:`, or under `Examples:`.

    >>> of_help("Words.\\n\\nExamples:\\n  workings a\\n  cat b | workings c\\n\\nMore.\\nExample: workings d")
    ['workings a', 'cat b | workings c', 'workings d']
    """
    found = []
    for one, several in re.findall(r"^\s*(?:Example: (.+)|Examples:\s*((?:\n[ ]*\S.*)+))", text, re.MULTILINE):
        found += [one.strip()] if one else [line.strip() for line in several.strip().splitlines()]
    return found


def of_help_texts() -> list[str]:
    """The examples of every verb, and of every recipe."""
    import typer

    from workings.cli import app
    from workings.cli.study_help import manual as study_manual
    from workings.cli.train_help import manual, overview
    from workings.train.recipes import RECIPES

    waiting, found = [typer.main.get_command(app)], of_help(overview()) + of_help(study_manual())
    while waiting:
        command = waiting.pop()
        waiting += getattr(command, "commands", {}).values()
        found += of_help((command.help or "").replace("\b", ""))
    return found + [example for recipe in RECIPES.values() for example in of_help(manual(recipe))]


def of_documents() -> list[str]:
    """The `workings` commands in the blocks of README and docs that are no Python."""
    from tools.docs_blocks import DOCUMENTS, blocks

    texts = [path.read_text(encoding="utf-8") for path in DOCUMENTS if path.is_file() and path.name != "log.md"]
    lines = [
        line for text in texts for block in blocks(text) if block.language != "python" for line in block.text.splitlines()
    ]
    commands = [line.removeprefix("$ ").partition("   ")[0].strip() for line in lines]
    return [command for command in commands if re.match(r"(cat \S+ \| )?workings [a-z]", command)]


def normalised(distribution: str) -> str:
    """The one spelling of a distribution's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def brought() -> set[str]:
    """The distributions that `pip install .` brings: the dependencies in pyproject.toml with all that they require."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found: set[str] = {"workings"}
    waiting = list(project["dependencies"])
    while waiting:
        requirement = waiting.pop()
        name = normalised(re.match(r"[\w.-]+", requirement)[0])
        if name not in found and "extra ==" not in requirement:
            found.add(name)
            with contextlib.suppress(PackageNotFoundError):  # of another system or Python
                waiting += requires(name) or []
    return found


def not_brought() -> set[str]:
    """The modules of this environment that `pip install .` does not bring."""
    here = brought()
    return {module for module, owners in packages_distributions().items() if here.isdisjoint(map(normalised, owners))}


class Without:
    """A finder that does not find some modules, as if they were not installed."""

    def __init__(self, finder: Any, missing: set[str]) -> None:
        self.finder, self.missing = finder, missing

    def __getattr__(self, name: str) -> Any:
        return getattr(self.finder, name)

    def find_spec(self, name: str, *rest: Any) -> ModuleSpec | None:
        return None if name.partition(".")[0] in self.missing else self.finder.find_spec(name, *rest)


def run(command: str) -> tuple[int, str]:
    """The exit code of a command, and what it printed to standard error."""
    from workings.cli import main

    source, pipe, last = command.rpartition("| ")
    content = Path(shlex.split(source)[1]).read_bytes() if pipe else b""
    sys.argv, sys.stdin = shlex.split(last), io.TextIOWrapper(io.BytesIO(content))
    errors = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0), errors.getvalue()
        except Exception as error:
            return 1, repr(error)
    return 0, errors.getvalue()


if __name__ == "__main__":
    missing = not_brought()
    sys.meta_path[:] = [Without(finder, missing) for finder in sys.meta_path]
    print(json.dumps([run(command) for command in json.loads(sys.argv[1])]))
