"""Sums to one, entropies and divergences of listed distributions, the evidence lower bound."""

import pytest

from tests.check.said import report, said

PQ = "Let $p = (0.5, 0.5)$ and $q = (0.9, 0.1)$ be distributions. Then "
# KL(p‖q) = ½ ln(0.5/0.9) + ½ ln(0.5/0.1) = −0.2939 + 0.8047 = 0.5108; in bits 0.7370.
# KL(q‖p) = 0.9 ln 1.8 + 0.1 ln 0.2 = 0.5290 − 0.1609 = 0.3681.
# H(p) = ln 2 = 0.6931; H(p, q) = 0.6931 + 0.5108 = 1.2040.

RIGHT = [
    "The distribution is $p = (0.2, 0.3, 0.5)$.",
    "The distribution is $p = (0.33, 0.33, 0.33)$.",
    "The distribution is $p = (0.2, 0.3, \\dots, 0.1)$.",
    "The distribution is $p = (0.3, 0.3, 0.3)$.",  # thirds
    r"$\hat y = \mathrm{softmax}(z) = (0.2, 0.2, 0.5)$",  # 1/4, 1/4, 1/2
    "With the query $q = (0.5, 0.2)$ the softmax of the scores follows.",
    "With $x = (0.5, 0.5)$ the layer gives $H(x) = 0.4$.",
    r"$\hat y = \sigma(z) = (0.3, 0.9, 0.2)$, with a softmax later.",
    r"The softmax picks $p \\in \\{0.2, 0.9\\}$, so the distribution is in $\\{0.2, 0.9\\} = S$.",
    "The target is $y = (0, 1, 1)$.",
    "Sigmoid gives the distribution of labels $\\hat y = (0.7, 0.8, 0.4)$.",
    "The point is $p = (0.2, 0.9)$.",  # of a plane
    "The words have the probabilities $p = (0.2, 0.5, 0.1, 0.25)$.",  # of four words of a text
    r"$\hat y = \mathrm{softmax}(z) = (0.09, 0.24, 0.67)$",
    r"$A = \mathrm{softmax}(S) = \begin{bmatrix}0.5 & 0.5\\0.3 & 0.7\end{bmatrix}$",
    r"$A = \mathrm{softmax}(S) = \begin{bmatrix}0.5 & 0.3\\0.5 & 0.7\end{bmatrix}$",  # by column
    r"$\mathrm{softmax}(S) V = \begin{bmatrix}0.5 & 0.7\\0.3 & 0.9\end{bmatrix}$",
    r"The attention weights are $A = \begin{bmatrix}0.5 & 0.5 & 0\\0.33 & 0.33 & 0.33\\0 & 0 & 1\end{bmatrix}$",
    PQ + r"$D_{KL}(p \| q) = 0.511$.",
    PQ + r"$\mathrm{KL}(p \| q) = 0.737$.",  # bits
    PQ + r"$\mathrm{KL}(q \| p) = 0.37$.",
    PQ + r"$H(p) = 0.693$ and $H(p, q) = 1.204$.",
    PQ + r"$H(p) = 1$.",
    PQ + r"$-\mathrm{KL}(p \| q) = -0.511$.",
    r"$\mathrm{KL}(p \| q) = 0$",
    r"$\mathrm{ELBO} = \log p(x) - \mathrm{KL}(q(z|x) \| p(z|x))$",
    r"$\log p(x) = \mathrm{ELBO} + \mathrm{KL}(q(z|x) \| p(z|x))$",
    r"$\mathrm{ELBO} = \mathbb{E}_q[\log p(x|z)] - \mathrm{KL}(q(z|x) \| p(z))$",
    r"The loss is the negative bound $\mathcal{L} = -\mathbb{E}_q[\log p(x|z)] + \mathrm{KL}(q(z|x) \| p(z))$.",
    r"$\mathrm{ELBO} = \mathbb{E}_q[f(x|z)] + \mathrm{KL}(q(z|x) \| p(z))$",
    r"$\mathrm{ELBO} = R + \mathrm{KL}(q(z|x) \| p(z))$",
    r"$\mathcal{L} = \mathbb{E}_q[\log p(x|z)] + \mathrm{KL}(q(z|x) \| p(z))$",
    r"$\log p(x) = -3.2$ and $\mathrm{ELBO} = -3.5$.",
    r"$D_{KL}(q \| p) = -\frac{1}{2}\sum_{j}(1 + \log\sigma_j^2 - \mu_j^2 - \sigma_j^2)$",
    r"$D_{KL}(q \| p) = \frac{1}{2}\sum_{j}(\mu_j^2 + \sigma_j^2 - 1 - \log\sigma_j^2)$",
    r"$-D_{KL}(q \| p) = \frac{1}{2}\sum_{j}(1 + \log\sigma_j^2 - \mu_j^2 - \sigma_j^2)$",
    r"$D_{KL}(q \| p) = \frac{1}{2}(\mu^2 + \sigma^2 - \ln\sigma^2 - 1)$",
]

