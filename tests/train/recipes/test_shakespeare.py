"""The recipe `shakespeare`: the plays, a text of one's own, four models, and what is said of a text that does not do."""

from math import exp, log

import pytest
import torch

from tests.train.smoke import assert_repeats_and_restores, made, online, trained
from workings.errors import WorkingsError
from workings.train.recipes import recipe
from workings.train.tasks.shakespeare import examples, figures, split
from workings.train.text.vocabulary import Alphabet

SHORT = dict(steps=4, batch=4, evaluate_every=4, warmup=0, judges=1000, width=16, hidden=16, depth=1, window=32, rows=64)


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "own.txt"
    path.write_text("to be, or not to be: that is the question\n" * 60, encoding="utf-8")
    return str(path)


def test_the_plays_repeat_and_are_restored(tmp_path):
    online("shakespeare")
    task = assert_repeats_and_restores("shakespeare", tmp_path / "run", **SHORT)
    assert len(Alphabet.read(task.files["alphabet.json"])) == 84
    assert task.batches(0).shape == (4, 33) and task.count(task.batches(0)) == 4 * 32


@pytest.mark.parametrize("model", ["rnn", "gru"])
def test_recurrent_models_repeat_and_are_restored(tmp_path, own, model):
    assert_repeats_and_restores("shakespeare", tmp_path / "run", text=own, model=model, **SHORT)


def test_a_line_is_learned_by_heart(own):
    task, history = trained("shakespeare", text=own, **{**SHORT, "steps": 150, "evaluate_every": 150, "depth": 2})
    assert history.best["loss"] < 0.3
    language = recipe("shakespeare").language(None, task.files, task.model)
    assert language.decode(language.encode([*"to be"])) == "to be"
    assert "question" in task.sample(task.model)


def test_the_figures_are_those_of_the_definition(own):
    _, task = made("shakespeare", text=own, **SHORT)
    tokens = torch.randint(16, (100,))
    torch.nn.init.normal_(task.model.W)  # it begins with equal scores, which would hide a mistake
    with torch.no_grad():
        found = figures(task.model, tokens, 32, rows=2)
        # 99 characters have one before them: three windows of 32, and what is left over is not judged
        L = sum(task.model.loss(tokens[None, i : i + 33]).item() for i in (0, 32, 64)) / 3
    assert found["loss"] == pytest.approx(L)
    assert found["perplexity"] == pytest.approx(exp(L)) and found["bits_per_character"] == pytest.approx(L / log(2))


def test_validation_is_the_last_tenth():
    train, held_out = split(torch.arange(1000), 64)
    assert train.tolist() == [*range(900)] and held_out.tolist() == [*range(900, 1000)]


def test_examples_reach_both_ends_and_no_further():
    seen = examples(torch.arange(6), batch=400, window=3)
    assert seen[:, 0].min() == 0 and seen[:, -1].max() == 5
    assert torch.equal(seen.diff(dim=1), torch.ones(400, 3, dtype=torch.long))


def test_a_text_that_is_too_short(tmp_path):
    path = tmp_path / "short.txt"
    path.write_text("to be or not " * 10)
    with pytest.raises(WorkingsError) as caught:
        made("shakespeare", text=str(path))
    assert str(caught.value) == (
        "The text has 130 characters. Its last tenth is for validation and must hold an example of 64 and the character "
        "after it: give at least 650 characters, or a smaller --window."
    )


def test_characters_that_were_never_seen():
    alphabet = Alphabet.of("abc")
    with pytest.raises(WorkingsError) as caught:
        alphabet.encode("a-é")
    assert str(caught.value) == (
        "The model has never seen 2 of these characters: '-', 'é'. Leave them out, or train on a text that has them."
    )
    assert alphabet.encode("cab").tolist() == [2, 0, 1]
    assert Alphabet.read(alphabet.json()).characters == "abc"
