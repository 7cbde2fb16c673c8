"""Exact tensors as JSON and back."""

import contextlib
import json

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given

from workings import exact
from workings.errors import ParseError


@pytest.mark.parametrize(
    "text",
    [
        "1/2",
        "sqrt(2) w; e^(w/2) pi",
        "inf -inf 0",
        "tanh(w) log(3)",
        "w^2/(1+w), 3sqrt(5)/7",
        "sin(1)^2 cos(2)",
    ],
)
def test_round_trip(text):
    x = exact(text)
    y = exact.from_json(x.to_json())
    assert y.shape == x.shape
    assert [a is b for a, b in zip(x.elements(), y.elements(), strict=True)] == [True] * x.numel()


def test_assumptions_labels_and_samples_survive():
    z = exact.symbols(z="1/4")
    x = (torch.relu(z) * 0.123456789123).to(torch.float32)
    y = exact.from_json(x.to_json())
    assert y.assumptions == x.assumptions
    assert y.dtype == torch.float32
    assert y.item() == x.item()


def test_large_values_stay_shared():
    torch.manual_seed(0)
    x = exact(torch.randint(-3, 4, (4, 24))).exp()
    y = x @ x.mT
    text = y.to_json()
    assert len(text) < 20_000
    torch.testing.assert_close(exact.from_json(text).float64(), y.float64())


def test_not_ours_is_refused_with_the_reason():
    with pytest.raises(ParseError, match="This is not the JSON of an exact tensor"):
        exact.from_json("{}")
    with pytest.raises(ParseError, match=r"needed workings\.exact, version 1 or 2"):
        exact.from_json('{"format": "other", "version": 1}')


@given(st.data())
def test_damage_is_refused_never_crashes(data):
    good = json.loads(exact("sqrt(2) w; e^(w/2) 1/3").to_json())
    key = data.draw(st.sampled_from(sorted(good)))
    good[key] = data.draw(
        st.one_of(
            st.none(),
            st.integers(),
            st.text(max_size=5),
            st.lists(st.integers(), max_size=3),
            st.just([["mul", [0, "x"]]]),
        )
    )
    with contextlib.suppress(ParseError):
        exact.from_json(json.dumps(good))
