"""`import workings` is quick and loads nothing heavy; its names arrive when used."""

import subprocess
import sys

import pytest

import workings

HEAVY = ["torch", "sympy", "flint", "numpy", "typer", "rich"]


def python(code: str) -> str:
    """What a fresh interpreter prints when it runs `code`."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_import_loads_nothing_heavy():
    assert python(f"import sys, workings; print([m for m in {HEAVY} if m in sys.modules])") == "[]"


def test_import_is_quick():
    code = "from time import perf_counter as t; start = t(); import workings; print(t() - start)"
    assert min(float(python(code)) for _ in range(5)) < 0.15


def test_dir_lists_the_public_names():
    assert dir(workings) == sorted(workings.__all__)
    assert set(workings._NAMES) | workings._MODULES | {"__version__"} == set(workings.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"^module 'workings' has no attribute 'nonsense'$"):
        workings.nonsense  # noqa: B018


def test_every_public_name_arrives():
    code = "from workings import *; print(exact('1/2').text(), ExactTensor.__name__)"
    assert python(code) == "1/2 ExactTensor"


def test_exact_is_called_and_opened_whatever_was_imported_first():
    code = "import workings.exact; from workings import exact; print(exact('1/2').text(), exact.symbols('w').text())"
    assert python(code) == "1/2 w"
