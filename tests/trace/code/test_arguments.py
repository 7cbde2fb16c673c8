"""What is called, and with what."""

import functools

import pytest
import torch

from workings.errors import WorkingsError
from workings.trace.capture.capture import capture


def names(trace, kinds=("assign",)):
    return [step.name for step in trace.steps() if step.kind in kinds]


def deco(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        result = f(*args, **kwargs)
        return result

    return wrapper


@deco
def decorated(x, *, s=2):
    y = x * s
    return y


def test_partials_and_objects_are_opened():
    class Scale:
        def __init__(self, by):
            self.__by = by

        def __call__(self, x):
            y = x * self.__by
            return y

    assert names(capture(functools.partial(decorated, s=5), torch.ones(1)))[-1] == "y"
    trace = capture(Scale(3), torch.ones(1))
    assert (names(trace), trace.result.item()) == (["y"], 3)


def test_the_right_one_of_several_lambdas():
    table = dict(
        a=lambda z: z + 1, b=lambda z: z * 100,
    )  # fmt: skip
    assert capture(table["b"], torch.ones(1)).result.item() == 100
    assert capture(table["a"], torch.ones(1)).result.item() == 2


def test_partials_and_objects_are_opened_where_they_are_called():
    def times(x, k):
        y = x * k
        return y

    trace = capture(lambda x: functools.partial(times, k=3)(x), torch.ones(1))
    assert (names(trace), trace.result.item()) == (["y"], 3)


def grow(x, depth=1, names=(), replay=False):
    y = x * depth + len(names) + replay
    return y


def test_an_option_of_ours_that_the_function_has_too_is_refused():
    with pytest.raises(WorkingsError) as error:
        capture(grow, torch.ones(1), depth=3)
    assert str(error.value) == (
        "depth=3 is ambiguous: grow has a parameter of that name, and so does `show`. "
        "Give grow its own first: functools.partial(grow, depth=…)."
    )
    with pytest.raises(WorkingsError, match=r"^names=\['y'\] is ambiguous: grow has"):
        capture(grow, torch.ones(1), names=["y"])
    with pytest.raises(WorkingsError, match=r"^replay=False is ambiguous: grow has"):
        capture(grow, torch.ones(1), replay=False)


def test_the_function_s_own_by_partial_or_by_place():
    assert capture(functools.partial(grow, depth=5), torch.ones(1), depth=3).result.item() == 5
    assert capture(grow, torch.ones(1), 7, depth=3).result.item() == 7
    assert capture(grow, torch.ones(1)).result.item() == 1
