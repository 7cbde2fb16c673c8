"""Perplexity and its units: the figures of the course, the models on passages, and the grammar."""

import math

import pytest
import torch

from workings.errors import WorkingsError
from workings.studies.families.language import corpus, perplexity
from workings.studies.families.language.corpus import ENCYCLOPEDIA, PLAYS, source_text
from workings.studies.families.language.perplexity import perplexity_base
from workings.studies.families.language.text_models import Spelling, character_model, cost, word_model
from workings.studies.families.language.two_models import two_models
from workings.studies.parts import Table


def tables(parts):
    return {part.title: part for part in parts if isinstance(part, Table)}


def test_three_bases():
    rows = next(iter(tables(perplexity_base()).values())).rows
    assert [row[2] for row in rows] == pytest.approx([4, 4, 4, 4])
    assert rows[1][3] == pytest.approx(math.exp(2))  # 2 bits, taken for nats


def test_reported_perplexities():
    table = tables(two_models())["Reported for two trained models, each in its own unit"]
    by_name = {row[0]: row[1:] for row in table.rows}
    assert by_name["word bigram"] == pytest.approx([5.77, 24.69, 2.52873, 4.62615, 4.27943], rel=1e-3)
    assert by_name["character model"] == pytest.approx([6.90, 15.84, 2.7861, 3.98585, 2.29701], rel=1e-3)
    assert "41,00" in table.note


def test_bits_are_those_of_the_probabilities():
    # each word occurs twice, so that all are known: one word to judge, of two characters with the space before it
    text = "a b a c a b a c"
    language = word_model(text)
    found = cost(language, "a b")
    p = float(language.model.probabilities(torch.tensor([1]), torch.tensor([language.number["b"]])))
    assert found.unspelled == pytest.approx(-math.log2(p) / 2)  # the space and b


def test_spelling_is_charged_letter_by_letter():
    spelling = Spelling.of("aa ab", 1)
    alone = spelling.nats(["ab"])
    letters = spelling.language.model.probabilities(torch.tensor(spelling.language.encode(list("ab\n"))))
    assert alone == pytest.approx(-letters.log().sum().item())
    assert spelling.nats([]) == 0
    language = word_model("x y x y")
    with_spelling, without = cost(language, "x q x y", spelling), cost(language, "x q x y")
    assert with_spelling.bits - without.bits == pytest.approx(spelling.nats(["q"]) / math.log(2) / 6)


def test_characters_that_nobody_saw_have_a_price():
    assert math.isfinite(cost(character_model("abc abc", 3, "é"), "abcé").bits)


def test_the_grammar_repeats_itself_by_its_seed_alone():
    assert PLAYS.text(500, 1) == PLAYS.text(500, 1) != PLAYS.text(500, 2)
    assert not any(c.isdigit() for c in corpus._SLOT.sub("", " ".join(ENCYCLOPEDIA.sentences)))


def test_texts_of_the_user(tmp_path, monkeypatch):
    path = tmp_path / "mine.txt"
    path.write_text("one  two\n\nthree", encoding="utf-8")
    assert source_text(str(path), PLAYS, 9, 0) == "one two t"
    with pytest.raises(WorkingsError, match="has 13 characters between single spaces; 99 are needed"):
        source_text(str(path), PLAYS, 99, 0)
    monkeypatch.setenv("WORKINGS_DATA", str(tmp_path))
    with pytest.raises(WorkingsError) as error:
        source_text("moby-dick", PLAYS, 9, 0)
    said = "moby-dick is not in your cache, and a study downloads nothing. Get it: workings data get moby-dick"
    assert str(error.value) == said


def test_out_of_range():
    with pytest.raises(WorkingsError) as error:
        two_models(order=1)
    said = "order goes from 3 to 8: below, the characters of a word are hardly tied; got 1."
    assert str(error.value) == said
    assert perplexity._mixed(torch.tensor([0.25]), 2).item() == pytest.approx(math.exp(2))
