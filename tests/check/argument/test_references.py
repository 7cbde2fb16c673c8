"""What a text refers to, found by its own label; its values are seen from where it is named."""

import pytest

from workings.check import check

REFERRING = {
    "a question": "## Question 1\nLet $a = 3$.\n\n## Question 2\nWith $a$ as in question 1, we get $2a = 7$.",
    "a part": "## Exercise 1\n(a) Let $a = 3$.\n\n(b) Let $b = 1$.\n\n(c) With $a$ from part (a), we get $2a = 7$.\n",
    "a result": "## Exercise 2\nLet $a = 3$.\n\n## Exercise 3\nUsing the result of Exercise 2, we get $2a = 7$.",
    "in German": "# Aufgabe 1\nSei $a = 3$.\n\n# Aufgabe 2\nMit $a$ aus Aufgabe 1 ergibt sich $2a = 7$.",
    "in Chinese": "## 第1题\n设 $a = 3$.\n\n## 第2题\n由第1题, 得 $2a = 7$.",
    "a label": "\\section{One}\nLet $a = 3$. \\label{one}\n\\section{Two}\nWith $a$ of \\ref{one} we get $2a = 7$.",
    "an equation": (
        "\\section{One}\n\\begin{equation}a = 3\\label{eq:a}\\end{equation}\n\\section{Two}\nBy \\eqref{eq:a}, so $2a = 7$."
    ),
    "an environment by its number": (
        "\\begin{document}\\begin{exercise}Let $a = 3$.\\end{exercise}\n\\begin{exercise}Let $a = 4$.\\end{exercise}\n"
        "\\begin{exercise}With $a$ as in exercise 1 we get $2a = 7$.\\end{exercise}\\end{document}"
    ),
    "an item by its letter": (
        "\\begin{document}\\begin{enumerate}\n\\item Let $a = 3$.\n\\item Let $b = 4$.\n"
        "\\item With $a$ from part (a) we get $2a = 7$.\n\\end{enumerate}\\end{document}"
    ),
}


@pytest.mark.parametrize("name", REFERRING)
def test_the_values_of_what_is_named_are_seen(name):
    [found] = check(REFERRING[name]).findings("note")
    assert (found.truth, found.basis) == ("6", "letters referred to")


@pytest.mark.parametrize(
    "text",
    [
        "## Question 1\nLet $a = 3$.\n\n## Question 2\nWe get $2a = 7$.",
        "## Question 1\nLet $a = 3$.\n\n## Question 2\nLet $a = 3.5$ and $b$ as in question 1. We get $2a = 7$.",
        "## Question 1\nLet $a = 3$.\n\n## Question 2\nLet $b = 4$.\n\n## Question 3\nAs in question 2, we get $2a = 7$.",
        "## Question 1\nLet $a = 3$.\n\n## Question 2\nThere are 5 in question 1.\n\n## Question 3\nWe get $2a = 7$.",
    ],
)
def test_other_values_are_not(text):
    assert check(text).findings("note") == []
