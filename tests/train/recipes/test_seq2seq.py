"""The recipe `seq2seq`: real words and verses, pairs of one's own, and decoding in batches as one by one."""

import pytest
import torch

from tests.train.smoke import assert_repeats_and_restores, made, online, trained
from workings.errors import WorkingsError
from workings.models.decoding.search import greedy
from workings.train.tasks.seq2seq import BatchesByLength, best, collate, encode, figures, greedy_rows, kind, translations
from workings.train.text.tokens import PAD, START, STOP, Tokens, learn_tokens

SHORT = dict(steps=4, batch=8, evaluate_every=4, warmup=0, test=10, width=16, heads=2, depth=1)


@pytest.fixture
def own(tmp_path):
    """Short words and their letters in order."""
    words = [a + b + c for a in "nbc" for b in "aeio" for c in "tms"]
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{word}\t{''.join(sorted(word))}\n" for word in words), encoding="utf-8")
    return str(path)


def test_spelling_to_sound_repeats_and_is_restored(tmp_path):
    online("sounds")
    task = assert_repeats_and_restores("seq2seq", tmp_path / "run", data="sounds", pairs=300, **SHORT)
    source, target = (Tokens.read(task.files[f"{side}.json"]) for side in ("source", "target"))
    assert len(source) <= 30 and source.decode(source.encode(["ethos"])[0]) == "ethos"
    assert target.decode(target.encode(["K AH0 T"])[0]) == "K AH0 T"


def test_old_to_modern_english_repeats_and_is_restored(tmp_path):
    online("bible-old"), online("bible-modern")
    task = assert_repeats_and_restores(
        "seq2seq", tmp_path / "run", data="verses", pairs=200, vocabulary=400, longest=80, **{**SHORT, "test": 4}
    )
    assert len(Tokens.read(task.files["source.json"])) == 400


def test_pairs_of_ones_own_are_learned(own):
    _, history = trained(
        "seq2seq", data=own, source="characters", target="characters", steps=250, batch=16, evaluate_every=250, width=32,
        heads=2, depth=1, rate=1e-2, warmup=20,
    )  # fmt: skip
    assert history.best["token_accuracy"] > 0.85
    assert history.best["loss"] < 0.5


def test_what_does_not_fit_is_said(tmp_path, own):
    bad = tmp_path / "bad.tsv"
    bad.write_text("one\tuno\ntwo\n", encoding="utf-8")
    with pytest.raises(WorkingsError) as caught:
        made("seq2seq", data=str(bad))
    assert str(caught.value) == f"{bad}, line 2: two columns with a tab between them are needed; got 1."
    with pytest.raises(WorkingsError) as caught:
        made("seq2seq", data="absent.tsv")
    assert str(caught.value) == (
        "absent.tsv is neither verses nor sounds nor a file. Give a TSV file: a pair a line, a tab between."
    )
    with pytest.raises(WorkingsError) as caught:
        made("seq2seq", data=own, source="characters", longest=2)
    assert str(caught.value) == "All of the 35 pairs have more than 2 tokens on a side: raise --longest."
    with pytest.raises(WorkingsError, match=r"^There are no texts to learn tokens from\.$"):
        learn_tokens([], "words")


def small(own):
    torch.manual_seed(0)
    task, _ = trained("seq2seq", data=own, source="characters", target="characters", **SHORT)
    return task.model, *(Tokens.read(task.files[f"{side}.json"]) for side in ("source", "target"))


def test_many_at_once_are_decoded_as_one_by_one(own):
    model, source, _ = small(own)
    rows = source.encode(["nat", "b", "cosanes", "mi"])
    with torch.no_grad():
        at_once = greedy_rows(model, rows, longest=9)
    for row, tokens in zip(rows, at_once, strict=True):
        alone = [*greedy(model.given(torch.tensor(row)), [START], 10, stop=STOP)]
        assert tokens == [token for token in alone if token != STOP]


def test_beams(own):
    model, source, target = small(own)
    found = best(model, "nat", source, target, longest=4, beams=3)
    assert len(found) == 3 and all(log_p < 0 for _, log_p in found)
    (first,) = best(model, "nat", source, target, longest=4, beams=1)
    assert first[0] == translations(model, ["nat"], source, target, 4)[0]


def test_figures_by_hand(own):
    _, source, target = small(own)
    test = [("nat", "ant"), ("bit", "bit")]

    class Knows(torch.nn.Module):
        """A decoder that writes `a n t` and ⟨stop⟩ whatever the source, in the form of an encoder and a decoder."""

        def __init__(self):
            super().__init__()
            (ids,) = target.encode(["ant"])
            self.line = [*ids, STOP]

        def encoder(self, source, lengths=None):
            return source

        def given(self, source):
            return self

        def new_cache(self):
            return [0]

        def decode(self, tokens, memory, mask=None, cache=None):
            cache[0] += 1
            return torch.eye(len(target))[torch.full(tokens.shape, self.line[min(cache[0], 4) - 1])]

        def forward(self, source, tokens, lengths):
            rows = torch.tensor(self.line)[: tokens.shape[1]]
            return torch.eye(len(target))[rows].expand(len(tokens), -1, -1)

    found = figures(Knows(), test, source, target, 9)
    # ant⟨stop⟩ has all four tokens right; of bit⟨stop⟩ the t and ⟨stop⟩: 6 of 8. bit is bit when copied.
    assert (found["token_accuracy"], found["exact_match"], found["copied"]) == (0.75, 0.5, 0.5)


def test_batches_go_through_all_pairs_with_little_padding():
    rows = [([5] * (1 + i % 7), [START, *[6] * (1 + i % 7), STOP]) for i in range(64)]
    near = BatchesByLength(rows, batch=4, seed=0)
    seen, padding = [], 0
    for step in range(16):
        source, lengths, _ = near(step)
        assert source.shape[0] == 4 and torch.equal((source != PAD).sum(dim=1), lengths)
        seen += lengths.tolist()
        padding += int((source == PAD).sum())
    assert sorted(seen) == sorted(len(a) for a, _ in rows)
    assert padding <= 24  # sorted, a batch in which a length ends pads its shorter ones; unsorted about 100
    again = BatchesByLength(rows, batch=4, seed=0)
    assert all(torch.equal(a, b) for a, b in zip(again(11), near(11), strict=True))


def test_a_batch_by_hand():
    source, lengths, target = collate([([7, 8], [START, 9, STOP]), ([7], [START, STOP])])
    assert source.tolist() == [[7, 8], [7, PAD]] and lengths.tolist() == [2, 1]
    assert target.tolist() == [[START, 9, STOP], [START, STOP, PAD]]


def test_long_pairs_are_left_out():
    tokens = learn_tokens(["abcd"], "characters")
    assert len(encode([("ab", "ab"), ("abc", "a"), ("a", "abc")], tokens, tokens, 2)) == 1


def test_tokens():
    assert kind("auto", "sounds", 0) == "characters" and kind("auto", "sounds", 1) == "words"
    assert kind("auto", "mine.tsv", 0) == "subwords" and kind("words", "sounds", 0) == "words"
    text = "Thou shalt not — naïve"
    tokens = learn_tokens(["thou shalt", "thou art"], "subwords", 300)
    (ids,) = tokens.encode([text])
    assert tokens.decode(ids) == text  # bytes it never saw are tokens too
    assert tokens.encode(["thou"]) == Tokens.read(tokens.json()).encode(["thou"])
    assert len(tokens.encode(["thou"])[0]) < 4
