"""`workings show RUN --input …`: trained models traced on one's own input; what is printed is what the model says."""

import re

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

from tests.train.smoke import online, trained
from workings.cli import app
from workings.errors import WorkingsError
from workings.train.data.emoji import emoji
from workings.train.data.images import images
from workings.train.evaluation.open import open_run
from workings.train.forward_pass import visible
from workings.train.tasks.clip import picture as drawing
from workings.train.tasks.clip import word_numbers
from workings.train.tasks.picture_input import picture

TEXT = "to be or not to be that is the question\n" * 40


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A small run of each kind that can be shown."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "t.txt").write_text(TEXT)
    (folder / "p.tsv").write_text("".join(f"{a}{b}\t{b} {a}\n" for a in "abcde" for b in "abcde"))
    (folder / "r.csv").write_text("text,label\n" + "".join(f"good film {i},yes\nbad film {i},no\n" for i in range(20)))
    text = {"text": str(folder / "t.txt"), "steps": 2, "width": 8}
    trained("shakespeare", folder / "transformer", **text, depth=1, hidden=8, window=8, rows=50)
    trained("shakespeare", folder / "gru", **text, model="gru", depth=1, hidden=8, window=8)
    trained("bigram", folder / "bigram", **text, hidden=8, dev=str(folder / "t.txt"))
    trained("sentiment", folder / "sentiment", data=str(folder / "r.csv"), steps=5)
    trained("digits", folder / "digits", steps=5, model="logistic")
    trained("autoencoder", folder / "autoencoder", steps=2, hidden="8", code=2)
    trained("vae", folder / "vae", steps=2, hidden="8", latent=2)
    trained("sort", folder / "sort", steps=2, test=5, width=8)
    small = {"width": 8, "heads": 2, "depth": 1, "longest": 6}
    trained("seq2seq", folder / "seq2seq", data=str(folder / "p.tsv"), source="characters", target="words", steps=2, **small)
    return folder


