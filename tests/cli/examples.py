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
from importlib.abc import MetaPathFinder
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path


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
    from workings.cli.train_help import manual, overview
    from workings.train.recipes import RECIPES

    waiting, found = [typer.main.get_command(app)], of_help(overview())
    while waiting:
        command = waiting.pop()
        waiting += getattr(command, "commands", {}).values()
        found += of_help((command.help or "").replace("\b", ""))
    return found + [example for recipe in RECIPES.values() for example in of_help(manual(recipe))]


def of_documents() -> list[str]:
    """The `workings` commands in the blocks of README and docs that are no Python."""
    from tools.docs_blocks import DOCUMENTS, blocks

    texts = [path.read_text(encoding="utf-8") for path in DOCUMENTS if path.name != "log.md"]
    lines = [
        line for text in texts for block in blocks(text) if block.language != "python" for line in block.text.splitlines()
    ]
    commands = [line.removeprefix("$ ").partition("   ")[0].strip() for line in lines]
    return [command for command in commands if re.match(r"(cat \S+ \| )?workings [a-z]", command)]


def brought_by(package: str) -> set[str]:
    """A distribution with all that it requires, extras left out."""
    found: set[str] = set()
    waiting = [package]
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        found.add(name)
        with contextlib.suppress(PackageNotFoundError):
            needed = [line for line in requires(name) or [] if "extra ==" not in line]
            waiting += [match[0] for line in needed if (match := re.match(r"[\w.-]+", line))]
    return found


class OnlyBrought(MetaPathFinder):
    """Refuses to import a package that `pip install .` does not bring."""

    def __init__(self) -> None:
        here = brought_by("workings")
        homes = packages_distributions()
        self.refused = {
            module
            for module, owners in homes.items()
            if not {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners} & here
        }

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] in self.refused:
            raise ModuleNotFoundError(f"No module named {name!r} in an environment made by `make demo`", name=name)


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
    sys.meta_path.insert(0, OnlyBrought())
    print(json.dumps([run(command) for command in json.loads(sys.argv[1])]))
