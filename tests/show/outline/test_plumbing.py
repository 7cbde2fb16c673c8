"""Steps that are no part of the computation are left out by what they are, not by what their text looks like."""

import torch

from workings import show
from workings.show.work import Work

ONE = torch.ones(1)


def test_questions_about_arguments_are_left_out():
    def f(x, mask=None, word="it is None"):
        if mask is not None and x.sum() > 0:
            x = x + mask
        if not isinstance(word, str):
            x = x + 1
        if [name for name in (mask, word) if name is None]:
            x = x + 2
        if word == "it is None":
            x = 3 * x
        return x

    work = show(f, ONE)
    assert [line for line in work.text().split("\n") if line.startswith("if")] == ["if word == 'it is None': True"]
    assert Work.from_json(work.json()).text() == work.text()


def test_a_question_that_opens_a_function_is_shown():
    def is_there(x):
        return x is not None

    def f(x):
        return 2 * x if is_there(x) else x

    def g(x):
        if is_there(x):
            x = 2 * x
        return x

    assert "if is_there(x): True" in show(g, ONE).text()
    assert "since is_there(x) is true" in show(f, ONE).text()


def test_only_our_own_questions_about_axes_are_left_out():
    def f(x):
        if x.dim() == 1:
            x = 2 * x
        return x

    assert "if x.dim() == 1: True" in show(f, ONE).text()


def test_what_is_passed_on_with_other_arguments_is_no_decorator():
    def inner(x, *args, **kwargs):
        y = 2 * x
        return y

    def outer(x, *args, **kwargs):
        text = "inner(*args, **kwargs)"
        z = inner(x, *args, scale=1, **kwargs)
        return z, text

    assert "decorator" not in show(outer, ONE).text()
