"""A shown work says what its exact values rest on."""

import math

import torch

import workings
from workings import exact

KEPT = "2 numbers of float32 are kept as the fractions they are: exact(t, recover=True) reads 0.1 as 1/10"


def shifted(x, floats):
    y = x + floats
    z = y * 2
    return z


def floats():
    return torch.tensor([1.0, 2.0]).sin()


def test_floats_that_are_kept_as_fractions_are_named_once():
    work = workings.show(shifted, exact("1 2"), floats())
    assert work.notes == [f"assumed in y: {KEPT}"]
    assert f"assumed in y: {KEPT}" in work.text(width=200)
    assert KEPT in work.html()


def test_the_innermost_statement_is_named():
    def outer(x, t):
        w = shifted(x, t) + 1
        return w

    assert workings.show(outer, exact("1 2"), floats()).notes == [f"assumed in y: {KEPT}"]


def test_a_comparison_that_a_sample_value_decides():
    v = exact.symbols(v_assumed=0.3)
    work = workings.show(lambda v: (torch.relu(v - 1), torch.relu(v)), v)
    place = "(torch.relu(v - 1), torch.relu(v))"
    assert work.notes == [
        f"assumed in {place}: v_assumed − 1 < 0 (decided at v_assumed = 3/10)",
        f"assumed in {place}: v_assumed > 0 (decided at v_assumed = 3/10)",
    ]


def test_many_are_counted():
    def many(x):
        return [x + math.sin(k + 1) for k in range(8)]

    notes = workings.show(many, exact("1")).notes
    assert len(notes) == 6
    assert notes[-1] == "3 more assumptions: see x.assumptions of an exact value"


def test_in_a_block_and_where_nothing_is_assumed():
    x, t = exact("1 2"), floats()
    with workings.trace() as work:
        y = x + t
    assert work.notes == [f"assumed in y: {KEPT}"]
    assert y.shape == (2,)
    assert workings.show(shifted, exact("1 2"), exact("1/3 1/7")).notes == []


def test_floats_that_were_read_as_exact_numbers_stand_in_one_line():
    def f(x):
        y = x * 0.1
        z = y / math.sqrt(2)
        return z

    work = workings.show(f, exact("1 2"))
    assert work.notes == ["in y, 0.1 is read as 1/10; in z, 1.4142135623730951 is read as √2"]
