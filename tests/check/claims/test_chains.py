"""Chains of numbers under the rounding that is shown, and under every plausible reading."""

import pytest

from tests.check.said import report, said

RIGHT = [
    r"$\frac{1}{3} \approx 0.33$",
    r"$\frac{2}{3} = 0.667$",
    r"$\sqrt{2} = 1.4142$",
    r"$\frac{e^{1/\sqrt{2}}}{1+e^{1/\sqrt{2}}} \approx 0.6698$",
    r"$50+8(10) = 130$",
    r"$\exp(3) / (2 \exp(3) + 4) = 0.4547$",
    r"$\log 8 = 2.0794$",
    r"$\log 8 = 3$",  # base 2
    r"$\log 1000 = 3$",  # base 10
    r"$\log_2 8 = 3$",
    r"$1/2\cdot 3 = 1.5$",
    r"$6/2(3) = 1$",  # 6/(2·3)
    r"$0.4 = 40\%$",
    r"$0.4 \times 100 = 40\%$",
    r"$2^{10} = 1024 \approx 1000$",
    r"$3.2 \times 10^{-4} = 0.00032$",
    r"$1{,}000 + 24 = 1{,}024$",
    r"$\lfloor \frac{32 - 5 + 2 \cdot 0}{1} \rfloor + 1 = 28$",
    r"$\sum_{i=1}^{4} i^2 = 30$",
    r"$\prod_{k=1}^{4} k = 4! = 24$",
    r"$\max(1, 5, 3) = 5$",
    r"$|{-3}| = 3$",
    r"$\binom{5}{2} = 10$",
    r"$\sigma(0) = 0.5$",
    r"$\tanh(0.5) \approx 0.462$",
    r"$-\frac{1}{3}(\ln 0.5 + \ln 0.25 + \ln 0.5) = 0.924$",
    r"$0.333 \cdot 3 = 1$",  # with 0.333 rounded
    r"$1 < 2 \le 2 < 3$",
    r"$\pi > 3.14$",
    r"$2^{64} = 18446744073709551616$",
    r"$5! = 120$",
    r"$12 \div 4 = 3$",
]

WRONG = {
    r"$2 + 2 = 5$": "number: 4",
    r"$3 \times 3 \times 16 = 140$": "number: 144",
    r"$\frac{32-5}{1} + 1 = 27$": "number: 28",
    r"$\exp(3) / (2 \exp(3) + 4) = 0.4574$": "number: 0.45472",
    r"$0.5 \cdot 0.3 = 0.25$": "number: 0.15",
    r"$\sqrt{2} = 1.5142$": "number: 1.41421",
    r"$2/3 = 0.66$": "rounding: 0.667",
    r"$0.40 = 0.41$": "rounding: 0.40",
    r"$2^{64} = 18446744073709551617$": "number: 18446744073709551616",
    r"$7 - 9 = 2$": "number: −2",
    r"$5 < 3$": "order: it does not hold",
    r"$\log_2 8 = 4$": "number: 3",
    r"$0.45 = 54\%$": "number: 0.45",
    r"$27/2 = 13$": "rounding: 13.5",  # rounded down, perhaps
}


@pytest.mark.parametrize("text", RIGHT)
def test_right(text):
    found = report(text)
    assert [finding for finding in found.findings if finding.level != "possible"] == []
    assert found.counts.decided == found.counts.right > 0


@pytest.mark.parametrize("text, finding", WRONG.items())
def test_wrong(text, finding):
    assert said(text) == [f"1 {finding}"]


def test_the_wrong_link_of_a_chain_is_named():
    assert said("$1 + 1 = 2 = 4 - 1 = 3$") == ["1 number: 2"]


def test_the_reading_is_named():
    found = report(r"It is $\log 8 = 3 = 4$.").findings
    assert [(finding.truth, finding.reading) for finding in found] == [("3", "")]
    assert said(r"$\log 8 = 5.1$") == ["1 number: 3.0"]  # the nearest of its readings


@pytest.mark.parametrize(
    "text",
    [
        "Solve $2x = 6$.",
        "Let $x = 5$ and $x = 6$.",
        "It is wrong that $1 + 1 = 3$.",
        "$e = 3$",
        "$x = 1, 2, 3$",
        "$2x + 1 = 3x$",
        r"$x \leftarrow x + 1$",
        r"$2 \text{ min} = 120 \text{ s}$",
        "$f(x) = 3$",
        "$10^{10^{10}} = 1$",
        r"$T \to 0$",
    ],
)
def test_no_claim(text):
    assert said(text, "likely") == []


@pytest.mark.parametrize(
    "tower", ["10^{10^{10}} = 5", "9^{9^{9^{9}}} = 1", "(10^{10})! = 2", r"\sum_{i=1}^{10^{12}} i = 4", r"2^{-10^{9}} = 0"]
)
def test_towers_are_left_undecided_at_once(tower):
    found = report(f"${tower}$")
    assert found.counts.claims - found.counts.decided in (0, 1)
    assert found.findings == []


