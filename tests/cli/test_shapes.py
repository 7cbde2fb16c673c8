"""`workings shapes` on real files: tables, added batch axes, mismatches, and mistakes without tracebacks."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.cli.command import workings
from workings.check import check
from workings.cli import app
from workings.cli.arguments.load import load
from workings.errors import WorkingsError

MY = """
import torch
from torch import nn

net = nn.Sequential(
    nn.Conv2d(1, 8, 5), nn.AvgPool2d(4, 4), nn.ReLU(), nn.Conv2d(8, 16, 4, padding=1),
    nn.AvgPool2d(2, 2), nn.ReLU(), nn.Flatten(), nn.Linear(144, 10),
)
wrong = nn.Sequential(*net[:-1], nn.Linear(120, 10))
number = 3

class Classifier(nn.Module):
    def __init__(self, words=11):
        super().__init__()
        self.embed = nn.Embedding(words, 4)
        self.out = nn.Linear(4, 2)

    def forward(self, x):
        return self.out(self.embed(x).mean(1))

class Sized(nn.Module):
    def __init__(self, width, depth):
        super().__init__()

class Two(nn.Module):
    def forward(self, x, y):
        return torch.cat([x, y])

def make():
    return nn.Linear(784, 10)

def broken():
    return 1 / 0
