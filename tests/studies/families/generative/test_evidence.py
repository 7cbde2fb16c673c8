"""Bayes' rule and the evidence bound: the numbers of the worked example, and what the controls break."""

import pytest

from workings.errors import WorkingsError
from workings.studies import Table, Verdict
from workings.studies.families.generative.evidence import bayes_rule, evidence_bound


def table(parts):
    return next(part for part in parts if isinstance(part, Table))


def test_the_worked_example():
    values = {row[0]: row[2] for row in table(evidence_bound(tables=5)).rows}
    # log ½ = ½ log ⅜ − ¼ log 4 + ½ log 4/3
    assert values["log p(x)"] == pytest.approx(-0.693147)
    assert values["ELBO"] == pytest.approx(-0.836988)
    assert values["KL(q‖p(z|x))"] == pytest.approx(0.143841)
    assert values["ELBO − KL (the slip)"] == pytest.approx(-0.980829)


def test_bayes_by_hand():
    rows = table(bayes_rule(samples=1_000)).rows
    assert [row[3] for row in rows] == ["1/4", "1/16", "3/16"]
    assert [row[4] for row in rows] == ["1/2", "1/8", "3/8"]


def test_a_bound_that_is_tight():
    values = {row[0]: row[2] for row in table(evidence_bound(q="1/2 1/8 3/8", tables=5)).rows}
    assert values["KL(q‖p(z|x))"] == 0 and values["ELBO"] == values["log p(x)"]


def test_the_slip_is_seen_in_the_derivation():
    parts = evidence_bound(tables=5, broken="minus before the last KL")
    line = next(part for part in parts if getattr(part, "sentence", "").startswith("Every line"))
    assert line.verdict is Verdict.FAILS and "-0.980829" in line.evidence


def test_tables_that_are_no_distributions_are_refused():
    with pytest.raises(WorkingsError, match="sum to 1"):
        evidence_bound(q="1/2 1/4 1/2")
    with pytest.raises(WorkingsError, match=r"tables goes from 1 to 100,000: each is a check of its own; got 0\."):
        evidence_bound(tables=0)
