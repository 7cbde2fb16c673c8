"""Shapes and axes that do not fit are refused as PyTorch refuses them."""

import pytest
import torch
import torch.nn.functional as F

from workings import exact


def message(f, *args):
    with pytest.raises(Exception) as caught:
        f(*args)
    return caught.type, str(caught.value)


AXES = {
    "sum": lambda x: x.sum(5),
    "several": lambda x: x.sum((0, 2)),
    "twice": lambda x: x.sum((0, 0)),
    "mean": lambda x: x.mean(3),
    "var": lambda x: x.var(-4),
    "prod": lambda x: x.prod(3),
    "softmax": lambda x: x.softmax(5),
    "log_softmax": lambda x: x.log_softmax(-3),
    "logsumexp": lambda x: x.logsumexp(3),
    "cumsum": lambda x: x.cumsum(4),
    "amax": lambda x: x.amax(3),
}


MISFITS = {
    "mm": (torch.matmul, (2, 2), (3, 3)),
    "mm of a vector": (torch.mm, (2, 2), (2,)),
    "bmm": (torch.bmm, (1, 2, 2), (1, 3, 3)),
    "bmm, other batch": (torch.bmm, (2, 2, 2), (1, 2, 2)),
    "bmm of matrices": (torch.bmm, (2, 2), (2, 2)),
    "dot": (torch.dot, (2,), (3,)),
    "linear": (F.linear, (2, 2), (3, 3)),
    "conv1d": (F.conv1d, (1, 2, 3), (1, 1, 2)),
    "conv2d, large kernel": (F.conv2d, (1, 1, 2, 2), (1, 1, 3, 3)),
    "conv_transpose1d": (F.conv_transpose1d, (1, 2, 3), (1, 1, 2)),
}


@pytest.mark.parametrize("name", AXES)
@pytest.mark.parametrize("text", ["1 2", "1"])
def test_an_axis_that_is_not_there_is_refused_as_torch_does(name, text):
    x = exact(text)
    assert message(AXES[name], x) == message(AXES[name], x.float64())


def test_an_axis_is_refused_with_letters_too():
    with pytest.raises(IndexError, match="Dimension out of range"):
        exact("q r; 1 2").argmax(2)


@pytest.mark.parametrize("name", MISFITS)
def test_shapes_that_do_not_fit_are_refused_as_torch_does(name):
    f, *shapes = MISFITS[name]
    xs = [exact.ones(*shape) for shape in shapes]
    assert message(f, *xs) == message(f, *[x.float64() for x in xs])
    assert message(f, *xs)[0] is RuntimeError
