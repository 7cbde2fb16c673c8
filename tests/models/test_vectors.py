"""Word vectors: files good and bad, neighbours, analogies, coverage, and a small GloVe."""

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from workings import exact
from workings.errors import DomainError, ShapeError
from workings.models.vectors import VectorsError, WordVectors, cooccurrences, glove_loss, load_array, load_text

TEXT = "the 1 0 0\ncat 0.5 0.5 0\ndog 0.4 0.6 0\n"


@pytest.fixture
def written(tmp_path):
    def write(content):
        path = tmp_path / "vectors.txt"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_a_file_is_read(written):
    v = load_text(written(TEXT))
    assert v.words == ["the", "cat", "dog"] and len(v) == 3 and "cat" in v and "cow" not in v
    assert_close(v["dog"], torch.tensor([0.4, 0.6, 0.0]))


def test_only_the_vocabulary_is_kept(written):
    v = load_text(written(TEXT), vocabulary=["dog", "the", "cow"])
    assert v.words == ["the", "dog"]
    assert_close(v.vectors, torch.tensor([[1.0, 0, 0], [0.4, 0.6, 0.0]]))


def test_the_first_line_of_word2vec_is_not_a_word(written):
    assert load_text(written("3 3\n" + TEXT)).words == ["the", "cat", "dog"]


def test_a_word_may_hold_spaces_and_be_a_number(written):
    v = load_text(written("a 1 2\n. . . 3 4\n1900 5 6\n"))
    assert v.words == ["a", ". . .", "1900"]
    assert_close(v[". . ."], torch.tensor([3.0, 4.0]))


def test_line_ends_and_blank_lines_do_not_matter(written):
    assert load_text(written("a 1 2 \r\n\r\nb 3 4")).words == ["a", "b"]


def test_odd_spaces_are_words_too(written):
    # a no-break space and a line separator are characters of words in GloVe's files, not the end of one
    v = load_text(written("a\u00a0b 1 2\nc\u2028d 3 4\n"))
    assert v.words == ["a\u00a0b", "c\u2028d"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a 1 2\nb 3\n", "line 2: needs a word and 2 numbers, as the lines before have, but has 1 numbers."),
        ("a 1 2\nb 3 4 5\n", "line 2: needs a word and 2 numbers, as the lines before have, but has 3 numbers."),
        ("a\n", "line 1: needs a word and numbers but has 0 numbers."),
        ("a 1 2\nb 3 x\n", "line 2: 'x' is not a number."),
        ("a 1 2\nb nan 1\n", "line 2: the vector holds nan."),
        (b"a 1 2\nb\xe9 3 4\n", "line 2: not UTF-8, byte 0xe9 at position 1. Save the file as UTF-8."),
        ("a 1 2\nb 3 4\na 5 6\n", "line 3: 'a' already stands on line 1. Pass duplicates='first' to keep the first."),
        ("3 4\na 1 2\n", "line 2: needs a word and 4 numbers, as the lines before have, but has 2 numbers."),
    ],
)
def test_a_bad_line_is_named(written, content, message):
    path = written(content)
    with pytest.raises(VectorsError) as error:
        load_text(path)
    assert str(error.value) == f"{path}, {message}"


def test_duplicates_on_request(written):
    v = load_text(written("a 1 2\nb 3 4\na 5 6\n"), duplicates="first")
    assert v.words == ["a", "b"]
    assert_close(v["a"], torch.tensor([1.0, 2.0]))


def test_a_file_without_words(written):
    path = written("")
    with pytest.raises(VectorsError) as error:
        load_text(path)
    assert str(error.value) == f"{path}: found no line with a vector."
    path = written(TEXT)
    with pytest.raises(VectorsError) as error:
        load_text(path, vocabulary=["cow", "hen"])
    assert str(error.value) == f"{path}: found none of the 2 words of the vocabulary with a vector."


def test_an_array_with_a_list_of_words(tmp_path):
    np.save(tmp_path / "v.npy", np.eye(2, dtype=np.float32))
    (tmp_path / "words.txt").write_text("one\ntwo\n", encoding="utf-8")
    for words in (["one", "two"], tmp_path / "words.txt", str(tmp_path / "words.txt")):
        assert_close(load_array(tmp_path / "v.npy", words)["two"], torch.tensor([0.0, 1.0]))
    with pytest.raises(ShapeError) as error:
        load_array(tmp_path / "v.npy", ["one"])
    assert str(error.value) == "Each word needs a row: 1 words, but vectors of shape [2, 2]."


