"""The worked examples of `values.json`: inputs and true outputs by id, and the decorator that holds a test to them.

A test computes every output of its example from the inputs, twice: with exact tensors, where exact forms are proved equal,
and with float64. Decimals hold to six significant digits in both.
"""

import json
from functools import cache
from pathlib import Path

import pytest
import torch

from workings import exact, show

VALUES = json.loads(Path(__file__).with_name("values.json").read_text(encoding="utf-8"))
NUMBERS = ("exact", "float")


class Given:
    """The inputs of an example: `given.Q` as a tensor in the numbers of this run, `given["n"]` as it is written."""

    def __init__(self, inputs, numbers):
        self.inputs, self.numbers = inputs, numbers

    def __getitem__(self, name):
        return self.inputs[name]

    def __getattr__(self, name):
        return self.tensor(self.inputs[name])

    def tensor(self, value):
        return exact(value) if self.numbers == "exact" else exact(value).float64()


def example(name, numbers=NUMBERS, digits=6):
    """Hold a function to the example of this name: what it returns are all its outputs, each with its true value."""
    inputs, outputs = VALUES[name]["inputs"], VALUES[name]["outputs"]

    def decorate(compute):
        @pytest.mark.parametrize("numbers", numbers)
        def test(numbers):
            found = compute(Given(inputs, numbers))
            assert {*found} == {*outputs}
            for key, value in found.items():
                assert agrees(value, outputs[key], digits), f"{name}, {key}: {value} is not {outputs[key]}"

        test.__name__, test.__doc__, test.__module__ = compute.__name__, compute.__doc__, compute.__module__
        return test

    return decorate


def agrees(found, true, digits=6):
    """Whether a value is the true one: an exact form by proof, decimals to so many digits, anything else literally.

    >>> agrees(exact("1/3"), "2/6"), agrees(exact("1/3"), 0.333333), agrees(exact("1/3"), 0.333334), agrees(4, 4.0)
    (True, True, False, True)
    """
    if isinstance(true, dict):
        return agrees(found, true["exact"], digits) and agrees(found, true["float"], digits)
    if isinstance(found, torch.Tensor):
        form = exact(true).reshape(found.shape) if list(exact(true).shape) == list(found.shape) else None
        if form is None:
            return False
        if is_exact(found) and is_form(true):
            return bool(exact.equal(found.detach(), form))
        return close(numbers_of(found), numbers_of(form), digits)
    if isinstance(true, list):
        return len(found) == len(true) and all(agrees(f, t, digits) for f, t in zip(found, true, strict=True))
    if isinstance(true, float) or (isinstance(true, str) and isinstance(found, float)):
        return close([float(found)], numbers_of(exact(true)), digits)
    return type(found) is type(true) and found == true


def close(found, true, digits):
    """Equal when rounded to so many significant digits; where the truth is 0, to that many places."""
    return all(abs(f - t) <= (0.5000001 * 10.0 ** (order(t) - digits + 1)) for f, t in zip(found, true, strict=True))


def order(t):
    return int(f"{t:e}".partition("e")[2]) if t else -6


def numbers_of(tensor):
    return (tensor.detach().float64() if is_exact(tensor) else tensor.detach().double()).flatten().tolist()


def is_exact(tensor):
    return type(tensor).__name__ == "ExactTensor"


def is_form(true):
    """Exact forms are written as text or whole numbers, decimals as floats."""
    return all(map(is_form, true)) if isinstance(true, list) else not isinstance(true, float)


def steps(function, *arguments, **options):
    """What every name of a shown run ended with, and the lines of the run."""
    work = show(function, *arguments, **options)
    assert "matches the unmodified run" in work.text()
    return {step.name: step.live for step in work.root.walk() if step.kind == "assign"}


@cache
def covered():
    """The ids that a test of this folder names."""
    import ast

    found = []
    for path in sorted(Path(__file__).parent.glob("test_examples_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "example":
                found += [argument.value for argument in node.args[:1] if isinstance(argument, ast.Constant)]
    return found
