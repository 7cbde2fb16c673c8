"""Forward-mode derivatives compare no letters."""

import pytest
import torch
import torch.nn.functional as F
from torch.func import hessian, jacfwd, jacrev

from workings import exact
from workings.errors import UndecidedError

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script")  # PyTorch's own, behind forward mode


@pytest.mark.parametrize("f", [lambda x: x.softmax(-1), lambda x: x.log_softmax(-1), lambda x: x.logsumexp(-1)])
def test_forward_mode_of_softmax_compares_no_letters(f):
    for x in (exact("q r"), exact("e^q e^r"), exact("-inf q r")):
        assert exact.equal(jacfwd(f)(x), jacrev(f)(x))


def test_hessians_with_letters():
    x, target = exact("q r"), torch.tensor(0)
    p = x.softmax(0)
    assert exact.equal(hessian(lambda x: F.cross_entropy(x, target))(x), torch.diag(p) - torch.outer(p, p))
    assert exact.equal(hessian(lambda x: x.softmax(-1)[0])(x), jacrev(jacrev(lambda x: x.softmax(-1)[0]))(x))


def test_a_program_s_own_maximum_is_still_a_comparison():
    with pytest.raises(UndecidedError):
        jacfwd(lambda x: x.softmax(-1) + x.amax(-1, keepdim=True))(exact("q r"))
