"""`workings generate`: the same seed gives the same, against the models' own methods, and the messages."""

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

from tests.train.letters import TEXT, Letters
from tests.train.smoke import online, trained
from workings.cli import app
from workings.errors import WorkingsError
from workings.models.decoding.search import beam
from workings.train.evaluation.open import open_run, vectors_of
from workings.train.recipes import RECIPES
from workings.train.text.decoders import RecurrentDecoder


@pytest.fixture
def letters(monkeypatch):
    monkeypatch.setitem(RECIPES, "letters", Letters())


@pytest.fixture(scope="module")
def vae(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "vae"
    trained("vae", folder, steps=100, hidden="32", latent=2, warmup=0, rate=0.01)
    return folder


def said(*words):
    result = CliRunner().invoke(app, ["generate", *map(str, words)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*words):
    with pytest.raises(WorkingsError) as error:
        CliRunner().invoke(app, ["generate", *map(str, words)], catch_exceptions=False)
    return str(error.value)


def pixels_of(path):
    with Image.open(path) as image:
        return np.asarray(image)


@pytest.mark.usefixtures("letters")
@pytest.mark.parametrize("kind", ["gru", "transformer", "words"])
def test_text_follows_the_seed(tmp_path, kind):
    trained("letters", tmp_path / "run", kind=kind, steps=5)
    ask = [tmp_path / "run", "--prompt", "to be", "--length", 12, "--temperature", 1.5]
    first = said(*ask, "--seed", 1)
    assert first == said(*ask, "--seed", 1) != said(*ask, "--seed", 2)
    assert first.startswith("to be")
    text = first.removesuffix("\n")
    assert len(text.split() if kind == "words" else text) == (14 if kind == "words" else 17)


@pytest.mark.usefixtures("letters")
def test_the_likeliest_characters_are_those_of_the_model(tmp_path):
    trained("letters", tmp_path / "run", steps=60, rate=0.02)
    model, alphabet = open_run(tmp_path / "run").model, sorted(set(TEXT))
    prompt = torch.tensor([alphabet.index(c) for c in "to be"])
    own = "".join(alphabet[i] for i in model.generate(prompt, 20, T=0.0).tolist())
    assert said(tmp_path / "run", "--prompt", "to be", "--length", 20, "--temperature", 0) == f"to be{own}\n"
    assert said(tmp_path / "run", "--prompt", "to be", "--length", 20, "--top-k", 1) == f"to be{own}\n"
    best = beam(RecurrentDecoder(model), prompt.tolist(), 6, beams=3, cache=False)[0].tokens  # without the carried state
    text = "to be" + "".join(alphabet[i] for i in best)
    assert said(tmp_path / "run", "--prompt", "to be", "--length", 6, "--beam", 3) == f"{text}\n"


@pytest.mark.usefixtures("letters")
@pytest.mark.parametrize(("kind", "named"), [("gru", "a space"), ("transformer", "a space"), ("words", "'be'")])
def test_without_a_prompt_a_text_begins_somewhere(tmp_path, kind, named):
    run = tmp_path / "run"
    trained("letters", run, kind=kind, steps=5)
    done = CliRunner().invoke(app, ["generate", str(run), "--length", "12", "--seed", "3"], catch_exceptions=False)
    assert done.exit_code == 0 and done.stderr == f"No --prompt: the text starts after {named}.\n"
    if kind != "words":
        assert said(run, "--length", 12, "--seed", 3, "--prompt", " ") == " " + done.stdout
    else:
        assert len(done.stdout.split()) == 12


def test_without_a_prompt_a_text_of_lines_begins_after_one(tmp_path):
    (tmp_path / "t.txt").write_text("to be , or not to be .\nthat is the question .\n" * 40)
    text = {"text": str(tmp_path / "t.txt"), "steps": 2, "width": 8, "hidden": 8}
    trained("shakespeare", tmp_path / "characters", **text, depth=1, window=8, rows=50)
    trained("bigram", tmp_path / "words", **text, dev=text["text"])
    for kind in ("characters", "words"):
        done = CliRunner().invoke(app, ["generate", str(tmp_path / kind), "--length", "9"], catch_exceptions=False)
        assert (done.exit_code, done.stderr) == (0, "No --prompt: the text starts after the end of a line.\n")
    assert said(tmp_path / "characters", "--length", 9) == said(tmp_path / "characters", "--length", 9, "--prompt", "\n")[1:]


@pytest.mark.parametrize("how", [("--beam", 2), ("--temperature", 0), ("--seed", 1)])
def test_an_unknown_word_is_never_written(tmp_path, how):
    """Every second word of the text is unknown, so it is the likeliest."""
    (tmp_path / "t.txt").write_text("a <unk> b <unk> a <unk> .\n" * 40)
    text = str(tmp_path / "t.txt")
    trained("bigram", tmp_path / "words", text=text, dev=text, steps=20, width=8, hidden=8)
    written = said(tmp_path / "words", "--prompt", "a", "--length", 12, *how)
    assert "unk" not in written and written.split()


def test_sort_answers(tmp_path):
    trained("sort", tmp_path / "sort", steps=100, test=20, longest=4, batch=32)
    assert said(tmp_path / "sort", "--prompt", "dab") == "A B D <STOP>\n"
    assert refused(tmp_path / "sort") == "A run of sort answers: give a --prompt, such as --prompt DAAC."


def test_pairs_are_answered(tmp_path):
    rows = [(a + b + c, c + b + a) for a in "xyz" for b in "xyz" for c in "xyz"]
    (tmp_path / "p.tsv").write_text("\n".join("\t".join(row) for row in rows))
    small = {"width": 8, "heads": 2, "depth": 1, "source": "characters", "target": "characters", "longest": 5}
    trained("seq2seq", tmp_path / "run", data=str(tmp_path / "p.tsv"), steps=3, batch=8, **small)
    assert len(said(tmp_path / "run", "--prompt", "xyz").splitlines()) == 1
    found = [
        float(line.rpartition("log p ")[2][:-1])
        for line in said(tmp_path / "run", "--prompt", "xyz", "--beam", 3).splitlines()
    ]
    assert len(found) == 3 and all(value < 0 for value in found)
    assert refused(tmp_path / "run", "--prompt", "xyz", "--beam", 3, "--top-k", 3) == (
        "--top-k does nothing here: a run of seq2seq gives the likeliest answer. Leave it out."
    )
    assert refused(tmp_path / "run", "--prompt", "xxyyzz") == "The prompt has 6 tokens; this model reads 1 to 5."


def test_a_grid_of_samples(vae, tmp_path):
    out = tmp_path / "s.png"
    assert said(vae, "--count", 9, "--seed", 3, "--out", out) == f"{out}\n"
    pixels = pixels_of(out)
    assert pixels.shape == (4 * 26, 4 * 26)  # 3 pictures of 8 and 2 gaps of 1, each pixel 4 wide
    x = open_run(vae).model.sample(9, torch.Generator().manual_seed(3)).view(9, 8, 8)
    assert (pixels[::4, ::4][9:17, 18:26] == (x[5] * 255).round().numpy()).all()  # second row, third column
    run = open_run(vae)
    assert run.recipe.samples(run, 5, 0).shape == (1, 17, 26)  # 5 in rows of 3


def test_interpolation_begins_and_ends_at_test_pictures(vae, tmp_path):
    from workings.train.data.images import images

    out = tmp_path / "i.png"
    said(vae, "--interpolate", "--count", 2, "--out", out)
    pixels = pixels_of(out)[::4, ::4]
    assert pixels.shape == (17, 89)
    x = images("digits", 0).x_test.flatten(1)
    a, _, b, _ = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))[:4].tolist()
    model = open_run(vae).model
    with torch.no_grad():
        ends = model.decode(model.encode(x[[a, b]])[0]).view(2, 8, 8)
    assert abs(ends[0] - ends[1]).max() > 0.05
    assert abs(pixels[:8, :8] - (ends[0] * 255).numpy()).max() < 1
    assert abs(pixels[:8, -8:] - (ends[1] * 255).numpy()).max() < 1


