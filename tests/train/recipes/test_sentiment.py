"""The recipe `sentiment`: words, marked negations, pairs, texts of unequal length in one row."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from tests.train.smoke import assert_repeats_and_restores, made, online, trained
from workings.errors import WorkingsError
from workings.models.averaging import DeepAveraging, padded
from workings.train.evaluation.open import open_run
from workings.train.tasks.sentiment import NGrams, Texts, cut, figures, loss, part

SHORT = dict(steps=3, batch=16, evaluate_every=3, width=4, hidden=4)


@pytest.fixture
def own(tmp_path):
    """Texts whose class turns on a negation."""
    path = tmp_path / "own.csv"
    rows = [f"this is{no} good {word},{label}\n" for word in "abcdefghij" for no, label in (("", "yes"), (" not", "no"))]
    path.write_text("text,label\n" + "".join(rows * 1), encoding="utf-8")
    return str(path)


def test_reviews_repeat_and_are_restored(tmp_path):
    online("reviews")
    settings = {**SHORT, "data": "rotten", "test": 500, "rate": 0.1}
    task, _ = trained("sentiment", tmp_path / "run", **settings)
    again, _ = trained("sentiment", **settings)
    assert torch.equal(task.model.E, again.model.E)

    with torch.no_grad():
        restored = open_run(tmp_path / "run").model
        assert task.evaluate(restored).keys() == {"loss", "accuracy"}


def test_a_file_of_ones_own_repeats_and_is_restored(tmp_path, own):
    task = assert_repeats_and_restores("sentiment", tmp_path / "run", data=own, **{**SHORT, "steps": 1, "ngrams": 2})
    assert task.files["classes.json"] == '["no", "yes"]'


def test_a_negation_is_learned(own):
    _, history = trained("sentiment", data=own, **{**SHORT, "steps": 200, "evaluate_every": 200, "rate": 0.05, "hidden": 16})
    assert history.rows[-1]["accuracy"] == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It is not so very good, really good.", ["it", "is", "not", "so_", "very_", "good_", "really", "good"]),
        ("I don't know :)<br />8/10?", ["i", "don't", "know_", ":)_", "8/10_", "?"]),
        ("never say never again", ["never", "say_", "never_", "again_"]),
        ("", []),
    ],
)
def test_words_after_a_negation_are_marked_to_the_end_of_the_clause(text, words):
    assert cut(text) == words


def test_words_and_pairs_have_numbers():
    texts = [["a", "b", "a", "b"], ["a", "b", "c"], ["b", "a"]]
    grams = NGrams.of(texts, n=2, least=2)
    # a and b occur four times, c once; a b occurs three times, b a twice: a pair needs one more than `least`
    assert grams.words.words == ["<unk>", "a", "b"] and grams.pairs.tolist() == [1 * 3 + 2]
    assert len(grams) == 4 and grams.name(3) == "a b" and grams.name(2) == "b"
    assert grams.encode(["a", "b", "c", "a", "b"]).tolist() == [1, 2, 1, 2, 3, 3]
    again = NGrams.read(grams.files())
    assert again.encode(["b", "a", "b"]).tolist() == [2, 1, 2, 3]


def test_a_pair_with_an_unknown_word_is_none():
    grams = NGrams.of([["a", "x"], ["a", "y"], ["a", "z"], ["a", "a"], ["a", "a"], ["a", "a"]], n=2, least=2)
    assert [grams.name(number) for number in range(len(grams))] == ["<unk>", "a", "a a"]


def test_texts_in_a_row_are_those_of_a_table():
    torch.manual_seed(0)
    model = DeepAveraging(torch.randn(9, 4), [4], 2, word_dropout=0.5, padding=0).eval()
    table = torch.tensor([[1, 0, 2, 3], [0, 0, 0, 0], [4, 5, 0, 0]])
    row, offsets = torch.tensor([1, 0, 2, 3, 4, 5, 0]), torch.tensor([0, 4, 4])  # padding inside a text, and no words
    assert_close(model(row, offsets=offsets), model(table))


def test_words_are_left_out_of_each_text_while_training():
    model = DeepAveraging(torch.eye(3), [1], 2, word_dropout=0.5).train()
    row, offsets = torch.tensor([1, 2] * 500), torch.arange(0, 1000, 2)
    kept = model.kept(*padded(row, offsets))
    lengths = kept.sum(dim=1)
    assert lengths.min() == 0 and lengths.max() == 2 and 400 < lengths.sum() < 600
    one = lengths == 1
    assert 50 < kept[one, 0].sum() < one.sum() - 50  # the first word or the second


def test_texts_without_a_known_word():
    grams = NGrams.of([["a", "a"]], n=1, least=2)
    assert grams.encode(["z"]).tolist() == []
    with pytest.raises(WorkingsError) as caught:
        NGrams.of([["a"], ["b"]], n=1, least=2)
    assert str(caught.value) == "No word occurs 2 times in the texts: give more texts, or a smaller --least."


def test_texts_in_one_row_and_cut_into_parts():
    texts = Texts([np.array([1, 2, 3]), np.array([4]), np.array([], dtype=np.int64), np.array([5, 6])], [0, 1, 0, 1])
    y, offsets, row = batch = texts[torch.tensor([3, 0, 2, 1])]
    assert y.tolist() == [1, 0, 0, 1] and offsets.tolist() == [0, 2, 5, 5] and row.tolist() == [5, 6, 1, 2, 3, 4]
    for start, stop, expected in ((0, 1, [[1], [0], [5, 6]]), (1, 3, [[0, 0], [0, 3], [1, 2, 3]]), (3, 4, [[1], [0], [4]])):
        assert [t.tolist() for t in part(batch, start, stop)] == expected


def test_the_loss_of_parts_adds_up(own):
    _, task = made("sentiment", data=own, **SHORT)
    model, batch = task.model.eval(), task.batches(0)
    n = len(batch[0])
    halves = [loss(model, part(batch, a, b)) * (b - a) / n for a, b in ((0, 5), (5, n))]
    assert_close(sum(halves), loss(model, batch))


def test_the_figures_by_hand():
    # scores: the vector of the only word; classes 0, 1, 1 against argmax 0, 0, 1
    E = torch.tensor([[2.0, 0.0], [1.0, 0.0], [0.0, 3.0]])
    texts = Texts([np.array([0]), np.array([1]), np.array([2])], [0, 1, 1])
    found = figures(lambda row, offsets: E[row], texts)
    assert found["accuracy"] == pytest.approx(2 / 3)
    e = torch.e
    nats = np.log(1 + e**-2) + np.log(1 + e) + np.log(1 + e**-3)
    assert found["loss"] == pytest.approx(nats / 3)


def test_vectors_from_a_file(tmp_path, own):
    path = tmp_path / "vectors.txt"
    path.write_text("good 1 0 3\nis 0 1 3\n")
    _, task = made("sentiment", data=own, vectors=str(path), **SHORT)
    words = NGrams.read(task.files).words.index
    assert_close(task.model.E[words["good"]].detach(), torch.tensor([0.1, 0.0, 0.3]))
    assert_close(task.model.E[words["good_"]].detach(), task.model.E[words["good"]].detach())  # as its own word


@pytest.mark.slow
@pytest.mark.parametrize(("ngrams", "least"), [(1, 0.900), (2, 0.915)])
def test_film_reviews(ngrams, least):
    online("reviews")
    _, history = trained("sentiment", ngrams=ngrams, threads=1)
    assert history.rows[-1]["accuracy"] >= least
