"""A language model's figures on a text that begins with a token which is spelled otherwise in the text."""

from math import log

import pytest
import torch

from workings.errors import WorkingsError
from workings.train.tasks.bigram import join, tokens_of
from workings.train.text.language import Language, first_end, measure


@pytest.mark.parametrize(
    ("first", "rest"),
    [
        ("7", " steps\n"),
        ("7", "\n"),
        ("7", "\n8 steps\n"),
        ("12,000", " 5 steps"),
        ("12,000", "\n5"),
        ("7", "-fold 7-fold\n"),
        ("77", "x\n"),
        ("  \n 7", " steps"),
        ("٣", " steps"),
        ("3rd", " of <unk>\n"),  # with <unk> the words stand between spaces
        ("<unk>", " u.s. of 7\n"),
        ("A", " steps\n"),
        ("Two-fold", " woe"),
        ("_7", " steps"),
        ("(", "7) steps"),
        ("İ", "stanbul"),  # two characters in small letters
        ("7", "年" * 10_000),
        ("7" * 10_000, " steps"),
    ],
)
def test_where_the_first_word_ends(first, rest):
    if first == "İ":  # one word, so it ends where it ends
        first, rest = first + rest, " x"
    assert first_end(tokens_of, first + rest, tokens_of(first + rest)) == len(first)


@pytest.mark.parametrize("text", ["ab", " b", "\nb", "\u2028 x", "7 steps"])
def test_where_the_first_character_ends(text):
    assert first_end(list, text, list(text)) == 1


class Uniform:
    """Every token is as likely as any other."""

    context = 4

    def __init__(self, n):
        self.n = n

    def __call__(self, tokens):
        return torch.zeros(*tokens.shape, self.n)


WORDS = ["<unk>", "</s>", "<number>", "steps"]


def test_a_text_that_begins_with_a_number_by_hand():
    # Four words, equally likely: 2 bits each for steps and </s>; they are the 7 characters " steps\n", one word.
    m = measure(Language(Uniform(4), "word", tokens_of, join, WORDS, "<unk>"), "7 steps\n")
    assert (m.tokens, m.characters, m.words, m.unknown) == (2, 7, 1, 0)
    assert m.bits_per_character == pytest.approx(4 / 7)
    assert m.log_p == pytest.approx(-2 * log(4))
    letter = measure(Language(Uniform(4), "word", tokens_of, join, WORDS, "<unk>"), "a steps\n")
    assert (letter.tokens, letter.characters, letter.words) == (2, 7, 1)


def test_tokens_that_no_character_stands_for():
    language = Language(Uniform(4), "word", lambda text: [*text.split(), "</s>"], join, WORDS, "<unk>")
    with pytest.raises(WorkingsError) as caught:
        measure(language, "steps", "a.txt")
    assert str(caught.value) == "a.txt has no characters after its first word, so there is nothing to judge by."
