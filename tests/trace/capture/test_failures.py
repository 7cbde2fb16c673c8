"""What fails, what is caught, and the first NaN."""

import math

import torch

import workings
from workings.trace.capture.capture import capture


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
    assert trace.agreement == "fails like the unmodified run"


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


def test_a_nan_is_named_where_an_infinity_came_first():
    def meant(x):
        S = x.masked_fill(x > 0, -math.inf)
        A = S.softmax(0)
        return A

    trace = capture(meant, torch.tensor([1.0, 2.0]))  # no token may look at any
    assert (trace.first_bad.name, trace.first_nan) == ("A", None)
    assert capture(lambda x: x - x, torch.tensor([1.0, math.inf])).first_bad.kind == "return"

    def not_meant(x):
        M = x.log()
        A = M.softmax(0)
        B = A + 1
        return B

    trace = capture(not_meant, torch.zeros(2))
    assert (trace.first_bad.name, trace.first_nan.name) == ("M", "A")
    work = workings.show(not_meant, torch.zeros(2))
    lines = [line.partition(" (")[0] for line in work.text().splitlines() if line.startswith("first")]
    assert lines == ["first infinity: M = x.log()", "first NaN: A = M.softmax(0)"]
    assert "First infinity" in work.html()
    assert "First NaN" in work.html().replace("First NaN or", "")
    again = workings.show.Work.from_json(work.json())
    assert (again.first_bad.name, again.first_nan.name, again == work) == ("M", "A", True)

    with workings.trace() as block:
        M = torch.zeros(2).log()
        A = M.softmax(0)
        L = A.sum()
    assert (block.first_bad.name, block.first_nan.name, L.isnan().item()) == ("M", "A", True)


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


def failed_in(function, *args):
    (step,) = [s for s in capture(function, *args).steps() if s.kind == "error"]
    return step


def test_a_change_that_fails_is_the_statement_that_failed():
    def f(x, y):
        z = x + 1
        z += y
        return z

    step = failed_in(f, torch.ones(2), torch.ones(3))
    assert (step.name, step.source, step.result, step.live) == ("z", "z += y", None, None)
    first = "[2] and [3] do not fit: axis −1 has sizes 2 and 3, which must be equal or 1"
    assert step.note.splitlines()[0] == first


def test_an_entry_and_an_unpacking_that_fail():
    def entry(x):
        z = torch.zeros(2, 2)
        z[0] = x
        return z

    def unpacking(x):
        a, b = x
        return a + b

    assert failed_in(entry, torch.ones(3)).source == "z[0] = x"
    step = failed_in(unpacking, torch.ones(3))
    assert (step.source, step.note) == ("a, b = x", "ValueError: too many values to unpack (expected 2)")


def test_changes_that_do_not_fail_have_their_values():
    def f(x):
        z = torch.zeros(2)
        z[0] = x
        z += 1
        a, b = z
        try:
            z += torch.ones(3)
        except RuntimeError:
            a, b = b, a
        return a

    steps = [s for s in capture(f, torch.tensor(4.0)).steps() if s.kind == "assign"]
    assert [s.source for s in steps] == [
        "z = torch.zeros(2)",
        "z[0] = x",
        "z += 1",
        "a, b = z",
        "z += torch.ones(3)",
        "a, b = (b, a)",
    ]
    assert steps[1].result.tolist() == [4, 0]
    assert steps[2].result.tolist() == [5, 1]
    assert [float(v) for v in steps[3].result] == [5, 1]
    assert (steps[4].is_stopped, steps[4].live) == (True, None)
    assert [float(v) for v in steps[5].result] == [1, 5]


def refuse(x):
    y = 2 * x
    if y > 3:
        raise ValueError(f"{y} is too much")
    return y


def test_raise_is_the_statement_that_failed():
    step = failed_in(refuse, 2)
    assert (step.source, step.note) == ("raise ValueError(f'{y} is too much')", "ValueError: 4 is too much")
    assert step.where.line == refuse.__code__.co_firstlineno + 3


def test_what_was_caught_is_said():
    def f(x):
        try:
            y = x @ torch.ones(5, 1)
        except RuntimeError:
            y = x
        try:
            y = y.missing
        except (AttributeError, KeyError):
            y = y + 0
        try:
            raise ValueError
        except ValueError:
            return y

    notes = [s.note for s in capture(f, torch.ones(1, 3)).steps() if s.is_stopped]
    with workings.trace() as block:
        z = f(torch.ones(1, 3))
    assert z.shape == (1, 3)
    assert notes == [s.note for s in block.steps() if s.is_stopped]
    assert notes == [
        "raised RuntimeError, which was caught: mat1 and mat2 shapes cannot be multiplied (1x3 and 5x1)",
        "raised AttributeError, which was caught: 'Tensor' object has no attribute 'missing'",
        "raised ValueError, which was caught",
    ]


def test_raise_that_is_caught_and_raised_again():
    def caught(x):
        try:
            return refuse(x)
        except ValueError:
            y = x - 1
        return refuse(y)

    trace = capture(caught, 2)
    note = "raised ValueError, which was caught: 4 is too much"
    assert [s.note for s in trace.steps() if s.source.startswith("raise")] == [note]
    assert trace.result == 2

    def again(x):
        try:
            return refuse(x)
        except ValueError:
            raise

    step = failed_in(again, 2)
    assert (step.source, step.note) == ("raise", "ValueError: 4 is too much")


def test_a_check_of_this_library_fails_where_it_is_called():
    from workings.nn import attention

    step = failed_in(lambda Q, K: attention(Q, K, K), torch.ones(2, 2), torch.ones(2, 3))
    assert not step.source.startswith("raise")
