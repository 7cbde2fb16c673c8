"""`workings eval RUN --errors`: the mistakes against the models themselves, edits, the page, and the messages."""

import json
import os
import subprocess
import sys

import pytest
import torch
from typer.testing import CliRunner

from tests.train.smoke import trained
from workings.cli import app
from workings.cli.evaluate_errors import ASK
from workings.errors import WorkingsError
from workings.train.data.images import images
from workings.train.data.reviews import reviews
from workings.train.evaluation.mistakes import choose
from workings.train.evaluation.open import open_run
from workings.train.evaluation.words import apply_edit, comparison_table, table
from workings.train.text.explain import Explanation, Part

GOOD = "a great film with great actors", "lovely and warm", "I liked the great story", "fine lovely work"
BAD = "a dull film with bad actors", "awful and cold", "I hated the dull story", "poor awful work"


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    """A run on a CSV whose every fifth label is wrong, so that there are mistakes to look at."""
    folder = tmp_path_factory.mktemp("films")
    rows = [(f"{text}, take {i}", "good" if text in GOOD else "bad") for i in range(8) for text in (*GOOD, *BAD)]
    rows = [(text, {"good": "bad", "bad": "good"}[y] if i % 5 == 0 else y) for i, (text, y) in enumerate(rows)]
    rows += [(f"a great film but not great, but long, {i}", "bad") for i in range(4)]
    (folder / "films.csv").write_text("text,label\n" + "".join(f'"{text}",{y}\n' for text, y in rows))
    trained("sentiment", folder / "run", data=str(folder / "films.csv"), steps=30, batch=16, decay=0.0, ngrams=2)
    return folder / "run"


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits") / "run"
    trained("digits", folder, model="logistic", steps=40, batch=32, warmup=0, rate=0.02)
    return folder


