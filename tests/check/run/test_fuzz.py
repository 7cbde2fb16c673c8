"""Damaged documents never raise: what cannot be read is counted."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.check import CORRECT_TEXTS, PIECE, scrambled
from workings.check.extract import read_text
from workings.check.run.checker import check_document
from workings.errors import WorkingsError

PIECES = [piece for text in CORRECT_TEXTS for piece in PIECE.findall(text)]


def look(text: str, kind: str) -> None:
    """Check a text; only our own errors may come."""
    try:
        found = check_document(read_text(text, "page", kind))
    except WorkingsError:
        return
    assert [part.why for part in found.unread if "could not be computed" in part.why and "recursion" not in part.why] == []
    assert found.counts.decided <= found.counts.claims
    assert all(0 <= finding.start < finding.end <= len(text) for finding in found.findings)


@settings(max_examples=150, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(["markdown", "latex", "text"]))
def test_scrambled_documents(rng, kind):
    look(scrambled(rng.choice(CORRECT_TEXTS), PIECES, rng), kind)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES[:400]), max_size=60))
def test_shuffled_pieces(pieces):
    look(f"$${' '.join(pieces)}$$", "markdown")


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300), st.sampled_from(["markdown", "latex", "text"]))
def test_any_text(text, kind):
    look(text, kind)


@pytest.mark.slow
def test_a_minute_of_scrambled_documents():
    rng = random.Random(0)
    for _ in range(20_000):
        look(scrambled(rng.choice(CORRECT_TEXTS), PIECES, rng), rng.choice(["markdown", "latex", "text"]))


def test_numbers_beyond_every_float_are_told():
    look("so $4 \\cdot (2^{2144} + 512) = 1{,}050{,}624$, and $2^{-2144} + 1 = 3$", "markdown")
