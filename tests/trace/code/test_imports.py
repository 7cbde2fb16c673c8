"""Names of modules: a function of a module is not read as a method of a tensor, whatever the module is called."""

import importlib.util
import sys

import pytest
import torch

from workings.show import show
from workings.trace.code.imports import modules_of

AUTHOR = """
import sys
import numpy as N
import torch as T
import torch.nn.functional as fn
from torch.nn import functional as func
from . import beside, nowhere

own = sys.modules[__name__]
stack = T.stack


def aliases(x):
    a = fn.softmax(x, dim=-1)
    b = T.exp(a)
    c = func.relu(b)
    d = own.stack((a, b))
    return c


def arrays(x):
    a = N.exp(x)
    return N.sum(a, axis=0)


def tensor_called_F(F):
    a = F.sum()
    return a


def module_inside(x):
    import torch.nn.functional as S

    a = S.relu(x)
    twice = lambda T: S.sigmoid(T.exp())
    return a + twice(x)
"""


@pytest.fixture
def author(tmp_path):
    (tmp_path / "author").mkdir()
    for name, text in {"__init__": "", "beside": "", "nowhere": "", "code": AUTHOR}.items():
        (tmp_path / "author" / f"{name}.py").write_text(text)
    sys.path.insert(0, str(tmp_path))
    try:
        yield importlib.import_module("author.code")
    finally:
        sys.path.remove(str(tmp_path))
        for name in [name for name in sys.modules if name.partition(".")[0] == "author"]:
            del sys.modules[name]


def lines(work):
    return [line for line in work.text(checks=False, substitution="none").splitlines() if line and line[0].isalpha()]


def test_the_modules_of_a_file(author):
    known = modules_of(author.__file__)
    assert known["fn"] == known["func"] == "torch.nn.functional"
    assert (known["T"], known["N"], known["own"], known["beside"]) == ("torch", "numpy", ".", ".")
    assert "stack" not in known


def test_functions_of_modules_by_any_name(author):
    work = show(author.aliases, torch.zeros(2))
    assert lines(work)[1:4] == [
        "a = softmax(x) = [0.5  0.5]  (2)",
        "b = e^a = [1.649  1.649]  (2)",
        "c = max(0, b) = [1.649  1.649]  (2)",
    ]
    assert lines(work)[4].startswith("d = own.stack((a, b))")


def test_gradients_of_functions_of_modules_by_any_name(author):
    work = show(author.aliases, torch.zeros(2), backward=True)
    rule = next(step for step in work.steps() if step.kind == "gradient" and step.name == "∂L/∂x")
    assert rule.note.startswith("rule checked")


def test_numpy_by_another_name(author):
    assert lines(show(author.arrays, torch.zeros(2).numpy()))[1] == "a = e^x = [1  1]  (2)"


def test_a_value_that_is_called_like_a_module(author):
    assert lines(show(author.tensor_called_F, torch.ones(2)))[1] == "a = Σ F = 2"


def test_imports_and_names_inside_a_function(author):
    work = show(author.module_inside, torch.zeros(2))
    assert "a = max(0, x) = [0  0]  (2)" in lines(work)
    assert any("return σ(e^T)" in line for line in work.text().splitlines())


def test_in_a_block(author, tmp_path):
    path = tmp_path / "author" / "block.py"
    path.write_text("import workings\nimport torch as T\nx = T.ones(2)\nwith workings.trace() as work:\n    y = T.exp(x)\n")
    spec = importlib.util.spec_from_file_location("author.block", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert "y = e^x = e^[1, 1] = [2.718  2.718]  (2)" in module.work.text()
