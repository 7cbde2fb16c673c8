"""`workings systems`: no row claims what does not work."""

import ast
import re
import shlex
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.train.smoke import online
from workings.cli import app
from workings.cli.systems import NOT_YET, System, catalogue, in_full, page
from workings.errors import WorkingsError
from workings.studies.index import entry_of

ROOT = Path(__file__).parents[2]
ROWS = catalogue()
FAMILIES = {"A": 27, "B": 18, "C": 14, "D": 8, "E": 6, "F": 7, "G": 4, "H": 10, "I": 8, "J": 5, "K": 12, "L": 2}
ARCHIVES = {"seq2seq": "sounds", "clip": "emoji-noto", "siglip": "emoji-noto", "neighbors": "glove", "bigram": "shakespeare"}
ARCHIVES |= {"shakespeare": "shakespeare", "sentiment": "reviews"}
"""What a recipe or a command fetches; a row without any trains in seconds."""
IMPORTS = sorted({name for row in ROWS.values() for name in row.runs if " " not in name})
TESTS = sorted({test for row in ROWS.values() for test in row.tests})


def commands(row):
    """The commands of a row in their order: those that train, what uses their runs, what shows it."""
    return [*(command for command in row.runs if " " in command), *filter(None, [row.shows])]


def needs_a_folder(row):
    """Whether a row trains, or fetches data."""
    return any(command.startswith(("workings train ", "workings neighbors ")) for command in commands(row))


def archives(row):
    """What the commands of a row fetch."""
    words = {word for command in commands(row) for word in command.split()[1:3]}
    return {archive for word, archive in ARCHIVES.items() if word in words}


PLAIN = sorted(
    {
        (command, row.exits if command == row.shows else 0)
        for row in ROWS.values()
        for command in commands(row)
        if not needs_a_folder(row) and not command.startswith("workings study ")  # tests/studies/test_all.py runs them
    }
)
TRAINED = [
    pytest.param(id, marks=pytest.mark.slow if archives(row) else ()) for id, row in ROWS.items() if needs_a_folder(row)
]


def run(command):
    """A command line, in this process."""
    return CliRunner().invoke(app, shlex.split(command)[1:])


def test_every_system_of_the_course_has_a_row():
    assert list(ROWS) == [f"{family}{i}" for family, count in FAMILIES.items() for i in range(1, count + 1)]
    assert len({row.name for row in ROWS.values()}) == len(ROWS)


def test_most_rows_are_there():
    for key, least in (("runs", 121), ("shows", 121), ("verifies", 121)):
        assert sum(bool(getattr(row, key)) for row in ROWS.values()) >= least


@pytest.mark.parametrize(("command", "exits"), PLAIN)
def test_a_command_runs(command, exits):
    check(command, exits)


def check(command, exits=0):
    """Whether a command runs and says what it should."""
    assert command.startswith("workings ")
    done = run(command)
    assert done.exit_code == exits, done.output + str(done.exception)
    assert len(done.output.splitlines()) >= (1 if " generate " in command else 3)
    if exits:
        assert re.search(r"failed: .* use\b", done.output)
        return
    assert not re.search(r"fails|does not agree|differs|\bnan\b", done.output)
    if command.startswith("workings show") and "--markdown" not in command:
        assert re.search(r"matches the unmodified run|not compared with an unmodified run", done.output)


@pytest.mark.parametrize("id", TRAINED)
def test_the_commands_of_a_row_that_trains(id, tmp_path, monkeypatch):
    for archive in archives(ROWS[id]):
        online(archive)
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "a.txt": "To be, or not to be: that is the question. Café, 1851.",
        "b.txt": "Call me Ishmael.",
    }.items():
        (tmp_path / name).write_text(text)
    for command in commands(ROWS[id]):
        if not command.startswith("workings study "):  # tests/studies/test_all.py runs them
            check(command)


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


def test_a_study_of_a_row_is_there_and_about_it():
    for id, row in ROWS.items():
        for command in commands(row):
            if command.startswith("workings study "):
                assert id in entry_of(command.split()[2]).rows, command


def test_the_page_is_the_catalogue():
    assert (ROOT / "docs" / "systems.md").read_text(encoding="utf-8") == page(ROWS)
    assert run("workings systems --markdown").output == page(ROWS)


def test_the_table():
    lines = run("workings systems").output.splitlines()
    assert lines[0].split() == ["id", "system", "runs", "shows", "verifies"]
    assert [line.split()[0] for line in lines[2:-3]] == list(ROWS)
    assert re.fullmatch(r"121 systems: \d+ run, \d+ are shown, \d+ are verified\.", lines[-2])
    assert max(map(len, lines)) <= 190


def test_a_family():
    lines = run("workings systems g").output.splitlines()
    assert [line.split()[0] for line in lines[2:-3]] == ["G1", "G2", "G3", "G4"]


def test_rows_in_full():
    assert run("workings systems a3 b4").output == (
        "A3  From rows to columns and back, for tensors and formulas\n"
        "  runs      workings.course.other_convention\n"
        "            workings.course.other_formula\n"
        '  shows     workings show other_convention "1 0; 1 1; 0 1"\n'
        "  verifies  tests/course/test_convention.py::test_formulas_turn_round\n"
        "            tests/course/test_convention.py::test_the_product_of_the_wrong_order\n"
        "\n"
        f"{in_full(ROWS['B4'])}\n"
    )


def test_what_is_missing_is_said():
    assert in_full(System("X1", "Nothing")).splitlines()[1:] == [
        f"  {key:9} {NOT_YET}" for key in ("runs", "shows", "verifies")
    ]
    assert "workings study key-noise" in in_full(ROWS["A16"])


def test_an_unknown_id():
    with pytest.raises(WorkingsError) as refused:
        CliRunner().invoke(app, ["systems", "M1"], catch_exceptions=False)
    assert str(refused.value) == (
        "There is no system 'M1': there are A1 to A27, B1 to B18, C1 to C14, D1 to D8, E1 to E6, F1 to F7, G1 to G4, "
        "H1 to H10, I1 to I8, J1 to J5, K1 to K12, L1 to L2."
    )
