"""The recipe `sort`: strings never trained on are answered exactly; the exam's weights never are."""

import pytest
import torch
from torch import nn

from tests.train.smoke import assert_repeats_and_restores, made, trained
from workings.course.dedupe_task import STOP, answer, encode
from workings.train.tasks.sort import (
    IGNORE,
    answers,
    figures,
    fixed_answer,
    fixed_match,
    is_held_out,
    strings,
    training_pairs,
)

SHORT = dict(steps=6, batch=16, evaluate_every=6, warmup=0, test=20)


def test_it_repeats_and_is_restored(tmp_path):
    assert_repeats_and_restores("sort", tmp_path / "run", **SHORT)


def test_it_answers_strings_it_has_not_seen():
    _, history = trained("sort", steps=80, batch=64, longest=8, test=500, evaluate_every=80)
    assert history.best["exact_match"] >= 0.99
    assert history.best["fixed_weights"] == 0


def test_what_is_taught_by_hand():
    x, y = training_pairs(["DAA", "B"])
    # D A A START A D STOP and B START B STOP: after START the answer is asked, before it nothing
    assert x.tolist() == [[3, 0, 0, 4, 0, 3], [1, 4, 1, STOP, STOP, STOP]]
    assert y.tolist() == [[IGNORE, IGNORE, IGNORE, 0, 3, STOP], [IGNORE, 1, STOP, IGNORE, IGNORE, IGNORE]]


def test_each_string_judges_once():
    """Two letters of four: there are 20 strings, and few of them are held out."""
    _, task = made("sort", longest=2, test=500)
    assert task.evaluate(task.model)["strings"] == sum(is_held_out(a + b) for a in "ABCD" for b in ("", *"ABCD"))


def test_strings_that_judge_are_never_trained_on():
    _, task = made("sort", **SHORT)
    torch.manual_seed(0)
    for step in range(20):
        x, _ = task.batches(step)
        for row in x.tolist():
            assert not is_held_out("".join("ABCD"[token] for token in row[: row.index(4)]))
    drawn = strings(6, torch.Generator().manual_seed(0), held_out=True)
    assert all(is_held_out(next(drawn)) for _ in range(50))
    share = sum(is_held_out(f"{'ABCD'[i % 4]}{i}") for i in range(10_000)) / 10_000
    assert share == pytest.approx(0.1, abs=0.02)


class Right(nn.Module):
    """Logits that are right, except that a string with `wrong` letters is never ended."""

    def __init__(self, wrong=()):
        super().__init__()
        self.wrong = wrong

    def forward(self, tokens):
        θ = torch.zeros(*tokens.shape, 6)
        for i, row in enumerate(tokens.tolist()):
            start = row.index(4)
            prompt = ["ABCD"[token] for token in row[:start]]
            rest = [*encode(answer(prompt)).tolist(), STOP]
            done = len(row) - start - 1
            token = rest[min(done, len(rest) - 1)]
            θ[i, -1, 0 if token == STOP and set(prompt) & {*self.wrong} else token] = 1
        return θ


def test_exact_match_by_hand():
    test = ["DAA", "B", "CBD", "AB"]
    found = dict(answers(Right(), test))
    assert {prompt: found[prompt].tolist() for prompt in test} == {
        "DAA": [0, 3, STOP],
        "B": [1, STOP],
        "CBD": [1, 2, 3, STOP],
        "AB": [0, 1, STOP],
    }
    assert figures(Right(), test)["exact_match"] == 1
    assert figures(Right(wrong="D"), test)["exact_match"] == 0.5


def test_the_fixed_weights_cannot_stop():
    # after D A A START the logits are 1.5 for A and for C, which tie: A is written. STOP has the logit 0, below all letters.
    assert fixed_answer("DAA")[0] == 0
    assert all(STOP not in fixed_answer(prompt) for prompt in ("A", "B", "DAA", "DCBA"))
    assert fixed_match(["A", "AB", "DAA"]) == 0


def test_the_weight_of_a_batch_is_its_answers():
    _, task = made("sort", **SHORT)
    assert task.count(training_pairs(["DAA", "B"])) == 5
