"""`workings eval`: figures against independent computations on small real runs, and the messages."""

import json
from dataclasses import replace
from math import exp, isnan, log

import pytest
import torch
import torch.nn.functional as F
from sklearn.metrics import confusion_matrix
from typer.testing import CliRunner

from tests.train.letters import TEXT, Letters
from tests.train.smoke import trained
from workings.cli import app
from workings.errors import WorkingsError
from workings.models.averaging import DeepAveraging
from workings.models.character import CharacterModel
from workings.models.language_model import LanguageModel
from workings.train.evaluation.comparison import BOUND, STAR, comparison, legend
from workings.train.evaluation.figures import confusion, matrix, rates
from workings.train.evaluation.open import open_run
from workings.train.evaluation.preprocess import STEPS
from workings.train.recipes import RECIPES
from workings.train.text.contributions import contributions, margin
from workings.train.text.language import Language, TextFigures, log_probabilities, measure


@pytest.fixture
def letters(monkeypatch):
    monkeypatch.setitem(RECIPES, "letters", Letters())


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "digits"
    trained("digits", folder, model="logistic", steps=60, batch=32, warmup=0, rate=0.02)
    return folder


def said(*words):
    result = CliRunner().invoke(app, ["eval", *map(str, words)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*words):
    with pytest.raises(WorkingsError) as error:
        CliRunner().invoke(app, ["eval", *map(str, words)], catch_exceptions=False)
    return str(error.value)


# figures on test data


def test_a_classifier_has_accuracy_and_confusion_matrix(digits):
    from workings.train.data.images import images

    (row,) = json.loads(said(digits, "--json"))["runs"]
    data = images("digits", 0)
    with torch.no_grad():
        found = open_run(digits).model(data.x_test).argmax(dim=1)
    assert row["confusion"] == confusion_matrix(data.y_test, found).tolist()
    C = torch.tensor(row["confusion"])
    assert row["figures"]["accuracy"] == pytest.approx(C.diagonal().sum().item() / len(data.y_test))
    assert 0.3 < row["figures"]["accuracy"] < 1
    assert "recall" in said(digits)


def test_the_bound_of_a_vae_is_split(tmp_path):
    trained("vae", tmp_path / "vae", steps=10, hidden="16", latent=2)
    (row,) = json.loads(said(tmp_path / "vae", "--json"))["runs"]
    f = row["figures"]
    assert f["elbo"] == pytest.approx(f["log_likelihood"] - f["kl"], rel=1e-5)
    from workings.train.data.images import images

    x = images("digits", 0).x_test.flatten(1)
    with torch.no_grad():
        μ, s = open_run(tmp_path / "vae").model.encode(x)
        KL = (μ**2 + s.exp() - 1 - s).sum(dim=1).mean() / 2
    assert f["kl"] == pytest.approx(KL.item(), rel=1e-4)
    assert json.loads(said(tmp_path / "vae", "--json"))["runs"][0]["figures"] == f  # drawn by the seed, so the same again


def test_sort_has_its_exact_match(tmp_path):
    task, _ = trained("sort", tmp_path / "sort", steps=60, test=200, longest=5)
    (row,) = json.loads(said(tmp_path / "sort", "--json"))["runs"]
    with torch.no_grad():
        assert row["figures"] == task.evaluate(task.model)


def test_data_that_changed_is_told(digits, tmp_path):
    data = json.loads((digits / "settings.json").read_text())
    began = data["data"]
    try:
        (digits / "settings.json").write_text(json.dumps({**data, "data": {"digits": "0" * 64}}))
        result = CliRunner().invoke(app, ["eval", str(digits)])
        assert f"{digits}: the data digits is not what it was trained with.\n" in result.stderr
    finally:
        (digits / "settings.json").write_text(json.dumps({**data, "data": began}))


def test_confusion_by_hand():
    # Three of class 0, one of them taken for 2; class 1 has none, and nothing is taken for it.
    C = confusion(torch.tensor([0, 0, 0, 2]), torch.tensor([0, 0, 2, 2]), 3)
    assert C.tolist() == [[2, 0, 1], [0, 0, 0], [0, 0, 1]]
    recall, precision = rates(C)
    assert (recall[0], recall[2], precision[0], precision[2]) == (2 / 3, 1, 1, 1 / 2)
    assert isnan(recall[1]) and isnan(precision[1])
    assert "–" in matrix(C, ["a", "b", "c"])


# language models


class Uniform:
    """Every token is as likely as any other."""

    context = 4

    def __init__(self, n):
        self.n = n

    def __call__(self, tokens):
        assert tokens.shape[1] <= self.context
        return torch.zeros(*tokens.shape, self.n)


def test_units_by_hand():
    # Four characters, equally likely: 2 bits each. "ab ab ab" has 7 characters after the first, and 3 words.
    m = measure(Language(Uniform(4), "character", list, "".join, "ab c"), "ab ab ab")
    assert (m.tokens, m.characters, m.words, m.unknown) == (7, 7, 3, 0)
    assert m.bits_per_character == pytest.approx(2)
    assert m.perplexity(m.tokens) == pytest.approx(4)
    assert m.perplexity(m.words) == pytest.approx(4 ** (7 / 3))


def test_words_in_units_of_characters():
    # Words a, b, <unk>: log₂ 3 bits each; after "a" there are 2 words and the 4 characters " b z".
    m = measure(Language(Uniform(3), "word", str.split, " ".join, ["a", "b", "<unk>"], "<unk>"), "a b z")
    assert (m.tokens, m.characters, m.words, m.left_out) == (2, 4, 2, False)
    assert m.unknown == pytest.approx(1 / 3)
    assert m.bits_per_character == pytest.approx(2 * log(3) / log(2) / 4)


def test_unknown_characters_are_left_out_and_told():
    # Of two characters each costs 1 bit; z is not judged and does not count, wherever it stands.
    for text in ("abzab", "zabab"):
        m = measure(Language(Uniform(2), "character", list, "".join, "ab"), text)
        assert (m.tokens, m.characters, m.unknown, m.left_out) == (3, 3, pytest.approx(1 / 5), True)
        assert m.bits_per_character == pytest.approx(1)


def test_windows_judge_each_token_once():
    torch.manual_seed(0)
    model = LanguageModel(5, 8, 2, 1, context=8).eval()
    t = torch.randint(5, (30,))
    found = log_probabilities(model, t)
    assert len(found) == 29
    with torch.no_grad():
        first = model(t[None, :8])[0].double().log_softmax(-1)[range(8), t[1:9]]
        last = model(t[None, 21:29])[0, -1].double().log_softmax(-1)[t[29]]
    torch.testing.assert_close(found[:8], first)
    torch.testing.assert_close(found[-1], last)


def test_a_recurrent_model_carries_its_state():
    torch.manual_seed(0)
    model = CharacterModel(5, 4, 8, cell="lstm").eval()
    t = torch.randint(5, (1500,))
    assert exp(-log_probabilities(model, t).mean()) == pytest.approx(model.perplexity(t), rel=1e-6)


@pytest.mark.usefixtures("letters")
def test_models_by_passages(tmp_path):
    for kind in ("gru", "transformer", "words"):
        trained("letters", tmp_path / kind, kind=kind)
    a, b = tmp_path / "a.txt", tmp_path / "b.txt"
    a.write_text(TEXT[:200])
    b.write_text("to be or Not")
    runs = [tmp_path / "gru", tmp_path / "words"]
    data = json.loads(said(*runs, "--text", a, "--text", b, "--json"))
    gru, words = (row["texts"] for row in data["runs"])
    model = open_run(tmp_path / "gru").model
    alphabet = sorted(set(TEXT))
    t = torch.tensor([alphabet.index(c) for c in TEXT[:200]])
    with torch.no_grad():
        L = F.cross_entropy(model(t[None, :-1])[0][0], t[1:]).item()
    assert gru[str(a)]["perplexity_per_token"] == pytest.approx(exp(L), rel=1e-5)
    assert gru[str(a)]["bits_per_character"] == pytest.approx(L / log(2), rel=1e-5)
    assert words[str(b)]["unknown_share"] == 1 / 4
    assert data["warnings"] == [
        "The models read different units (character, word): compare bits per character, not perplexity per token.",
        f"{tmp_path / 'gru'} does not know 8.33% of the characters of {b}. They are left out: they cost nothing, and their "
        "characters are not counted.",
        f"{tmp_path / 'words'} does not know 25.00% of the words of {b}. Each costs no more than the one token for unknown "
        "ones, though all its characters are counted.",
    ]
    table = said(*runs, tmp_path / "transformer", "--text", a)
    assert table.count(" *") == 1 and "bits/character" in table
    assert table.endswith(f"\n\n{STAR}\n") and "≥" not in table  # no sign without its meaning, no meaning without its sign
    alone = said(tmp_path / "words", "--text", b)
    assert " ≥ " in alone and alone.endswith(f"\n\n{BOUND}\n") and "*" not in alone
    assert "≥" not in said(tmp_path / "words", "--text", a)
    steps = said(tmp_path / "words", "--text", b, "--preprocess", "lower")
    assert "25.00%\nlower     3       " in steps and f"0.00%\n{BOUND}\n" in steps


def test_who_does_not_know_the_words_does_not_win():
    # 10 characters: 20 bits by the one that knows all of them, 10 by the one that calls most of them unknown
    knows = TextFigures("character", 10, 10, 2, -20 * log(2), 0.0, False)
    shrugs = TextFigures("word", 2, 10, 2, -10 * log(2), 0.9, False)
    also = TextFigures("word", 2, 10, 2, -11 * log(2), 0.9, False)
    assert comparison({"a": {"x": knows}, "b": {"x": shrugs}}) == (
        "bits/character  x\n"
        "a               2.0000 *\n"
        "b               ≥ 1.0000"
    )  # fmt: skip
    assert legend({"a": {"x": knows}, "b": {"x": shrugs}}) == f"{STAR}\n{BOUND}"
    assert comparison({"a": {"x": also}, "b": {"x": shrugs}}).splitlines()[1:] == ["a               ≥ 1.1000",
                                                                                 "b               ≥ 1.0000 *"]  # fmt: skip
    # 90% of the characters and 90% of the words are not the same: then nobody wins, and the legend has no star
    other = {"a": {"x": replace(knows, unknown=0.9)}, "b": {"x": shrugs}}
    assert "*" not in comparison(other) and legend(other) == BOUND
    assert legend({"a": {"x": knows}}) == ""


@pytest.mark.parametrize("model", ["transformer", "lstm"])
def test_shakespeare_on_a_text(tmp_path, model):
    (tmp_path / "all.txt").write_text(TEXT)
    small = {"width": 8, "depth": 1, "hidden": 8, "window": 16, "rows": 64, "batch": 4}
    trained("shakespeare", tmp_path / "run", model=model, text=str(tmp_path / "all.txt"), steps=5, **small)
    (tmp_path / "a.txt").write_text("to be or not to be Zzz")
    (row,) = json.loads(said(tmp_path / "run", "--text", tmp_path / "a.txt", "--json"))["runs"]
    found = row["texts"][str(tmp_path / "a.txt")]
    net, alphabet = open_run(tmp_path / "run").model, sorted(set(TEXT))
    t = torch.tensor([[alphabet.index(c) for c in "to be or not to be "]])
    with torch.no_grad():
        assert found["perplexity_per_token"] == pytest.approx(exp(net.loss(t).item()), rel=1e-5)
    assert found["unknown_share"] == pytest.approx(3 / 22)
    assert "bits_per_character" in said(tmp_path / "run")
    made = CliRunner().invoke(app, ["generate", str(tmp_path / "run"), "--prompt", "to be", "--length", "8"])
    assert len(made.stdout) == 14 and made.stdout.startswith("to be")


@pytest.mark.usefixtures("letters")
def test_preprocessing_step_by_step(tmp_path):
    trained("letters", tmp_path / "words", kind="words")
    (tmp_path / "a.txt").write_text("To be, or not to be")
    out = said(tmp_path / "words", "--text", tmp_path / "a.txt", "--preprocess", "lower,punctuation")
    assert "lower: 'To be, or not to' → 'to be, or not to'" in out
    # To and "be," are unknown of 6 words, then only "be,", then none.
    assert [line.split()[-1] for line in out.splitlines()[1:4]] == ["33.33%", "16.67%", "0.00%"]
    assert "mapping every word to the unknown token would bring the perplexity to 1 without improving the model" in out


@pytest.mark.parametrize(
    ("step", "old", "new"),
    [
        ("lower", "Ab", "ab"),
        ("digits", "in 1851", "in 0000"),
        ("numbers", "1,000.5 or 3", "N or N"),
        ("punctuation", "it's: so.", "its so"),
        ("apart", "so, (no)", "so ,   ( no ) "),
        ("accents", "Ångström", "Angstrom"),
        ("spaces", " a \n b ", "a b"),
    ],
)
def test_each_step(step, old, new):
    assert STEPS[step][1](old) == new


# what words contribute


def test_contributions_of_a_linear_network_by_hand():
    # One layer without hidden units, two classes: s = (z·w), linear in the mean, so gradient × input is x_t·w/n, and its
    # sum is s less the bias, here 0. With x = 1, 3 and w = 2: s = 4; without the first 6, without the second 2.
    found = contributions(lambda z: torch.cat([torch.zeros_like(z), 2 * z], dim=1), torch.tensor([[1.0], [3.0]]), 1)
    assert found == (4, [-2, 2], [1, 3])


def test_contributions_against_the_model_itself():
    torch.manual_seed(0)
    model = DeepAveraging(torch.randn(9, 4), [6], classes=3).eval()
    tokens = [1, 5, 7, 5]
    found = contributions(model.network, model.E[torch.tensor(tokens)], 2)
    with torch.no_grad():
        s = margin(model(torch.tensor([tokens])), 2)
        for t in range(4):
            rest = torch.tensor([tokens[:t] + tokens[t + 1 :]])
            assert found.leave_one_out[t] == pytest.approx((s - margin(model(rest), 2)).item(), abs=1e-5)
    assert found.margin == pytest.approx(s.item(), abs=1e-5)


# messages


def test_message_where_there_is_no_run(tmp_path):
    missing = tmp_path / "none"
    assert refused(missing) == f"{missing} does not exist. Name a folder written by `workings train`."
    assert refused(tmp_path) == (
        f"{tmp_path} is not a training run: it has no settings.json. Name a folder written by `workings train`."
    )


def test_message_where_there_is_no_checkpoint(digits, tmp_path):
    (tmp_path / "settings.json").write_text((digits / "settings.json").read_text())
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "pictures.json").write_text((digits / "files" / "pictures.json").read_text())
    assert refused(tmp_path) == f"{tmp_path} has no intact checkpoint: train it first."


def test_message_for_the_wrong_kind_of_run(digits, tmp_path):
    assert refused(digits, "--text", "x") == f"--text needs a language model; {digits} is a run of digits."


@pytest.mark.usefixtures("letters")
def test_messages_about_texts(tmp_path):
    trained("letters", tmp_path / "gru", steps=1)
    short = tmp_path / "a.txt"
    short.write_text("t")
    assert refused(tmp_path / "gru", "--text", short) == (
        f"{short} has 1 characters that the model knows; predicting the next one needs at least 2."
    )
    assert refused(tmp_path / "gru", "--text", short, "--preprocess", "lowr") == (
        "--preprocess has no step 'lowr'. Did you mean lower?"
    )
    assert refused(tmp_path / "gru", "--preprocess", "lower") == (
        "--preprocess follows one run on one --text; there are 1 and 0."
    )
