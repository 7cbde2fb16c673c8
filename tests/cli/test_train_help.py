"""Help: of every command and every recipe, quick, with an example."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from workings.cli import app
from workings.errors import WorkingsError
from workings.train.recipes import KINDS

COMMANDS = ["demo", "eval", "exact", "generate", "neighbors", "shapes", "show", "systems", "train"]
DATA = [["data"], ["data", "list"], ["data", "get"], ["data", "where"], ["data", "remove"]]


@pytest.mark.parametrize("words", [[], *DATA, *([name] for name in COMMANDS), *(["train", kind.name] for kind in KINDS)])
def test_every_help_has_an_example(words):
    done = CliRunner().invoke(app, [*words, "--help"], catch_exceptions=False)
    assert done.exit_code == 0
    assert f"workings {' '.join(words)}".strip() in done.output[done.output.index("Example") :]


@pytest.mark.parametrize("words", [["--help"], ["eval", "--help"], ["data", "--help"]])
def test_the_program_has_one_name(words):
    done = subprocess.run([sys.executable, "-m", "workings", *words], capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert said.startswith("Usage: workings ") and "python -m" not in said


def test_an_unknown_recipe_has_no_help():
    with pytest.raises(WorkingsError) as error:
        CliRunner().invoke(app, ["train", "digit", "--help"], catch_exceptions=False)
    assert str(error.value) == "No recipe is called 'digit'. Did you mean digits?"


def test_help_of_a_recipe_needs_no_pytorch():
    code = f"""
import sys
from workings.cli import app
for name in {[kind.name for kind in KINDS]}:
    app(["train", name, "--help"], standalone_mode=False)
    print(name, "needs", {{"torch", "numpy"}} & {{*sys.modules}})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [line for line in done.stdout.splitlines() if " needs " in line] == [f"{kind.name} needs set()" for kind in KINDS]
