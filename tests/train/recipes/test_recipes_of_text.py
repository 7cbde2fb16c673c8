"""The recipes for text, for a few steps on small texts: they repeat, and their runs give the model back."""

import pytest

from tests.train.smoke import assert_repeats_and_restores, same_weights, trained
from workings.errors import WorkingsError
from workings.train.evaluation.open import open_run

LINES = (
    "\n".join(f"the {animal} sees the {other} ." for animal in ("cat", "dog", "fox") for other in ("bird", "fish", "cow"))
    + "\n"
)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(LINES * 30)
    return str(path)


@pytest.mark.parametrize("model", ["transformer", "lstm"])
def test_characters(tmp_path, text, model):
    task = assert_repeats_and_restores("shakespeare", tmp_path / "run", text=text, model=model, steps=4, batch=4)
    assert task.evaluate(task.model)["loss"] > 0


def test_a_character_model_learns(text):
    _, history = trained("shakespeare", text=text, steps=60, batch=8, evaluate_every=10)
    assert history.rows[-1]["loss"] < 0.5 * history.rows[0]["loss"]


def test_words(tmp_path, text):
    assert_repeats_and_restores("bigram", tmp_path / "run", text=text, steps=4)


def test_sentiment(tmp_path):
    path = tmp_path / "reviews.csv"
    rows = [f"a good film number {i},yes\na bad film number {i},no\n" for i in range(40)]
    path.write_text("text,label\n" + "".join(rows))
    task, history = trained("sentiment", tmp_path / "run", data=str(path), steps=60)
    again, _ = trained("sentiment", data=str(path), steps=60)
    assert same_weights(task.model, again.model)
    assert history.best["accuracy"] > 0.9  # good and bad tell the classes apart
    assert open_run(tmp_path / "run").model.training is False


def test_a_text_that_is_too_short(tmp_path):
    (tmp_path / "t.txt").write_text("to be")
    with pytest.raises(WorkingsError, match=r"^The text has 5 characters"):
        trained("shakespeare", text=str(tmp_path / "t.txt"), steps=1)
