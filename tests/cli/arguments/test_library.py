"""What `workings show NAME` finds."""

import sys
import types

import pytest

from workings import equations as textbook
from workings.cli.arguments import library
from workings.errors import WorkingsError


def test_nn_wins_over_the_textbook(monkeypatch):
    def softmax(x):
        """Ours."""

    ours = types.ModuleType("workings.nn")
    ours.softmax, ours.WIDTH, ours.__all__ = softmax, 3, ["softmax", "WIDTH"]
    monkeypatch.setitem(sys.modules, "workings.nn", ours)
    monkeypatch.setattr(library, "SOURCES", ("workings.nn", "workings.equations"))
    assert library.find("softmax") is softmax
    assert library.everything()["softmax"] is softmax
    assert "WIDTH" not in library.everything()
    assert library.find("rnn_cell") is textbook.rnn_cell


def test_the_written_out_definitions_are_there():
    assert set(textbook.__all__) <= set(library.everything())
    assert library.find("attention").__name__ == "attention"


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(WorkingsError) as refused:
        library.find("atention")
    assert str(refused.value).startswith("No library function is called 'atention'. Did you mean attention")
    with pytest.raises(WorkingsError, match=r"'zzzzzz'\. workings show --list prints them\. Your own: FILE\.py:NAME\."):
        library.find("zzzzzz")


def test_the_list_has_a_line_for_each():
    lines = library.listing().split("\n")
    assert len(lines) == len(library.everything())
    assert any(line.split(maxsplit=1) == ["linear", library.summary(library.find("linear"))] for line in lines)
    assert not any("$$" in line for line in lines)
