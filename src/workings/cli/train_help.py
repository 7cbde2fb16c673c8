"""The help of `workings train`: the recipes, and every setting of one."""

from __future__ import annotations

import dataclasses
from typing import Any

from workings.cli.output import option
from workings.train.recipe import Recipe
from workings.train.recipes import RECIPES
from workings.train.settings import Training


def fields(settings: type[Training]) -> list[tuple[dataclasses.Field[Any], Any]]:
    """The fields with their types, the recipe's own before those of every recipe."""
    types = settings.types()
    common = {known.name for known in dataclasses.fields(Training)}
    known = sorted(dataclasses.fields(settings), key=lambda one: one.name in common)
    return [(one, types[one.name]) for one in known]


def overview() -> str:
    """The recipes, each with its summary."""
    column = max(map(len, RECIPES))
    lines = [f"  {name:{column}}  {recipe.summary}" for name, recipe in RECIPES.items()]
    return _USAGE.format(recipes="\n".join(lines))


_USAGE = """Usage: workings train RECIPE [--setting value …]
       workings train --resume RUN

Train one of the course's models, on its data or on yours.

Recipes (`workings train RECIPE --help` shows its settings):
{recipes}

Options:
  --out FOLDER   folder of the run (default: runs/RECIPE-1, runs/RECIPE-2 …); one with the same settings continues
  --resume RUN   continue a stopped run with its own settings

Example: workings train digits"""


def manual(found: Recipe) -> str:
    """Every setting of a recipe: its default, what it may be, what it means."""
    common = {known.name for known in dataclasses.fields(Training)}
    lines = [(known, f"{option(known.name)} {_value_of(known, kind)}".rstrip()) for known, kind in fields(found.Settings)]
    column = max(len(flag) for _, flag in lines)
    own = [_entry(flag, _meaning(known), column) for known, flag in lines if known.name not in common]
    rest = [_entry(flag, _meaning(known), column) for known, flag in lines if known.name in common]
    place = _entry(
        "--out FOLDER", f"folder of the run (runs/{found.name}-1, …); one with the same settings continues", column
    )
    parts = [f"Usage: workings train {found.name} [--setting value …]", found.summary]
    parts += ["\n".join([f"Settings of {found.name}:", *own])] if own else []
    parts += ["\n".join(["Settings of every recipe:", *rest]), f"The run:\n{place}"]
    return "\n\n".join([*parts, f"Example: {found.example}"])


def _entry(flag: str, text: str, column: int) -> str:
    """A setting and its meaning, in lines that a terminal shows whole."""
    from shutil import get_terminal_size
    from textwrap import wrap

    width = max(40, min(120, get_terminal_size((100, 24)).columns) - column - 4)
    return f"  {flag:{column}}  " + f"\n{' ' * (column + 4)}".join(wrap(text, width))


def _value_of(known: dataclasses.Field[Any], kind: Any) -> str:
    if kind is bool:
        return ""
    if known.metadata.get("among"):
        return "|".join(known.metadata["among"])
    return {int: "N", float: "X"}.get(kind, "TEXT")


def _meaning(known: dataclasses.Field[Any]) -> str:
    default = known.default
    shown = f"{default:g}" if isinstance(default, float) else str(default)
    if isinstance(default, bool):
        shown = "on" if default else "off"
    text = known.metadata.get("help", "")
    return f"{text} ({shown})" if shown not in ("", "None") else text
