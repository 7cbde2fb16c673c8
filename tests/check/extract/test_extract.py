"""Documents taken apart: formulas with exact places, code, comments, headings, surroundings."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workings.check.extract import kind_of, read_text
from workings.errors import WorkingsError


def formulas(text: str, name: str = "a.md") -> list[str]:
    return [formula.text for formula in read_text(text, name).formulas]


def placed(text: str, name: str = "a.md") -> list[tuple[str, str]]:
    document = read_text(text, name)
    return [(str(document.place(formula.start)), formula.text) for formula in document.formulas]


TRICKY = r"""---
title: $no$
---
# Heading $h$
Costs $5 and $10, or US$7 million. Math $a+b$, `$x$`, \$5 and $c$.
$$x = \begin{bmatrix}1&2\end{bmatrix}$$ and \(p\), \[q\], \\(r\\) $ s = 1 $.
| a | $t=1$ |

<!-- $u$ -->

    $code$

Text.

1. Item

    $$v$$

```python
x = "$w$"
```

```math
z = 1
```

\begin{align*}
a &= b \\
\end{align*}
"""


def test_every_formula_of_a_tricky_document_is_at_its_place() -> None:
    assert placed(TRICKY) == [
        ("4:12", "h"),
        ("5:42", "a+b"),
        ("5:64", "c"),
        ("6:3", r"x = \begin{bmatrix}1&2\end{bmatrix}"),
        ("6:47", "p"),
        ("6:54", "q"),
        ("6:62", "r"),
        ("6:68", " s = 1 "),
        ("7:8", "t=1"),
        ("17:7", "v"),
        ("24:1", "z = 1\n"),
        ("27:15", "\na &= b \\\\\n"),
    ]


def test_listings_are_found_with_their_language_and_place() -> None:
    document = read_text(TRICKY, "a.md")
    assert [(entry.language, entry.text, str(document.place(entry.start))) for entry in document.listings] == [
        ("", "    $code$\n", "11:1"),
        ("python", 'x = "$w$"\n', "20:1"),
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("costs $5 and $10", []),
        ("between $5-$10 a day", []),
        ("$5 per day and rent$", []),
        ("$2$ and $3 + 4$", ["2", "3 + 4"]),
        ("a $b$c $d$", ["b", "d"]),
        (r"$a \$ b$", [r"a \$ b"]),
        ("$a$$b$", ["a", "b"]),
        ("$x\n= 1$", ["x\n= 1"]),
        ("$x\n\n= 1$", []),
        ("$`a_1`$", ["a_1"]),
        (r"$\text{if $x$ holds}$", [r"\text{if  x  holds}"]),
        (r"$a\_b$ $a\*b$ $a \\ b$", [r"a\_b", r"a\*b", r"a \\ b"]),
        ("``$a` $`` $b$", ["b"]),
        ("<pre>$a$</pre> $b$ <script>$c$</script>", ["b"]),
        ("~~~\n$a$\n~~~\n$b$", ["b"]),
        ("> ```\n> $a$\n> ```\n> $b$", ["b"]),
        ("- item\n\n    $a$", ["a"]),
        ("$$\na % note\nb\n% all of it\n= 50%\n$$", ["\na       \nb\n           \n= 50%\n"]),
        ("$x$ = 2, $y$ = $z$, $n$ = 3k", ["x  = 2", "y  =  z", "n"]),
    ],
)
def test_dollars_in_markdown(text: str, found: list[str]) -> None:
    assert formulas(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (r"$ a $ \$ $b$", [" a ", "b"]),
        ("$a$ % $b$\n$c$ 5\\% $d$", ["a", "c", "d"]),
        (r"\verb|$a$| $b$ \lstinline{$c$} \verb+$+", ["b"]),
        ("\\begin{verbatim}\n$a$\n\\end{verbatim}$b$", ["b"]),
        (r"\iffalse $a$ \ifx b \fi $c$ \fi $d \iff e$", [r"d \iff e"]),
        ("\\begin{comment}$a$\\end{comment}$b$", ["b"]),
        ("$a$\\end{document}$b$", ["a"]),
        ("a \\\\[2pt] b $c$", ["c"]),
        (r"\begin{alignat}{2} a &= b \end{alignat}", [" a &= b "]),
        (r"\begin{equation}\begin{aligned}a\end{aligned}\end{equation}", [r"\begin{aligned}a\end{aligned}"]),
        (r"\begin{align} a = \begin{pmatrix}1\end{pmatrix} \end{align}", [r" a = \begin{pmatrix}1\end{pmatrix} "]),
        (r"\begin{math}a\end{math}\begin{displaymath}b\end{displaymath}", ["a", "b"]),
        (r"\begin{gather*}a\end{gather*}\begin{multline}b\end{multline}\begin{eqnarray}c\end{eqnarray}", ["a", "b", "c"]),
        ("\\begin{align}\na\n\n= b\n\\end{align}", ["\na\n\n= b\n"]),
        ("$a % $ no\n+ b$", ["a       \n+ b"]),
        (r"$\text{if $x$}$", [r"\text{if  x }"]),
    ],
)
def test_latex(text: str, found: list[str]) -> None:
    assert formulas(text, "a.tex") == found


def test_listings_of_latex() -> None:
    text = "\\begin{lstlisting}[language=Python]\nx = 1\n\\end{lstlisting}\n"
    text += "\\begin{minted}{c}\ny\n\\end{minted}\n\\begin{verbatim}\nz\n\\end{verbatim}"
    assert [(entry.language, entry.text) for entry in read_text(text, "a.tex").listings] == [
        ("python", "x = 1\n"),
        ("c", "y\n"),
        ("", "z\n"),
    ]


@pytest.mark.parametrize(
    ("text", "name", "found", "why"),
    [
        ("$$a = 1\n\nText", "a.md", ["a = 1"], "$$ is never closed: it is read up to the end of its paragraph."),
        ("$$a = 1\n# Next $b$", "a.md", ["a = 1\n", "b"], "$$ is never closed: it is read up to the end of its paragraph."),
        (
            "$$a\n\nWords between them\n\n$$b$$",
            "a.md",
            ["a", "b"],
            "$$ is never closed: it is read up to the end of its paragraph.",
        ),
        (
            "\\begin{align}a\n\nText $b$",
            "a.tex",
            ["a", "b"],
            "\\begin{align} is never closed: it is read up to the end of its paragraph.",
        ),
        ("a \\[b\n\nc", "a.tex", ["b"], "\\[ is never closed: it is read up to the end of its paragraph."),
        ("a $b\n\n$c$", "a.tex", ["c"], "This dollar has no partner in its paragraph."),
        ("```\n$a$", "a.md", [], "The block of code that begins here is never closed."),
        ("\\begin{verbatim} $a$", "a.tex", ["a"], "\\begin{verbatim} has no \\end{verbatim}."),
    ],
)
def test_what_is_never_closed_is_said(text: str, name: str, found: list[str], why: str) -> None:
    document = read_text(text, name)
    assert [formula.text for formula in document.formulas] == found
    assert [record.why for record in document.unread] == [why]


def test_a_misspelt_end_closes_and_blank_lines_in_a_display_may_stand() -> None:
    document = read_text("\\begin{aligned}a\\end{alignd} $$x = 1\n\n= y_2$$", "a.md")
    assert [formula.text for formula in document.formulas] == ["a", "x = 1\n\n= y_2"]
    assert document.unread == []


def test_windows_line_ends_keep_places_right() -> None:
    document = read_text("a\r\n\r\nb $x$\r\n\r\n```py\r\ny\r\n```\r\n$z$", "a.md")
    assert [str(document.place(formula.start)) for formula in document.formulas] == ["3:4", "8:2"]
    assert [(entry.language, entry.text) for entry in document.listings] == [("py", "y\r\n")]


def test_prose_numbers() -> None:
    text = (
        "So 28 × 28 × 8 = 6272, (32 − 5)/1 + 1 = 28. x = 3 + 4 = 7.\n- 3 + 4 = 7\n1. 2 * 3 = 6\n(a) 1 + 2 = 3\n"
        "3 x 3 x 16 = 144 (2 + 2 = 4), 50% × 20 = 10, **1 + 1 = 2**, 1,000 + 2 = 1,002 and 2(3 + 4) = 14, 1 + 1 ≈ 2.0."
    )
    assert placed(text, "a.txt") == [
        ("1:4", "28 × 28 × 8 = 6272"),
        ("1:24", "(32 − 5)/1 + 1 = 28"),
        ("1:45", "x = 3 + 4 = 7"),
        ("2:3", "3 + 4 = 7"),
        ("3:4", "2 * 3 = 6"),
        ("4:5", "1 + 2 = 3"),
        ("5:1", "3 × 3 × 16 = 144"),
        ("5:19", "2 + 2 = 4"),
        ("5:31", "50% × 20 = 10"),
        ("5:48", "1 + 1 = 2"),
        ("5:61", "1,000 + 2 = 1,002"),
        ("5:83", "2(3 + 4) = 14"),
        ("5:98", "1 + 1 ≈ 2.0"),
    ]


@pytest.mark.parametrize(
    "text",
    """1,5 × 2 = 3|v1.2.3 = 4 + 1|0x10 = 8 + 8|1 + 1 == 2|1 + 1 => 2|3 = 4
    2024-01-02|tel 030-1234 = 5|see https://a.b/?c=1+1=2|n 1 + 2 = 3|1 + 2 = 3 k|2 + 3 = 5 million
    $a$ + 1 = 2 + 3|3 + 4 = 7 $b$|1 2 + 3 = 5|`1 + 1 = 3`|# 1 + 1 = 3|)(1 + 1 = 2 ×|1 + 1 = 2.5.1""".replace(
        "\n    ", "|"
    ).split("|"),
)
def test_other_numbers_in_prose_are_left_alone(text: str) -> None:
    assert [found for found in formulas(text) if "+" in found or "×" in found] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # a formula cut in two by a sign or by words is one
        ("$[1,1]$ plus $[0,1]$ = $[1,2]$", ["[1,1]  plus  [0,1]  =  [1,2]"]),
        (r"\(a\) minus \(b\) = 5", ["a  minus  b   = 5"]),
        ("$P(B$ or $D) = 0.5$", [r"P(B\text{ or }D) = 0.5"]),
        ("$x$ plus $y$ is more", ["x", "y"]),
        ("$x = 2$ minus $y = 3$", ["x = 2", "y = 3"]),
        (r"$P($rain$) + P($no \emph{rain}$) = 1$", [r"P(\text{rain}) + P(\text{no rain}) = 1"]),
        ("$f(x$. In another sentence, $y)$", ["f(x", "y)"]),
        # a blank after a dollar
        ("so $ 3+3=7$ holds", [" 3+3=7"]),
        ("from $ 5 to more than = $6", []),
        # calculations in blocks that name no language
        ("a\n\n```\n3 * 4 = 12\nx = y\n```\n", ["3 * 4 = 12"]),
        ("a\n\n    3 * 5 = 15\n", ["3 * 5 = 15"]),
        ("a\n\n```\nTotal = 3 * 4 = 12\nmax[d(j)](o) = 2 * 5 = 11\n```\n", ["3 * 4 = 12"]),
        ("a\n\n```python\n3 * 4 = 12\n```\n", []),
        # braces and row breaks that Markdown doubled
        (r"$A = \\{1,2\\}$", [r"A = \{1,2\}"]),
        (r"$\frac{a \\}{b}$", [r"\frac{a \\}{b}"]),
        (r"$\log_2 8 = 3$", [r"\log_2 8 = 3"]),
        # prose
        ("It is $5 + $3 = $8 now", [" 5 +  3 =  8"]),
        ("$26.\n86 - 23.13 = 3.73$", ["26.\n86 - 23.13 = 3.73"]),
        ("It was in 2019.\n5 + 3 = 8", ["5 + 3 = 8"]),
        ("17 mod 5 = 2", ["17 mod 5 = 2"]),
        ("5% of 200 = 10", ["5% of 200 = 10"]),
        ("2½ + 1 = 3.5", ["2½ + 1 = 3.5"]),
        ("Pages 3-5 = 3 pages", []),
        ("Digits 0-9 = 10", []),
        ("so 7-2 = 5", ["7-2 = 5"]),
    ],
)
def test_what_is_meant_is_one_formula(text: str, found: list[str]) -> None:
    assert formulas(text) == found


