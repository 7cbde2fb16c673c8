"""Steps that are no part of the computation are left out by what they are, not by what their text looks like."""

import torch

from workings import exact, show, trace
from workings.course import key_noise
from workings.nn import conv_parameters, conv_size, softmax
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


def test_values_to_be_given_later_are_left_out():
    def template(x, best=None):
        loss, dx = None, None
        cache = None
        loss = x.sum()
        nothing = best
        return loss, dx, cache, nothing

    work = show(template, ONE)
    assert [line for line in work.text(checks=False).split("\n") if line][1:3] == [
        "loss = Σ x = Σ [1] = 1",
        "nothing = best = None",
    ]
    assert sum("None" in step.source for step in work.steps()) == 2


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


# ---- what a solution of this library's own functions leaves out


def test_arguments_that_are_handed_on_are_no_step():
    text = show(conv_size, N=128, F=5, S=3).text()
    assert [line.partition(" = ")[0] for line in text.split("\n")[:4]] == ["N", "out", "return out", ""]
    assert "possible" not in text and "dilation" not in text


def test_sizes_that_are_repeated_are_no_step():
    text = show(conv_parameters, filters=8, kernel=5, channels=1).text()
    assert "each(" not in text and "since" not in text
    assert "count = filters·(height·width·channels + biases) = 8·(5·5·1 + 1) = 208" in text


def test_a_name_for_the_same_value_is_said_once():
    text = show(softmax, s=exact("1 2"), beta=exact.symbols(beta=None)).text()
    assert text.split("\n")[0].startswith("s = [1  2]  (2)    β") and "inverse_scale" not in text


def test_a_default_that_is_used_is_said():
    assert "β = 1" in show(key_noise, exact([[1]]), exact([[1, 0]]), exact([[1, 0]]), 0, exact(["1/10"])).text()


def test_the_authors_own_tests_are_shown():
    def f(x, mode="a"):
        if mode == "b":
            x = 2 * x
        n = max(mode.count("a"), 1)
        return x * n

    assert "if mode == 'b': False" in show(f, ONE).text()


# ---- several names at once


def test_names_that_are_given_together_are_equations_of_their_own():
    def f(x):
        a, b = 2 * x, x + 1
        return a * b

    assert show(f, ONE).text().split("\n")[1:3] == ["a = 2·x = 2·[1] = [2]  (1)", "b = x + 1 = [1] + 1 = [2]  (1)"]


def test_names_that_change_places_stay_together():
    def f(a, b):
        a, b = b, 2 * a
        return a - b

    assert "a, b = (b, 2·a)" in show(f, ONE, 3 * ONE).text()


def test_of_a_chain_of_tests_the_last_one_is_shown():
    def f(x, mode):
        if mode == "a":
            y = x
        elif mode == "b":
            y = 2 * x
        elif mode == "c":
            y = 3 * x
        else:
            y = 4 * x
        if mode == "d":
            y = -y
        else:
            if y > 5:  # no elif: what is before it stays
                y = y + 1
        return y

    work = show(f, torch.tensor(2.0), "c")
    assert [line for line in work.text().split("\n") if "if " in line] == [
        "elif mode == 'c': True",
        "if mode == 'd': False",
        "if y > 5: True",
    ]
    last = show(f, torch.tensor(2.0), "d").text()
    assert "elif mode == 'c': False" in last and "'b'" not in last
    assert sum(step.kind == "branch" for step in work.steps()) == 5  # all are recorded


def test_what_says_nothing_has_no_value():
    def f(x):
        double = lambda v: 2 * v  # noqa: E731
        y, _ = double(x).max(0)
        return y

    text = show(f, torch.tensor([[1.0, 2.0], [3.0, 0.0]])).text()
    assert "double = lambda v: 2 * v\n" in text  # and not = ⟨function⟩
    assert "⇒ y = [6  4]" in text and "_ =" not in text.replace("y, _ =", "")
    assert "\n  double\n" in text  # a function without a name is called as the author calls it


def test_a_rate_that_is_set_does_not_show_the_whole_group():
    w = torch.ones(2, 2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.5)
    with trace() as work:
        for group in optimizer.param_groups:
            group["lr"] = group["lr"] / 2
    assert "group['lr'] = group['lr'] / 2 = 0.5 / 2 = 0.25\n" in work.text() and "momentum" not in work.text()
    assert "momentum" not in work.html().partition("<main")[2]
