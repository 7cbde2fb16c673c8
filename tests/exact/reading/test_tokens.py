"""Numbers as they are written."""

import pytest

from workings import exact
from workings.errors import ParseError


@pytest.mark.parametrize("text", ["0x10", "0b1", "0o7"])
def test_other_bases_are_refused(text):
    with pytest.raises(ParseError, match=f"Expected a decimal number, found '{text[:3]}'"):
        exact(text)


@pytest.mark.parametrize("text", ["1e", "1E", "1e+", "1.5e", "1e*2"])
def test_a_dangling_exponent_is_refused(text):
    with pytest.raises(ParseError, match="Expected digits after"):
        exact(text)


def test_multiples_of_e_are_read():
    assert exact("2e").text() == "2e"
    assert exact("2e^q").text() == "2e^q"
    assert exact("1e3").text() == "1000"
