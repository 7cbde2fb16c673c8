"""`workings show` from the command line."""

import contextlib
import runpy
import subprocess
import sys

import pytest
import typer

from tests.cli.command import workings
from workings.errors import WorkingsError

ATTENTION = ["attention", "Q=1 0; 0 1", "K=1 1; 1 0", "V=2 0; 0 1"]


def test_attention_by_name():
    done = workings("show", *ATTENTION)
    assert done.returncode == 0, done.stderr
    assert "S = Q Kᵀ / √d" in done.stdout
    assert "e^(1/√2)/(1 + e^(1/√2))" in done.stdout
    assert "matches the unmodified run (largest difference 0)" in done.stdout


def test_a_homework():
    done = workings("show", *ATTENTION, "--backward", "--no-checks", "--standalone")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("\\documentclass{article}\n") and "\\partial L" in done.stdout
    assert "checked" not in done.stdout and "matches" not in done.stdout


def test_your_own_file(tmp_path):
    (tmp_path / "my.py").write_text("def double(x):\n    y = 2 * x\n    return y\n")
    done = workings("show", "my.py:double", "x=1 2", "--backward", cwd=tmp_path)
    assert "y = 2·x" in done.stdout, done.stderr
    page = workings("show", "my.py:double", "x=1 2", "--html", "out.html", cwd=tmp_path)
    assert page.stdout == "wrote out.html\n", page.stderr
    assert "<math" in (tmp_path / "out.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["atention"], "Did you mean attention"),
        (["attention", "Q=1 0; 0 $"], "found '$'"),
        (["attention", "Q=missing.npy"], "There is no file missing.npy."),
        ([*ATTENTION, "--depth", "9"], "--depth is a whole number from 1 to 4, not 9; the nearest is 4."),
        ([*ATTENTION, "--digits", "0"], "--digits is a whole number from 1 to 50, not 0; the nearest is 1."),
        ([*ATTENTION, "--only", "nope"], "only takes names of steps, and none is called 'nope'. There are: Q, K, V, "),
        (
            [*ATTENTION, "--latex", "--json"],
            "One form is printed, but --latex and --json were asked for; run once for each, or add --html FILE.",
        ),
        ([*ATTENTION, "--markdown", "--standalone"], "--standalone makes a document of LaTeX; --markdown needs none."),
        (["nowhere.py:f"], "nowhere.py"),
        (["attention", "Q=[1, 2", "K=1", "V=1"], "This JSON cannot be read"),
        (
            ["attention", "Q=1 0; 0 1"],
            'needs K and V too. Give values as NAME=VALUE, for example K="1 0; 0 1" V="1 0; 0 1", '
            "or sizes as --input 2x3, one for each.",
        ),
        (["softmax", "1 2", "--html", "."], "Could not write .: it is a folder. Name a file in it, such as work.html."),
        (["softmax", "1 2", "y=1"], "got an unexpected keyword argument 'y'"),
        (
            ["attention", "Q=1 0; 0 1", "K=1", "V=2 0; 0 1"],
            'K=1 was read as one number, which has no axes. For a vector write K="[1]", for a matrix K="[[1]]".',
        ),
    ],
)
def test_mistakes_are_messages(arguments, message):
    done = workings("show", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_class_of_one_example():
    """−log softmax([1 2 3])₁ = log(e + e² + e³) − 2 ≈ 1.408; probabilities [0 1 0] say the same."""
    from workings.cli.arguments.library import find
    from workings.cli.arguments.values import read_values

    loss = find("cross_entropy")
    for y in ("1", "0 1 0"):
        _, given = read_values(["z=1 2 3", f"y={y}"], loss)
        assert loss(**given).float64().item() == pytest.approx(1.4076059644443806)
    _, given = read_values(["z=1 2 3; 0 0 0", "y=[1, 0]"], loss)
    assert loss(**given).float64().item() == pytest.approx((1.4076059644443806 + 1.0986122886681098) / 2)  # log 3


@pytest.mark.parametrize(
    ("z", "y", "message"),
    [
        (
            "1 2 3",
            "[1]",
            "Cross-entropy needs one class, a whole number y, or a probability for each score, y [3]: "
            "z is [3], and y is [1] of classes.",
        ),
        (
            "1 2 3; 4 5 6",
            "1/2 1/2",
            "Cross-entropy needs a class for each example, y [2] of whole numbers, or a probability for each score, "
            "y [2, 3]: z is [2, 3], and y is [2] of probabilities.",
        ),
    ],
)
def test_classes_and_probabilities_that_do_not_fit_the_scores(z, y, message):
    from workings.cli.arguments.library import find
    from workings.cli.arguments.values import read_values

    _, given = read_values([f"z={z}", f"y={y}"], find("cross_entropy"))
    with pytest.raises(WorkingsError) as told:
        find("cross_entropy")(**given)
    assert str(told.value) == message


def test_a_page_is_not_written_over_a_folder(tmp_path):
    from workings.cli.output import write_page

    for folder in (tmp_path, tmp_path.parent / "."):
        with pytest.raises(WorkingsError, match=r"it is a folder. Name a file in it, such as .*work.html.$"):
            write_page(folder, "page")
    write_page(tmp_path / "work.html", "page")
    assert (tmp_path / "work.html").read_text() == "page"


def test_the_list():
    done = workings("show", "--list")
    assert done.returncode == 0, done.stderr
    assert any(line.startswith("attention ") for line in done.stdout.split("\n"))


def test_help_has_examples():
    done = workings("show", "--help")
    assert 'workings show attention Q="1 0; 0 1"' in done.stdout
    assert "Showing a function of your own file runs that file." in " ".join(done.stdout.split())


NET = """
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x):
        y = self.fc(x)
        return y
"""
BLOCK = """
import torch
import workings

x = torch.ones(2)
with workings.trace() as work:
    y = x * 3
print(work["y"].tolist())
"""


def test_a_class_and_a_block_at_module_level(tmp_path, capsys):
    (tmp_path / "net.py").write_text(NET)
    done = workings("show", "net.py:Net", "--input", "2x3", cwd=tmp_path)
    assert "y = fc(x)" in done.stdout, done.stderr
    (tmp_path / "block.py").write_text(BLOCK)
    runpy.run_path(str(tmp_path / "block.py"), run_name="__main__")
    assert capsys.readouterr().out == "[3.0, 3.0]\n"


def test_softmax_by_name():
    done = workings("show", "softmax", "0 0", "dim=-1")
    assert "[1/2  1/2]" in done.stdout, done.stderr


def test_words_alone_are_read_as_typer_reads_them(monkeypatch, capsys):
    from workings import cli

    words = ["show", "attention", "Q=1 0; 0 1", "K=1 1; 1 0", "V=2 0; 0 1"]
    printed = []
    for arguments in (words, [*words, "--depth", "2"]):
        monkeypatch.setattr(sys, "argv", ["workings", *arguments])
        with contextlib.suppress(SystemExit):
            cli.main()
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] != ""


