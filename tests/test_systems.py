"""`workings systems`: no row claims what does not work."""

import ast
import re
import shlex
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

from workings.cli import app
from workings.cli.systems import NOT_YET, catalogue, page
from workings.errors import WorkingsError

ROOT = Path(__file__).parents[1]
ROWS = catalogue()
FAMILIES = {"A": 27, "B": 18, "C": 14, "D": 8, "E": 6, "F": 7, "G": 4, "H": 10, "I": 8, "J": 5, "K": 12, "L": 2}
COMMANDS = sorted(
    {row.shows for row in ROWS.values() if row.shows} | {r for row in ROWS.values() for r in row.runs if " " in r}
)
IMPORTS = sorted({name for row in ROWS.values() for name in row.runs if " " not in name})
TESTS = sorted({test for row in ROWS.values() for test in row.verifies})


def run(command):
    """A command line, in this process."""
    return CliRunner().invoke(app, shlex.split(command)[1:])


def test_every_system_of_the_course_has_a_row():
    assert list(ROWS) == [f"{family}{i}" for family, count in FAMILIES.items() for i in range(1, count + 1)]
    assert len({row.name for row in ROWS.values()}) == len(ROWS)


def test_most_rows_are_there():
    for key, least in (("runs", 105), ("shows", 80), ("verifies", 100)):
        assert sum(bool(getattr(row, key)) for row in ROWS.values()) >= least


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_runs(command):
    assert command.startswith("workings ")
    done = run(command)
    assert done.exit_code == 0, done.output + str(done.exception)
    assert len(done.output.splitlines()) >= 3
    assert not re.search(r"fails|does not agree|differs|nan", done.output)
    if command.startswith("workings show") and "--markdown" not in command:
        assert re.search(r"agrees with the plain run|not compared with a plain run", done.output)


def found(name):
    """What a dotted name stands for: as much of it as is a module, then attributes."""
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            value = import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            value = getattr(value, part)
        return value
    raise AssertionError(name)


@pytest.mark.parametrize("name", IMPORTS)
def test_an_import_is_there(name):
    assert callable(found(name))


@cache
def functions_of(path):
    """The tests of a file; each has something that can fail."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name: ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("test", TESTS)
def test_a_test_is_there_and_can_fail(test):
    path, _, name = test.partition("::")
    assert re.search(r"\bassert|pytest\.raises|gradcheck|@example|same\(|close\(", functions_of(path)[name])


def test_the_page_is_the_catalogue():
    assert (ROOT / "docs" / "systems.md").read_text(encoding="utf-8") == page(ROWS)
    assert run("workings systems --markdown").output == page(ROWS)


def test_the_table():
    lines = run("workings systems").output.splitlines()
    assert lines[0].split() == ["id", "system", "runs", "shows", "verifies"]
    assert [line.split()[0] for line in lines[2:-3]] == list(ROWS)
    assert re.fullmatch(r"121 systems: \d+ run, \d+ are shown, \d+ are verified; the others are not yet\.", lines[-2])
    assert max(map(len, lines)) <= 180


def test_a_family():
    lines = run("workings systems g").output.splitlines()
    assert [line.split()[0] for line in lines[2:-3]] == ["G1", "G2", "G3", "G4"]


def test_rows_in_full():
    assert run("workings systems a21 f4").output == (
        "A21  A projection takes one summand out of a mixture\n"
        "  runs      workings.nn.projection\n"
        '  shows     workings show projection A="3/5; 4/5"\n'
        "  verifies  tests/nn/test_selection.py::test_projection_takes_one_summand_out\n"
        "\n"
        "F4  Size of a mini-batch\n"
        f"  runs      {NOT_YET}\n"
        f"  shows     {NOT_YET}\n"
        f"  verifies  {NOT_YET}\n"
    )


def test_an_unknown_id():
    with pytest.raises(WorkingsError) as refused:
        CliRunner().invoke(app, ["systems", "M1"], catch_exceptions=False)
    assert str(refused.value) == (
        "There is no system 'M1': there are A1 to A27, B1 to B18, C1 to C14, D1 to D8, E1 to E6, F1 to F7, G1 to G4, "
        "H1 to H10, I1 to I8, J1 to J5, K1 to K12, L1 to L2."
    )