"""


@pytest.fixture
def my(tmp_path: Path) -> Path:
    path = tmp_path / "my.py"
    path.write_text(MY, encoding="utf-8")
    return path


def test_forms(my: Path, tmp_path: Path) -> None:
    words = [f"{my}:net", "--input", "1x1x32x32"]
    printed = {
        form: CliRunner().invoke(app, ["shapes", *words, form]).stdout for form in ("--markdown", "--latex", "--standalone")
    }
    size = r"$\lfloor (32 - 5 + 2 \cdot 0)/1 \rfloor + 1 = 28$"
    assert f"| 0 | `Conv2d(1, 8, 5)` | $1 \\times 8 \\times 28 \\times 28$ | {size} |" in printed["--markdown"]
    assert printed["--latex"].startswith("% needs \\usepackage{amsmath, amssymb}") and f"& {size} &" in printed["--latex"]
    assert printed["--standalone"].startswith("\\documentclass{article}") and size in printed["--standalone"]
    page = tmp_path / "shapes.html"
    done = CliRunner().invoke(app, ["shapes", *words, "--html", str(page)])
    assert done.stdout == f"wrote {page}\n"
    assert "<td>⌊(32 − 5 + 2·0)/1⌋ + 1 = 28</td>" in page.read_text(encoding="utf-8")


def test_forms_are_read_by_check_with_no_finding(my: Path) -> None:
    for form, kind in (("--markdown", "markdown"), ("--latex", "latex")):
        report = check(CliRunner().invoke(app, ["shapes", f"{my}:net", "--input", "1x1x32x32", form]).stdout, kind=kind)
        assert report.findings("note") == []
        assert report.results.counts.decided >= 6


def test_a_failure_is_told_in_every_form(my: Path) -> None:
    for form in ("--markdown", "--latex"):
        done = CliRunner().invoke(app, ["shapes", f"{my}:wrong", "--input", "1x1x32x32", form])
        assert done.exit_code == 2 and "layer 7 failed" in done.stdout and "so far" in done.stdout


def test_one_form_at_a_time(my: Path) -> None:
    done = workings("shapes", f"{my}:net", "--input", "1x1x32x32", "--latex", "--markdown")
    assert done.returncode == 2
    assert "One form is printed, but --latex and --markdown were asked for" in done.stderr


def table(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["shapes", "--width", "130", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def refusal(text: str) -> str:
    """The message with which an object is refused."""
    from workings.cli.arguments.load import load_module

    with pytest.raises(WorkingsError) as caught:
        load_module(text)
    return str(caught.value)


def test_the_example(my):
    done = workings("shapes", "my.py:net", "--input", "1x32x32", "--width", "130", cwd=my.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        "A batch axis of 1 was added to the input, which the first layer needs.\nSequential on 1×1×32×32"
    )
    for piece in ("⌊(32 − 5 + 2·0)/1⌋ + 1 = 28", "8·(5·5·1 + 1) = 208", "16·3·3 = 144", "144·10 + 10 = 1450", "3722"):
        assert piece in done.stdout


def test_a_mismatch_shows_the_layers_and_the_fix(my):
    done = workings("shapes", "my.py:wrong", "--input", "1x1x32x32", "--width", "130", cwd=my.parent)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr + done.stdout
    assert "16·3·3 = 144" in done.stdout
    assert done.stdout.endswith(
        "layer 7 failed: nn.Linear(120, 10) received 144 features = 16·3·3; use nn.Linear(144, 10)\n"
    )


def test_a_batch_that_is_there_is_not_added(my):
    assert table(f"{my}:net", "--input", "1x1x32x32").startswith("Sequential on 1×1×32×32")


def test_tokens_classes_and_functions(my):
    assert "Classifier on 2×5" in table(f"{my}:Classifier", "--input", "2x5:int")
    assert "Classifier on 1×5" in table(f"{my}:Classifier", "--input", "5:int")
    assert "784·10 + 10 = 7850" in table(f"{my}:make", "--input", "784")


def test_several_inputs(my):
    assert "Two on 2×3 and 4×3" in table(f"{my}:Two", "--input", "2x3", "--input", "4x3")


def test_a_dotted_module_is_loaded():
    assert "Sequential" not in table("torch.nn:Identity", "--input", "3")
    assert load("torch.nn:Module").__name__ == "Module"


def test_a_file_may_import_its_neighbour(my):
    (my.parent / "neighbour_of_my.py").write_text("from torch import nn\nlayer = nn.ReLU()\n")
    (my.parent / "second.py").write_text("from neighbour_of_my import layer\n")
    assert "ReLU" in table(f"{my.parent / 'second.py'}:layer", "--input", "3")


@pytest.mark.parametrize("text", ["", "x", "3q", "1x-2", "1xx2", "2:str", "9" * 30])
def test_bad_sizes_are_refused(my, text):
    result = CliRunner().invoke(app, ["shapes", f"{my}:net", "--input", text])
    assert str(result.exception).startswith("--input ")


def test_no_entries_are_refused(my):
    result = CliRunner().invoke(app, ["shapes", f"{my}:net", "--input", "1x0"])
    assert str(result.exception) == "--input 1x0 has no entries: sizes are at least 1."


def test_large_inputs_take_no_memory(my):
    result = CliRunner().invoke(app, ["shapes", f"{my}:net", "--input", "1x100000x100000", "--width", "130"])
    assert result.exit_code == 2
    assert "nn.Linear(144, 10) received 2499600016 features = 16·12499·12499" in result.output


def test_names_are_suggested(my):
    assert refusal(f"{my}:nett") == f"{my} has no 'nett'. Did you mean net?"
    assert refusal(f"{my}:Clasifier") == f"{my} has no 'Clasifier'. Did you mean Classifier?"
    assert refusal(f"{my.parent / 'mi.py'}:net") == f"{my.parent / 'mi.py'} does not exist. Did you mean {my}?"
    assert refusal("no_such_module:x") == "There is no module 'no_such_module'."


def test_what_is_no_model_is_refused(my):
    assert refusal(f"{my}:number") == f"{my}:number is an int; give an nn.Module, or a class or function that makes one."
    assert refusal(f"{my}:Sized").startswith(f"{my}:Sized needs width, depth. Write a function that makes it, such as\n")
    assert refusal(f"{my}:broken") == f"{my}:broken failed when it was called: ZeroDivisionError: division by zero"
    assert refusal("my.py") == (
        "Name an object in a file, such as my.py:Net, or in a module, such as package.models:Net; got 'my.py'."
    )


def test_code_that_fails_while_loading_names_its_line(tmp_path):
    path = tmp_path / "fails.py"
    loaded = f"{path} failed while it was loaded, in line 2:"
    path.write_text("x = 1\ny = undefined\n")
    assert refusal(f"{path}:x") == f"{loaded} NameError: name 'undefined' is not defined"
    path.write_text("import sys\nsys.exit(3)\n")
    assert refusal(f"{path}:x") == f"{loaded} SystemExit: 3"


MISSING = """from torch import nn
net = nn.Sequential(
    nn.Conv2d(1, 8, 5)
    nn.ReLU(),
)
"""


def test_a_missing_comma_is_found(tmp_path):
    path = tmp_path / "listing.py"
    path.write_text(MISSING)
    done = workings("shapes", f"{path}:net", "--input", "1x32x32")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"{path}, line 3: invalid syntax.\n"
        "      nn.Conv2d(1, 8, 5)\n"
        "      ^\n"
        "perhaps a comma is missing at the end of line 3\n"
    )


@pytest.mark.parametrize(
    ("listing", "hint"),
    [
        ("net = f(\n    1,\n    g(2)  # a comment\n    h(3),\n    k(4)\n    m(5),\n)\n", "at the end of line 3"),
        ("net = f(\n    g(\n        2,\n    )\n    h(3),\n)\n", "at the end of line 4"),
        ("net = f(\n    1,\n    a=g(2)\n    b=3,\n)\n", "at the end of line 3"),
        ("net = [\n    'one'\n    2,\n]\n", "at the end of line 2"),
        ("net = f(g(2) h(3))\n", "in line 1"),
    ],
)
def test_missing_commas_in_other_places(tmp_path, listing, hint):
    path = tmp_path / "listing.py"
    path.write_text(listing)
    assert refusal(f"{path}:net").endswith(f"perhaps a comma is missing {hint}")


def test_other_syntax_errors_have_no_hint(tmp_path):
    path = tmp_path / "listing.py"
    path.write_text("net = f(\n    1,\n")
    assert refusal(f"{path}:net") == f"{path}, line 1: '(' was never closed\n  net = f(\n         ^"
    path.write_text("def f(:\n    pass\n")
    assert "comma" not in refusal(f"{path}:net")
    path.write_bytes(b"x = '\xff'\n")
    assert refusal(f"{path}:net") == f"{path} is not text in UTF-8: byte 5 cannot be read."


def test_the_help_says_that_the_file_runs():
    output = CliRunner().invoke(app, ["shapes", "--help"]).output
    assert "The file is loaded, which runs its code." in " ".join(output.split())
    assert "\n    workings shapes my.py:net --input 1x1x32x32\n" in output
