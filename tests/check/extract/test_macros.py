"""Macros expanded by TeX's rules, damage mended, files read: each with the place of every character."""

import re
from pathlib import Path

import pytest

from workings.check.document.document import Formula
from workings.check.extract import read, read_text
from workings.check.extract.load import LARGEST
from workings.check.extract.repair import repaired
from workings.check.extract.traced import Traced
from workings.errors import WorkingsError


def last(text: str, name: str = "a.md") -> Formula:
    return read_text(text, name).formulas[-1]


@pytest.mark.parametrize(
    ("definition", "formula", "expanded"),
    [
        (r"\newcommand{\f}{\mathbf{f}}", r"\f x", r"\mathbf{f} x"),
        (r"\newcommand\f[2]{#2+#1}", r"\f{a}{b}", "b+a"),
        (r"\newcommand{\f}[2]{#2+#1}", r"\f a {bc}", "bc+a"),
        (r"\newcommand{\f}[2][k]{#1#2}", r"\f{x} \f[\alpha]{x}", r"kx \alpha x"),
        (r"\renewcommand{\f}[1]{\|#1\|}", r"\f\alpha", r"\|\alpha\|"),
        (r"\providecommand{\f}{1}", r"\f", "1"),
        (r"\def\f{\beta}", r"\f x\f", r"\beta x\beta"),
        (r"\def\f#1#2{#1/#2}", r"\f 12", "1/2"),
        (r"\def\f(#1,#2){#1-#2}", r"\f(a, b)", "a- b"),
        (r"\let\f=\frac", r"\f{1}{2}", r"\frac{1}{2}"),
        (r"\let\f\g \def\g{2}", r"\f", "2"),
        (r"\DeclareMathOperator{\f}{soft\,max}", r"\f x", r"\operatorname{softmax} x"),
        (r"\DeclareMathOperator*{\f}{argmax}", r"\f_x", r"\operatorname*{argmax}_x"),
        (r"\DeclarePairedDelimiter{\f}{\lVert}{\rVert}", r"\f*{x}", r"\left\lVert x \right\rVert"),
        (r"\newcommand{\f}[1]{\g{#1}}\newcommand{\g}[1]{(#1)}", r"\f{\f{x}}", "((x))"),
        (r"\newenvironment{f}{\begin{pmatrix}}{\end{pmatrix}}", r"\begin{f}1\end{f}", r"\begin{pmatrix}1\end{pmatrix}"),
        (r"\newcommand{\f}[1]{#1}", r"{\f}", r"{\f}"),
        ("", r"x \in \R^n \argmax \bx \mcL \foo", r"x \in \mathbb{R}^n \operatorname{argmax} \mathbf{x} \mathcal{L} \foo"),
        ("", r"\bpmat 1 \epmat \E \eps", r"\begin{pmatrix} 1 \end{pmatrix} \mathbb{E} \epsilon"),
        ("", r"\be \fa \ha x", r"\beta \mathbf{a} \hat{a} x"),
        (r"\newcommand{\R}{r}", r"\R", "r"),
    ],
)
@pytest.mark.parametrize("name", ["a.md", "a.tex"])
def test_macros(name: str, definition: str, formula: str, expanded: str) -> None:
    found = last(f"{definition}\n\n${formula}$", name)
    assert found.text == expanded
    assert all(found.start <= found.position(index) < found.end for index in range(len(expanded)))


def test_macros_in_math_blocks_later_ones_and_front_matter() -> None:
    document = read_text("$\\f$ $$\\newcommand{\\f}{1}$$ $\\f$ $$\\renewcommand{\\f}{2}$$ $\\f$", "a.md")
    assert [formula.text for formula in document.formulas] == ["1", "1", "2"]
    front = '---\nmacros: {"\\\\f": "\\\\mathbb{F}", "\\\\g": "#1^2"}\n---\n$\\f \\g{x}$'
    assert last(front).text == r"\mathbb{F} x^2"
    assert last("---\nmacros:\n  \\f: \\mathbb{F}\n---\n$\\f$").text == r"\mathbb{F}"


def test_macros_that_begin_and_end_equations() -> None:
    document = read_text("\\def\\be{\\begin{equation}}\\def\\ee{\\end{equation}}\n\\be x = 1 \\ee $y$", "a.tex")
    assert [formula.text for formula in document.formulas] == [" x = 1 ", "y"]