def test_pictures_are_found_by_words(tmp_path):
    for style in ("noto", "twemoji", "fluent", "openmoji"):
        online(f"emoji-{style}")
    from workings.train.data.emoji import emoji
    from workings.train.tasks.clip import word_numbers

    task, _ = trained("clip", tmp_path / "clip", steps=2, batch=8, channels=2, words=8, width=8)
    out = said(tmp_path / "clip", "--search", "red heart", "--count", 3, "--out", tmp_path / "h.png")
    data = emoji()
    with torch.no_grad():
        F = torch.cat([task.model.image_embedding(x) for x in data.styles["twemoji"].split(500)])
        G = task.model.text_embedding(word_numbers(["red heart"], task.files["words.txt"].splitlines()))
    best = (F @ G[0]).argsort(descending=True)[:3].tolist()
    assert [line.split("  ")[1] for line in out.splitlines()[:3]] == [data.captions[i] for i in best]
    assert pixels_of(tmp_path / "h.png").shape == (4 * 32, 4 * 98, 3)
    asked = ["generate", str(tmp_path / "clip"), "--search", "red xyzzy heart"]
    assert CliRunner().invoke(app, asked).stderr == "Left out, since the model does not know: xyzzy.\n"
    words = task.files["words.txt"].splitlines()
    number = word_numbers(["heart"], words)[0, 0]
    assert torch.equal(vectors_of(open_run(tmp_path / "clip"))["heart"], task.model.text.E.weight[number])
    assert refused(tmp_path / "clip") == "A run of clip finds pictures: give --search WORDS."


