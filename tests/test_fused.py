"""Which of the two runs: the kernel for ordinary tensors, the equations for exact ones."""

import inspect

import pytest
import torch

import workings
from workings import exact
from workings.fused import fused, special_case_of, with_check
from workings.nn import conv2d


@fused(lambda x, y=None: "kernel")
def which(x, y=None):
    return "equations"


def test_ordinary_tensors_run_the_kernel():
    assert which(torch.zeros(2)) == which(x=torch.zeros(2), y=3) == "kernel"


def test_one_exact_tensor_is_enough_wherever_it_stands():
    x = exact("1 2")
    assert which(x) == which(torch.zeros(2), x) == which(x=x) == which(torch.zeros(2), y=x) == "equations"


def test_exact_parameters_count():
    assert which(torch.nn.Parameter(exact("1 2"))) == "equations"


def power(x, n=2, shift=0):
    y = x**n + shift
    return y


@special_case_of(power, lambda y, x: (y, x))
def cube(x):
    return {"x": x, "n": 3, "shift": 0}


def test_a_special_case_is_the_equation_at_its_arguments():
    assert cube(torch.tensor(2.0)) == (torch.tensor(8.0), torch.tensor(2.0))
    assert list(inspect.signature(cube).parameters) == ["x"]


def test_of_a_special_case_the_equation_is_shown_without_its_defaults():
    text = workings.show(cube, torch.tensor(2.0)).text()
    assert "y = x^n + shift = 2³ + 0 = 8" in text.replace("**", "^")
    assert text.startswith("x = 2    n = 3\n")


def test_a_fused_special_case_opens_in_a_block():
    """The kernel runs; what is recorded beside it is the equation, with the equation's arguments."""
    X, W = torch.ones(1, 2, 2), torch.ones(1, 1, 2, 2)
    with workings.trace() as work:
        Y = conv2d(X, W)
    (call,) = work.root.children[-1].children
    assert "largest difference 0" in call.note and {"X", "W", "U", "Y"} < {s.name for s in call.children}
    assert Y.item() == 4


def test_a_check_refuses_before_the_kernel_and_before_the_equation():
    def check(x):
        raise ValueError("refused")

    for function in (fused(lambda x: "kernel", check)(lambda x: "equations"), with_check(check, lambda x: "equations")):
        for x in (torch.zeros(2), exact("1 2")):
            with pytest.raises(ValueError, match="refused"):
                function(x)
