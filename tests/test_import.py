"""`import workings` loads nothing heavy; its names arrive when used, and are what type checkers were told."""

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Unpack, get_type_hints

import pytest

import workings
from workings.exact.tensor.make import TensorOptions
from workings.front import CALLABLE
from workings.show.options import Formatting

HEAVY = ["torch", "sympy", "flint", "numpy", "typer", "rich", "typing"]
"""`typing` is three quarters of what importing `workings` took with it."""


def python(code: str) -> str:
    """What a fresh interpreter prints when it runs `code`."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_import_loads_nothing_heavy():
    loaded = python("import sys; before = {*sys.modules}; import workings; print(*{*sys.modules} - before)").split()
    assert "workings.front" in loaded
    assert not {*HEAVY} & {*loaded}


def test_dir_lists_the_public_names():
    assert dir(workings) == sorted(workings.__all__)
    assert set(workings._NAMES) | workings._PACKAGES | {"__version__"} == set(workings.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"^module 'workings' has no attribute 'nonsense'$"):
        workings.nonsense  # noqa: B018


def test_every_public_name_arrives_whatever_was_imported_first():
    """Each in a process that has imported PyTorch, and of ours nothing."""
    code = """
import os, sys, torch
from importlib import import_module
for first in "workings", "workings.exact", "workings.trace.step", "workings.models", "workings.show.options":
    assert "workings" not in sys.modules
    if os.fork():
        assert os.wait()[1] == 0, first
        continue
    import_module(first)
    from workings import *
    print(exact("1/2").text(), trace().depth, show.Work.__name__, ExactTensor.__name__, flush=True)
    print(nn.attention.__name__, train.fit.__name__, flush=True)
    os._exit(0)
"""
    assert python(code).splitlines() == ["1/2 None Work ExactTensor", "attention fit"] * 5


@pytest.mark.parametrize("name", CALLABLE)
def test_a_callable_package_offers_what_its_types_say(name):
    """The names that `front.py` tells type checkers of are those that the package offers."""
    tree = ast.parse(inspect.getsource(inspect.getmodule(CALLABLE[name])))
    declared = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == CALLABLE[name].__name__)
    typed = {target.id for part in ast.walk(declared) if isinstance(part, ast.Assign) for target in part.targets}
    package = getattr(workings, name)
    assert typed == {public for public in package.__all__ if public != "Formula"}


@pytest.mark.parametrize("printer", ["text", "latex", "markdown", "html"])
def test_printers_are_typed_by_the_formatting_options(printer):
    hints = get_type_hints(getattr(workings.show.Work, printer))
    assert hints["formatting"] == Unpack[Formatting]
    assert Formatting.__annotations__.keys() == workings.show.Options.__dataclass_fields__.keys()
    assert not Formatting.__required_keys__


def test_what_makes_exact_tensors_is_typed():
    assert get_type_hints(workings.exact.symbols)["return"] == workings.ExactTensor | Any
    for name in ("zeros", "ones", "full", "eye", "arange", "linspace"):
        assert get_type_hints(getattr(workings.exact, name))["options"] == Unpack[TensorOptions]
        assert {*TensorOptions.__annotations__} < {*inspect.signature(workings.ExactTensor.__new__).parameters}


def test_help_opens_with_the_call():
    import pydoc

    text = pydoc.plain(pydoc.render_doc(workings.show))
    assert text.index("show(function, *args)") < text.index(">>> from workings import show") < text.index("PACKAGE CONTENTS")


@pytest.mark.parametrize("package", ["workings.nn", "workings.models", "workings.course"])
def test_a_lazy_package_offers_the_names_of_its_stub(package):
    """Every line of the stub is one that `lazy` reads, and no name is that of a file, which an import would bind instead."""
    module = import_module(package)
    [folder] = map(Path, module.__path__)
    lines = (folder / "__init__.pyi").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(module.__all__) == len({getattr(module, name) for name in module.__all__})
    assert not set(module.__all__) & {path.stem for path in folder.iterdir()}
    assert set(module.__all__) <= set(dir(module))
    with pytest.raises(AttributeError, match=f"^module '{package}' has no attribute 'nonsense'$"):
        module.nonsense  # noqa: B018
