"""Help: of every command and every recipe, quick, with an example; what is read from the source is what is loaded."""

import dataclasses
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tests.train import tiny
from workings.cli import app
from workings.cli.train_source import described, literal
from workings.errors import WorkingsError
from workings.train.recipe import RECIPES, recipe
from workings.train.settings import types_of

COMMANDS = ["demo", "eval", "exact", "generate", "neighbors", "shapes", "show", "systems", "train"]
DATA = [["data"], ["data", "list"], ["data", "get"], ["data", "where"], ["data", "remove"]]


@pytest.mark.parametrize("words", [[], *DATA, *([name] for name in COMMANDS), *(["train", name] for name in RECIPES)])
def test_every_help_has_an_example(words):
    done = CliRunner().invoke(app, [*words, "--help"], catch_exceptions=False)
    assert done.exit_code == 0
    assert f"workings {' '.join(words)}".strip() in done.output[done.output.index("Example") :]


@pytest.mark.parametrize("name", RECIPES)
def test_the_source_says_what_the_recipe_is(name):
    read, loaded = described(name), recipe(name)
    assert read.Settings is not loaded.Settings
    for key in ("name", "summary", "example"):
        assert getattr(read, key) == getattr(loaded, key)
    assert types_of(read.Settings) == types_of(loaded.Settings)
    ours, theirs = dataclasses.fields(read.Settings), dataclasses.fields(loaded.Settings)
    assert [(f.name, f.default, f.metadata) for f in ours] == [(f.name, f.default, f.metadata) for f in theirs]


def test_a_recipe_that_writes_its_settings_in_another_way_is_loaded(monkeypatch):
    class Counted(tiny.Tiny):
        Settings = dataclasses.make_dataclass("Counted", [("more", int, 3)], bases=(tiny.Settings,), frozen=True)

    monkeypatch.setattr(tiny, "Counted", Counted, raising=False)
    monkeypatch.setitem(RECIPES, "counted", "tests.train.tiny:Counted")
    assert described("counted").Settings is Counted.Settings


def test_only_what_is_written_out_is_read():
    import ast

    with pytest.raises(ValueError, match="malformed"):
        literal(ast.parse("print(1)", mode="eval").body, "workings.errors")


@pytest.mark.parametrize("words", [["--help"], ["eval", "--help"], ["data", "--help"], ["eval"], ["nonsense"]])
def test_the_program_has_one_name(words):
    done = subprocess.run([sys.executable, "-m", "workings", *words], capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert said.startswith("Usage: workings ") and "python -m" not in said


def test_an_unknown_recipe_has_no_help():
    with pytest.raises(WorkingsError) as error:
        CliRunner().invoke(app, ["train", "digit", "--help"], catch_exceptions=False)
    assert str(error.value) == "No recipe is called 'digit'; did you mean digits?"


@pytest.mark.parametrize("name", ["digits", "siglip", "seq2seq", "vae"])
def test_help_of_a_recipe_needs_no_pytorch(name):
    code = f"import sys; from workings.cli import app; app(['train', {name!r}, '--help'], standalone_mode=False);"
    code += "print({'torch', 'numpy'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\nset()\n")