def test_messages_for_the_wrong_kind_of_run(vae, tmp_path):
    trained("digits", tmp_path / "d", steps=1, model="logistic")
    d = tmp_path / "d"
    assert refused(d, "--prompt", "x") == f"{d} is a run of digits, which neither writes nor draws."
    assert refused(d, "--interpolate") == f"--interpolate is for runs of vae; {d} is a run of digits."
    assert refused(d, "--search", "x") == f"--search is for runs of clip or siglip; {d} is a run of digits."
    assert refused(d, "--out", "x.png") == f"--out is for runs of vae, clip or siglip; {d} is a run of digits."
    assert refused(vae) == "Pictures go into a file: give --out samples.png."
    assert refused(vae, "--out", "x.gif") == "--out is a PNG file, such as samples.png; got x.gif."
    assert refused(tmp_path / "none") == f"{tmp_path / 'none'} does not exist. Name a folder written by `workings train`."


@pytest.mark.usefixtures("letters")
def test_options_that_would_be_passed_over_are_refused(vae, tmp_path):
    trained("letters", tmp_path / "text", steps=1)
    trained("sort", tmp_path / "sort", steps=1, test=5)
    text, sort = tmp_path / "text", tmp_path / "sort"
    beam = "--beam searches for the likeliest text and draws nothing: leave out"
    assert refused(text, "--beam", 3, "--temperature", 0.5, "--top-k", 3) == f"{beam} --temperature and --top-k."
    assert refused(text, "--beam", 3, "--top-p", 0.5) == f"{beam} --top-p."
    assert refused(text, "--count", 3) == "--count does nothing here: a run of letters writes one text. Leave it out."
    for words in (["--top-k", 3], ["--temperature", 1.0], ["--top-p", 1], ["--length", 5], ["--beam", 2], ["--count", 1]):
        assert refused(sort, "--prompt", "DAB", *words) == (
            f"{words[0]} does nothing here: a run of sort gives one answer. Leave it out."
        )
    for words in (["--prompt", "x"], ["--temperature", 0.5], ["--beam", 2], ["--length", 9]):
        assert refused(vae, "--out", tmp_path / "s.png", *words) == (
            f"{words[0]} does nothing here: a run of vae draws pictures. Leave it out."
        )
    assert said(text, "--prompt", "to", "--beam", 2, "--length", 2, "--seed", 1).startswith("to")


@pytest.mark.usefixtures("letters")
def test_messages_about_the_prompt(tmp_path):
    trained("letters", tmp_path / "run", steps=1)
    assert refused(tmp_path / "run", "--prompt", "to Be") == (
        f"The model does not know 'B': it has {len(set(TEXT))} characters. Change the prompt."
    )
    assert refused(tmp_path / "run", "--prompt", "") == (
        "Generation starts from a prompt: give a --prompt that is not empty."
    )
