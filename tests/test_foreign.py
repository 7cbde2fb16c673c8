"""`make bench-foreign`: the list, the inputs, and the independent count that what is shown is held against."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from workings.show import show

BENCH = Path(__file__).parents[1] / "bench"
AUTHOR = '''"""A stranger's file."""
import torch


class Scale(torch.nn.Module):
    """Twice what it is given."""

    def __init__(self, width):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(width))

    def forward(self, x):
        """A docstring is no statement."""
        total = 0
        for row in x:
            row = row * self.w
            total += (
                row
            ).sum()
        parts = list(map(lambda total: total + 1, [total]))
        try:
            if total is None:
                return x
        finally:
            pass
        return total


print(1 / 0)
'''


@pytest.fixture(autouse=True)
def bench_on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.delitem(sys.modules, "scale", raising=False)


@pytest.fixture
def foreign(tmp_path):
    """A folder of foreign code with one repository in it."""
    home = tmp_path / "someone+scale"
    home.mkdir()
    (home / "scale.py").write_text(AUTHOR)
    git = ["git", "-C", str(home), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *words], check=True)
    return tmp_path


def commit_of(foreign):
    done = subprocess.run(["git", "-C", str(foreign / "someone+scale"), "rev-parse", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip()


def piece_of(foreign, **fields):
    from foreign_list import Piece, Source

    source = Source("someone/scale", fields.pop("commit", commit_of(foreign)))
    given = {"path": "scale.py", "callable": "Scale", "new": [2], "inputs": [{"normal": [3, 2]}], "definitions": True}
    return Piece(source, "model", **{**given, **fields})


def test_every_source_of_the_list_says_which_version_it_is():
    from foreign_list import read

    pieces = read()
    assert all(re.fullmatch("[0-9a-f]{40}", p.source.commit) or p.source.version for p in pieces)
    assert {p.kind for p in pieces} == {"model", "function"}


def test_two_pieces_of_one_name_are_refused(tmp_path):
    from foreign_list import read

    entry = '[[source.model]]\npath = "a.py"\ncallable = "A"\n'
    (tmp_path / "list.toml").write_text(f'[[source]]\nrepository = "x/y"\ncommit = "0"\n{entry}{entry}')
    with pytest.raises(ValueError, match=r"two pieces called y\.A"):
        read(tmp_path / "list.toml")


@pytest.mark.parametrize(
    ("entry", "shape", "dtype"),
    [
        ({"normal": [2, 3]}, (2, 3), torch.float32),
        ({"ints": [4], "below": 3}, (4,), torch.int64),
        ({"causal": 3}, (3, 3), torch.bool),
        ({"ones": [2], "dtype": "float64"}, (2,), torch.float64),
    ],
)
def test_an_input_has_its_shape(entry, shape, dtype):
    from foreign_inputs import build

    made = build(entry, None)
    assert (*made.shape,) == shape and made.dtype is dtype


def test_objects_are_made_by_name():
    from foreign_inputs import arguments

    given = [
        {"call": "torch.nn:Linear", "*": [2], "out_features": 3},
        {"tuple": [1, {"none": True}]},
        {"options": {"n": 1}},
    ]
    (layer, pair, options), named = arguments(given, None)
    assert layer.weight.shape == (3, 2) and pair == (1, None) and options.n == 1 and named == {}


def test_an_unknown_input_is_refused():
    from foreign_inputs import build

    with pytest.raises(ValueError, match="An input is one of normal"):
        build({"gaussian": [2]}, None)


def test_statements_are_counted_by_what_ran(foreign):
    import statements
    from foreign_import import load
    from foreign_inputs import find

    module, own = load(piece_of(foreign), foreign)
    ran = statements.run(lambda: find("Scale", module)(2)(torch.ones(3, 2)), own)
    inside = {(s.line, s.kind): times for s, times in ran.times.items() if s.line >= 14}
    assert inside == {
        (14, "Assign"): 1,
        (15, "For"): 4,
        (16, "Assign"): 3,
        (17, "AugAssign"): 3,
        (20, "Assign"): 2,  # the lambda in it runs too
        (22, "If"): 1,
        (26, "Return"): 1,
    }
    file = str(foreign.resolve() / "someone+scale" / "scale.py")
    assert [float(v) for v in ran.values[file, 17, "total"]] == [2, 4, 6]


def test_a_piece_that_is_shown_whole(foreign):
    from foreign_piece import measure

    before = torch.get_default_dtype()
    try:
        found = measure(piece_of(foreign), foreign)
    finally:
        torch.set_default_dtype(before)
    assert (found["missing"], found["wrong"], found["false"], found["gradients_wrong"]) == ([], [], [], [])
    assert found["expected"] == found["recorded"] == 7 and found["values"] == 7
    assert found["gradients"] > 0 and found["checked"] > 0 and found["page_bytes"] > 1000


def test_what_is_not_shown_or_wrong_is_found(foreign):
    import foreign_compare as compare
    import statements
    from foreign_import import load
    from foreign_inputs import find

    module, own = load(piece_of(foreign), foreign)
    model, x = find("Scale", module)(2), torch.ones(3, 2, requires_grad=True)
    ran = statements.run(lambda: model(x), own)
    work = show(model, x, backward=True)
    top = work.root.children[0].children
    first = next(step for step in top if step.source == "total = 0")
    first.result = 5
    top[:] = [step for step in top if step.kind != "return"]
    for step in work.steps():
        if step.kind == "gradient" and "/∂x" in step.name:
            step.result = step.result + 1
    assert compare.compare_statements(work, ran)["missing"] == ["scale.py:26 Return return total"]
    assert compare.compare_values(work, ran)["wrong"] == ["scale.py:14 total (time 1)"]
    wrong = compare.compare_gradients(work, ran, dict(model.named_parameters()), own)["gradients_wrong"]
    assert wrong and all("/∂x" in one for one in wrong)


def test_a_false_formula_is_found():
    import foreign_compare as compare

    def f(x):
        y = x * 2
        return y

    work = show(f, torch.ones(2))
    assert compare.false_equations(work) == []
    step = next(step for step in work.steps() if step.name == "y")
    step.operands["x"] = torch.zeros(2)
    assert compare.false_equations(work) == [f"test_foreign.py:{step.where.line} y = x * 2"]


def test_missing_code_is_named(foreign):
    from foreign_import import MissingError, check_there

    with pytest.raises(MissingError, match=r"needs someone/scale at 0000000000, FOREIGN/someone\+scale is at"):
        check_there(piece_of(foreign, commit="0" * 40), foreign)
    with pytest.raises(MissingError, match=r"needs someone/scale at .* as FOREIGN/someone\+scale"):
        check_there(piece_of(foreign), foreign / "nowhere")


def test_the_table_counts_all_pieces():
    from foreign_report import report, table

    one = {
        "kind": "model", "source": "x/y", "expected": 4, "shown": 2, "recorded": 3, "missing": ["a.py:1 Assert"],
        "unprinted": ["a.py:2 If"], "values": 5, "wrong": [], "result": True, "false": [], "gradients": 3,
        "gradients_wrong": ["∂L/∂x"], "uncompared": 0, "checked": 3, "lines": 4, "without": {"no rule | cumsum": 1},
        "disagree": [], "page_bytes": 9000, "text_lines": 3, "longest_line": 80, "plain_seconds": 0.1, "show_seconds": 0.2,
        "print_seconds": 0.1, "agreement": "matches", "notes": [], "step_notes": [], "backward_refused": "",
    }  # fmt: skip
    figures = {"y.A": one, "y.B": {"kind": "model", "source": "x/y", "failed": "Traceback\nOSError: no network"}}
    text = table(figures)
    assert "75.0%" in text and "y.B: OSError: no network" in text and "1  no rule | cumsum" in text
    assert "- `a.py:1 Assert`" in report(figures)
