"""What is taken along an axis, rows and columns that are repeated, lists beside tables."""

import pytest

from workings.check import check

M = r"\begin{bmatrix} 1 & 3 \\ 4 & 8 \end{bmatrix}"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (rf"\operatorname{{mean}}_{{\text{{axis }}-1}}({M}) = [2, 6]", "[2, 7]"),
        (rf"\operatorname{{mean}}_{{\text{{axis }}0}}({M}) = [2.5, 5.5]", "[2, 6]"),
        (rf"\sum_{{\text{{axis }}0}} {M} = [5, 11]", "[4, 12]"),
        (rf"\sum {M} = 16", "17"),
        (rf"\max_{{\text{{axes }}-2, -1}}({M}) = 8", "4"),
        (
            rf"\frac{{{M}}}{{\begin{{bmatrix}} 1 \\ 4 \end{{bmatrix}}}} = \begin{{bmatrix}} 1 & 3 \\ 1 & 2 \end{{bmatrix}}",
            "[1]",
        ),
        (r"\begin{bmatrix} 1 \\ 2 \end{bmatrix} \odot [3, 4] = \begin{bmatrix} 3 & 4 \\ 6 & 8 \end{bmatrix}", "[3, 7]"),
        (r"[1, 2] [3, 4]^\top = \begin{bmatrix} 3 & 4 \\ 6 & 8 \end{bmatrix}", "12"),
        (rf"[1, 2] \odot {M} [1, 0] = [1, 8]", "[1, 9]"),
        (r"\mathbf{1}_{2 \times 2} = \begin{bmatrix} 1 & 1 \\ 1 & 1 \end{bmatrix}", "[1, 0]"),
        (r"(1 < 2) = \mathrm{True}", r"\mathrm{False}"),
        (r"([1, 3] < [2, 2]) = [T, F]", "[F, F]"),
        (rf"({M}, [\frac12]) = ({M}, [0.5])", rf"({M}, [0.6])"),
    ],
)
def test_decided(right, wrong):
    assert [relation.outcome for relation in check(f"$$a = {right}$$").results.relations][-1] == "right"
    head = right.rpartition(" = ")[0]
    assert check(f"$$a = {head} = {wrong}$$").findings("note")


def test_shapes_that_nothing_explains_are_still_found():
    text = rf"$$y = {M} \begin{{bmatrix}} 1 & 2 \end{{bmatrix}} = \begin{{bmatrix}} 7 & 20 \end{{bmatrix}}$$"
    assert [found.kind for found in check(text).findings("note")] == ["shape"]


def test_code_is_what_a_program_says():
    [first, second] = check(r"$$d = \texttt{Q.shape[-1]} = 2$$").results.relations
    assert (first.role, second.role, second.evidence) == ("given", "given", "what a program says")
