"""Claims with letters left in them, values put in for names, gradients that are given backwards."""

import pytest

from workings.check import check


def outcomes(text: str) -> list[str]:
    return [relation.outcome for relation in check(text).results.relations if relation.role in ("claim", "numbers put in")]


@pytest.mark.parametrize(
    "text",
    [
        r"$w \cdot 0 + 1 \cdot 2 + 0$. Then $h = w \cdot 0 + 1 \cdot 2 = 2$.",
        r"$$\beta = b$$ $$A = \operatorname{softmax}(\beta [0, 0]) = \operatorname{softmax}(b [0, 0]) = [0.5, 0.5]$$",
        r"$$y = \begin{bmatrix} 2 & 0 \\ 0 & 1 \end{bmatrix} [a, b] = [2a, b]$$",
        r"$$G = [a, b] [1, 2]^\top = \begin{bmatrix} a & 2a \\ b & 2b \end{bmatrix}$$",
    ],
)
def test_right_for_all_letters(text):
    found = check(text)
    assert outcomes(text)[-1] == "right" and found.findings("note") == []


def test_a_wrong_entry_in_letters_is_a_note():
    [found] = check(r"$$y = \begin{bmatrix} 2 & 0 \\ 0 & 1 \end{bmatrix} [a, b] = [3a, b]$$").findings("note")
    assert (found.level, found.why) == ("note", "The two sides differ for almost all values of the letters.")


def test_values_put_in_for_names_that_have_none():
    text = r"$$X = \begin{bmatrix} a & 0 \\ 0 & 1 \end{bmatrix}$$ $$Y = X W = X \begin{bmatrix} 1 \\ 2 \end{bmatrix}$$"
    assert [relation.evidence for relation in check(text).results.relations][-1] == (
        "something put in for names without a value"
    )


def test_a_gradient_that_is_given_later():
    text = r"""
$$W = \begin{bmatrix} 1 & 0 \\ 0 & 2 \end{bmatrix}$$

$$\frac{\partial L}{\partial x} = W^\top \frac{\partial L}{\partial y} = [1, 6]$$

$$\frac{\partial L}{\partial y} = [1, 3]$$
"""
    assert outcomes(text) == ["right"]
    assert outcomes(text.replace("6", "7")) == ["undecided"]
