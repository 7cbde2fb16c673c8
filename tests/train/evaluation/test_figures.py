"""`workings eval`, `generate` and `neighbors` on a run of every recipe: the figures are those of training."""

import json
import math
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from tests.train.smoke import online, trained
from workings.checksum import sha256_of_file
from workings.cli import app
from workings.train.evaluation.open import open_run, vectors_of
from workings.train.recipes import RECIPES
from workings.train.run.run import Run

SMALL = {"width": 8, "heads": 2, "depth": 1}
GIVEN = {
    "shakespeare": {**SMALL, "text": "t.txt", "hidden": 8, "window": 8, "rows": 50},
    "bigram": {"text": "t.txt", "dev": "t.txt", "width": 8, "hidden": 8},
    "sentiment": {"data": "r.csv", "ngrams": 2},
    "digits": {"model": "vit", **SMALL},
    "autoencoder": {"hidden": "8", "code": 2},
    "vae": {"hidden": "8", "latent": 2},
    "clip": {"batch": 8, "channels": 2, "words": 8, "width": 8},
    "siglip": {"batch": 8, "channels": 2, "words": 8, "width": 8},
    "sort": {"test": 20, "longest": 4},
    "seq2seq": {"data": "p.tsv", **SMALL, "longest": 6, "source": "characters", "target": "words"},
}
FIGURES = {
    "shakespeare": {"loss", "perplexity", "bits_per_character"},
    "bigram": {"loss", "perplexity", "kneser_ney_perplexity", "unknown_share"},
    "sentiment": {"loss", "accuracy"},
    "digits": {"loss", "accuracy"},
    "autoencoder": {"loss", "pca"},
    "vae": {"loss", "elbo", "log_likelihood", "kl"},
    "clip": {"recall@1", "recall@5", "text_recall@1", "text_recall@5"},
    "siglip": {"recall@1", "recall@5", "text_recall@1", "text_recall@5"},
    "sort": {"loss", "exact_match", "fixed_weights", "strings"},
    "seq2seq": {"loss", "token_accuracy", "exact_match", "copied"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("every")
    (folder / "t.txt").write_text("the king saw the queen , and the queen saw the king .\nto be or not to be .\n" * 40)
    (folder / "p.tsv").write_text("".join(f"{a}{b}\t{b} {a}\n" for a in "abcde" for b in "abcde"))
    (folder / "r.csv").write_text("text,label\n" + "".join(f"good film {i},yes\nbad film {i},no\n" for i in range(20)))
    return folder


@pytest.fixture(autouse=True)
def there(folder, monkeypatch):
    monkeypatch.chdir(folder)


def said(*words):
    done = CliRunner().invoke(app, [*map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_every_recipe_is_here():
    assert GIVEN.keys() == FIGURES.keys() >= {*RECIPES} - {"tiny", "letters"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n == "siglip" else ()) for n in GIVEN])
def test_the_figures_are_those_of_training(name):
    if name in ("clip", "siglip"):
        for style in ("noto", "twemoji", "fluent", "openmoji"):
            online(f"emoji-{style}")
    _, history = trained(name, Path(name), steps=2, **GIVEN[name])
    (row,) = json.loads(said("eval", name, "--json"))["runs"]
    assert row["recipe"] == name and row["figures"].keys() == FIGURES[name]
    assert row["step"] == history.best["step"]
    assert row["figures"] == {key: history.best[key] for key in FIGURES[name]}  # to the last bit
    assert all(math.isfinite(x) for x in row["figures"].values())
    lines = said("eval", name).splitlines()
    assert lines[0] == f"{name} ({name}), best at step {history.best['step']}"
    ends = {len(line) - len(line.split()[-1]) for line in lines[1 : 1 + len(row["figures"])]}
    assert len(ends) == 1  # the figures stand below each other


def test_in_another_number_format_and_with_the_best_before_the_last():
    rough = {"precision": "bfloat16", "evaluate_every": 1, "seed": 3, "rate": 0.5, "warmup": 0, "schedule": "constant"}
    _, history = trained("vae", Path("rough"), steps=4, **GIVEN["vae"], **rough)
    assert history.best["step"] < 4
    (row,) = json.loads(said("eval", "rough", "--json"))["runs"]
    assert row["step"] == history.best["step"]
    assert row["figures"] == {key: history.best[key] for key in FIGURES["vae"]}


def test_a_figure_that_is_not_what_training_recorded_is_told():
    trained("sort", Path("other"), steps=2, **GIVEN["sort"])
    state = Run(Path("other")).best() / "state.json"
    data = json.loads(state.read_text())
    data["figures"]["loss"] = 0.125
    state.write_text(json.dumps(data, indent=1))
    sums = state.with_name("SHA256SUMS")
    kept = [line for line in sums.read_text().splitlines() if not line.endswith("state.json")]
    sums.write_text("\n".join([*kept, f"{sha256_of_file(state)}  state.json"]) + "\n")
    lines = said("eval", "other").splitlines()
    assert lines[1].endswith("  (training recorded 0.125)") and not any("recorded" in line for line in lines[2:])


def test_neighbours_among_the_words_of_a_bigram_run_and_of_a_classifier():
    trained("bigram", Path("words"), steps=2, **GIVEN["bigram"])
    known = vectors_of(open_run("words"))
    E = open_run(Path("words")).model.E
    i, j = (json.loads((Path("words") / "files" / "words.json").read_text()).index(w) for w in ("king", "queen"))
    assert known["king"] @ known["queen"] == pytest.approx((E[i] @ E[j]).item(), rel=1e-4)
    lines = said("neighbors", "king", "--vectors", "words", "--count", 3).splitlines()
    assert len(lines) == 3 and not any(line.endswith("  king") for line in lines)
    assert len(said("neighbors", "--analogy", "king", "queen", "to", "--vectors", "words").splitlines()) >= 3
    trained("sentiment", Path("films"), steps=2, **GIVEN["sentiment"])
    model = open_run(Path("films")).model
    words = json.loads((Path("films") / "files" / "words.json").read_text())
    assert torch.equal(vectors_of(open_run("films"))["good"], model.E[words.index("good")])
    assert len(said("neighbors", "good", "--vectors", "films", "--count", 2).splitlines()) == 2
