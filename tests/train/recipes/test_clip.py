"""The recipes `clip` and `siglip` on some real emoji: no picture of the held-out style is learned from."""

import pytest
import torch

from tests.train.smoke import assert_repeats_and_restores, made, online, trained
from workings.errors import WorkingsError
from workings.models.clip import CLIP, SigLIP
from workings.train.data import emoji
from workings.train.evaluation.open import open_run
from workings.train.tasks import clip
from workings.train.tasks.clip import figures, nearest, word_numbers

SHORT = dict(steps=4, batch=12, evaluate_every=4, warmup=0, channels=2, words=8, width=8)


@pytest.fixture(scope="module")
def few():
    """Twenty emoji in all four styles."""
    for style in emoji.STYLES:
        online(f"emoji-{style}")
    sets = {style: emoji.svg_by_caption(style) for style in emoji.STYLES}
    captions = sorted(set.intersection(*(set(icons) for icons in sets.values())))[::70][:20]
    pictures = {
        style: torch.stack([torch.from_numpy(emoji.picture(icons[c], 32).copy()) for c in captions]).permute(0, 3, 1, 2)
        / 255
        for style, icons in sets.items()
    }
    return emoji.Drawings(captions, pictures)


@pytest.fixture(autouse=True)
def small(few, monkeypatch):
    for module in (emoji, clip):  # the recipe asks the data, what the model finds is asked of the task
        monkeypatch.setattr(module, "emoji", lambda: few)


@pytest.mark.parametrize(("name", "kind"), [("clip", CLIP), ("siglip", SigLIP)])
def test_it_repeats_and_is_restored(name, kind, tmp_path):
    task = assert_repeats_and_restores(name, tmp_path / "run", **SHORT)
    assert type(task.model) is kind and task.whole
    assert type(open_run(tmp_path / "run").model) is kind


@pytest.mark.parametrize("name", ["clip", "siglip"])
def test_it_learns_the_names(name, few):
    task, history = trained(name, steps=60, batch=20, evaluate_every=60, warmup=0, channels=4, shift=1, colour=0.0)
    texts = word_numbers(few.captions, task.files["words.txt"].splitlines())
    with torch.no_grad():
        assert figures(task.model, few.styles["noto"], texts)["recall@5"] > 0.7  # by chance 0.25
    assert {"recall@1", "recall@5", "text_recall@1", "text_recall@5"} <= history.best.keys()


def test_a_batch_has_each_name_once_and_no_picture_of_the_style_kept(few):
    _, task = made("clip", **{**SHORT, "batch": 15}, style="noto", shift=0, colour=0.0)
    learned = [few.styles[style] for style in emoji.STYLES if style != "noto"]
    texts = word_numbers(few.captions, task.files["words.txt"].splitlines())
    styles = set()
    for step in range(5):
        torch.manual_seed(step)
        x, t = task.batches(step)
        assert len(t.unique(dim=0)) == len(t) <= 15  # 15 of 20: a step over the end of a pass meets names again
        for picture, words in zip(x, t, strict=True):
            i = next(i for i, row in enumerate(texts) if torch.equal(row, words))
            near = [s for s, pictures in enumerate(learned) if torch.allclose(pictures[i], picture, atol=1e-6)]
            assert near
            styles |= {*near}
    assert styles == {0, 1, 2}


def test_other_colours_leave_white_white(few):
    _, task = made("clip", **SHORT, shift=0)
    torch.manual_seed(0)
    x, _ = task.batches(0)
    # 1 − g (1 − x): white stays 1, black becomes 1 − g with 0.7 ≤ g ≤ 1.3
    assert x.max() <= 1 + 1e-6 and x.min() >= -0.3 - 1e-6
    assert torch.allclose(x[:, :, 0, 0].max(), torch.tensor(1.0))


def test_recall_by_hand():
    class Two(CLIP):
        """Cosines of one-hot pictures with one-hot texts."""

        def image_embedding(self, x):
            return x

        def text_embedding(self, t):
            return t

    model = Two(torch.nn.Identity(), torch.nn.Identity(), 3, 3, 3)
    F = torch.eye(3)
    with torch.no_grad():
        found = figures(model, F, F[[0, 2, 1]])  # only the first pair meets; of three names five hold all
    assert found == {
        "recall@1": pytest.approx(1 / 3),
        "recall@5": 1,
        "text_recall@1": pytest.approx(1 / 3),
        "text_recall@5": 1,
    }


def test_words_find_pictures(few):
    task, _ = trained("clip", **SHORT)
    words = task.files["words.txt"].splitlines()
    with torch.no_grad():
        best = nearest(task.model, few.captions[3], words, few.styles["noto"], k=20)
        F = task.model.image_embedding(few.styles["noto"])
        G = task.model.text_embedding(word_numbers([few.captions[3]], words))
    assert sorted(i for i, _ in best) == list(range(20))
    assert [i for i, _ in best] == (F @ G.T)[:, 0].argsort(descending=True).tolist()
    assert best[0][1] == pytest.approx((F @ G.T).max().item())


def test_unknown_words():
    assert word_numbers(["Heart of stone", "heart"], ["heart", "stone"]).tolist() == [[1, 2], [1, 0]]
    with pytest.raises(WorkingsError) as caught:
        word_numbers(["zebra crossing"], ["heart", "stone"])
    assert str(caught.value) == "None of the words of 'zebra crossing' is known to this model: it knows 2 words."
