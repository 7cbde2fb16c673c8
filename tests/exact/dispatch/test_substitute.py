"""Values for letters: what the result rests on is proved there, still assumed, or contradicted."""

import pytest
import torch

from workings import exact
from workings.errors import UndecidedError


def notes(x):
    return [str(note) for note in x.assumptions]


def test_a_contradiction_is_refused_with_the_assumption_named():
    v = exact.symbols(v=0.3)
    y = torch.relu(v - 1)
    with pytest.raises(
        UndecidedError,
        match=r"rests on v − 1 < 0, decided at v = 3/10 in test_substitute\.py:\d+; with v = 5 that is not so, "
        r"and the formula is another one\. Compute it again with symbols\(v=5\)\.",
    ):
        y.substitute(v=5)


def test_what_holds_at_the_new_values_is_proved():
    v = exact.symbols(v=0.3)
    y = torch.relu(v - 1) + torch.relu(v)
    assert notes(y.substitute(v="1/2")) == [] and y.substitute(v="1/2").item() == 0.5
    with pytest.raises(UndecidedError, match=r"rests on v − 1 < 0"):
        y.substitute(v=1)


def test_what_depends_on_other_letters_is_still_assumed():
    a, b = exact.symbols(a=1, b=2)
    y = torch.maximum(a, b)
    assert len(notes(y)) == 1
    assert len(notes(y.substitute(a="1/2"))) == 1
    assert notes(y.substitute(a=0, b=3)) == []
    with pytest.raises(UndecidedError, match=r"rests on a − b < 0, decided at a = 1, b = 2"):
        y.substitute(a=3)
    c = exact.symbols("c")
    assert len(notes(y.substitute(a=c))) == 1


def test_assumptions_are_data():
    v = exact.symbols(v=0.3)
    (note,) = torch.relu(v - 1).assumptions
    assert (note.kind, note.relation, note.value.text()) == ("order", "<", "0")
    assert note.expression.text() == "v − 1" and note.where.startswith("test_substitute.py:")


def test_a_float_taken_at_sample_values_is_not_carried_to_others():
    v = exact.symbols(v=2)
    y = torch.where(v > 1, v * 0 + float(v), v)
    with pytest.raises(UndecidedError, match="rests on v"):
        y.substitute(v=0)


def test_assumptions_survive_json():
    v = exact.symbols(v=0.3)
    y = exact.from_json(torch.relu(v - 1).to_json())
    with pytest.raises(UndecidedError, match=r"rests on v − 1 < 0, decided at v = 3/10"):
        y.substitute(v=5)


def test_more_comparisons_than_are_kept():
    x = exact.symbols(x=1)
    y = sum(torch.relu(x - k) for k in range(2, 60))
    assert len(y.assumptions) <= 51
    with pytest.raises(UndecidedError, match="rests on"):
        y.substitute(x=100)
    with pytest.raises(UndecidedError, match=r"more comparisons than are kept.*symbols\(x=…\)"):
        y.substitute(x=0)


def test_other_notes_stay():
    y = (exact("w") * 0.1).substitute(w=2)
    assert notes(y) == ["recovered: 0.1 is read as 1/10"] and y.text() == "1/5"
