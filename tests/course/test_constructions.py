"""Attention as identity, permutation and convolution: exactly, and against PyTorch's convolutions."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from workings import exact
from workings.course import (
    conv1d_by_heads,
    conv2d_by_heads,
    convolution_weights,
    identity_diagonal,
    identity_layer,
    permutation_layer,
    uniform_average,
    width_one,
)
from workings.errors import DomainError, ShapeError
from workings.nn.transformer.dot_product import attention, attention_columns
from workings.nn.transformer.masks import window_mask


def test_the_identity_needs_an_infinite_beta():
    X = exact("1 4; 2 5; 3 6; 7 8")
    assert exact.equal(identity_layer(X), X)
    β = exact("1/2 1 5 20")
    a = identity_diagonal(β, 4)
    assert_close(a.float64(), torch.tensor([0.354661, 0.475367, 0.980187, 1.0], dtype=torch.float64), atol=1e-6, rtol=0)
    assert (a < 1).all()
    for k in range(4):  # the closed form is what the layer does
        A = identity_layer(exact.eye(4), β[k])
        assert exact.equal(A.diagonal(), a[k].expand(4))


def test_a_permutation_in_both_conventions():
    # a_21 = 1 in column 1 gives h_1 = v_2
    V, A = exact("1 2 3; 4 5 6"), exact("0 0 1; 1 0 0; 0 1 0")
    assert exact.equal(V @ A, exact("2 3 1; 5 6 4"))
    assert exact.equal(permutation_layer(V.mT, [1, 2, 0]).mT, exact("2 3 1; 5 6 4"))
    K = torch.eye(3)
    H = attention_columns(K[:, [1, 2, 0]], K, V.float64().float(), beta=60.0)
    assert_close(H, torch.tensor([[2.0, 3, 1], [5, 6, 4]]))


@given(st.permutations(range(5)))
def test_a_permutation_moves_tokens(order):
    X = torch.randn(2, 5, 3)
    assert permutation_layer(X, order).equal(X[:, list(order)])
    assert_close(permutation_layer(X, order, beta=60.0), X[:, list(order)])


def test_not_a_permutation():
    with pytest.raises(DomainError) as error:
        permutation_layer(torch.zeros(3, 1), [0, 0, 2])
    assert str(error.value) == "A permutation of 3 tokens names each of 0 to 2 once, but this is [0, 0, 2]."


def test_width_one_is_a_convolution_with_a_kernel_of_one():
    conv = nn.Conv1d(4, 6, 1, bias=False).double()
    X = torch.randn(2, 7, 4, dtype=torch.float64)
    assert_close(width_one(X, conv.weight[:, :, 0].T), conv(X.mT).mT)


def test_equal_scores_average():
    X = torch.randn(2, 7, 4, dtype=torch.float64)
    zero = torch.zeros(2, 7, 3, dtype=torch.float64)
    assert_close(uniform_average(X).expand(2, 7, 4), attention(zero, zero, X))
    assert exact.equal(uniform_average(exact("1 2; 3 5")), exact([["2", "7/2"]]))


def test_a_kernel_by_log_weights():
    # at the ends (2/3, 1/3): (2·4 + 1)/3 = 3 and (3 + 2·5)/3 = 13/3
    A = convolution_weights(7, exact("1/4 1/2 1/4"))
    v = exact("4; 1; 0; 2; 6; 3; 5")
    assert exact.equal((A @ v).T, exact([["3", "3/2", "3/4", "5/2", "17/4", "17/4", "13/3"]]))
    assert exact.equal(A[0, :2], exact("2/3 1/3"))
    zero_padded = conv1d_by_heads(v, exact([[["1/4", "1/2", "1/4"]]]))
    assert exact.equal(zero_padded.T, exact([["9/4", "3/2", "3/4", "5/2", "17/4", "17/4", "13/4"]]))


def test_a_uniform_band_renormalises_its_ends():
    # rows that sum to 2/3 as (1/3, 1/3) at the ends become (1/2, 1/2)
    A = convolution_weights(5, exact("1/3 1/3 1/3"))
    assert exact.equal(A[0], exact("1/2 1/2 0 0 0"))
    assert exact.equal(A[4], exact("0 0 0 1/2 1/2"))
    assert exact.equal(A.sum(-1), exact.ones(5))
    band = window_mask(5, 3) / 3
    assert_close(band.sum(-1), torch.tensor([2 / 3, 1, 1, 1, 2 / 3]))
    assert_close(A.float64()[1:4], band[1:4].double())


@given(st.lists(st.integers(1, 9), min_size=5, max_size=5), st.integers(5, 9))
def test_the_interior_is_conv1d(weights, n):
    w = torch.tensor(weights, dtype=torch.float64)
    w = w / w.sum()
    v = torch.arange(n, dtype=torch.float64).sin()
    Z = convolution_weights(n, w) @ v
    assert_close(Z[2:-2], F.conv1d(v[None, None], w[None, None])[0, 0])


def test_a_kernel_with_a_zero():
    assert exact.equal(convolution_weights(3, exact("1/2 0 1/2")), exact("0 1 0; 1/2 0 1/2; 0 1 0"))


def test_the_order_of_a_kernel():
    # all weight on the next token, as conv1d has it; the last token has no next one, so a little stays
    A = convolution_weights(3, exact("0 1/4 3/4"))
    assert exact.equal(A, exact("1/4 3/4 0; 0 1/4 3/4; 0 0 1"))


@pytest.mark.parametrize("kernel", [[0.5, 0.6, 0.1], [-0.5, 1.0, 0.5]])
def test_one_head_only_averages(kernel):
    with pytest.raises(DomainError) as error:
        convolution_weights(5, torch.tensor(kernel))
    assert str(error.value) == ("One head averages, so its kernel is ≥ 0 and sums to 1; conv1d_by_heads takes any kernel.")


def test_even_kernels():
    with pytest.raises(ShapeError) as error:
        conv1d_by_heads(torch.zeros(3, 1), torch.zeros(1, 1, 2))
    assert str(error.value) == "A kernel centred on its token has an odd width, but this one has 2 entries."


@pytest.mark.parametrize("k", [1, 3, 5])
def test_any_convolution_is_a_head_for_each_offset(k):
    conv = nn.Conv1d(4, 6, k, padding=k // 2).double()
    X = torch.randn(2, 7, 4, dtype=torch.float64)
    assert_close(conv1d_by_heads(X, conv.weight, conv.bias), conv(X.mT).mT)


def test_any_convolution_exactly():
    # (−1, 0, 1) on 1, 2, 4 with zeros around: 2 − 0, 4 − 1, 0 − 2
    assert exact.equal(conv1d_by_heads(exact("1; 2; 4"), exact([[[-1, 0, 1]]])), exact("2; 3; -2"))


def test_a_convolution_of_images():
    conv = nn.Conv2d(2, 3, 3, padding=1).double()
    X = torch.randn(2, 2, 4, 5, dtype=torch.float64)
    assert_close(conv2d_by_heads(X, conv.weight, conv.bias), conv(X))
