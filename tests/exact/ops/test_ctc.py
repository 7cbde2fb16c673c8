"""The CTC loss by hand and against PyTorch."""

import pytest
import torch
import torch.nn.functional as F

from workings import exact


def test_ctc_loss_by_hand():
    # Two steps, one label: the alignments ␣a, a␣ and aa have the probabilities 1/4·1/2, 3/4·1/2, 3/4·1/2: 7/8.
    y = exact("1/4 3/4; 1/2 1/2")[:, None]
    loss = F.ctc_loss(y.log(), torch.tensor([1]), (2,), (1,))
    assert exact.equal(loss.exp(), exact("8/7"))


@pytest.mark.parametrize("lengths", [([4, 3], [2, 1]), ([3, 1], [2, 0]), ([3, 1], [2, 2])])
@pytest.mark.parametrize("zero_infinity", [False, True])
def test_ctc_loss_and_its_gradient_as_torch_has_them(lengths, zero_infinity):
    torch.manual_seed(0)
    steps, labels = map(torch.tensor, lengths)
    data, targets = torch.randn(4, 2, 3, dtype=torch.float64), torch.tensor([[1, 1], [2, 1]])
    results = []
    for x in (data.clone().requires_grad_(), exact(data).requires_grad_()):
        loss = F.ctc_loss(x, targets, steps, labels, reduction="none", zero_infinity=zero_infinity)
        (slope,) = torch.autograd.grad(loss.sum(), x)
        results.append([torch.tensor(t.tolist()) for t in (loss, slope)])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, equal_nan=True)
