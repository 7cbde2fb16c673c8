"""Exact tensors and letters made by name, and what is refused."""

import pytest
import torch

from workings import exact
from workings.errors import ParseError, ShapeError, UndecidedError


def test_letters_of_a_matrix_are_asked_for_in_python():
    a = exact.symbols("a", shape=(2, 2))
    with pytest.raises(UndecidedError) as error:
        _ = a[0, 1] > 0
    assert 'x.substitute(**{"a_{1,2}": …})' in str(error.value)
    with pytest.raises(UndecidedError) as error:
        a[0, 1].float64()
    assert 'symbols(**{"a_{1,2}": 0.5})' in str(error.value)
    assert a.substitute(**{"a_{1,2}": 0.5})[0, 1].text() == "1/2"
    assert exact.symbols(**{"beta_{1,2}": 0.5}).float64() == 0.5


def test_what_is_no_letter():
    for name in ("sin", "w+b", "2"):
        with pytest.raises(ParseError) as error:
            exact.symbols(name)
        assert error.value.reason == f"{name!r} is not a letter: names such as w, w_h, W_{{1,2}} and α are."
    with pytest.raises(ParseError, match="'sin' is not a letter"):
        exact("q").substitute(sin=2)


def test_arange_and_linspace_are_exact():
    assert exact.equal(exact.arange(0, 0.3, 0.1), exact("0 1/10 1/5"))
    assert exact.arange(3).tolist() == [0, 1, 2]
    assert exact.arange(3, 0, -1).tolist() == [3, 2, 1]
    assert exact.equal(exact.linspace(0, 1, 4), exact("0 1/3 2/3 1"))


def test_what_is_not_a_module_a_shape_or_a_number_is_refused():
    with pytest.raises(TypeError, match=r"exactify takes a torch.nn.Module, not Tensor. A tensor turns exact by exact\(x\)"):
        exact.exactify(torch.ones(2))
    with pytest.raises(TypeError, match=r"full takes the shape as a tuple: full\(\(2,\), …\)"):
        exact.full(2, "1/3")
    with pytest.raises(ShapeError, match=r"One number is needed here, not a tensor of shape \[2\]"):
        exact.symbols("q").substitute(q=exact("1 2"))
