"""Installed packages: where they are found, which of their functions open at which depth, and checks that change nothing."""

import importlib.util
import sys

import pytest
import torch

from workings.trace.capture.capture import capture
from workings.trace.code.functions import is_library

AGREES = "matches the unmodified run (largest difference 0)"
PACKAGE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        z = self.features(x)
        return z

    def features(self, x):
        torch._assert(x.dim() == 2, "rows of numbers")
        h = self.layer(x)
        y = doubled(h)
        return y + 1

def doubled(h):
    u = 2 * h
    return u
"""


@pytest.fixture(params=["site-packages", "dist-packages"])
def package(request, tmp_path):
    """A package that is installed in a folder this Python knows nothing of."""
    folder = tmp_path / request.param
    folder.mkdir()
    file = folder / "wise.py"
    file.write_text(PACKAGE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("wise", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["wise"] = module
    yield module
    del sys.modules["wise"]


def names(net, depth):
    trace = capture(net, torch.ones(1, 2), depth=depth)
    assert trace.agreement == AGREES
    return {step.name for step in trace.steps()}


def test_a_library_s_methods_open_with_its_modules(package):
    net = package.Net()
    assert is_library(package.doubled.__code__)
    assert not is_library(names.__code__)
    assert names(net, 2) & {"z", "h", "y", "u"} == {"z"}
    assert names(net, 3) & {"z", "h", "y", "u"} == {"z", "h", "y", "u"}  # its functions too


def test_methods_of_pytorch_stay_closed():
    trace = capture(torch.nn.Conv1d(1, 1, 1), torch.ones(1, 1, 2), depth=3)
    assert trace.agreement == AGREES
    assert "_conv_forward" not in " ".join(step.name for step in trace.steps())


@pytest.mark.parametrize(
    ("check", "arguments"),
    [
        (torch._assert, (True, "never")),
        (torch._check, (True,)),
        (torch._check_value, (True,)),
        (torch._check_index, (True,)),
        (torch._check_type, (True,)),
        (torch.testing.assert_close, (torch.ones(1), torch.ones(1))),
    ],
)
def test_a_check_of_pytorch_is_no_effect(check, arguments):
    def f(x):
        check(*arguments)
        y = x + 1
        return y

    assert capture(f, torch.ones(1)).agreement == AGREES


def test_a_check_of_pytorch_that_fails_fails_alike():
    def f(x):
        torch._assert(x.dim() == 2, "rows of numbers")
        return x

    trace = capture(f, torch.ones(1))
    assert (str(trace.error), trace.agreement) == ("rows of numbers", "fails like the unmodified run")