def test_a_joined_formula_keeps_its_places() -> None:
    document = read_text("so $P(B$ or $D) = 0.5$", "a.md")
    [formula] = document.formulas
    assert document.text[formula.position(formula.text.index("0.5")) :].startswith("0.5")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("v.3 + 4 = 7", "This calculation is a part of something else: a letter or a sign stands right beside it."),
        ("2 + 3 = 5 million", "This calculation is a part of something else: a letter or a sign stands right beside it."),
        (
            "IQR = 26.\n86 - 23.13 = 3.73",
            "This calculation is a part of something else: a letter or a sign stands right beside it.",
        ),
        ("so $x = 3 +", "This dollar has no partner in its paragraph."),
    ],
)
def test_what_is_left_out_is_said(text: str, why: str) -> None:
    document = read_text(text, "a.md")
    assert (document.formulas, [part.why for part in document.unread]) == ([], [why])


@pytest.mark.parametrize("text", ["it costs $5 = cheap enough", "US$7 and more", "x + y"])
def test_what_is_no_formula_is_not_missed(text: str) -> None:
    assert read_text(text, "a.md").unread == []


def test_latex_whose_dollars_were_lost() -> None:
    text = (
        "the point \\mathbf{x} \\in \\mathbb{R}^4 is a \\mathbf{y} a vector, C:\\users, \\textbf{b}\n"
        "X = \\begin{bmatrix} 1 \\\\\n 2 \\end{bmatrix} \\approx Y.\n\nbegin{pmatrix} 1 end{pmatrix}"
    )
    assert placed(text) == [
        ("1:11", r"\mathbf{x} \in \mathbb{R}^4"),
        ("1:44", r"\mathbf{y}"),
        ("2:1", "X = \\begin{bmatrix} 1 \\\\\n 2 \\end{bmatrix} \\approx Y"),
        ("5:1", r"\begin{pmatrix} 1 \end{pmatrix}"),
    ]


