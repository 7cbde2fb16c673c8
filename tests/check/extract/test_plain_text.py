"""Calculations that are typed into prose: each right one is left alone, and its wrong sibling is found."""

import pytest

from tests.check.said import report, said
from workings.check import check
from workings.errors import WorkingsError

SIGNS = [
    ("-5 * 2 = -10", "-5 * 2 = 10"),
    ("So -5 * 2 = -10", "So -5 * 2 = 10"),
    ("−5 + 2 = −3", "−5 + 2 = −4"),
    ("+3 - 5 = -2", "+3 - 5 = 2"),
    ("- 3 + 4 = 7", "- 3 - 4 = 7"),
    ("```\n-5 * 2 = -10\n```", "```\n-5 * 2 = 10\n```"),
]
PERCENTAGES = [
    ("50 + 10% = 55", "50 + 10% = 60"),
    ("200 - 10% = 180", "200 - 10% = 190"),
    (r"$200-10\%=180$", r"$200-10\%=170$"),
    ("80 + 25% = 100", "80 + 25% = 105"),
    ("1 - 5% = 0.95", "1 - 5% = 0.85"),
    ("40% + 10% = 50%", "40% + 10% = 60%"),
    (r"$350/1050 = 33\frac{1}{3}\%$", r"$350/1050 = 34\frac{1}{3}\%$"),
]
ROUNDINGS = [
    (r"$0.2\cdot0.2=0.04$", r"$0.2\cdot0.2=0.1$"),
    ("$10^{-2}=0.01$", "$10^{-2}=0.1$"),
    (r"$0.3\cdot0.3=0.1$", r"$0.3\cdot0.3=0.9$"),
]
UNITS = [
    ("2 weeks = 14 days", "2 weeks = 15 days"),
    ("1 h = 60 min", "1 h = 50 min"),
    (r"$0.90\text{ eV} = 1.442\times10^{-19}\text{ J}$", r"$0.90\text{ eV} = 2.442\times10^{-19}\text{ J}$"),
    (r"$x=\frac{5\pm1}{2}=3, 2$", r"$x=\frac{5\pm1}{2}=4, 2$"),
    (r"$x=\frac{5\pm1}{2}=2, 3$", r"$x=\frac{5\pm1}{2}=3, 1$"),
    (r"$x=\frac{5\pm1}{2}=3 \text{ or } 2$", r"$x=\frac{5\pm1}{2}=3 \text{ or } 1$"),
    ("2 h 30 min = 150 min", "2 h 30 min = 160 min"),
    ("1 eV = 1.602 × 10⁻¹⁹ J", "1 eV = 1.702 × 10⁻¹⁹ J"),
    ("500 nm = 500 × 10⁻⁹ m", "500 nm = 500 × 10⁻⁸ m"),
    ("2⁴ = 16", "2⁴ = 17"),
    ("90 min = 1 h 30 min", "90 min = 1 h 20 min"),
]
REMAINDERS_AND_RATIOS = [
    ("17 / 5 = 3 R 2", "17 / 5 = 4 R 2"),
    ("17 ÷ 5 = 3 remainder 2", "17 ÷ 5 = 3 remainder 1"),
    ("12:18 = 2:3", "12:18 = 2:4"),
    ("the ratio is 3 : 6 = 1 : 2", "the ratio is 3 : 6 = 1 : 3"),
]


@pytest.mark.parametrize(("right", "wrong"), SIGNS + PERCENTAGES + ROUNDINGS + UNITS + REMAINDERS_AND_RATIOS)
def test_right_and_wrong(right, wrong):
    assert said(right, "possible") == []
    assert len(said(wrong)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "0-10 = 1; 11-20 = 2",
        "Ages: 5-10 = 1, 11-15 = 2",
        "Grades: 90-100 = 4",
        "2020-2024 = 4 years",
        "2024-01-05 = 5 Jan",
        "2024-12-31 = 31 Dec",
        "ISBN 0-306-40615 = 2",
        "Mon-Fri 9-5 = 8 hours",
        "| group | points |\n|---|---|\n| 0-49 = 1 | 50-100 = 2 |",
    ],
)
def test_ranges_dates_and_codes_are_no_subtractions(text):
    found = report(text)
    assert found.findings == []
    assert found.unread  # nothing is passed over in silence


def test_a_range_is_told_to_be_left_alone():
    [unread] = report("Pages 3-5 = 3 pages").unread
    assert unread.why == "This looks like a range, a date or a code, not like a calculation."
    assert unread.why in check("Pages 3-5 = 3 pages").text(undecided=True)


@pytest.mark.parametrize("text", ["10:30 = 10.5 h", "At 9:15 = 1 hour later"])
def test_times_are_no_ratios(text):
    assert report(text).findings == []


@pytest.mark.parametrize("text", ["10-3 = 6", "100-20-30 = 40", "3 - 5 = 2", "3-5 = -3", "x = 3-5 = 2"])
def test_subtractions_are(text):
    assert len(said(text, "likely")) == 1


def test_a_minus_behind_a_word_is_no_sign():
    assert report("profit - 5 * 2 = 10").findings == []


def test_units_whose_worth_is_not_known():
    assert said(r"$1\text{ km/s} = 1.02\text{ pc/My}$", "possible") == []


@pytest.mark.parametrize("text", ["Hello world.", "The sum of 2 and 2 is 5.", "see notes.md and a.tex", "nothing"])
def test_a_text_without_a_formula_is_a_text(text):
    assert check(text).findings("possible") == []


@pytest.mark.parametrize("name", ["gone.md", "folder/gone.TEX", "gone.pdf"])
def test_a_name_that_ends_like_a_document_is_a_file(name):
    with pytest.raises(WorkingsError, match="There is no file"):
        check(name)
