"""Shape errors explained from the operands: what was needed, what came, and a fix that works."""

import operator

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from workings.trace.formula.tree import Apply, Leaf, Number
from workings.trace.shapes.explain import explain, in_names


def zeros(*shape: int) -> torch.Tensor:
    return torch.zeros(shape)


def explained(call, *args, before=None, **kwargs) -> str:
    """The explanation of a call, after checking that it really fails."""
    with pytest.raises((RuntimeError, IndexError, ValueError, TypeError)) as caught:
        call(*args, **kwargs)
    return str(explain(caught.value, call, args, kwargs, before))


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ((nn.Linear(120, 10), zeros(1, 144)), "nn.Linear(120, 10) received 144 features; use nn.Linear(144, 10)"),
        (
            (nn.Linear(144, 10), zeros(1, 16, 3, 3)),
            "nn.Linear(144, 10) needs 144 features and received 3 in the last axis of [1, 16, 3, 3], but 16·3·3 = 144; "
            "flatten first: nn.Flatten(1)",
        ),
        (
            (nn.Linear(144, 10), zeros(16, 9)),
            "nn.Linear(144, 10) needs 144 features and received 9 in the last axis of [16, 9], but 16·9 = 144; "
            "is the batch axis missing?",
        ),
        (
            (F.linear, zeros(2, 5), zeros(3, 4)),
            "linear with a weight of [3, 4] received 5 features; use a weight of [3, 5]",
        ),
        (
            (nn.Conv2d(3, 8, 5), zeros(1, 1, 32, 32)),
            "nn.Conv2d(3, 8, 5) needs 3 channels and received 1, in [1, 1, 32, 32]; use nn.Conv2d(1, 8, 5)",
        ),
        (
            (nn.Conv2d(3, 8, 5), zeros(1, 32, 32, 3)),
            "nn.Conv2d(3, 8, 5) needs [batch, 3, height, width] and received [1, 32, 32, 3], with the channels last; "
            "use x.permute(0, 3, 1, 2)",
        ),
        (
            (nn.Conv2d(1, 8, 5), zeros(32, 32)),
            "nn.Conv2d(1, 8, 5) needs [batch, 1, height, width] and received [32, 32], 2 axes instead of 4; "
            "add the missing axes with x.unsqueeze",
        ),
        (
            (nn.Conv2d(1, 8, 5), zeros(1, 1, 3, 3)),
            "nn.Conv2d(1, 8, 5) does not fit in [1, 1, 3, 3]: ⌊(3 − 5 + 2·0)/1⌋ + 1 = −1; "
            "use a kernel of at most 3, or padding of at least 1",
        ),
        (
            (nn.Conv1d(4, 8, 3), zeros(1, 5, 9)),
            "nn.Conv1d(4, 8, 3) needs 4 channels and received 5, in [1, 5, 9]; use nn.Conv1d(5, 8, 3)",
        ),
        (
            (F.conv2d, zeros(1, 2, 5, 5), zeros(4, 3, 3, 3)),
            "convolution with a weight of [4, 3, 3, 3] needs 3 channels and received 2, in [1, 2, 5, 5]; "
            "use a weight of [4, 2, 3, 3]",
        ),
        (
            (nn.MaxPool2d(4), zeros(1, 1, 3, 3)),
            "nn.MaxPool2d(4) does not fit in [1, 1, 3, 3]: ⌊(3 − 4 + 2·0)/4⌋ + 1 = 0; "
            "use a kernel of at most 3, or padding of at least 1",
        ),
        (
            (nn.BatchNorm2d(8), zeros(1, 16, 2, 2)),
            "nn.BatchNorm2d(8) needs 8 channels and received 16, in [1, 16, 2, 2]; use nn.BatchNorm2d(16)",
        ),
        (
            (nn.LayerNorm(8), zeros(2, 6)),
            "nn.LayerNorm(8) needs [8] in the last axes and received [6], in [2, 6]; use nn.LayerNorm(6)",
        ),
        (
            (nn.Embedding(5, 2), torch.tensor([7])),
            "nn.Embedding(5, 2) has rows 0 … 4 and received the index 7; use nn.Embedding(8, 2)",
        ),
        (
            (torch.matmul, zeros(2, 3), zeros(4, 3)),
            "[2, 3] @ [4, 3] needs 3 = 4: the columns of the left, the rows of the right; use left @ right.mT",
        ),
        (
            (operator.matmul, zeros(3, 2), zeros(3, 4)),
            "[3, 2] @ [3, 4] needs 2 = 3: the columns of the left, the rows of the right; use left.mT @ right",
        ),
        (
            (torch.Tensor.__matmul__, zeros(4, 2), zeros(3, 4)),
            "[4, 2] @ [3, 4] needs 2 = 3: the columns of the left, the rows of the right; use right @ left",
        ),
        (
            (torch.matmul, zeros(2, 3, 4), zeros(5, 4, 3)),
            "[2, 3, 4] @ [5, 4, 3]: the batch axes do not fit: axis −1 has sizes 2 and 5, which must be equal or 1",
        ),
        (
            (torch.bmm, zeros(2, 3), zeros(3, 2)),
            "bmm needs two tensors of 3 axes and received [2, 3] and [3, 2]; "
            "use left @ right, which takes any number of axes",
        ),
        (
            (torch.cat, [zeros(), zeros()]),
            "cat joins along an axis, and tensor 1 of 2 is a single number, which has none; use torch.stack(…)",
        ),
        (
            (torch.cat, [zeros(2), zeros()]),
            "cat joins along an axis, and tensor 2 of 2 is a single number, which has none; use x.reshape(1)",
        ),
        (
            (torch.cat, [zeros(2, 3), zeros(2, 4)]),
            "cat along dim=0 needs equal sizes in every other axis, but [2, 3] and [2, 4] differ; use dim=1",
        ),
        (
            (torch.stack, [zeros(2, 3), zeros(1, 3)]),
            "stack needs equal shapes, but [2, 3] and [1, 3] differ; use torch.cat(…, dim=0) to join them along that axis",
        ),
        (
            (torch.add, zeros(2, 3), zeros(2)),
            "[2, 3] and [2] do not fit: axis −1 has sizes 3 and 2, which must be equal or 1; use right.unsqueeze(-1)",
        ),
        (
            (operator.mul, zeros(2, 3), zeros(3, 2)),
            "[2, 3] and [3, 2] do not fit: axis −1 has sizes 3 and 2, which must be equal or 1; use right.mT",
        ),
        (
            (torch.Tensor.view, zeros(1, 16, 3, 3), -1, 120),
            "[1, 16, 3, 3] holds 1·16·3·3 = 144 numbers, which do not fill [-1, 120]; "
            "use x.flatten(1), which gives [1, 144]",
        ),
        (
            (torch.reshape, zeros(3, 4), (2, 5)),
            "[3, 4] holds 3·4 = 12 numbers, which do not fill [2, 5]; use [2, 6]",
        ),
        (
            (torch.reshape, zeros(3, 4), (5, 7)),
            "[3, 4] holds 3·4 = 12 numbers, which do not fill [5, 7]",
        ),
        (
            (torch.matmul, zeros(2, 2), zeros(1, 2)),
            "[2, 2] @ [1, 2] needs 2 = 1: the columns of the left, the rows of the right; use left @ right.mT",
        ),
        (  # turned, the product would fit, but not the batch axes: nothing is suggested
            (torch.matmul, zeros(2, 5, 3), zeros(3, 4, 3)),
            "[2, 5, 3] @ [3, 4, 3] needs 3 = 4: the columns of the left, the rows of the right",
        ),
        (
            (nn.Linear(2, 2), torch.zeros(1, 2, dtype=torch.float64)),
            "nn.Linear(2, 2) has weights of float32 and received float64; use x.to(torch.float32)",
        ),
        (
            (torch.matmul, zeros(2, 2), torch.zeros(2, 2, dtype=torch.int64)),
            "[2, 2] @ [2, 2] needs one dtype: the left is float32, the right int64; use right.to(torch.float32)",
        ),
        (
            (operator.matmul, zeros(2, 2), torch.zeros(2, 2, dtype=torch.float64)),
            "[2, 2] @ [2, 2] needs one dtype: the left is float32, the right float64; use left.to(torch.float64)",
        ),
    ],
)
def test_explanations(args, text):
    assert explained(*args) == text