def said(*words, input=None):
    done = CliRunner().invoke(app, ["eval", *map(str, words)], input=input, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def refused(*words):
    with pytest.raises(WorkingsError) as error:
        CliRunner().invoke(app, ["eval", *map(str, words)], catch_exceptions=False)
    return str(error.value)


def test_the_choice_goes_from_the_surest_to_the_most_undecided():
    p = torch.tensor([0.9, 0.6, 0.8, 0.55, 0.7, 0.99])
    y = torch.tensor([0, 0, 0, 0, 0, 1])  # the last is right
    total, some = choose(y, torch.stack([1 - p, p], dim=1), 3)
    assert total == 5 and [m.number for m in some] == [0, 4, 3]  # 0.9, the middle 0.7, 0.55
    assert [m.number for m in choose(y, torch.stack([1 - p, p], dim=1), 9)[1]] == [0, 2, 4, 1, 3]
    assert choose(y[5:], torch.stack([1 - p, p], dim=1)[5:], 3) == (0, [])


def test_mistakes_of_pictures_are_those_of_the_model(digits, tmp_path):
    data = images("digits", 0)
    with torch.no_grad():
        p = open_run(digits).model(data.x_test).softmax(dim=1)
    wrong = (p.argmax(dim=1) != data.y_test).nonzero()[:, 0].tolist()
    found = json.loads(said(digits, "--errors", 1000, "--json"))
    assert found["mistaken"] == len(wrong) and found["examples"] == 359
    assert sorted(row["number"] for row in found["errors"]) == wrong
    row = found["errors"][0]
    i = row["number"]
    assert row["class"] == str(int(data.y_test[i])) and row["taken_for"] == str(int(p[i].argmax()))
    assert list(row["probabilities"].values()) == pytest.approx(p[i].tolist(), abs=1e-6)
    text = said(digits, "--errors", 2, "--html", tmp_path / "m.html")
    assert (
        f"{len(wrong)} of 359 pictures are misclassified" in text and "▒" in text and f"1. test picture {i}: it is" in text
    )
    page = (tmp_path / "m.html").read_text()
    assert page.count("data:image/png;base64,") == 2 and page.count('class="bar taken"') == 2
    assert "http" not in page.replace("http-equiv", "")


def test_parts_of_words_against_the_model(films):
    found = open_run(films)
    explainer = found.recipe.explainer(found)
    text = "a great film with great actors"
    read = explainer.explain(text, 1)
    part = {p.word: p for p in read.parts}["great"]
    tokens = explainer.tokens(text)
    great = [explainer.name(token) for token in tokens].index("great")
    without = [t for k, t in enumerate(tokens) if k != great]
    with torch.no_grad():
        θ, θ_without = (found.model(torch.tensor([row]))[0] for row in (tokens, without))
    assert part.times == 2
    assert read.margin == pytest.approx((θ[1] - θ[0]).item(), abs=1e-5)
    assert part.leave_one_out == pytest.approx((θ[1] - θ[0] - θ_without[1] + θ_without[0]).item(), abs=1e-5)
    assert read.p == pytest.approx(θ.softmax(dim=0).tolist())
    totals = [p.times * p.leave_one_out for p in read.parts]
    assert totals == sorted(totals, reverse=True)
    nothing = explainer.explain("zzz qqq")
    assert nothing.parts == () and sum(nothing.p) == pytest.approx(1)


def test_mistakes_of_texts(films):
    found = json.loads(said(films, "--errors", 100, "--json"))
    run = open_run(films)
    test = reviews(run.settings.data, run.settings.test, 0).test
    explainer = run.recipe.explainer(run)
    wrong = [i for i, (text, y) in enumerate(test) if explainer.explain(text).p[y] < 0.5]
    assert wrong and sorted(row["number"] for row in found["errors"]) == wrong
    assert all(row["text"] == test[row["number"]][0] for row in found["errors"])
    text = said(films, "--errors", 1)
    assert "1. it is " in text and "leave one out  gradient × input" in text and "“" in text


def test_an_edit_before_and_after(films):
    run = open_run(films)
    explainer = run.recipe.explainer(run)
    (first, *_) = json.loads(said(films, "--errors", 1, "--json"))["errors"]
    word = first["text"].split(",")[0].split()[0]
    (edit,) = json.loads(said(films, "--errors", 1, "--json", "--edit", f"{word} => dull"))["edits"]
    assert edit["text"] == apply_edit(first["text"], f"{word} => dull") != first["text"]
    assert list(edit["probabilities"].values()) == pytest.approx(explainer.explain(edit["text"]).p)
    after = said(films, "--errors", 1, "--edit", f"{word} => dull").partition("Edit: ")[2]
    assert "before" in after and "taken for" in after and "dull" in after
    whole = said(films, "--errors", 3, "--edit", "lovely lovely story").partition("Edit: ")[2]
    assert "“lovely lovely story”" in whole and whole.count("taken for") == 1


def test_edits_one_after_the_other(films):
    done = CliRunner().invoke(app, ["eval", str(films), "--errors", "2", "--edit", "-"], input="zzz => a\nfine day\n\nnever")
    assert done.exit_code == 0 and done.stdout.count("Edit: ") == 1
    assert done.stderr == "None of these 2 texts has 'zzz'.\n"


def test_an_edit_that_stands_alone_asks(films):
    for words in (["--errors", "2", "--edit"], ["--edit", "--errors", "2"], ["--errors", "2", "--edit", "-"]):
        done = CliRunner().invoke(app, ["eval", str(films), *words], input="fine day\n=> b\n")
        assert done.exit_code == 0 and done.stdout.count("Edit: fine day") == 1
        assert done.stderr == "An edit names the words that it changes, as in 'good => bad'; got '=> b'.\n"
    help = " ".join(said("--help").split())
    assert "--edit [TEXT]" in help and "without a value, ask for edits" in help


def test_on_a_terminal_it_asks_until_nothing_is_said(films):
    import pty

    there, here = pty.openpty()
    words = [sys.executable, "-m", "workings", "eval", str(films), "--errors", "1", "--edit"]
    process = subprocess.Popen(words, stdin=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    os.close(here)
    os.write(there, b"zzz qqq\n\n")
    out, err = process.communicate(timeout=60)
    os.close(there)
    assert (process.returncode, err) == (0, "")
    assert out.count(ASK) == 2 and out.count("Edit: zzz qqq") == 1
    assert "The model knows none of the new text's words" in out


def test_of_a_whole_new_text_the_words_that_count_are_enough():
    parts = tuple(Part(f"w{i:02}", 1, i / 100, 0.0) for i in range(30))
    old, new = Explanation("x", (0.5, 0.5), 0.0, parts), Explanation("y", (0.5, 0.5), 0.0, (Part("new", 1, 0.5, 0.5),))
    lines = comparison_table(old, new, ["no", "yes"]).splitlines()
    assert [line.split()[0] for line in lines[6:]] == ["new", *(f"w{i}" for i in range(29, 10, -1)), "…"]
    assert lines[-1] == "… and 11 more words that came or went"
    assert comparison_table(old, Explanation("z", (0.5, 0.5), 0.0, ()), ["no", "yes"]).endswith(
        "\nThe model knows none of the new text's words: what it says is what it says of nothing."
    )


@pytest.mark.parametrize(
    ("edit", "after"),
    [
        ("good => bad", "bad? No: a bad Goodness."),
        ("GOOD -> so\\so", "so\\so? No: a so\\so Goodness."),
        ("good =>", "? No: a Goodness."),
        ("all new", "all new"),
        ("goo => x", None),
    ],
)
def test_edits(edit, after):
    assert apply_edit("Good? No: a good Goodness.", edit) == after


def test_tables_by_hand():
    old = Explanation("x", (0.25, 0.75), 1.1, (Part("good", 2, 0.5, 0.4), Part("so_", 1, -0.1, -0.2)))
    new = Explanation("y", (0.6, 0.4), -0.4, (Part("so_", 1, -0.3, -0.2),))
    assert table(old) == (
        "word  times  leave one out  gradient × input\n"
        "good  2      +0.500         +0.400\n"
        "so_   1      −0.100         −0.200\n"
        "so_ is so after not, never, -n't …"
    )
    assert comparison_table(old, new, ["no", "yes"]) == (
        "        before  after\n"
        "no      25.0%   60.0%\n"
        "yes     75.0%   40.0%\n"
        "margin  +1.100  −0.400\n"
        "\n"
        "word  leave one out before  after   gradient × input before  after\n"
        "good  +0.500                –       +0.400                   –\n"
        "so_   −0.100                −0.300  −0.200                   −0.200"
    )


def test_the_page_of_texts_escapes_and_colours(films, tmp_path):
    from workings.train.evaluation.mistakes_page import coloured

    parts = (Part("good", 1, 0.2, 0.2), Part("so_", 1, -0.1, -0.1))
    page = coloured(Explanation("Good <b> so dull", (0.5, 0.5), 0.0, parts))
    assert page == (
        '<mark title="+0.200" style="background:rgba(192,57,43,0.65)">Good</mark> &lt;b&gt; '
        '<mark title="-0.100" style="background:rgba(31,111,196,0.33)">so</mark> dull'
    )
    said(films, "--errors", 1, "--html", tmp_path / "t.html")
    assert "<mark" in (tmp_path / "t.html").read_text()


def test_messages(films, digits, tmp_path):
    trained("sort", tmp_path / "sort", steps=1, test=5)
    sort = tmp_path / "sort"
    assert refused(sort, "--errors", 1) == f"--errors is for runs of sentiment or digits; {sort} is a run of sort."
    assert refused(digits, "--errors", 1, "--edit", "a => b") == f"--edit changes a text; {digits} is a run of digits."
    assert refused(films, "--edit", "a => b") == "--edit goes with --errors N."
    assert refused(films, "--html", "x.html") == "--html goes with --errors N."
    assert refused(films, digits, "--errors", 1) == "--errors looks at one run; there are 2."
    assert refused(films, "--errors", 1, "--text", "a") == "--errors looks at the test data; leave out --text."
    assert refused(films, "--errors", 1, "--edit", " ") == (
        "--edit needs a change, such as 'good => bad', or a whole new text."
    )
    assert refused(films, "--errors", 1, "--edit", "=> b") == (
        "An edit names the words that it changes, as in 'good => bad'; got '=> b'."
    )
    assert refused(films, "--errors", 1, "--json", "--edit", "-") == (
        "--edit - is a conversation; with --json name the edit."
    )
    assert refused(films, "--errors", 1, "--html", tmp_path / "no" / "x.html") == (
        f"Could not write {tmp_path / 'no' / 'x.html'}: No such file or directory."
    )


def test_a_run_on_texts_has_a_confusion_matrix(films):
    done = CliRunner().invoke(app, ["eval", str(films), "--json"], catch_exceptions=False)
    (row,) = json.loads(done.stdout)["runs"]
    C = torch.tensor(row["confusion"])
    assert row["classes"] == ["bad", "good"] and C.sum() > C.diagonal().sum() > 0
    assert row["figures"]["accuracy"] == pytest.approx((C.diagonal().sum() / C.sum()).item())