@pytest.mark.parametrize(
    "text, brackets",
    [
        (r"$2 \cdot 3 + 4 = 14$", r"2 \cdot (3 + 4)"),
        (r"$3 + 5 \cdot 2 = 16$", r"(3 + 5) \cdot 2"),
        (r"$32 - 5/1 + 1 = 28$", None),  # right as it is
        (r"$30 - 5/5 + 1 = 6$", r"(30 - 5) / 5 + 1"),
    ],
)
def test_missing_brackets(text, brackets):
    found = report(text).findings
    if brackets is None:
        assert found == []
    else:
        assert found[0].kind == "brackets" and found[0].level in ("error", "likely")


def test_fractions_are_told_as_fractions():
    assert said("$1/2 + 1/3 = 4/6$") == ["1 number: 5/6 ≈ 0.833333"]


def test_an_arrow_to_the_rounded_number():
    assert report(r"$0.6698 \to 0.67$").counts.right == 1
    assert report(r"$28 \to 14$").findings == []


@pytest.mark.parametrize(
    "text",
    [
        r"$17 \bmod 5 = 2$",
        r"$1\frac{1}{2} = 1.5$",
        r"$101 + 110 = 1011$",  # binary
        r"$\lim_{x \to 0} \frac{\sin x}{x} = 1$",
        r"$\lim_{n \to \infty} \left(1 + \frac{1}{n}\right)^n = 2.718$",
        r"$\lim_{T \to 0^+} \mathrm{softmax}([1, -2, 5, 0] / T) = [0, 0, 1, 0]$",
        r"$\operatorname{argmax}(0.1, 0.7, 0.2) = 2$",
        r"$\operatorname{argmax}(0.1, 0.7, 0.2) = 1$",  # from 0
        r"$p = (0.5, 0.25, 0.25)$, so $H = -\sum_i p_i \log_2 p_i = 1.5$",
        r"The error is $e = 0.5 - 0.3 = 0.2$, its square $e^2 = 0.04$.",
        r"With $e = 0.2$ the factor is $e^2 = 7.389$.",
        r"$\Delta w = -0.1 \cdot 2 = -0.2$",
    ],
)
def test_right_in_less_usual_notation(text):
    found = report(text)
    assert [finding for finding in found.findings if finding.level != "possible"] == []
    assert found.counts.decided == found.counts.right > 0


@pytest.mark.parametrize(
    "text",
    [
        r"Is $3 \cdot 4 = 13$? No.",
        r"Writing $3 \cdot 4 = 13$ is wrong.",
        r"A common mistake is to write $3 \cdot 4 = 13$.",
        r"$V = \begin{bmatrix}1 & 2\end{bmatrix}$ and $|V| = 10000$.",
        "# A\n$f(x) = x^2$\n\n# B\nHere $f(2) + 1 = 7$.",
    ],
)
def test_no_alarm(text):
    assert said(text, "likely") == []


def test_no_real_value():
    assert said(r"$\sqrt{3^2 - 4^2} = 5$") == ["1 number: no real value"]
    assert said(r"$\frac{1}{2 - 2} = 3$") == ["1 number: no real value"]
    assert said(r"$1/0 = \infty$") == []


@pytest.mark.parametrize("text, wrong", [("$e^0 = 1$", 0), ("$e^0 = 0$", 1), ("So $e^1 = 2.718$.", 0), ("$e^{1} = 3.7$", 1)])
def test_powers_of_e_are_numbers(text, wrong):
    assert report(text).counts.wrong == wrong


def test_what_is_left_out_of_a_chain_may_be_a_list():
    assert report(r"$P = 2 = \ldots = \frac{1}{6}$").findings == []
    assert report(r"$P = 2 = Q = \frac{1}{6}$").counts.wrong == 1


@pytest.mark.parametrize(
    "text",
    [
        r"$512^3 \approx 1$ GB",  # eight bytes each
        r"So $\sigma(0) = 0$.",  # nobody speaks of a sigmoid
    ],
)
def test_what_is_not_said_is_left_undecided(text):
    found = report(text)
    assert found.findings == [] and [relation.outcome for relation in found.relations] == ["undecided"]


def test_a_sigmoid_is_one_where_the_text_says_so():
    assert report(r"The logistic function has $\sigma(0) = 0$.").counts.wrong == 1


def test_angles_are_in_radians_where_pi_or_an_integral_stands():
    [found] = report(r"$\int_{-\pi/3}^{\pi/3} 2\cos t \, dt = 7.5$").findings
    assert found.why.startswith("You wrote 7.5; correct is 3.46")
    assert report(r"$\sin 30 = 0.5$").findings == []


def test_one_unit_of_a_fifth_digit_is_a_rounding():
    assert [f.kind for f in report(r"$0.57734 = 1/\sqrt3$").findings] == ["rounding"]
    assert [f.kind for f in report("$1 - 0.2 = 0.7$").findings] == ["number"]


def test_the_size_of_a_table_is_no_product():
    assert said(r"The $3 \times 3$ determinant: $3 \times 3 = 6$.", "likely") == []
    assert len(said(r"$3 \times 3 = 6$", "likely")) == 1


