"""Random graphs of operations agree with float64, forward and backward."""

import dataclasses

import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings

from conformance import graphs
from conformance.graph_ops import OPS
from conformance.graphs import Graph, Step, check
from workings import exact

CALM = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


def agrees(graph):
    verdict = check(graph)
    assume(verdict.status != "skip")
    assert verdict.status == "pass", f"{verdict.reason}\n{graph}"


@settings(CALM, max_examples=50)
@given(graphs.graphs())
def test_a_graph_agrees_with_float64(graph):
    agrees(graph)


def test_a_difference_that_vanishes_inside_a_product():
    # σ′(a) = σ′(−a): the enclosure of the difference is a ball around 0, whose powers FLINT calls NaN.
    a = exact("1 - exp(-1/8)")
    p, q = a.sigmoid(), (-a).sigmoid()
    assert ((1 - (p * (1 - p) - q * (1 - q)) * exact("exp(-1/8)")) / 2).float64() == 0.5


@pytest.mark.slow
@settings(CALM, max_examples=500)
@given(graphs.graphs())
def test_many_graphs_agree_with_float64(graph):
    agrees(graph)


X = torch.tensor([[0.5, -1.25, 0.25], [1.5, 0.125, -0.5]], dtype=torch.float64)
Y = torch.tensor([[0.25, 0.375, -2.0], [-0.5, 1.125, 0.75]], dtype=torch.float64)


@pytest.mark.parametrize("name", OPS)
def test_an_operation_of_the_table_agrees(name):
    pairs = [(X, Y), (X.abs(), Y), (X / 2, Y), (X[:, :2], Y[:, :2])]
    x, y = next(pair for pair in pairs if OPS[name].fits(*pair))
    verdict = check(Graph((x, y), (Step(name, 0, 1, 1),)))
    assert (verdict.status, verdict.reason) == ("pass", "")


def test_a_tie_is_skipped():
    # The larger of two equal numbers: half of the gradient goes to each; disturbed, all of it goes to one.
    assert check(Graph((X, X), (Step("maximum", 0, 1, 0),))).status == "skip"


def wrong(name, change):
    """The operation, changed on exact tensors."""
    right = OPS[name].run
    return dataclasses.replace(
        OPS[name], run=lambda x, y, k: change(x, right(x, y, k)) if isinstance(x, exact.ExactTensor) else right(x, y, k)
    )


@pytest.mark.parametrize(
    "change",
    [lambda x, out: out + exact("1/1000000000"), lambda x, out: out + (x - x.detach()) / 10**9],
    ids=["result", "gradient"],
)
def test_a_wrong_operation_is_reported(monkeypatch, change):
    monkeypatch.setitem(OPS, "tanh", wrong("tanh", change))
    verdict = check(Graph((X,), (Step("tanh", 0, 0, 0), Step("square", 1, 1, 0))))
    assert verdict.status == "differs"
