"""The recipe `bigram`: counts as a loss, words and their vectors, texts cut already, and Kneser–Ney beside it."""

from math import exp, log

import pytest
import torch
from torch.testing import assert_close

from tests.train.smoke import assert_repeats_and_restores, made, online, trained
from workings.errors import WorkingsError
from workings.models.smoothing import KneserNey
from workings.train.data.texts import text as read
from workings.train.recipes import recipe
from workings.train.tasks.bigram import Contexts, Pairs, encode, figures, join, loss, tokens_of, vocabulary

SHORT = dict(steps=3, evaluate_every=3, width=8, hidden=8)
LINES = "the cat sees the dog.\nthe dog sees 2 birds.\nno bird sees the cat!\n"


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "own.txt"
    path.write_text(LINES * 20, encoding="utf-8")
    return str(path)


def test_the_plays_repeat_and_are_restored(tmp_path):
    online("shakespeare")
    task = assert_repeats_and_restores("bigram", tmp_path / "run", **{**SHORT, "vocabulary": 200})
    assert task.evaluate(task.model).keys() == {"loss", "perplexity", "kneser_ney_perplexity", "unknown_share"}


def test_pairs_of_the_text_are_learned(own):
    _, history = trained("bigram", text=own, **{**SHORT, "steps": 150, "evaluate_every": 150})
    assert history.best["perplexity"] < 2.5  # the, sees and the start of a line leave a choice of two or three


def test_the_loss_is_the_mean_over_all_places(own):
    _, task = made("bigram", text=own, **SHORT)
    words = vocabulary(LINES, 2000)
    tokens = encode(LINES * 20, words)
    pairs = Pairs(tokens, len(words))
    one_by_one = task.model.loss(tokens[:-1], tokens[1:])
    assert_close(loss(task.model, Contexts(pairs, 1000, 0)(7)), one_by_one)
    found = figures(task.model, pairs, size=3)
    assert found["loss"] == pytest.approx(one_by_one.item())
    assert found["perplexity"] == pytest.approx(exp(one_by_one.item()))


def test_rows_of_counts():
    # 0→1 twice, 1→0 once, 1→2 once
    pairs = Pairs(torch.tensor([0, 1, 0, 1, 2]), 3)
    assert pairs.contexts.tolist() == [0, 1]
    assert pairs.rows(torch.tensor([1, 0])).tolist() == [[1.0, 0.0, 1.0], [0.0, 2.0, 0.0]]


def test_smoothed_rows_by_hand():
    # D = 1/2, P₁ = (1/2, 1/4, 1/4). After 1 came 0 and 2, once each: both give up 1/2, so 1 · P₁ is handed out.
    # After 0 came 1, twice: 2 − 1/2 is left, and 1/2 · P₁ is handed out.
    pairs = Pairs(torch.tensor([0, 1, 0, 1, 2]), 3, 0.5, torch.tensor([0.5, 0.25, 0.25]))
    assert pairs.rows(torch.tensor([1, 0])).tolist() == [[1.0, 0.25, 0.75], [0.25, 1.625, 0.125]]


def test_smoothed_counts_are_those_of_kneser_ney(own):
    words = vocabulary(LINES * 18, 2000)
    tokens = encode(LINES * 18, words)
    counts = KneserNey(tokens, len(words))
    _, task = made("bigram", text=own, **SHORT)
    v, C = task.batches(0)
    assert sorted(v.tolist()) == tokens[:-1].unique().tolist()
    P = C / C.sum(dim=1, keepdim=True)
    every = torch.arange(len(words))
    for u, row in zip(v, P, strict=True):
        assert_close(row.double(), counts.probabilities(u.expand(len(words)), every), rtol=1e-5, atol=1e-6)


def test_counts_as_they_are(own):
    _, task = made("bigram", text=own, smooth=False, **SHORT)
    words = vocabulary(LINES * 18, 2000)
    pairs = Pairs(encode(LINES * 18, words), len(words))
    v, C = task.batches(0)
    assert torch.equal(C, pairs.rows(v)) and torch.equal(C, C.round())


def test_some_contexts_at_a_time_come_round():
    pairs = Pairs(torch.arange(10), 10)
    contexts = Contexts(pairs, 3, seed=0)
    seen = torch.cat([contexts(step)[0] for step in range(3)])
    assert sorted(seen.tolist()) == [*range(9)]
    v, C = contexts(1)
    assert torch.equal(C.argmax(dim=1), v + 1)


