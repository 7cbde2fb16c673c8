"""`workings neighbors`: vectors of a file, of GloVe, of a run."""

import pytest
import torch
from typer.testing import CliRunner

from tests.train.letters import Letters
from tests.train.smoke import online, trained
from workings.cli import app
from workings.errors import WorkingsError
from workings.train.evaluation.open import open_run, vectors_of
from workings.train.recipes import RECIPES


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("man 1 0\nwoman 1 1\nking 3 0\nqueen 3 4\n")
    return path


def said(*words):
    result = CliRunner().invoke(app, ["neighbors", *map(str, words)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*words):
    with pytest.raises(WorkingsError) as error:
        CliRunner().invoke(app, ["neighbors", *map(str, words)], catch_exceptions=False)
    return str(error.value)


def test_neighbours_by_hand(file):
    # king points the way of man; woman stands at 45°, cos = 1/√2; queen has 3/√(3² + 4²) = 0.6.
    assert said("man", "--vectors", file) == "1.0000  king\n0.7071  woman\n0.6000  queen\n"
    assert said("man", "--vectors", file, "--count", 1) == "1.0000  king\n"


def test_an_analogy(file):
    # Directions: woman − man + king = (1/√2, 1/√2) − (1, 0) + (1, 0), and cos with (0.6, 0.8) is 1.4/√2.
    assert said("--analogy", "man", "woman", "king", "--vectors", file) == "0.9899  queen\n"


def test_glove_knows_the_queen():
    online("glove")
    assert said("--analogy", "man", "woman", "king", "--count", 1).split()[1] == "queen"


def test_the_words_of_a_run(tmp_path, monkeypatch):
    monkeypatch.setitem(RECIPES, "letters", Letters())
    trained("letters", tmp_path / "run", kind="words", steps=2)
    E = open_run(tmp_path / "run").model.E
    known = vectors_of(open_run(tmp_path / "run"))
    assert torch.equal(known["question"], E[known.words.index("question")])
    cosines = torch.cosine_similarity(E, known["be"][None])
    assert said("be", "--vectors", tmp_path / "run", "--count", 1).split()[1] == known.words[cosines.argsort()[-2]]


def test_messages(file, tmp_path):
    assert refused() == refused("king", "--analogy", "a", "b", "c") == "Give one of a WORD and --analogy a b c."
    assert refused("King", "--vectors", file) == "'King' has no vector among these 4 words. 'king' has one."
    assert refused("a", "--vectors", "nowhere") == (
        "nowhere is neither a file of vectors, nor the folder of a run, nor glove."
    )
    trained("digits", tmp_path / "d", steps=1, model="logistic")
    assert (
        refused("a", "--vectors", tmp_path / "d") == f"{tmp_path / 'd'} is a run of digits, which has no vectors of words."
    )
