"""`workings train`: help from the settings, options that are checked, folders, going on."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tests.cli import command
from tests.train import tiny
from workings.cli import app
from workings.errors import WorkingsError
from workings.train import Run
from workings.train.recipes import RECIPES


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setitem(RECIPES, "tiny", tiny.Tiny())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def workings(*words: str) -> str:
    result = CliRunner().invoke(app, ["train", *words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def refusal(*words: str) -> str:
    with pytest.raises(WorkingsError) as error:
        workings(*words)
    return str(error.value)


def test_help_lists_the_recipes_without_loading_them():
    said = workings("--help")
    assert said == workings() == workings("-h")
    assert all(f"\n  {name}" in said for name in RECIPES)
    assert "  tiny         A network of a few weights that learns the sign of a product.\n" in said
    assert said.endswith("Example: workings train digits\n")


def test_help_needs_no_pytorch():
    code = "import sys; from workings.cli import app; app(['train', '--help'], standalone_mode=False);"
    code += "print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("Example: workings train digits\nFalse\n")


def test_help_of_a_recipe_shows_every_setting(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    said = workings("tiny", "--help")
    assert "\n  --width N                          hidden units (4)\n" in said
    assert "\n  --activation tanh|relu             function of the hidden units (tanh)\n" in said
    assert "\n  --text TEXT                        a file of your own\n" in said
    assert "\n  --rate X                           peak learning rate (0.02)\n" in said
    assert said.index("--width") < said.index("--steps")
    for name in tiny.Settings.__dataclass_fields__:
        assert f"--{name.replace('_', '-')}" in said
    assert said.endswith("Example: workings train tiny --steps 100\n")


def test_help_fits_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "90")
    said = workings("tiny", "--help")
    assert max(map(len, said.splitlines())) <= 90
    assert (
        " ".join(said.split()).count("shard parameters over the processes (FSDP2) instead of copying them (DDP) (off)") == 1
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--stepz", "3"], "workings train tiny has no option --stepz. Did you mean --steps?"),
        (["--save-evry=3"], "workings train tiny has no option --save-evry. Did you mean --save-every?"),
        (["--bogus"], "workings train tiny has no option --bogus. `workings train tiny --help` lists them."),
        (["--qqq", "3"], "workings train tiny has no option --qqq. `workings train tiny --help` lists them."),
        (["foo"], "'foo' has no option name: settings of tiny are given as --name value."),
        (["--steps", "many"], "--steps is a whole number; got 'many'."),
        (["--rate", "x"], "--rate is a number; got 'x'."),
        (["--steps", "0"], "steps is at least 1; got 0."),
        (["--activation", "selu"], "activation is one of tanh, relu; got 'selu'."),
        (["--steps"], "--steps: needs a value."),
        (["--step", "3"], "workings train tiny has no option --step. Did you mean --steps?"),
        (["--shard"], "shard needs several processes: torchrun --nproc-per-node 2 -m workings train …"),
    ],
)
def test_what_cannot_be_read_is_refused(words, message):
    assert refusal("tiny", *words) == message


def test_an_unknown_recipe_or_none():
    assert refusal("tinny") == "No recipe is called 'tinny'. Did you mean tiny?"
    assert refusal("--steps", "3") == "Name a recipe or a run: workings train digits, or workings train --resume RUN."


def test_a_wrong_value_is_exit_2_without_a_traceback(tmp_path):
    done = command.workings("train", "tiny", "--steps", "x")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "--steps is a whole number; got 'x'.\n")


def test_runs_are_numbered_and_go_on_when_named(folder):
    for number in (1, 2):
        said = workings("tiny", "--steps", "4", "--save_every=2", "--no-shard")
        assert said.endswith(f"runs/tiny-{number}/report.html\n")
    run = Run(folder / "runs" / "tiny-1")
    data = run.read()
    assert (data["recipe"], data["settings"]["steps"], data["settings"]["save_every"]) == ("tiny", 4, 2)
    assert data["settings"]["seed"] == 0 and data["data"] == {"made": "0" * 64}
    before = run.metrics.read_text()
    assert "continuing in runs/tiny-1" in workings("tiny", "--steps", "4", "--save-every", "2", "--out", "runs/tiny-1")
    assert "continuing in runs/tiny-1" in workings("--resume", "runs/tiny-1")
    assert "continuing in runs/tiny-1" in workings("tiny", "--resume", "runs/tiny-1", "--steps", "4")
    assert run.metrics.read_text() == before


def test_the_same_seed_makes_the_same_model(folder):
    rows = []
    for seed in (0, 0, 1):
        workings("tiny", "--steps", "3", "--seed", str(seed))
        last = sorted((folder / "runs").glob("tiny-*"))[-1]
        found = [json.loads(line) for line in (last / "metrics.jsonl").read_text().splitlines()]
        rows.append([row["loss"] for row in found if "loss" in row])
    assert rows[0] == rows[1] != rows[2]


def test_other_settings_are_refused(folder):
    workings("tiny", "--steps", "2", "--out", "r")
    assert refusal("tiny", "--steps", "3", "--out", "r") == (
        "r was started with other settings: steps is 3 here and 2 there. Continue it with "
        "`workings train --resume r`, or choose another --out."
    )
    assert refusal("--resume", "r", "--steps", "3") == (
        "r continues with its own settings: steps is 3 here and 2 there. Start a new run for others."
    )
    assert refusal("--resume", "r", "--out", "s") == "--resume continues in the run's own folder: leave out --out."
    assert refusal("digits", "--resume", "r") == "r is a run of tiny, not of digits."
    assert refusal("--resume", "nowhere") == (
        "nowhere is not a training run: it has no settings.json. Name a folder written by `workings train`."
    )


def test_after_a_restart_by_torchrun_the_run_goes_on_in_its_folder(folder, monkeypatch):
    from workings.cli.train import run_folder

    workings("tiny", "--steps", "2")
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert str(run_folder("tiny", tiny.Settings(steps=2))) == "runs/tiny-1"
    assert str(run_folder("tiny", tiny.Settings(steps=3))) == "runs/tiny-2"