def test_words_alone_end_as_typer_ends_them(monkeypatch, capsys):
    from workings import cli

    for end, code in ((typer.Exit(2), 2), (KeyboardInterrupt(), 130)):
        monkeypatch.setattr(cli, "show", raising(end))
        with pytest.raises(SystemExit) as left:
            cli.show_without_options(["show", "attention"])
        assert left.value.code == code
    assert not cli.show_without_options(["show", "attention", "--list"])
    assert not cli.show_without_options(["show"])
    assert not cli.show_without_options(["demo", "attention"])
    monkeypatch.setattr(sys, "argv", ["workings", "show", "attention", "Q=1 0; 0"])
    monkeypatch.setattr(cli, "show", raising(WorkingsError("no")))
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert (left.value.code, capsys.readouterr().err) == (2, "no\n")


def raising(error):
    def fail(*_):
        raise error

    return fail


def test_reading_words_alone_imports_no_validator():
    code = "import sys; sys.argv = ['workings', 'show', 'softmax', '1 2']; from workings.cli import main; main()\n"
    code += "assert 'pydantic' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=120)


TOKENS = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(5, 2)

    def forward(self, idx):
        return self.table(idx)

def loss(z, y):
    return torch.nn.functional.cross_entropy(z, y)
"""


def test_whole_numbers_without_annotations(tmp_path):
    (tmp_path / "my.py").write_text(TOKENS)
    assert workings("show", "my.py:Net", "idx=[[1, 2, 3]]", cwd=tmp_path).returncode == 0
    done = workings("show", "my.py:loss", "z=1 2; 3 4", "y=[1, 0]", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "Numbers are read as exact values, or as floats with --floats. For whole numbers (int64), such as tokens and "
        'classes, write :int after the name, as in y:int="[1, 0]".\n'
    )
    done = workings("show", "my.py:loss", "z=1 2; 3 4", "y:int=[1, 0]", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
