"""The intervals hold the mean at all times, as often as they say."""

import pytest
import torch

from workings.errors import WorkingsError
from workings.studies.claim import Bounds, Verdict
from workings.studies.decide.means import AnyMean, BoundedMean
from workings.studies.decide.sequential import judged, measured


def _share_missed(make, draw, mean, runs=400):
    """How often an interval that is looked at 20 times misses the mean at one of them."""
    missed = 0
    for _ in range(runs):
        running = make()
        for _ in range(20):
            running.add(draw(50))
            low, high = running.interval()
            if not low <= mean <= high:
                missed += 1
                break
    return missed / runs


def test_looking_often_misses_no_more_than_alpha():
    g = torch.Generator().manual_seed(0)
    alpha = 0.1  # of 400 runs, 40 misses would be expected at most; 60 come with probability below 0.001
    bounded = _share_missed(lambda: BoundedMean(0, 1, alpha), lambda n: (torch.rand(n, generator=g) < 0.1).double(), 0.1)
    asymptotic = _share_missed(lambda: AnyMean(alpha, 1000), lambda n: torch.randn(n, generator=g) ** 2, 1.0)
    assert bounded <= 0.15 and asymptotic <= 0.15


def test_a_fixed_interval_looked_at_often_misses_more():
    """The control: the usual 90 % interval, looked at 20 times, misses far more often than one time in ten."""
    g = torch.Generator().manual_seed(0)

    class Fixed(AnyMean):
        def interval(self):
            half = 1.645 * self.deviation / self.count**0.5
            return self.mean - half, self.mean + half

    assert _share_missed(Fixed, lambda n: torch.randn(n, generator=g), 0.0) > 0.25


def test_batches_do_not_matter():
    x = torch.rand(1000, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    whole, parts = BoundedMean(0, 1), BoundedMean(0, 1)
    whole.add(x)
    for part in x.split(7):
        parts.add(part)
    assert whole.interval() == pytest.approx(parts.interval(), rel=1e-12)
    scaled = BoundedMean(-3, 5)
    scaled.add(8 * x - 3)
    assert scaled.interval() == pytest.approx([8 * end - 3 for end in whole.interval()], rel=1e-12)


def test_samples_beyond_their_bounds_are_refused():
    with pytest.raises(WorkingsError, match=r"^The samples were said to lie from 0 to 1; they go from 0\.5 to 3\.$"):
        BoundedMean(0, 1).add(torch.tensor([0.5, 3.0]))


def test_drawing_ends_when_it_is_decided():
    g = torch.Generator().manual_seed(0)
    drawn = []

    def draw(n):
        drawn.append(n)
        return torch.rand(n, generator=g)

    assert measured("a", draw, Bounds(0.4, 0.6), bounds=(0, 1), batch=1000).verdict is Verdict.HOLDS
    assert sum(drawn) < 10_000
    assert measured("a", draw, Bounds(0.7, 0.9), bounds=(0, 1), batch=1000).verdict is Verdict.FAILS
    found = measured("a", draw, Bounds(0.4999, 0.6), bounds=(0, 1), batch=1000, most=3000)
    assert found.verdict is Verdict.UNDECIDED and found.samples == 3000 and "would decide it" in found.evidence


def test_a_sample_without_a_variance_decides_nothing():
    assert judged("a", torch.tensor([1.0, float("inf")] * 100), Bounds(low=0)).verdict is Verdict.UNDECIDED
    assert judged("a", torch.ones(10), Bounds(low=0)).verdict is Verdict.UNDECIDED


def test_power_grows_with_the_samples():
    g = torch.Generator().manual_seed(0)
    few, many = (judged("a", torch.randn(n, generator=g), Bounds(-0.1, 0.1)) for n in (2000, 50_000))
    assert few.power < 0.5 < 0.999 < many.power