def said(*words):
    done = CliRunner().invoke(app, ["show", *map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def refused(*words):
    with pytest.raises(WorkingsError) as error:
        CliRunner().invoke(app, ["show", *map(str, words)], catch_exceptions=False)
    return str(error.value)


def shares(text):
    """The names and shares of the last line."""
    return {name: float(share) for name, share in re.findall(r"(\S+) ([\d.]+)%", text.strip().splitlines()[-1])}


@pytest.mark.parametrize("kind", ["transformer", "gru", "bigram"])
def test_the_next_token(runs, kind):
    found = open_run(runs / kind)
    language = found.recipe.language(found.settings, found.files, found.model)
    tokens = torch.tensor([language.encode(language.cut("to be"))])
    with torch.no_grad():
        θ = {"gru": lambda: found.model(tokens)[0][0, -1], "bigram": lambda: found.model(tokens[0])[-1]}.get(
            kind, lambda: found.model(tokens)[0, -1]
        )()
    p = θ.softmax(dim=0)
    text = said(runs / kind, "--input", "to be", "--depth", 1)
    reads = "which reads 2 tokens: 0 to, 1 be" if kind == "bigram" else "which reads 5 tokens: 0 t, 1 o, 2 ␣, 3 b, 4 e"
    recipe = "bigram" if kind == "bigram" else "shakespeare"
    assert text.startswith(f"{runs / kind} ({recipe}), {reads}\n\ntokens = [")
    assert "matches the unmodified run" in text and "\nAfter 'to be': " in text
    best = visible(language.vocabulary[int(p.argmax())])
    assert shares(text.replace("After 'to be': ", ""))[best] == pytest.approx(100 * p.max().item(), abs=0.06)


def test_a_page_has_the_tokens_on_its_axes(runs, tmp_path):
    said(runs / "transformer", "--input", "be to", "--html", tmp_path / "x.html")
    page = (tmp_path / "x.html").read_text()
    assert "CharacterTransformer" in page
    assert re.search(r"<text[^>]*>b</text>.*<text[^>]*>e</text>.*<text[^>]*>␣</text>.*<text[^>]*>t</text>", page, re.DOTALL)


def test_deeper_and_in_another_form(runs):
    assert "CharacterBlock" in said(runs / "transformer", "--input", "be", "--depth", 2)
    assert r"\operatorname{softmax}" in said(runs / "bigram", "--input", "be", "--latex")


def test_the_class_of_a_text(runs):
    text = said(runs / "sentiment", "--input", "bad film, good zzz", "--depth", 1)
    assert "which reads 3 tokens: 0 bad, 1 film, 2 good" in text
    run = open_run(runs / "sentiment")
    p = run.recipe.explainer(run).explain("bad film good").p
    assert shares(text) == pytest.approx({"no": 100 * p[0], "yes": 100 * p[1]}, abs=0.06)


def test_the_class_of_a_picture(runs, tmp_path):
    data = images("digits", 0)
    with torch.no_grad():
        p = open_run(runs / "digits").model(data.x_test[[7]])[0].softmax(dim=0)
    text = said(runs / "digits", "--input", "7", "--depth", 1)
    assert f"test picture 7, which is {int(data.y_test[7])}:" in text
    assert "\nthrough 1 Standardised, 2 Flatten, 3 Linear\n" in text and "for layer in layers: turn 3 of 3" in text
    assert shares(text)[str(int(p.argmax()))] == pytest.approx(100 * p.max().item(), abs=0.06)
    pixels = (data.x_test[7, 0] * 255).round().to(torch.uint8).numpy()
    Image.fromarray(pixels).save(tmp_path / "seven.png")
    x, read = picture(open_run(runs / "digits"), str(tmp_path / "seven.png"), "")
    assert x.shape == (1, 1, 8, 8) and read.startswith(f"{tmp_path / 'seven.png'}:\n")
    torch.testing.assert_close(x, data.x_test[[7]], atol=0.003, rtol=0)
    Image.fromarray(np.zeros((30, 20, 3), dtype=np.uint8)).save(tmp_path / "large.png")
    assert picture(open_run(runs / "digits"), str(tmp_path / "large.png"), "")[0].shape == (1, 1, 8, 8)


@pytest.fixture(scope="module")
def towers(tmp_path_factory):
    for style in ("noto", "twemoji", "fluent", "openmoji"):
        online(f"emoji-{style}")
    folder = tmp_path_factory.mktemp("towers")
    for name in ("clip", "siglip"):
        trained(name, folder / name, steps=1, batch=8, channels=2, words=8, width=8)
    return folder


@pytest.mark.parametrize("name", ["clip", "siglip"])
def test_words_and_pictures_through_their_towers(towers, name, tmp_path):
    model, data = open_run(towers / name).model, emoji()
    words = open_run(towers / name).files["words.txt"].splitlines()
    x = data.styles["twemoji"]
    with torch.no_grad():
        F = torch.cat([model.image_embedding(part) for part in x.split(500)])
        G = model.text_embedding(word_numbers(data.captions, words))
        g = model.text_embedding(word_numbers(["red heart"], words))[0]
    text = said(towers / name, "--input", "red heart")
    assert text.startswith(f"{towers / name} ({name}), which reads 2 tokens: 0 red, 1 heart\n")
    assert "G = normalised(X)" in text and "matches the unmodified run" in text
    assert text.splitlines()[-1] == f"Nearest pictures of twemoji: {near(F @ g, data.captions)}"
    i = data.captions.index("red heart")
    text = said(towers / name, "--input", i)
    assert f"picture {i} of twemoji, which is red heart:" in text and "F = normalised(X)" in text
    assert text.splitlines()[-1] == f"Nearest names: {near(G @ F[i], data.captions)}"
    pixels = (x[i].permute(1, 2, 0) * 255).round().to(torch.uint8).numpy()
    Image.fromarray(pixels).save(tmp_path / "heart.png")
    assert said(towers / name, "--input", tmp_path / "heart.png").splitlines()[-1].startswith("Nearest names: ")


def near(cosines, names):
    best = cosines.topk(5)
    return ", ".join(f"{names[i]} {c:.3f}" for c, i in zip(best.values.tolist(), best.indices.tolist(), strict=True))


def test_what_is_transparent_is_white_for_the_towers(towers, tmp_path):
    Image.new("RGBA", (50, 50), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    x, _ = drawing(open_run(towers / "clip"), str(tmp_path / "clear.png"), "")
    assert x.shape == (1, 3, 32, 32) and x.min() > 0.999999


def test_messages_about_the_towers(towers):
    needs = 'Give words, a picture file, or the number of a test picture: --input "red heart".'
    assert refused(towers / "clip") == f"A run is shown on one --input; there are 0. {needs}"
    assert refused(towers / "clip", "--input", "no.png") == f"no.png does not exist. {needs}"
    assert refused(towers / "clip", "--input", "9999") == "There are the test pictures 0 to 1560; got 9999."
    assert refused(towers / "clip", "--input", "qqq").startswith("None of the words of 'qqq' is known to this model: ")


@pytest.mark.parametrize("model", ["rnn", "lstm"])
def test_the_other_cells(runs, tmp_path, model):
    text = {"text": str(runs / "t.txt"), "steps": 1, "width": 8, "model": model, "depth": 1, "hidden": 8, "window": 8}
    trained("shakespeare", tmp_path / model, **text)
    assert "\nAfter 'to be': " in said(tmp_path / model, "--input", "to be")


@pytest.mark.parametrize("model", ["cnn", "vit", "mlp", "street"])
def test_the_other_readers_of_pictures(tmp_path, model):
    trained("digits", tmp_path / model, steps=1, model=model, width=8, heads=2, depth=1)
    text = said(tmp_path / model, "--input", "3")
    if model == "cnn":  # the sequence within the sequence is opened
        assert "\nthrough 1 Standardised, 2 Conv2d, 3 ReLU, " in text
    assert "\nthrough 1 Standardised, 2 " in text and len(shares(text)) == 5 and "matches the unmodified run" in text


@pytest.mark.parametrize("kind", ["autoencoder", "vae"])
def test_a_picture_comes_back(runs, kind):
    text = said(runs / kind, "--input", "3", "--depth", 1)
    assert "test picture 3, which is" in text and "\nWhat comes back:\n" in text


def test_letters_and_pairs(runs):
    text = said(runs / "sort", "--input", "da a", "--depth", 1)
    assert "which reads 4 tokens: 0 D, 1 A, 2 A, 3 <START>" in text and "\nNext: " in text
    text = said(runs / "seq2seq", "--input", "ab", "--depth", 1)
    assert "which reads 2 tokens: 0 a, 1 b" in text and re.search(r"\n  <start> +\S+ [\d.]+%, ", text)


def test_messages(runs, tmp_path):
    assert refused(runs / "bigram") == 'A run is shown on one --input; there are 0. Give a text: --input "to be".'
    assert refused(runs / "digits") == (
        "A run is shown on one --input; there are 0. Give a picture file, or the number of a test picture: --input 7."
    )
    assert refused(runs / "transformer", "--input", "☃") == (
        "The model does not know '☃': it has 14 characters. Change the prompt."
    )
    for kind, empty in (("transformer", ""), ("bigram", " ")):
        assert refused(runs / kind, "--input", empty) == 'The --input is empty. Give a text: --input "to be".'
    assert refused(runs / "sentiment", "--input", "zzz") == "The model knows no word of 'zzz'."
    assert refused(runs / "digits", "--input", "9999") == "There are the test pictures 0 to 358; got 9999."
    assert refused(runs / "digits", "--input", "-1") == "There are the test pictures 0 to 358; got -1."
    assert refused(runs / "digits", "--input", "no.png") == (
        "no.png does not exist. Give a picture file, or the number of a test picture: --input 7."
    )
    (tmp_path / "bad.png").write_text("hello")
    assert refused(runs / "digits", "--input", tmp_path / "bad.png").startswith(f"{tmp_path / 'bad.png'} is not a picture")
    assert (
        refused(tmp_path / "none", "--input", "a")
        == f"{tmp_path / 'none'} does not exist. Name a folder written by `workings train`."
    )
