"""Characters or words, the gap shared out, and preprocessing: laws and numbers that a person can check."""

from itertools import combinations

import pytest
import torch

from workings.errors import WorkingsError
from workings.studies.families.language import perplexity_gap as gap
from workings.studies.families.language import preprocessing as steps
from workings.studies.families.language import units
from workings.studies.families.language.text_models import Spelling, word_model
from workings.studies.families.language.units import characters_or_words


def values(worth):
    """v(S) of a sum of parts, with 10 more when a and b come together."""
    sets = [frozenset(S) for k in range(len(worth) + 1) for S in combinations(worth, k)]
    return {S: sum(worth[one] for one in S) + 10.0 * ({"a", "b"} <= S) for S in sets}


def test_shares_of_a_gap():
    # what a and b do together is shared equally; c, which does nothing, gets nothing
    v = values({"a": 1.0, "b": 2.0, "c": 0.0})
    assert gap.shapley(v, "abc") == pytest.approx({"a": 6, "b": 7, "c": 0})
    assert gap.one_at_a_time(v, "abc") == pytest.approx({"a": 1, "b": 2, "c": 0})


def test_each_factor_is_taken_away_by_its_edit():
    text, known = "Köln, 1,234 KM (see)!", ["see", "km"]
    rest = {"domain", "unknown words", "capitals", "punctuation", "digits", "accents"}
    edited = {one: gap._edited(text, frozenset(rest - {one}), known, 0) for one in rest}
    assert edited["domain"] == text  # another passage is taken instead
    assert edited["capitals"] == "köln, 1,234 km (see)!"
    assert edited["punctuation"] == "Köln 1234 KM see"
    assert edited["digits"] == "Köln, N KM (see)!"
    assert edited["accents"] == "Koln, 1,234 KM (see)!"
    assert edited["unknown words"] in ("See, 1,234 KM (see)!", "Km, 1,234 KM (see)!")


def test_an_alphabet_ends_and_words_do_not():
    table = next(part for part in characters_or_words() if hasattr(part, "columns"))
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["unknown tokens"][0] == 0 < rows["unknown tokens"][1]
    assert rows["parameters (width 128, 2 blocks, tied)"][1] - rows["of these in the embedding"][1] == (
        rows["parameters (width 128, 2 blocks, tied)"][0] - rows["of these in the embedding"][0]
    )


def test_good_and_turing_count_words_seen_once():
    assert units._singletons("a b a c".split()) == 1 / 2


def test_letters_in_their_order():
    # ab is seen, ba is not: 2-grams prefer ab, 1-grams do not care
    for order, prefers in ((2, True), (1, False)):
        spelling = Spelling.of("ab", order)
        assert (spelling.nats(["ab"]) < spelling.nats(["ba"]) - 1e-9) is prefers


def test_merged_answers():
    # P = (0.5, 0.3, 0.2) at one place, and the word that comes is the last: alone, then with the unknown token, then all
    table = torch.tensor([[0.5, 0.3, 0.2]]), torch.tensor([2])
    assert [steps._merged(table, size, 0.0) for size in (2, 1, 0)] == pytest.approx([5, 1 / 0.7, 1])


def test_the_unknown_token_is_no_guess():
    language = word_model("x x x x y z", known=["x"])
    assert steps._guessed(language, "x x x", unknown=False) == 1
    assert steps._guessed(word_model("x x x", known=[]), "x x x", unknown=False) == 0
    assert steps._guessed(word_model("x x x", known=[]), "x x x", unknown=True) == 1


def test_out_of_range():
    with pytest.raises(WorkingsError) as error:
        characters_or_words(passage=10)
    said = "passage goes from 20,000 to 1,000,000: fewer hold too few new words; got 10."
    assert str(error.value) == said