def test_headings_and_their_depth() -> None:
    text = "# One #\n\nTwo\n---\n\n### Three\n**Problem 3.** Show\n\n"
    text += "Part 1: x\n\n1. first\n(a) second\n- (5 points) third\nProblem 3 is hard.\n**4.** fourth"
    assert [(heading.depth, heading.text) for heading in read_text(text, "a.md").headings] == [
        (1, "One"),
        (2, "Two"),
        (3, "Three"),
        (5, "Problem 3. Show"),
        (4, "Part 1: x"),
        (6, "1. first"),
        (7, "(a) second"),
        (6, "- (5 points) third"),
        (6, "4. fourth"),
    ]
    text = "\\section{A $x$}\n\\subsection*{B}\n\\textbf{Question 2}\n\\begin{enumerate}\\item a\n"
    text += "\\begin{enumerate}\\item b\n\\end{enumerate}\\end{enumerate}\n\\begin{itemize}\\item c\\end{itemize}"
    assert [heading.depth for heading in read_text(text, "a.tex").headings] == [2, 3, 5, 6, 7]


def test_prose_is_paragraphs_without_code() -> None:
    document = read_text("# Title\nFirst $x$\nline.\n\n```\ncode\n```\n\n  Second.\n", "a.md")
    assert [(entry.text, entry.start) for entry in document.prose] == [("First $x$\nline.", 8), ("Second.", 41)]