def test_an_example_that_asks_for_its_errors_is_only_noted():
    example = r"\begin{example} A student writes $12 \cdot 13 = 150$. Spot \emph{all} the errors. \end{example}"
    assert said(example, "likely", "a.tex") == [] and len(said(example, "note", "a.tex")) == 1


@pytest.mark.parametrize(
    "right, wrong",
    [
        (r"$1.10011 \times 2^5 = 110011$", r"$1.10011 \times 2^5 = 110111$"),  # the binary point moves
        (r"$0.1592_{10} \approx 0.00101_2$", r"$0.1592_{10} = 0.01101_2$"),  # rounded to five binary places
    ],
)
def test_binary_numerals(right, wrong):
    assert report(right).counts.right == 1 and report(right).findings == []
    assert report(wrong).counts.wrong == 1


@pytest.mark.parametrize("text", ["$4 = 0100$", r"$111 \cdot 111 = 010$"])
def test_digits_with_a_zero_before_them_are_a_code(text):
    assert [relation.outcome for relation in report(text).relations] == ["undecided"]


def test_pi_of_several_states_is_a_distribution():
    text = r"So $\pi(2) = \pi(1) \cdot \frac{0.45}{0.1}$ and so $\pi(3) = \frac{60}{116}$."
    assert report(text).findings == []
    assert report(r"The area is $A = \pi(2) = 6.9$.").counts.wrong == 1


@pytest.mark.parametrize("sign", [r"\rightarrow\leftarrow", r"\Rightarrow\Leftarrow", r"\lightning"])
def test_the_sign_of_a_contradiction(sign):
    assert report(rf"This gives $a = \frac{{1}}{{\sqrt 2}} = 0 {sign}$.").counts.wrong == 0


def test_a_plain_error_behind_another_one_is_one_more():
    assert len(said(r"$(57 \cdot 71 + 2) \cdot 11 = 41978 - 109642 = -67655$")) == 2
    assert len(said(r"$12 \cdot 13 = 150 = 150$")) == 1


def test_a_coarse_operand_explains_a_rough_result():
    assert [f.kind for f in report(r"$\frac{0.08}{0.0093} \approx 8.67$").findings] == ["rounding"]
    assert [f.kind for f in report(r"$\frac{0.0807}{0.0093} \approx 9.67$").findings] == ["number"]


def test_both_signs():
    assert report(r"$\frac{5 \pm \sqrt{25 - 24}}{2} = \frac{5 \pm 1}{2}$").counts.right == 1
    assert said(r"$\frac{5 \pm \sqrt{25 - 24}}{2} = \frac{5 \pm 2}{2}$") == ["1 number: 3"]


@pytest.mark.parametrize(
    "text, finding",
    [
        (r"In memory: $61706\cdot 4 = 264824$ bytes", "number: 246824"),
        ("$o = 0.2+0.3 = 0.9$\n$B = 0.5+0.1 = 0.6$", "number: 0.5"),
        (r"$$4 + 3 = 8. \hfill\text{(2 pts)}$$", "number: 7"),
        (r"27 weights instead of 49, a ratio of $27/49 \approx 0.651$.", "number: 0.5510"),
    ],
)
def test_the_level_does_not_suffer_from_words_nearby(text, finding):
    assert [entry.startswith(f"1 {finding}") for entry in said(text, "likely")] == [True]


@pytest.mark.parametrize(
    "text, finding",
    [
        (r"With $\delta = 2$ and $h=4$ we get $\delta h = 7$.", "number: 8"),
        (r"$S = \begin{pmatrix}4&2\\6&4\end{pmatrix}$. For instance $S_{11} = 6$.", "matrix: 4"),
    ],
)
def test_what_rests_on_letters_is_noted(text, finding):
    assert said(text) == [f"1 {finding}"] and said(text, "likely") == []


@pytest.mark.parametrize("words", ["Assume", "Suppose that", "Given", "Let us assume", "Modulo 7,"])
def test_what_is_assumed_is_no_claim(words):
    found = report(f"{words} $5+5=3$.")
    assert found.findings == [] and found.counts.wrong == 0


def test_the_reading_stands_with_the_finding():
    assert [f.reading for f in report(r"$\log 1000 = 4$").findings] == ["log has base 10"]
    assert [f.reading for f in report(r"$\mathrm{Var}(1, 2, 6) = 5$").findings] == ["a variance divides by n"]


def test_integrals():
    right = [
        r"\int_0^1 x^2\,dx = \frac13",
        r"\int_0^{\pi} \sin x \, dx = 2",
        r"\int_1^e \frac{1}{x} dx = 1",
        r"\int_0^2 3 \, dt = 6",
    ]
    for text in right:
        found = report(f"${text}$")
        assert found.findings == [] and found.counts.right == 1, text
    assert said(r"$$\int_0^1 x^2\,dx = \frac12$$") == ["1 number: 1/3 ≈ 0.333333"]
    assert report(r"$\int_0^1 \frac{1}{x} dx = 5$").counts.decided == 0
