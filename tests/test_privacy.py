"""A name that only its own file uses starts with an underscore, and no other does (docs/names.md)."""

import ast

import pytest

from tools import plan, privacy
from tools.privacy import Name

PACKAGES = sorted({module.split(".")[1] for module in plan.modules() if "." in module})


def wrong(package: str) -> list[str]:
    """The wrong names of a package, or of one file."""
    modules = [module for module in plan.modules() if f"{module}.".startswith(f"workings.{package}.")]
    return [f"{module}.{name}" for module in modules for names in privacy.wrong(module) for name in names]


@pytest.mark.parametrize("package", PACKAGES)
def test_names_that_only_their_file_uses_have_an_underscore(package):
    assert wrong(package) == []


SOURCE = """
from dataclasses import dataclass

LIMIT = 3
β1, m_hat = 1, 2
Pair = tuple[int, int]

@dataclass
class Point:
    x: Pair

class Other: ...

__all__ = ["offered"]

def offered(): ...

def make(n: int) -> Point:
    y = double(n)
    check(y)
    return y

def double(n): return 2 * n

def check(n): ...

@app.command()
def verb(): ...

@rule(3)
def three(): ...
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of a package whose function `make` another file uses."""

    def write(source: str, package: str = "") -> str:
        (tmp_path / "__init__.py").write_text(package)
        (tmp_path / "own.py").write_text(source)
        known = {"workings.fake": tmp_path / "__init__.py", "workings.fake.own": tmp_path / "own.py"}
        monkeypatch.setattr(plan, "modules", lambda: known)
        monkeypatch.setattr(privacy, "used", lambda: {Name("workings.fake.own", "make"): {"src/other.py"}})
        return "workings.fake.own"

    return write


def test_a_name_that_nobody_else_uses_lacks_an_underscore(module):
    """`Point`, `Pair` are types of `make`, `verb` a command, `three` a rule, `β1` a letter, `offered` is in `__all__`."""
    assert privacy.wrong(module(SOURCE)) == (["LIMIT", "Other", "double", "check"], [])


def test_names_that_show_prints_stay_plain(module):
    """`y = double(n)` is an equation in a package that is read; `check(y)` is none."""
    assert privacy.wrong(module(SOURCE, "mark_readable(__path__)")) == (["LIMIT", "Other", "check"], [])


def test_a_private_name_that_another_file_uses_is_found(module, monkeypatch):
    name = module("def _hidden(): ...")
    monkeypatch.setattr(privacy, "used", lambda: {Name(name, "_hidden"): {"src/other.py"}})
    assert privacy.wrong(name) == ([], ["_hidden"])
    monkeypatch.setattr(privacy, "used", lambda: {Name(name, "_hidden"): {"tests/test_other.py"}})
    assert privacy.wrong(name) == ([], [])


@pytest.mark.parametrize(
    "source",
    [
        "from workings.train.run.lock import locked",
        "from .lock import locked",
        "def f():\n    from workings.train.run.lock import locked as held",
        "from workings.train.run import lock\nlock.locked()",
        "import workings.train.run.lock as here\nhere.locked()",
        "import workings\nworkings.train.run.lock.locked()",
        "from workings.train.run import lock\nmonkeypatch.setattr(lock, 'locked', None)",
        "run('workings show workings.train.run.lock:locked')",
        "'>>> from workings.train.run.lock import Lock, locked'",
    ],
)
def test_uses_are_found(source):
    assert Name("workings.train.run.lock", "locked") in set(privacy.uses(source, "workings.train.run"))


def test_constants_of_modules_in_a_row_are_found():
    source = "from workings.trace.operations import logic, losses\nfor family in (logic, losses):\n    print(family.ROWS)"
    assert {Name(f"workings.trace.operations.{family}", "ROWS") for family in ("logic", "losses")} <= {
        *privacy.uses(source, "")
    }


def test_definitions_are_found():
    source = (
        "a = b, c = 1, 2\nd: int = 3\nif d:\n    def e(): ...\nelse:\n    class F: ...\n__all__ = []\ndef g():\n    h = 1\n"
    )
    assert [*privacy.definitions(ast.parse(source))] == ["a", "b", "c", "d", "e", "F", "g"]
