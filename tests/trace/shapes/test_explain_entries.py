"""Indices, classes and letters of einsum that do not fit, explained word for word."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import workings
from workings import exact
from workings.trace.shapes.explain import explain


def zeros(*shape: int) -> torch.Tensor:
    return torch.zeros(shape)


def explained(call, *args, **kwargs) -> str:
    """The explanation of a call, after checking that it really fails."""
    with pytest.raises((RuntimeError, IndexError, ValueError, TypeError)) as caught:
        call(*args, **kwargs)
    return str(explain(caught.value, call, args, kwargs))


at = torch.Tensor.__getitem__
EINSUM = [
    (("ij,jk->ik", zeros(2, 3), zeros(4, 5)), "einsum 'ij,jk->ik' needs one size for j: it is 3 in [2, 3], 4 in [4, 5]"),
    (
        ("ij,jk->ik", zeros(2, 3), zeros(4, 3)),
        "einsum 'ij,jk->ik' needs one size for j: it is 3 in [2, 3], 4 in [4, 3]; use 'ij,kj->ik'",
    ),
    (("ii", zeros(2, 3)), "einsum 'ii' needs one size for i: it is 2 in [2, 3], 3 in [2, 3]"),
    (  # an axis of 1 is repeated, so b has 1, then 2, then 3
        ("b,b,b->b", zeros(1), zeros(2), zeros(3)),
        "einsum 'b,b,b->b' needs one size for b: it is 2 in [2], 3 in [3]",
    ),
    (
        ("ij,j->i", zeros(2, 3), zeros(3, 1)),
        "einsum 'ij,j->i' names 1 axis (j) of the second operand, which is [3, 1]",
    ),
    (("ij,jk", zeros(2, 3)), "einsum 'ij,jk' has letters for 2 operands and received 1"),
    (("ij->il", zeros(2, 3)), "einsum 'ij->il' has l in the output, which is in no operand"),
]


@pytest.mark.parametrize(("args", "text"), EINSUM)
def test_letters_of_einsum(args, text):
    assert explained(torch.einsum, *args) == text


def test_the_letters_that_are_suggested_fit():
    assert torch.einsum("ij,kj->ik", zeros(2, 3), zeros(4, 3)).shape == (2, 4)


INDICES = [
    ((zeros(2, 3), 3), "axis 0 of [2, 3] has size 2 and received the index 3; use 0 or 1, or −2 or −1 from the end"),
    (
        (zeros(2, 3), (slice(None), 5)),
        "axis 1 of [2, 3] has size 3 and received the index 5; use 0 … 2, or −3 … −1 from the end",
    ),
    (
        (zeros(2, 3, 4), (Ellipsis, None, -5)),
        "axis 2 of [2, 3, 4] has size 4 and received the index −5; use 0 … 3, or −4 … −1 from the end",
    ),
    (
        (zeros(2, 3), torch.tensor([0, 7])),
        "axis 0 of [2, 3] has size 2 and received the index 7; use 0 or 1, or −2 or −1 from the end",
    ),
    ((zeros(1, 3), 1), "axis 0 of [1, 3] has size 1 and received the index 1; use 0"),
    ((zeros(0), 0), "axis 0 of [0] has size 0, so there is nothing at the index 0"),
    ((zeros(2, 3), (0, 0, 0)), "[2, 3] has 2 axes and received 3 indices; give at most 2"),
    ((zeros(2), (0, 0)), "[2] has 1 axis and received 2 indices; give at most 1"),
    ((zeros(2, 3), zeros(2)), "an index is whole numbers or a mask, and received float32; convert it with .long()"),
    (
        (zeros(2, 3), torch.tensor([True, False, True])),
        "a mask of [3] does not fit axis 0 of [2, 3]; use a mask of [2]",
    ),
    (
        (zeros(2, 3, 4), (0, torch.ones(4, 3, dtype=torch.bool))),
        "a mask of [4, 3] does not fit axes 1 … 2 of [2, 3, 4]; use a mask of [3, 4]",
    ),
]


@pytest.mark.parametrize(("args", "text"), INDICES)
def test_indices(args, text):
    assert explained(at, *args) == text


def test_indices_along_an_axis():
    places = torch.tensor([[3], [1]])
    text = "axis 1 of [2, 3] has size 3 and received the index 3; use 0 … 2"
    assert explained(torch.gather, zeros(2, 3), 1, places) == text
    text = "axis −1 of [2, 3] has size 3 and received the index −1; use 0 … 2"
    assert explained(torch.index_select, zeros(2, 3), -1, torch.tensor([-1])) == text
    text = "an index is whole numbers, and received float32; convert it with .long()"
    assert explained(torch.gather, zeros(2, 3), 1, zeros(2, 1)) == text


def whole(*numbers: int) -> torch.Tensor:
    return torch.tensor(numbers)


CLASSES = [
    (
        (zeros(2, 10), whole(0, 10)),
        "cross_entropy of scores [2, 10] has 10 classes, 0 … 9, and received the class 10; give the scores 11 classes",
    ),
    (
        (zeros(2, 10), whole(1, 10)),
        "cross_entropy of scores [2, 10] has 10 classes, 0 … 9, and received the class 10; use targets - 1",
    ),
    ((zeros(2, 10), whole(0, -1)), "cross_entropy of scores [2, 10] has 10 classes, 0 … 9, and received the class −1"),
    (
        (zeros(2, 10), whole(0, 1).view(2, 1)),
        "cross_entropy of scores [2, 10] needs targets of [2], a class for each example, and received [2, 1]; "
        "use targets.squeeze(1)",
    ),
    (
        (zeros(2, 10), whole(0, 1, 2)),
        "cross_entropy of scores [2, 10] needs targets of [2], a class for each example, and received [3]",
    ),
    (
        (zeros(2, 5, 10), whole(*[0] * 10).view(2, 5)),
        "cross_entropy of scores [2, 5, 10] needs targets of [2, 10], a class for each example, and received [2, 5]; "
        "the classes stand on axis 1: use scores.movedim(-1, 1)",
    ),
    (
        (zeros(2, 3), whole(0, 1, 0, 1, 0, 0).view(2, 3)),
        "cross_entropy of scores [2, 3] needs targets of [2], a class for each example, and received [2, 3]; "
        "use targets.argmax(1), or targets.float() if these are probabilities",
    ),
    (
        (zeros(2, 10), zeros(2)),
        "cross_entropy needs targets that are class numbers, int64, and received float32; use targets.long()",
    ),
    (
        (whole(1, 2).view(1, 2), whole(0)),
        "cross_entropy needs scores of a float dtype and received int64; use scores.float()",
    ),
]


@pytest.mark.parametrize(("args", "text"), CLASSES)
def test_classes(args, text):
    assert explained(F.cross_entropy, *args) == text
    assert explained(nn.CrossEntropyLoss(), *args) == text


def test_a_class_that_is_ignored_is_not_at_fault():
    text = "cross_entropy of scores [2, 3] has 3 classes, 0 … 2, and received the class 4; give the scores 5 classes"
    assert explained(F.cross_entropy, zeros(2, 3), whole(-100, 4)) == text
    assert explained(nn.CrossEntropyLoss(ignore_index=-1), zeros(2, 3), whole(-1, 4)) == text


def test_what_fits_is_not_explained():
    error = RuntimeError()
    assert explain(error, torch.einsum, ("...i,i", zeros(2, 3), zeros(3))) is None
    assert explain(error, torch.einsum, ("ij,jk->ik", zeros(2, 3), zeros(3, 3))) is None
    assert explain(error, at, (zeros(2, 3), (slice(5), None, -3))) is None
    assert explain(error, at, (zeros(2, 3), ([0, 1], True))) is None
    assert explain(error, F.cross_entropy, (zeros(2, 3), zeros(2, 3))) is None
    assert explain(error, F.cross_entropy, (zeros(2, 3), whole(1, 7), None, None, 7)) is None  # the class 7 is ignored


def test_in_place_and_views():
    text = "[3] is changed in place and cannot become [2, 3], the shape of the result with [2, 3]; "
    text += "make a new tensor, without changing this one in place"
    assert explained(torch.Tensor.add_, zeros(3), zeros(2, 3)) == text
    text = "[3] and [2] do not fit: axis −1 has sizes 3 and 2, which must be equal or 1"
    assert explained(torch.Tensor.mul_, zeros(3), zeros(2)) == text
    text = "view needs entries that lie in memory in the order they are read, and [3, 2] was transposed or cut; "
    text += "use reshape in place of view: it copies where it must"
    assert explained(torch.Tensor.view, zeros(2, 3).T, 6) == text


def last_words(function, *args) -> str:
    (failed,) = [s for s in workings.show(function, *args).steps() if s.kind == "error"]
    return failed.note.split("\n")[0]


def test_in_the_names_of_the_code():
    def loss(scores, y):
        L = F.cross_entropy(scores, y)
        return L

    text = "cross_entropy of scores [1, 2] has 2 classes, 0 or 1, and received the class 2; give the scores 3 classes"
    assert last_words(loss, zeros(1, 2), whole(2)) == text
    text = "cross_entropy needs targets that are class numbers, int64, and received float32; use y.long()"
    assert last_words(loss, zeros(1, 2), zeros(1)) == text

    def quotient(x, y):
        z = 2 * x / (y - 1)
        return z

    text = "[2, 3] and [2] do not fit: axis −1 has sizes 3 and 2, which must be equal or 1; use (y - 1).unsqueeze(-1)"
    assert last_words(quotient, zeros(2, 3), zeros(2)) == text

    def entry(x):
        z = x[3]
        return z

    text = "axis 0 of [2, 2] has size 2 and received the index 3; use 0 or 1, or −2 or −1 from the end"
    assert last_words(entry, exact.eye(2)) == text
