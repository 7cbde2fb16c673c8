"""Words that deny or suppose: where they govern a formula it is no claim, elsewhere they only lower the level."""

import pytest

from tests.check.said import report, said


@pytest.mark.parametrize(
    "text",
    [
        r"Assume for contradiction that $2 + 2 = 5$.",
        r"Assume, for the sake of contradiction, $2 + 2 = 5$.",
        r"Assume to the contrary that $2 + 2 = 5$.",
        r"Suppose not, i.e. $2 + 2 = 5$.",
        r"If it were the case that $2 + 2 = 5$, we would stop.",
        r"Hypothetically $2 + 2 = 5$.",
        r"We do not have $2 + 2 = 5$.",
        r"We can't have $2 + 2 = 5$.",
        r"It is impossible that $2 + 2 = 5$.",
        r"It would be absurd that $2 + 2 = 5$.",
        r"There is no way $2 + 2 = 5$.",
        r"We go on unless $2 + 2 = 5$.",
        r"We get a bound which contradicts $2 + 2 = 5$.",
        r"We show $2 + 2 = 5$ cannot happen.",
        r"We conclude that $2 + 2 = 5$ fails.",
        r"Here $2 + 2 = 5$ is nonsense.",
        r"A common mistake is to write $2 + 2 = 5$.",
        r"Bob claims that $2 + 2 = 5$.",
        r"❌ $2 + 2 = 5$",
        r"Find the error: $2 + 2 = 5$",
        r"(T/F) We have $2 + 2 = 5$.",
        r"Which is correct? (A) $2 + 2 = 5$ (B) $2 + 2 = 4$",
    ],
)
def test_what_a_word_governs_is_no_claim(text):
    found = report(text)
    assert not found.findings
    assert {relation.role for relation in found.relations} == {"hypothetical"}


def test_what_is_struck_out_is_no_claim():
    assert said(r"Then \cancel{$2+2=5$}.", name="page.tex") == []
    assert said(r"Then \emph{$2+2=5$}.", name="page.tex") == ["1 number: 4"]


@pytest.mark.parametrize(
    "words",
    [
        "False positives:",
        "False negative rate:",
        "The false alarm probability is",
        "Mistake rate:",
        "Wrong answers:",
        "Mistakes:",
        "Wrong model predicts",
        "In binary we write",
        "On a 12-hour clock,",
    ],
)
def test_a_word_that_does_not_govern_lowers_the_level(words):
    assert said(rf"{words} $12 \cdot 7 = 85$.", level="likely") == []
    assert said(rf"{words} $12 \cdot 7 = 85$.") == ["1 number: 84"]
    assert said(rf"{words} $12 \cdot 7 = 84$.", level="possible") == []


@pytest.mark.parametrize("behind", ["in binary", "(base 2)", "on a clock"])
def test_another_arithmetic_may_be_told_behind_it(behind):
    assert said(f"1 + 1 = 10 {behind}", level="likely", name="page.txt") == []
    assert said("1 + 1 = 10 apples", level="likely", name="page.txt") == ["1 number: 2"]


@pytest.mark.parametrize(
    "words",
    [
        "Claim:",
        "The claim follows:",
        "The claim is proved:",
        "That is not hard, so",
        "We have not only",
        "The claims are right:",
        "Your answer should not contain roots.",
        "(It is not wrong.)",
    ],
)
def test_the_authors_own_words_are_a_claim(words):
    assert said(rf"{words} $12 \cdot 7 = 85$.", level="likely") == ["1 number: 84"]


@pytest.mark.parametrize("title", ["Common mistakes", "Mistakes to avoid", "Wrong way"])
def test_a_heading_calls_what_stands_below_it_wrong(title):
    assert said(f"# {title}\n\n- $2 + 2 = 5$\n\n# Sums\n\n$3 + 3 = 7$", level="possible") == ["7 number: 6"]


def test_a_heading_that_only_holds_the_word():
    assert said("# Mistake rate\n\n$2 + 2 = 5$", level="likely") == ["3 number: 4"]


def test_hints_neither_repeat_the_truth_nor_change_the_question():
    assert report(r"$7 \cdot 8 = 54$").findings[0].why == "You wrote 54; correct is 56."
    assert "5n" not in report("$n = 4$. Then $2n = 20$.").findings[0].why


@pytest.mark.parametrize("marks", [("A. ", "B. ", "C. "), ("- ", "- ", "- "), ("(a) ", "(b) ", "(c) ")])
def test_one_calculation_with_several_results_is_a_choice(marks):
    choices = [rf"{mark}$3 \cdot 4 = {n}$" for mark, n in zip(marks, (11, 12, 13), strict=True)]
    assert said("\n".join(choices), level="possible") == []
    sums = [rf"{mark}$3 \cdot {n} = {3 * n + n // 4}$" for mark, n in zip(marks, (2, 3, 4), strict=True)]
    assert said("\n".join(sums), level="likely") == ["3 number: 12"]
