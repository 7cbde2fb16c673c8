"""Exact tensors in a dispatch mode of their own: the same results, without PyTorch's distributed tensors."""

import subprocess
import sys

import torch

from workings import exact
from workings.cli.arguments.direct import direct

HEAVY = ["torch.distributed.tensor", "torch._dynamo", "sympy"]


def test_same_results():
    x = exact("1 2; 3 4")
    w = exact.symbols("w_direct").requires_grad_()
    with direct():
        y = (x.softmax(-1) @ x.mT).sum()
        L = (3 * w - 1) ** 2
        (g,) = torch.autograd.grad(L, w)
        plain = torch.ones(2) + 1
        solved = torch.linalg.solve(x, x)  # by PyTorch's own decomposition or by a rule: exact all the same
    assert exact.equal(y, (x.softmax(-1) @ x.mT).sum())
    assert g.text() == "18w_direct − 6"
    assert plain.tolist() == [2, 2]
    assert exact.equal(solved, exact.eye(2))


def test_the_command_line_spares_the_import():
    code = (
        "import sys\n"
        "from workings.cli import app\n"
        "app(['show', 'attention', 'Q=1 0; 0 1', 'K=1 1; 1 0', 'V=2 0; 0 1'], standalone_mode=False)\n"
        f"print([m for m in {HEAVY} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.endswith("is read as √2\n[]\n"), done.stdout + done.stderr
