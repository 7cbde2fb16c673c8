"""Which of the two runs: the kernel for ordinary tensors, the equations for exact ones."""

import torch

from workings import exact
from workings.fused import fused


@fused(lambda x, y=None: "kernel")
def which(x, y=None):
    return "equations"


def test_ordinary_tensors_run_the_kernel():
    assert which(torch.zeros(2)) == which(x=torch.zeros(2), y=3) == "kernel"


def test_one_exact_tensor_is_enough_wherever_it_stands():
    x = exact("1 2")
    assert which(x) == which(torch.zeros(2), x) == which(x=x) == which(torch.zeros(2), y=x) == "equations"


def test_exact_parameters_count():
    assert which(torch.nn.Parameter(exact("1 2"))) == "equations"
