"""Choices that there are not: the reader is told what was needed, what came, and the nearest."""

import pytest
import torch

import workings
from workings.errors import WorkingsError


def f(x):
    scores = x * 2
    weights = scores / 3
    return weights


def refusal(call, *args, **choices) -> str:
    with pytest.raises(WorkingsError) as refused:
        call(*args, **choices)
    return str(refused.value)


CHOICES = [
    ({"digits": 0}, "digits is a whole number from 1 to 50, not 0; the nearest is 1."),
    ({"digits": 99}, "digits is a whole number from 1 to 50, not 99; the nearest is 50."),
    ({"digits": True}, "digits is a whole number from 1 to 50, not True."),
    ({"digits": "4"}, "digits is a whole number from 1 to 50, not '4'."),
    ({"substitution": "weird"}, "substitution is 'long', 'short' or 'none', not 'weird'."),
    ({"substitution": "shrot"}, "substitution is 'long', 'short' or 'none', not 'shrot'. Did you mean short?"),
    ({"only": "zz"}, "only takes names of steps, and none is called 'zz'. There are: x, scores, weights."),
    ({"only": ["x", "score"]}, "only takes names of steps, and none is called 'score'. Did you mean scores?"),
    ({"hide": "wieghts"}, "hide takes names of steps, and none is called 'wieghts'. Did you mean weights?"),
]


@pytest.mark.parametrize(("choice", "message"), CHOICES)
def test_a_choice_that_there_is_not(choice, message):
    assert refusal(workings.show, f, torch.ones(2), **choice) == message
    assert refusal(workings.show(f, torch.ones(2)).text, **choice) == message


@pytest.mark.parametrize(
    ("depth", "message"),
    [
        (9, "depth is a whole number from 1 to 4, not 9; the nearest is 4."),
        (0, "depth is a whole number from 1 to 4, not 0; the nearest is 1."),
        (2.5, "depth is a whole number from 1 to 4, not 2.5."),
    ],
)
def test_a_depth_that_there_is_not(depth, message):
    assert refusal(workings.show, f, torch.ones(2), depth=depth) == message
    assert refusal(workings.trace, depth=depth) == message


def test_a_page_opens_as_deep_as_it_is():
    work = workings.show(f, torch.ones(2))
    assert refusal(work.text, depth=0) == "depth is a whole number of at least 1, not 0; the nearest is 1."
    assert work.text(depth=9) == work.text()


def test_options_that_are_handed_over_are_asked_too():
    options = workings.show.Options(only=frozenset({"zz"}))
    message = "only takes names of steps, and none is called 'zz'. There are: x, scores, weights."
    assert refusal(workings.show, f, torch.ones(2), options=options) == message


def test_printing_choices_stand_beside_the_arguments():
    work = workings.show(f, torch.tensor([1.0]), digits=2, only="weights")
    assert work.text().split("\n")[0] == "weights = scores / 3 = [2] / 3 = [0.67]  (1)"
    assert work.text(digits=3, only=()).split("\n")[2] == "weights = scores / 3 = [2] / 3 = [0.667]  (1)"


def test_a_parameter_of_that_name_is_the_function_s_own():
    def rounded(x, digits):
        y = x * digits
        return y

    work = workings.show(rounded, torch.ones(1), digits=99)
    assert work.result.item() == 99
    assert work.options.digits == 4

    def anything(x, **options):
        return x * options["digits"]

    assert workings.show(anything, torch.ones(1), digits=99).result.item() == 99


def test_gradients_and_addresses_are_names():
    def whole(x):
        y = x * x
        L = y.sum()
        return L

    work = workings.show(whole, torch.ones(1), backward=True, only="∂L/∂x")
    assert work.text().startswith("∂L/∂x = ")


def test_what_failed_need_not_have_come_to_its_names():
    def fails(x):
        y = x @ x
        z = y * 2
        return z

    work = workings.show(fails, torch.ones(2, 3), only="z")
    assert "fails: y = x @ x" in work.text()
