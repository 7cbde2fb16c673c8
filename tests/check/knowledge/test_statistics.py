"""What the checker knows of listed families: means, variances, normalised members."""

import pytest

from tests.check.said import report, said

FAMILY = "The batch is $x_1 = 2$, $x_2 = 4$, $x_3 = 6$, $x_4 = 8$. "
TABLES = r"""The hidden states of the batch are
$$H_1 = \begin{bmatrix}1 & 2\\0 & 4\end{bmatrix},\quad H_2 = \begin{bmatrix}3 & 2\\2 & 0\end{bmatrix},\quad
H_3 = \begin{bmatrix}5 & 2\\4 & 2\end{bmatrix},\quad H_4 = \begin{bmatrix}7 & 6\\6 & 2\end{bmatrix}.$$
"""
# The mean is [[4, 3], [3, 2]]; the variance by n is [[5, 3], [5, 2]], by n − 1 it is [[20/3, 4], [20/3, 8/3]].

ROWS = r"""The batch is $X = \begin{bmatrix}1 & 5 & 3\\0 & 1 & 2\\5 & 6 & 1\\6 & 4 & 2\end{bmatrix}$. """

RIGHT = [
    FAMILY + r"The mean is $\mu = 5$.",
    FAMILY + r"The variance is $\sigma^2 = 5$.",
    FAMILY + r"The variance is $\sigma^2 = 6.67$.",  # n − 1
    FAMILY + r"The standard deviation is $\sigma = 2.24$.",
    FAMILY + r"We write $\sigma = 5$ for the variance.",  # careless, not wrong
    FAMILY + r"We have $\mu = 17$.",  # of something else
    FAMILY + r"The weighted mean is $\mu = 5.5$.",
    FAMILY + r"Suppose that $\mu = 5.5$.",
    FAMILY + r"The momentum is $\mu = 5.5$.",
    FAMILY + r"The mean of the first class is $\mu = 5.5$.",
    ROWS + r"The mean of the batch is $\mu = (3, 4, 2)$.",
    ROWS + r"The mean of each row is $\mu = (3, 1, 4, 4)$.",  # layer normalisation
    FAMILY + r"For the other class $\mu_2 = 5.5$.",
    FAMILY + r"The mean is $\mu = \frac{2 + 4 + 6 + 9}{4} = 5.25$.",  # the numbers say what is averaged
    "# One\n" + FAMILY + "\n# Two\n" + r"$\mu = 5.5$",
    "$x_1 = 2$, $x_2 = 4$. The mean is $\\mu = 3.2$.",  # two members are no family
    "$x_7 = 2$, $x_8 = 4$, $x_9 = 6$. The mean is $\\mu = 4.2$.",  # the first six are not known
    "$x_1 = 2$, $x_3 = 4$, $x_7 = 6$. The mean is $\\mu = 4.2$.",
    r"Let $x = (2, 4, 6, 8)$. The mean is $\mu = 5$ and the standard deviation $\sigma = 2.236$.",
    TABLES + r"The mean is $$\mu = \begin{bmatrix}4 & 3\\3 & 2\end{bmatrix}.$$",
    TABLES + r"The mean is $$\mu = \begin{bmatrix}9 & 9\\3 & 7\end{bmatrix}.$$",
    TABLES + r"$$\sigma^2 = \begin{bmatrix}5 & 3\\5 & 2\end{bmatrix}$$",
    TABLES + r"$$\sigma^2 = \begin{bmatrix}6.67 & 4\\6.67 & 2.67\end{bmatrix}$$",
    FAMILY + r"With $\mu = 5$ and $\sigma^2 = 5$ the normalised values are $\hat x_1 = -1.342$ and $\hat x_4 = 1.34$.",
    FAMILY + r"With $\mu = 5$ and $\sigma = 2.236$ the estimate is $\hat x_1 = -1.2$.",  # nothing is normalised
    FAMILY + r"The expected value, with these probabilities, is the mean $\mu = 5.5$.",  # each value has a weight of its own
]

WRONG = {
    FAMILY + r"The batch has the variance $\sigma_B^2 = 5.5$.": "statistic: 5",
    ROWS + r"The mean of the batch is $\mu = (3, 5, 2)$.": "statistic: 4 in entry 2",
    ROWS + r"The variance of the batch is $\sigma^2 = (6.5, 3.5, 0.7)$.": "statistic: 0.5 in entry 3",
    FAMILY + r"The mean is $\mu = 5.5$.": "statistic: 5",
    FAMILY + r"The average is $\bar{x} = 4.5$.": "statistic: 5",
    FAMILY + r"The variance is $\sigma^2 = 5.5$.": "statistic: 5",
    FAMILY + r"The standard deviation is $\sigma = 2.42$.": "statistic: 2.236",
    FAMILY + r"Here $\mu = \frac{1}{n}\sum_i x_i = 5.5$.": "statistic: 5",
    r"Let $x = (2, 4, 6, 8)$. The mean is $\mu = 5.5$.": "statistic: 5",
    TABLES + r"The mean is $$\mu = \begin{bmatrix}4 & 3\\3 & 3\end{bmatrix}.$$": "statistic: 2 in row 2, column 2",
    TABLES + r"$$\sigma^2 = \begin{bmatrix}5 & 3\\5 & 4\end{bmatrix}$$": "statistic: 2 in row 2, column 2",
    FAMILY + r"With $\mu = 5$ and $\sigma^2 = 5$ the normalised value is $\hat x_1 = -1.432$.": "statistic: −1.3416",
    FAMILY + r"With $\mu = 5$ and $\sigma = 2.236$ we normalise: $\hat x_1 = 1.342$.": "statistic: −1.3417",
}


@pytest.mark.parametrize("text", RIGHT)
def test_right(text):
    assert [line for line in said(text) if "statistic" in line] == []


@pytest.mark.parametrize("text, finding", WRONG.items())
def test_wrong(text, finding):
    assert [line.partition(" ")[2] for line in said(text)] == [finding]


def test_the_divisor_is_named():
    [found] = report(FAMILY + r"The variance is $\sigma^2 = 5.5$.").findings
    assert found.reading == "a variance divides by n"
    assert found.why == "You wrote 5.5; the variance of the 4 values (line 1) is 5."