def test_the_shape_before_flattening_gives_the_product():
    assert explained(nn.Linear(120, 10), zeros(1, 144), before=(16, 3, 3)) == (
        "nn.Linear(120, 10) received 144 features = 16·3·3; use nn.Linear(144, 10)"
    )
    assert "=" not in explained(nn.Linear(120, 10), zeros(1, 144), before=(5, 5))


def test_the_author_s_names():
    # (Q + 1) @ K has no name on its left: it is written as in the source, where that is known.
    Q, K = Leaf("Q"), Leaf("self.K")
    values = {"Q": zeros(2, 3), "self.K": zeros(4, 3)}
    fails = "[2, 3] @ [4, 3] needs 3 = 4: the columns of the left, the rows of the right; "
    assert str(in_names(Apply("matmul", (Q, K)), values)) == fails + "use Q @ self.K.mT"
    assert str(in_names(Apply("div", (Apply("matmul", (Q, K)), Number(2))), values)) == fails + "use Q @ self.K.mT"
    sum_ = Apply("matmul", (Apply("add", (Q, Number(1))), K))
    assert str(in_names(sum_, values, "S = (Q + 1) @ self.K")) == fails + "use (Q + 1) @ self.K.mT"
    assert str(in_names(sum_, values)) == fails + "use left @ right.mT"
    assert in_names(Apply("matmul", (Apply("nothing", (Q,)), K)), values) is None
    assert in_names(Apply("matmul", (Q, Leaf("other"))), values) is None
    assert in_names(None, values) is None


def test_the_fixes_work():
    a, b = zeros(2, 3), zeros(2)
    assert (a + b.unsqueeze(-1)).shape == (2, 3)
    assert nn.Conv2d(1, 8, 5, padding=1)(zeros(1, 1, 3, 3)).shape == (1, 8, 1, 1)
    assert nn.Conv2d(3, 8, 5)(zeros(1, 32, 32, 3).permute(0, 3, 1, 2)).shape == (1, 8, 28, 28)


@pytest.mark.parametrize(
    ("call", "args"),
    [
        (torch.linalg.inv, (zeros(2, 3),)),
        (torch.add, (zeros(2), "x")),
        (nn.Linear(2, 2), ()),
    ],
)
def test_other_errors_are_left_alone(call, args):
    assert explained(call, *args) == "None"


def test_an_error_of_another_kind_is_left_alone():
    assert explain(KeyError("x"), nn.Linear(2, 3), (zeros(1, 5),)) is None


def test_bmm_of_different_batches():
    found = explained(torch.bmm, zeros(2, 3, 4), zeros(3, 4, 2))
    assert (
        found
        == "bmm needs as many matrices on both sides and received 2 and 3: [2, 3, 4] and [3, 4, 2]; give both one batch"
    )