WRONG = {
    "The distribution is $p = (0.2, 0.3, 0.6)$.": "rows: a sum of 1",
    r"$\hat y = \mathrm{softmax}(z) = (0.09, 0.24, 0.76)$": "rows: a sum of 1",
    r"$A = \mathrm{softmax}(S) = \begin{bmatrix}0.5 & 0.5\\0.3 & 0.9\end{bmatrix}$": "rows: a sum of 1",
    r"The attention weights are $A = \begin{bmatrix}0.5 & 0.5 & 0\\0.2 & 0.2 & 0.4\\0 & 0 & 1\end{bmatrix}$": (
        "rows: a sum of 1"
    ),
    PQ + r"$D_{KL}(p \| q) = 0.611$.": "divergence: 0.5108",
    PQ + r"$D_{KL}(p \| q) = 0.368$.": "divergence: 0.5108",
    PQ + r"$D_{KL}(p \| q) = -0.511$.": "divergence: a number ≥ 0",
    PQ + r"in bits $H(p) = 1.639$.": "entropy: 1.000",
    PQ + r"$H(p) = 0.639$.": "entropy: 0.6931",
    PQ + r"$H(p, q) = 1.402$.": "entropy: 1.2040",
    r"$\mathrm{KL}(q \| p) = -0.3$": "divergence: a number ≥ 0",
    r"$\mathrm{ELBO} = \log p(x) + \mathrm{KL}(q(z|x) \| p(z|x))$": "bound: log p(x) − KL",
    r"$\mathrm{ELBO} = \mathbb{E}_q[\log p(x|z)] + \mathrm{KL}(q(z|x) \| p(z))$": "bound: E[log p(x|z)] − KL",
    r"The lower bound is $\mathcal{L} = \log p(x) + D_{KL}(q \| p)$.": "bound: log p(x) − KL",
    r"$\log p(x) = \mathrm{ELBO} - \mathrm{KL}(q(z|x) \| p(z|x))$": "bound: ELBO + KL",
    r"$\log p(x) = -3.2$ and $\mathrm{ELBO} = -2.5$.": "bound: at most −3.2",
    r"$\mathrm{ELBO} = -2.5$ and $\log p(x) = -3.2$.": "bound: at least −2.5",
    r"$D_{KL}(q \| p) = \frac{1}{2}\sum_{j}(1 + \log\sigma_j^2 - \mu_j^2 - \sigma_j^2)$": (
        "divergence: ½ Σ (μ² + σ² − 1 − log σ²)"
    ),
    r"$D_{KL}(q \| p) = -\frac{1}{2}\sum_{j}(1 + \log\sigma_j^2 + \mu_j^2 - \sigma_j^2)$": (
        "divergence: ½ Σ (μ² + σ² − 1 − log σ²)"
    ),
}


@pytest.mark.parametrize("text", RIGHT)
def test_right(text):
    assert said(text) == []


@pytest.mark.parametrize("text, finding", WRONG.items())
def test_wrong(text, finding):
    assert said(text) == [f"1 {finding}"]


def test_the_order_of_a_divergence_is_told():
    found = report(PQ + r"$D_{KL}(p \| q) = 0.368$.").findings[-1]
    assert found.why.endswith("The printed number has the two distributions swapped.")


def test_a_lost_sign_in_front_is_told():
    [found] = report(r"$D_{KL}(q \| p) = \frac{1}{2}(1 + \log\sigma^2 - \mu^2 - \sigma^2)$").findings
    assert found.why.startswith("The sign in front is lost")
