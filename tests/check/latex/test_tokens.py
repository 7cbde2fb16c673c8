"""Tokens of formulas: what each piece is, where it stands, and what is refused."""

from __future__ import annotations

import pytest

from workings.check.latex.tokens import tokens
from workings.errors import ParseError


def kinds(text: str) -> list[tuple[str, object]]:
    return [(kind, value) for kind, value, _, _ in tokens(text)[:-1]]


def letters(names: str) -> list[tuple[str, object]]:
    return [("symbol", (name, ())) for name in names]


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.70", "0.70"), (".5", ".5"), ("1{,}000", "1000"), (r"12\,345\,678", "12345678"), ("1e-5", "1e-5"), ("2.5E3",
    "2.5E3"), ("007", "007")],
)  # fmt: skip
def test_numbers_stay_as_printed(text: str, value: str) -> None:
    assert kinds(text) == [("number", value)]


def test_a_space_ends_a_number_and_letters_may_follow() -> None:
    assert kinds("1 000") == [("number", "1"), ("number", "000")]
    assert kinds("2x") == [("number", "2"), *letters("x")]
    assert kinds("2e^x")[:2] == [("number", "2"), ("symbol", ("e", ()))]
    assert kinds("5.") == [("number", "5"), (".", ".")]


@pytest.mark.parametrize(
    ("spellings", "kind", "value"),
    [
        (r"\approx \simeq \cong ≈ ≃", "relation", "≈"),
        (r"\le \leq \leqslant ≤ <=", "relation", "≤"),
        (r"\neq \ne ≠ \not=", "relation", "≠"),
        (r"\to \rightarrow → ->", "relation", "→"),
        (r"\implies \Rightarrow ⇒", "relation", "⇒"),
        (r"\triangleq \coloneqq :=", "relation", ":="),
        (r"\ll << ≪", "relation", "≪"),
        (r"\in ∈", "relation", "∈"),
        (r"\notin ∉ \not\in", "relation", "∉"),
        ("= ＝", "relation", "="),
        ("- − –", "sign", "-"),
        (r"\cdot · ⋅", "times", "·"),
        (r"\times ×", "times", "×"),
        ("/ ∕", "slash", "/"),
        (r"\div ÷", "slash", "÷"),
        (r"\{ \lbrace \left\{", "open", "{"),
        (r"( \left( \bigl( （", "open", "("),
        (r"\| ‖ \Vert", "bar", "‖"),
        (r"\ldots … \cdots ... \vdots", "dots", "…"),
        (r"\arg\max \argmax \text{argmax} \operatorname{arg\,max} \operatorname*{argmax} \text{arg max}", "function",
        "argmax"),
        (r"\text{ReLU} \mathrm{ReLU} \operatorname{relu} {\rm relu}", "function", "relu"),
        (r"\mathbb R".split()[0], "font", "bb"),
        (r"\sum ∑", "big", "∑"),
    ],
)  # fmt: skip
def test_spellings_of_one_thing(spellings: str, kind: str, value: str) -> None:
    found = kinds(spellings.replace(r"\text{arg max}", r"\text{arg~max}"))
    assert found and set(found) == {(kind, value)}
    assert len(found) >= len(spellings.split()) - 2


def test_what_has_no_meaning_is_dropped() -> None:
    text = r"\displaystyle x\, \label{eq:1} \tag{2} \nonumber \vspace{2pt} \hspace{1pt} \color{red}"
    text += r"\textcolor{blue}{y} \limits \hline"
    assert kinds(text) == [*letters("x"), ("{", "{"), *letters("y"), ("}", "}")]


def test_a_wide_space_parts_formulas() -> None:
    assert kinds(r"x \hspace{20pt} y") == [*letters("x"), ("quad", ""), *letters("y")]


def test_rows_with_space_between_them() -> None:
    assert kinds(r"\\[2pt] \\ \\* [1]") == [("row", "\\\\")] * 3 + [("open", "["), ("number", "1"), ("close", "]")]


def test_environments_with_options() -> None:
    text = r"\begin{array}{cc|c}\end{array}\begin{bmatrix*}[r]\end{bmatrix*}\begin{aligned}[t]\end{aligned}"
    assert kinds(text) == [(side, name) for name in ("array", "bmatrix", "aligned") for side in ("begin", "end")]


def test_words_names_and_letters() -> None:
    assert kinds(r"\text{MSE}") == [("symbol", ("MSE", ("text",)))]
    assert kinds(r"\textbf{MSE}") == [("symbol", ("MSE", ("text", "bold")))]
    assert kinds(r"\text{ if }") == [("words", " if ")]
    assert kinds(r"\text{two words}") == [("words", "two words")]
    assert kinds(r"\text{0.5}") == [("number", "0.5")]
    assert kinds(r"\text{ }") == []
    assert kinds(r"\mathrm{d}x") == [("font", "rm"), ("{", "{"), ("symbol", ("d", ())), ("}", "}"), *letters("x")]


def test_function_words_stand_before_a_bracket() -> None:
    assert kinds("softmax(x)")[0] == ("function", "softmax")
    assert kinds(r"Softmax\left(x\right)")[0] == ("function", "softmax")
    assert kinds("max x") == letters("maxx")


def test_letters_of_other_alphabets() -> None:
    assert kinds("αΣ𝐱") == [("symbol", ("alpha", ())), ("symbol", ("Sigma", ())), ("symbol", ("x", ()))]
    assert kinds("ℝ") == [("symbol", ("R", ("bb",)))]


def test_small_digits_are_scripts_and_keep_their_places() -> None:
    assert tokens("x⁻¹")[1:] == [
        ("^", "^", 1, 1), ("{", "{", 1, 1), ("sign", "-", 1, 2), ("number", "1", 2, 3), ("}", "}", 3, 3),
        ("end of text", "", 3, 3),
    ]  # fmt: skip
    assert kinds("x₁")[1:] == [("_", "_"), ("{", "{"), ("number", "1"), ("}", "}")]


def test_places() -> None:
    assert [(start, end) for *_, start, end in tokens(r"a  \le \mathrm{ b }")] == [
        (0, 1),
        (3, 6),
        (7, 14),
        (14, 15),
        (16, 17),
        (18, 19),
        (19, 19),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("internationally", "Expected a formula, found the word 'internationally': this is prose."),
        ("frac{1}{2}", "The word 'frac' may be the command \\frac without its backslash."),
    ],
)
def test_refused(text: str, reason: str) -> None:
    with pytest.raises(ParseError) as caught:
        tokens(text)
    assert caught.value.reason == reason