def test_it_begins_as_the_frequencies_of_words(own):
    _, task = made("bigram", text=own, **SHORT)
    words = vocabulary(LINES * 18, 2000)
    n = torch.bincount(encode(LINES * 18, words), minlength=len(words)).double() + 1
    assert_close(task.model.network.b_2.detach().double(), torch.log(n / n.sum()), rtol=1e-5, atol=1e-5)


def test_kneser_ney_stands_beside_it(own):
    _, task = made("bigram", text=own, **SHORT)
    words = vocabulary(LINES * 18, 2000)
    counts = KneserNey(encode(LINES * 18, words), len(words))
    beside = task.evaluate(task.model)["kneser_ney_perplexity"]
    assert beside == pytest.approx(counts.perplexity(encode(LINES * 2, words)))


def test_a_second_file_to_be_judged_by(tmp_path, own):
    dev = tmp_path / "dev.txt"
    dev.write_text("the cow sees the cat.\n")
    _, task = made("bigram", text=own, dev=str(dev), **SHORT)
    assert task.hashes.keys() == {own, str(dev)}
    # </s> the <unk> sees the cat . </s>: one of the eight tokens is unknown
    assert task.evaluate(task.model)["unknown_share"] == pytest.approx(1 / 8)


@pytest.mark.parametrize("fixed", [False, True])
def test_vectors_from_a_file(tmp_path, own, fixed):
    path = tmp_path / "vectors.txt"
    path.write_text("the 1 0\ncat 0 1\ndog 0 2\n")
    task, _ = trained("bigram", text=own, vectors=str(path), fixed=fixed, **SHORT)
    _, fresh = made("bigram", text=own, vectors=str(path), fixed=fixed, **SHORT)
    words = vocabulary(LINES * 18, 2000).index
    assert task.files["width.txt"] == "2"
    E = fresh.model.E.detach()
    assert_close(E[words["dog"]], 2 * E[words["cat"]])
    assert E.std().item() == pytest.approx(2)  # the spread that learned vectors begin with
    assert torch.equal(task.model.E.detach(), E) == fixed


def test_vectors_that_are_not_there(own):
    with pytest.raises(WorkingsError) as caught:
        made("bigram", text=own, vectors="nowhere.txt", **SHORT)
    assert str(caught.value) == "nowhere.txt is neither a file of vectors, nor the folder of a run, nor glove."


def test_text_and_words_there_and_back(own):
    assert join(tokens_of("yes, my lord.\nno!\n")) == "yes, my lord.\nno!\n"
    _, task = made("bigram", text=own, **SHORT)
    language = recipe("bigram").language(None, task.files, task.model)
    assert language.decode(language.encode(language.cut("The cat sees 77 cows."))) == "the cat sees <number> <unk>."


def test_a_vocabulary_keeps_the_end_of_a_line():
    words = vocabulary("a a a b b c\n", 3)
    assert words.words == ["<unk>", "</s>", "a"]
    assert encode("a b\n", words).tolist() == [1, 2, 0, 1]


def test_a_text_of_few_lines(tmp_path):
    path = tmp_path / "few.txt"
    path.write_text("one\ntwo\n")
    with pytest.raises(WorkingsError) as caught:
        made("bigram", text=str(path))
    assert str(caught.value) == (
        f"{path} has 2 lines. A line is a sentence, and the last tenth of them is what the model is judged by: "
        "give at least 10, or a second file with --dev."
    )


@pytest.mark.slow
@pytest.mark.parametrize(("text", "counts"), [("shakespeare", 52.17), ("moby-dick", 83.62), ("speeches", 78.79)])
def test_the_network_is_at_least_as_good_as_kneser_ney(text, counts):
    online(text)
    _, history = trained("bigram", threads=1, text=text)
    last = history.rows[-1]
    assert last["perplexity"] < last["kneser_ney_perplexity"] == pytest.approx(counts, abs=0.05)
    assert log(last["perplexity"]) == pytest.approx(last["loss"])


@pytest.mark.slow
def test_a_short_text_is_not_learned_by_heart(tmp_path):
    online("shakespeare")
    lines = read("shakespeare").splitlines(keepends=True)
    path = tmp_path / "short.txt"
    path.write_text("".join(lines[: len(lines) // 50]), encoding="utf-8")
    last = trained("bigram", threads=1, text=str(path))[1].rows[-1]
    assert last["perplexity"] < last["kneser_ney_perplexity"]
