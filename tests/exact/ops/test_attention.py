"""Attention where shapes do not fit, and under masks."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from workings import exact


def test_attention_of_other_widths_is_refused():
    with pytest.raises(RuntimeError, match=r"batch2 tensor to be: \[1, 2\] but got: \[1, 3\]"):
        F.scaled_dot_product_attention(exact.ones(1, 2, 2), exact.ones(1, 3, 3), exact.ones(1, 3, 3))


def test_masked_attention_with_letters():
    S = exact.symbols("s", shape=(2, 2))
    causal = torch.full((2, 2), -math.inf).triu(1)
    A = (S + causal).softmax(-1)
    assert A[0].tolist() == [1, 0]
    assert exact.equal(A[1], S[1].softmax(-1))
    logs = (S + causal).log_softmax(-1)
    assert logs[0].tolist() == [0, -math.inf]
    assert exact.equal(F.scaled_dot_product_attention(S, S, S, causal)[0], S[0])
    attend = exact.exactify(nn.MultiheadAttention(2, 1, batch_first=True).double())
    out, _ = attend(S[None], S[None], S[None], attn_mask=nn.Transformer.generate_square_subsequent_mask(2))
    assert out[0, 0].free_symbols == {"s_1,1", "s_1,2"}


def test_a_query_that_may_look_at_nothing_has_no_gradient():
    mask = torch.tensor([[True, False], [False, False]])
    numbers = [torch.tensor(rows, dtype=torch.float64) for rows in ([[1, 2], [0, 1]], [[1, 1], [0, 2]], [[3, 0], [1, 1]])]
    found = []
    for make in (exact, torch.clone):
        Q, K, V = (make(x).requires_grad_() for x in numbers)
        O = F.scaled_dot_product_attention(Q, K, V, mask)
        found.append([O.tolist(), *[g.tolist() for g in torch.autograd.grad(O.sum(), [Q, K, V])]])
    assert found[0] == found[1] == [[[3, 0], [0, 0]], [[0, 0], [0, 0]], [[0, 0], [0, 0]], [[1, 1], [0, 0]]]