def test_the_surroundings_of_a_formula() -> None:
    document = read_text("Far.\n\nLet $x$ be $y$ here.\n\n$$z$$\n\nwhere it ends.\n\n# New\n\n$$w$$\n\nThen.", "a.md")
    assert [(formula.before, formula.after) for formula in document.formulas] == [
        ("Let ", " be $y$ here."),
        ("Let $x$ be ", " here."),
        ("Let $x$ be $y$ here.", "where it ends."),
        ("", ""),
    ]
    long = read_text("a" * 300 + " $x$ " + "b" * 300, "a.md").formulas[0]
    assert (len(long.before), len(long.after)) == (200, 200)


def test_kinds() -> None:
    names = ["a.MD", "a.qmd", "a.tex", "a.txt", "a.ipynb"]
    assert [kind_of("", name) for name in names] == ["markdown", "markdown", "latex", "text", "notebook"]
    texts = [r"\documentclass{a}", "# A", "words", '{"cells": []}']
    assert [kind_of(text, "a") for text in texts] == ["latex", "markdown", "text", "notebook"]
    with pytest.raises(WorkingsError) as error:
        read_text("", "a", "pdf")
    assert str(error.value) == "A document is markdown, latex, text or a notebook, not 'pdf'."


def test_a_notebook() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# T\n", "$\\newcommand{\\v}{\\mathbf{v}}$ $a$"]},
        {"cell_type": "raw", "source": "$no$"},
        {"cell_type": "code", "source": "x = '$b$'\n1 + 1 == 3", "outputs": [{"text": "1 + 1 = 3"}]},
        {"cell_type": "markdown", "source": "one\n\ntwo $\\v$ $\\v c$\n```\nopen"},
        {"cell_type": "markdown", "source": "$d$"},
    ]
    document = read_text(json.dumps({"cells": cells, "metadata": {"kernelspec": {"language": "R"}}}), "a.ipynb")
    found = [(str(document.place(formula.start)), formula.text) for formula in document.formulas]
    assert found == [
        ("cell 1:2:32", "a"),
        ("cell 4:3:6", r"\mathbf{v}"),
        ("cell 4:3:11", r"\mathbf{v} c"),
        ("cell 5:1:2", "d"),
    ]
    assert [str(document.place(document.formulas[2].position(index))) for index in (0, 11)] == ["cell 4:3:11", "cell 4:3:14"]
    assert [(entry.language, str(document.place(entry.start))) for entry in document.listings] == [
        ("r", "cell 3:1:1"),
        ("", "cell 4:5:1"),
    ]
    assert [number for _, number in document.cells] == [1, 3, 4, 5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"cells": [\n1,,]}', "a.ipynb is not a notebook: its JSON breaks off at line 2, column 3 (Expecting value)."),
        ("[]", "a.ipynb is not a notebook: it has no list of cells."),
        ('{"cells": 3}', "a.ipynb is not a notebook: it has no list of cells."),
        ("[" * 100_000, "a.ipynb is not a notebook: its JSON is nested too deeply or holds a number too long to read."),
    ],
)
def test_no_notebook(text: str, message: str) -> None:
    with pytest.raises(WorkingsError) as error:
        read_text(text, "a.ipynb")
    assert str(error.value) == message


