"""Every study of the course: with its defaults its claims hold, and each fails in a control."""

import pytest

from workings.studies import run
from workings.studies.claim import Method
from workings.studies.index import entries

MOST = {False: 1e-4, True: 0.01}
"""How often a test may err, by whether models are trained."""


def _marked(entry):
    return pytest.param(entry, id=entry.name, marks=[pytest.mark.slow] if entry.trains else [])


@pytest.mark.parametrize("entry", [*map(_marked, entries().values())])
def test_it_holds_and_can_fail(entry):
    result = run(entry.load())
    for claim in result.claims:
        assert claim.verdict == "holds", f"{claim.sentence}: {claim.evidence}"
        assert result.failing_controls(claim), f"fails in no control: {claim.sentence}"
        assert claim.method is not Method.TEST or claim.alpha <= MOST[entry.trains]
        assert claim.reference, f"rests on no theorem or closed form: {claim.sentence}"
    assert type(result).from_json(result.json()).text() == result.text()