def test_every_character_of_an_expansion_knows_its_place() -> None:
    text = r"\newcommand{\f}[1]{\frac{#1}{2}} $a+\f{bc}=d$"
    formula = last(text)
    assert formula.text == r"a+\frac{bc}{2}=d"
    call = text.index(r"\f{bc}")
    places = {"a": text.index("a+"), "b": call + 3, "c}": call + 4, "=d": text.index("=d"), r"\frac": call, "{2}": call}
    assert {part: formula.position(formula.text.index(part)) for part in places} == places


@pytest.mark.parametrize(
    "body", [r"\f", r"\f\f", r"x\f", r"\g\g\g\g\g\g\g\g\g\g}\def\g{\h\h\h\h\h\h\h\h\h\h}\def\h{\f\f\f\f\f"]
)
def test_macros_that_do_not_stop(body: str) -> None:
    document = read_text(rf"\def\f{{{body}}} " + r"$\f$ " * 200, "a.md")
    assert document.formulas[0].text == r"\f"
    why = "The macros in this formula do not stop, or make it longer than 100,000 characters: it is read as written."
    assert {record.why for record in document.unread} == {why}


@pytest.mark.parametrize(
    ("damaged", "mended"),
    [
        (r"\begin {bmatrix} 1 \end{ bmatrix }", r"\begin{bmatrix} 1 \end{bmatrix}"),
        (r"\\begin {bmatrix} 1 \\ 2 \end{bmatrix}", r"\begin{bmatrix} 1 \\ 2 \end{bmatrix}"),
        (r"\\frac{1}{2} \\times 3 \\\\ 4", r"\frac{1}{2} \times 3 \\ 4"),
        (r"begin{bmatrix} 1 end{bmatrix}", r"\begin{bmatrix} 1 \end{bmatrix}"),
        (r"frac{1}{2} approx sqrt{2} times sqrt[3]{8}", r"\frac{1}{2} \approx \sqrt{2} \times \sqrt[3]{8}"),
        (r"\ frac{1}{2}", r"\frac{1}{2}"),
        (
            r"log(2) + d_{max} + \text{approx times} + \mathrm{log}(2)",
            r"\log(2) + d_{max} + \text{approx times} + \mathrm{log}(2)",
        ),
        (r"\begin{bmatrix} 1 \end{bmatrx}", r"\begin{bmatrix} 1 \end{bmatrix}"),
        (r"\begin{bmatrx} 1 \end{bmatrix}", r"\begin{bmatrix} 1 \end{bmatrix}"),
        (r"\begin{bmatrix} 1 \end{pmatrix}", r"\begin{bmatrix} 1 \end{pmatrix}"),
        (r"\left( 1 + 2 ) \leftarrow \left. x", r"( 1 + 2 ) \leftarrow  x"),
        (r"\left( 1 \right)", r"\left( 1 \right)"),
        ("（１＋２）＝［３］", "(1+2)=[3]"),
        (r"1 &lt; 2 &amp; 3", "1 < 2 & 3"),
        (r"a \\ b \\c", r"a \\ b \\c"),
        (r"\max(frac, alphabet)", r"\max(frac, alphabet)"),
    ],
)
def test_damage(damaged: str, mended: str) -> None:
    found = repaired(Traced(damaged, 7))
    assert found.text == mended
    assert found.origins is None or len(found.origins) == len(mended)
    assert all(7 <= found.origin(index) < 7 + len(damaged) for index in range(len(mended)))


def test_mended_characters_keep_their_place() -> None:
    text = "$frac{1}{2} approx 5$"
    formula = last(text)
    assert formula.text == r"\frac{1}{2} \approx 5"
    assert [formula.position(formula.text.index(part)) for part in ("\\", "1", "2", "5")] == [1, 6, 9, 19]


