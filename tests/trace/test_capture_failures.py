"""What fails, what is caught, and the first NaN."""

import math

import torch

from workings.trace.capture import capture


def names(trace, kinds=("assign",)):
    return [step.name for step in trace.steps() if step.kind in kinds]


def test_a_failure_keeps_the_steps_before_it():
    def f(x):
        y = x * 2
        z = y @ torch.ones(5)
        return z

    trace = capture(f, torch.ones(3))
    assert isinstance(trace.error, RuntimeError)
    assert names(trace) == ["y"]
    (failed,) = [s for s in trace.steps() if s.kind == "error"]
    assert (failed.name, failed.source) == ("z", "z = y @ torch.ones(5)")
    assert trace.agreement == "fails as the plain run does"


def test_the_first_nan_is_named():
    def f(x):
        y = x - 1
        z = y.log()
        w = z + 1
        return w

    assert capture(f, torch.tensor([0.5, 2.0])).first_bad.name == "z"

    def masked(x):
        S = x.masked_fill(x < 1, -math.inf)
        A = S.softmax(0)
        x.log_()
        return A

    assert capture(masked, torch.tensor([0.0, 2.0])).first_bad.source == "x.log_()"


def test_a_failure_inside_a_loop_is_the_statement_that_failed():
    def f(x):
        for n in (3, 4):
            y = x @ torch.ones(n)
        return y

    (failed,) = [s for s in capture(f, torch.ones(3)).steps() if s.kind == "error"]
    assert failed.operands["n"] == 4
    assert "needs 3 = 4" in failed.note or "3" in failed.note


def test_folded_loops_end_where_they_end():
    def f(x):
        i = 0
        try:
            while True:
                i += 1
                if i == 70:
                    raise ValueError
        except ValueError:
            q = x + 1
        z = q * 2
        return z

    assert names(capture(f, torch.ones(1)))[-2:] == ["q", "z"]
