"""An exact tensor behaves as people expect of a tensor."""

import copy
from fractions import Fraction

import numpy as np
import pytest
import sympy
import torch

from workings import exact
from workings.errors import DomainError, ParseError, ShapeError, UndecidedError


def test_made_from_text_lists_and_tensors():
    assert exact("1 0; 0 1").shape == (2, 2)
    assert exact([[1, "1/2"], ["sqrt(2)", "w"]]).free_symbols == {"w"}
    assert exact(torch.arange(3)).fraction() == [0, 1, 2]
    assert exact(np.array([[0.5, 2.0]])).fraction() == [[Fraction(1, 2), 2]]
    assert exact(Fraction(1, 3)).fraction() == Fraction(1, 3)


def test_floats_as_they_are_or_as_they_were_meant():
    tenth = torch.tensor([0.1], dtype=torch.float64)
    assert exact(tenth).fraction() == [Fraction(0.1)]
    assert exact(tenth, recover=True).fraction() == [Fraction(1, 10)]
    assert exact(0.1).fraction() == Fraction(1, 10)
    assert exact(0.1, recover=False).fraction() == Fraction(0.1)
    assert exact(torch.tensor([0.1], dtype=torch.float32), recover=True).fraction() == [Fraction(1, 10)]


def test_back_to_numbers():
    x = exact("1/2, sqrt(2)")
    assert x.float64().dtype == torch.float64
    assert type(x.float64()) is torch.Tensor
    assert x.tolist() == [0.5, 2**0.5]
    assert x[1].item() == 2**0.5
    np.testing.assert_array_equal(x.numpy(), [0.5, 2**0.5])
    assert x[1].sympy() == sympy.sqrt(2)
    assert x.decimals(10) == ["0.5", "1.414213562"]
    with pytest.raises(DomainError, match="A fraction was asked for, but √2 is not known to be rational"):
        x.fraction()


def test_a_cast_keeps_the_values_exact():
    # PyTorch code casts in the middle of models; only the dtype label changes.
    x = exact("1/3")
    assert x.float().dtype == torch.float32
    assert x.float().fraction() == Fraction(1, 3)
    assert x.to(torch.int64).item() == 0
    assert exact("7/2").long().item() == 3


def test_rows_of_different_length_are_refused():
    with pytest.raises(ShapeError, match=r"Rows of one tensor need one length; these are \[1, 2\]\."):
        exact([[1], [1, 2]])


def test_substitute_and_letters():
    w, b = exact.symbols("w b")
    y = w**2 / b + torch.exp(w)
    assert y.free_symbols == {"w", "b"}
    assert y.substitute(w=2, b="1/2").text() == "8 + e²"
    assert y.substitute(w=b).free_symbols == {"b"}
    assert exact.symbols("W", shape=(2, 2)).text() == "⎡W_{1,1}  W_{1,2}⎤\n⎣W_{2,1}  W_{2,2}⎦"
    assert exact("1/w").substitute(w=0).item() == float("inf")
    with pytest.raises(ParseError, match="'2' is not a letter"):
        exact.symbols("w 2")


def test_letters_without_values_have_no_float():
    with pytest.raises(UndecidedError, match=r"The letter omega has no value"):
        exact("omega").float64()


def test_repr_shows_exact_values():
    assert repr(exact("1/2 w")) == "exact([1/2, w])"
    assert repr(exact("1 0; 1/2 sqrt(2)")) == "exact([[1, 0],\n       [1/2, √2]])"
    assert repr(exact("1/3", requires_grad=True)) == "exact(1/3, requires_grad=True)"
    assert repr(exact.zeros(0, 3)) == "exact([], shape=(0, 3))"
    assert "…" in repr(exact.zeros(100, 100))


def test_indexing_and_writing():
    x = exact("1 2 3; 4 5 6")
    assert x[:, 1].fraction() == [2, 5]
    assert x[x > 3].fraction() == [4, 5, 6]
    y = x.clone()
    y[0, :2] = exact("1/3")
    y.T[2] += 1
    assert y.fraction() == [[Fraction(1, 3), Fraction(1, 3), 4], [4, 5, 7]]
    assert x[0, 0].item() == 1
    assert [row.sum().item() for row in x] == [6, 15]


def test_deepcopy_is_independent():
    x = exact("1 2", requires_grad=True)
    (x * x).sum().backward()
    y = copy.deepcopy(x)
    with torch.no_grad():
        y[0] = 9
    assert x.tolist() == [1, 2]
    assert y.requires_grad
    assert y.grad.tolist() == [2, 4]
    assert copy.copy(x).tolist() == [1, 2]


def test_complex_is_refused():
    with pytest.raises(DomainError, match="Exact values are real"):
        exact("1").to(torch.complex128)
    with pytest.raises(DomainError):
        torch.linalg.eigvals(exact("1 2; 3 4"))


def test_special_values_follow_torch():
    x = exact("0, 1, -1")
    assert (1 / x).tolist() == [float("inf"), 1, -1]
    assert x.log().tolist()[0] == -float("inf")
    assert x.sqrt().isnan().tolist() == [False, False, True]
    masked = x.masked_fill(x < 0, -torch.inf)
    assert masked.softmax(0).text() == "[1/(1 + e)  e/(1 + e)  0]"


def test_mode_makes_factories_exact():
    with exact.mode():
        h = torch.zeros(2)
        t = torch.tensor([0.1, 0.25])
        grid = torch.arange(4.0)
        plain = exact("1/2").float64()
    assert all(isinstance(x, exact.ExactTensor) for x in (h, t, grid))
    assert t.text() == "[1/10  1/4]"
    assert type(plain) is torch.Tensor
    h[1] = exact("sqrt(2)")
    assert h.text() == "[0  √2]"
    assert type(torch.zeros(2)) is torch.Tensor
    with exact.mode(), exact.mode():
        assert isinstance(torch.ones(2) * exact("1/3"), exact.ExactTensor)


def test_einops_and_einsum():
    einops = pytest.importorskip("einops")
    x = exact("1 2; 3 4")
    assert einops.rearrange(x, "a b -> (b a)").tolist() == [1, 3, 2, 4]
    assert torch.einsum("ij,kj->ik", x, x).tolist() == [[5, 11], [11, 25]]


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.complex(exact("1"), exact("1")),
        lambda: torch.polar(exact("1"), exact("1")),
        lambda: torch.view_as_complex(exact("1 2")),
        lambda: exact(torch.tensor([1j])),
        lambda: exact("1 2") * torch.tensor([1j, 1]),
    ],
)
def test_complex_numbers_are_refused(make):
    with pytest.raises(DomainError, match="Exact values are real"):
        make()


def test_the_simplest_form_keeps_shape_label_and_assumptions():
    # e/(1 + e) + 1/(1 + e) = 1, and w²/w = w
    w = exact.symbols(w_simple=0.3)
    x = torch.stack([exact("e/(1 + e) + 1/(1 + e)"), torch.where(w > 0, w * w, w) / w]).to(torch.float32)
    found = x.simplest()
    assert [v.text() for v in found.elements()] == ["1", "w_simple"]
    assert (found.shape, found.dtype, found.assumptions) == (x.shape, torch.float32, x.assumptions)
    assert found.assumptions