def test_files(tmp_path: Path) -> None:
    good = tmp_path / "a.md"
    good.write_bytes(b"\xef\xbb\xbf$x$\r\n")
    document = read(good)
    assert (document.name, document.kind, document.formulas[0].start, document.text) == (str(good), "markdown", 1, "$x$\r\n")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b" \n", "{0} is empty."),
        (
            "é$x$".encode("utf-16"),
            "{0} is UTF-16, not UTF-8. Save it as UTF-8, for example: iconv -f UTF-16 -t UTF-8 {0} > utf8-a.md",
        ),
        (
            "a long text".encode("utf-16-le"),
            "{0} looks like UTF-16, not UTF-8. Save it as UTF-8, for example: iconv -f UTF-16 -t UTF-8 {0} > utf8-a.md",
        ),
        (
            b"a\nb caf\xe9 c",
            "{0} is not UTF-8: byte 7 (line 2) is 0xE9. It looks like Latin-1. "
            "Save it as UTF-8, for example: iconv -f LATIN1 -t UTF-8 {0} > utf8-a.md",
        ),
        (
            b"\x93a\x94",
            "{0} is not UTF-8: byte 0 (line 1) is 0x93. It looks like Windows-1252. "
            "Save it as UTF-8, for example: iconv -f WINDOWS-1252 -t UTF-8 {0} > utf8-a.md",
        ),
        (b"abc\0\0def", "{0} is not a text: byte 3 is zero. Check its source (.md, .tex, .txt, .ipynb) instead."),
        (
            b"\x01\x02\x03\xff",
            "{0} is not UTF-8: byte 3 (line 1) is 0xFF. "
            "It is not a text: check its source (.md, .tex, .txt, .ipynb) instead.",
        ),
    ],
)
def test_files_that_are_no_text(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(data)
    with pytest.raises(WorkingsError) as error:
        read(path)
    assert str(error.value) == message.format(path)


def test_no_file(tmp_path: Path) -> None:
    for path, message in [
        (tmp_path / "b.md", "There is no file {0}."),
        (tmp_path, "{0} is a directory: name the documents in it."),
    ]:
        with pytest.raises(WorkingsError, match=re.escape(message.format(path))):
            read(path)
    pdf = tmp_path / "a.pdf"
    pdf.write_bytes(b"%PDF-1.7")
    with pytest.raises(WorkingsError) as error:
        read(pdf)
    assert str(error.value) == f"{pdf} is a .pdf file; the checker reads its source: .md, .tex, .txt or .ipynb."


def test_a_file_that_is_too_large_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.md"
    with path.open("wb") as file:
        file.truncate(5 * LARGEST)
    monkeypatch.setattr(Path, "read_bytes", lambda self: pytest.fail("it was read"))
    with pytest.raises(WorkingsError) as error:
        read(path)
    assert (
        str(error.value) == f"{path} has 100 MB; documents of up to 20 MB are read. Split it, or take the figures out of it."
    )


N = 4_000
HARD = {
    "dollars": "$" * N,
    "equals": "=" * 10 * N,
    "prices": "$1 " * N,
    "begins": r"\begin{" * N,
    "aligns": r"\begin{align}" * N,
    "blank": "\\begin{align}\n\n" * N,
    "braces": "{" * N,
    "formula of braces": "$" + "{" * N + "$",
    "text": r"$\text{$" * N,
    "ticks": "` `` ``` " * N,
    "comments": "<!--" * N,
    "brackets": r"\[" * N,
    "iffalse": r"\iffalse\iffalse\fi" * N,
    "definitions": r"\newcommand{\a}{" * N,
    "bold": r"\mathbf{" * N,
    "sums": "1+" * N + "1=2",
    "chains": "1=2+" * N,
    "nested": "(" * N + "1=1+1",
    "spaces": " " * 5 * N,
    "lines": "\n" * 5 * N,
    "left": "$$" + r"\left(" * N + "$$",
    "frac": "$$" + "frac{" * N + "$$",
    "ends": r"\begin{bmatrix}\end{bmatrixx}" * N,
    "optional": r"\newcommand{\f}[2][a]{#1#2} $" + r"\f[" * N + "$",
    "digits": "1" * N + "=2+3",
    "words": "ab " * N + r"\mathbf{x}",
    "quotes": "> " * N + "```",
    "hashes": "#" * N,
    "joined": "$a$ = " * N,
    "links": "](" * N,
    "rules": "---\n" * N,
    "backslashes": "\\" * N,
}


@pytest.mark.parametrize("kind", ["markdown", "latex"])
@pytest.mark.parametrize("text", HARD.values(), ids=list(HARD))
def test_hostile_text_is_read_to_its_end(kind: str, text: str) -> None:
    document = read_text(text, "a", kind)
    assert all(0 <= formula.start <= len(text) for formula in document.formulas)


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["$", "$x ", r"\begin{", "{", "}", r"\begin{align}"])
def test_a_hundred_thousand_of_them(piece: str) -> None:
    document = read_text(piece * 100_000, "a.md")
    assert all(0 <= formula.start <= len(document.text) for formula in document.formulas)