BREAKS = ["\n", "\n\n", "    ", "\r\n", "\t", "---\n", " "]
PIECES = st.sampled_from(
    [
        *BREAKS,
        *(
            r"$ $$ \( \) \[ \] "
            r"\begin{align} \end{align} \begin{bmatrix} \end{bmatrx} { } \newcommand{\a}[1]{#1\a} \a \def\b#1,{#1} \b , ` "
            r"``` "
            r"~~~ % \\ \iffalse \fi \verb| \begin{verbatim} \end{verbatim} <!-- --> "
            r"# 1. - 1 + = 2 × ( ) \left( \right frac{ approx （ "
            r"&lt; \R "
            r"\norm [ ] * \be \let\c\a \c x \text{"
        ).split(),
    ]
)


@given(
    st.one_of(st.text(), st.lists(PIECES, max_size=40).map("".join)),
    st.sampled_from(["markdown", "latex", "text", "notebook"]),
)
def test_any_text_is_read_and_every_character_has_a_place(text: str, kind: str) -> None:
    try:
        document = read_text(text, "a", kind)
    except WorkingsError:
        assert kind == "notebook"
        return
    for formula in document.formulas:
        assert 0 <= formula.start <= formula.end <= len(text)
        assert formula.origins is None or len(formula.origins) == len(formula.text)
        assert all(formula.start <= formula.position(index) < formula.end for index in range(len(formula.text)))
        assert formula.origins is not None or len(formula.text) == formula.end - formula.start
    for part in [*document.prose, *document.headings]:
        assert 0 <= part.start <= len(text)
    for listing in document.listings:
        assert text[listing.start : listing.start + len(listing.text)] == listing.text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a = 3, b = 4, so a^2 + b^2 = 25.", ["a = 3", "b = 4", "a^2 + b^2 = 25"]),
        ("Let x = 5. Then 2x + 1 = 11.", ["x = 5", "2x + 1 = 11"]),
        ("x_1 = 3 and f(x_1) = 2 x_1 = 6", ["x_1 = 3", "f(x_1) = 2 x_1 = 6"]),
        ("so x1 = 3 x 4 = 12", ["x1 = 3 × 4 = 12"]),
        ("E = 1/2 m v^2 = 9", ["E = 1/2 m v^2 = 9"]),
        ("n = 10 and p = 0.3 so np = 3", ["n = 10", "p = 0.3", "np = 3"]),
        ("H = -0.5*log2(0.5) = 0.5", [r"H = -0.5*\log_{2}(0.5) = 0.5"]),
        ("2**3 = 8 and sqrt(16) = 4", ["2^3 = 8", "sqrt(16) = 4"]),
        ("we need 12 slices * 1/3 = 4 slices", [r"12\text{ slices} * 1/3 = 4\text{ slices}"]),
        ("90 flowers - 40 = 50 flowers", [r"90\text{ flowers} - 40 = 50\text{ flowers}"]),
        ("3.6 km = 3600 m", [r"3.6\text{ km} = 3600\text{ m}"]),
        ("3 1/2 - 2 = 1 1/2 hours", [r"(3+\frac{1}{2}) - 2 = (1+\frac{1}{2})"]),
        ("$350 000 x 5/100 = $17500", [" 350000 × 5/100 =  17500"]),
        ("17 ≡ 2 (mod 5)", ["17 ≡ 2 (mod 5)"]),
        ("3 + 9 = **12 clauses**", ["3 + 9 =   12"]),
        ("- (0, 2) = 0-0", []),
        ("f(1, 2) = 3 + 0", ["f(1, 2) = 3 + 0"]),
        ("so 33 + 1 != 33", ["33 + 1 ≠ 33"]),
        ("34 != 33", []),
        ("i = 3; x == 4", []),
        ("print(x = 3)", []),
        ("his 25 friends + his 1 teacher + 1 = 27", []),
        ("3 cats and 4 dogs = 7 animals", []),
        ("p-value = 0.03", []),
        ("a 3 = b", []),
    ],
)
def test_equations_that_are_typed(text: str, found: list[str]) -> None:
    assert formulas(text) == found


def test_typed_equations_keep_their_places() -> None:
    [formula] = read_text("so 90 flowers - 40 = 50 flowers", "a.txt").formulas
    assert formula.position(formula.text.index("40")) == 16 and formula.position(formula.text.index("50")) == 21