def test_an_array_of_objects_is_not_loaded(tmp_path):
    np.save(tmp_path / "v.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        load_array(tmp_path / "v.npy", ["one"])


def test_neighbours_by_hand():
    v = WordVectors(["x", "far", "near", "opposite"], torch.tensor([[1.0, 0], [0, 9], [3, 4], [-2, 0]]))
    # cosines with x: 0, 3/5, −1; length does not matter
    found = v.neighbours("x", 3)
    assert [word for word, _ in found] == ["near", "far", "opposite"]
    assert [cosine for _, cosine in found] == pytest.approx([0.6, 0.0, -1.0])
    assert v.neighbours(torch.tensor([5.0, 0.1]), 1)[0][0] == "x"
    assert len(v.neighbours("x", 99)) == 3


def test_analogies_leave_the_question_out():
    rows = torch.tensor([[1.0, 0, 1], [1, 0, -1], [0, 1, 1], [0, 1, -1], [2, -1, -1]])
    v = WordVectors(["man", "woman", "king", "queen", "wrong way round"], rows)
    assert v.analogy("man", "king", "woman")[0][0] == "queen"
    assert {word for word, _ in v.analogy("man", "woman", "king", k=9)} == {"queen", "wrong way round"}


def test_coverage_counts_tokens_and_types():
    v = WordVectors(["a", "b"], torch.eye(2))
    report = v.coverage("a a b c c d a b".split())  # 5 of 8 tokens, 2 of 4 types
    assert report == (0.625, 0.5, [("c", 2), ("d", 1)])


def test_a_table_for_a_vocabulary():
    v = WordVectors(["a", "b"], torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    table = v.table(["b", "new", "a"], torch.Generator().manual_seed(0))
    assert_close(table[[0, 2]], torch.tensor([[3.0, 4.0], [1.0, 2.0]]))
    assert table[1].abs().sum() > 0


def test_cooccurrences_by_hand():
    # a b a: a–b twice at distance 1, both ways; a–a once at distance 2, 1/2 each way
    assert_close(cooccurrences([0, 1, 0], 2, 2), torch.tensor([[1.0, 2.0], [2.0, 0.0]]))
    assert_close(cooccurrences([0, 1, 0], 2, 1), torch.tensor([[0.0, 2.0], [2.0, 0.0]]))


def test_the_loss_of_glove_exactly():
    # w·v = 2, b + c = 0, counts 1 (f = 1/2 at highest 4, α = 1/2): ½ (2 − log 1)² = 2; the pair never seen does not count
    one, zero = exact([[1]]), exact([0])
    J = glove_loss(one, 2 * one, zero, zero, one, highest=4.0, α=0.5)
    assert exact.equal(J, exact("2"))
    # a count above the highest weighs 1, no more: (0 − log 4)²
    assert exact.equal(glove_loss(0 * one, one, zero, zero, 4 * one, highest=1.0), exact("log(4)^2"))
    rows = torch.ones(2, 1)
    X = torch.tensor([[0.0, 1.0], [0.0, 0.0]])
    assert_close(glove_loss(rows, rows, torch.zeros(2), torch.zeros(2), X, highest=1.0).item(), 1.0)


def test_a_small_text_gives_vectors_in_which_like_words_are_near():
    torch.manual_seed(0)
    # cat and dog stand in the same contexts; red and blue in others
    text = "the cat runs . the dog runs . a red car . a blue car . ".split() * 20
    words = sorted(set(text))
    X = cooccurrences([words.index(word) for word in text], len(words), window=2)
    W, V = ((torch.randn(len(words), 4) / 10).requires_grad_() for _ in range(2))
    b, c = (torch.zeros(len(words), requires_grad=True) for _ in range(2))
    optimizer = torch.optim.Adam([W, V, b, c], lr=0.1)
    for _ in range(150):
        optimizer.zero_grad()
        J = glove_loss(W, V, b, c, X)
        J.backward()
        optimizer.step()
    assert J < 0.1
    v = WordVectors(words, (W + V).detach())
    assert v.neighbours("cat", 1)[0][0] == "dog" and v.neighbours("red", 1)[0][0] == "blue"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda v: v["The"], DomainError, "'The' has no vector among these 2 words. 'the' has one."),
        (lambda v: v["cow"], DomainError, "'cow' has no vector among these 2 words."),
        (lambda v: v.neighbours("the", 0), DomainError, "At least 1 neighbour is asked for, not 0."),
        (lambda v: v.coverage([]), DomainError, "Coverage is the share of a text; this text has no words."),
        (
            lambda v: v.neighbours(torch.zeros(2)),
            DomainError,
            "A vector of zeros has no direction, so no cosine with the words.",
        ),
        (
            lambda v: WordVectors(["a", "a"], torch.eye(2)),
            DomainError,
            "A word needs one vector: 'a' stands 2 times among the words.",
        ),
        (lambda v: cooccurrences([0], 1, 0), DomainError, "A window reaches at least 1 word; window = 0."),
        (lambda v: load_text("x", duplicates="last"), DomainError, "duplicates is 'error' or 'first'; got 'last'."),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error) as raised:
        call(WordVectors(["the", "cat"], torch.eye(2)))
    assert str(raised.value) == message


def test_an_analogy_takes_a_away_and_adds_c():
    # b − a + c = (−1, 1, 1); the word closest to b alone is another one
    rows = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.1], [1.0, 1.0, -1.0], [-2.0, 2.0, 2.0]]
    v = WordVectors(["a", "b", "c", "near b", "b − c + a", "d"], torch.tensor(rows))
    (word, cosine), *_ = v.analogy("a", "b", "c", k=3)
    assert word == "d" and abs(cosine - 1) < 1e-6
