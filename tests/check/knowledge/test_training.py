"""Gradients of cross-entropy, steps of descent, perplexity."""

import pytest

from tests.check.said import report, said

LOSS = r"Cross-entropy is $L = -\sum_k y_k \log \hat y_k$ with $\hat y = \mathrm{softmax}(z)$. "

RIGHT = [
    LOSS + r"Then $\frac{\partial L}{\partial z} = \hat y - y$.",
    LOSS + r"Then $\frac{\partial L}{\partial w} = y - \hat y$.",  # by something else
    LOSS + r"It is wrong to write $\frac{\partial L}{\partial z} = y - \hat y$.",
    r"The log-likelihood is $L = \sum_k y_k \log \hat y_k$ with $\hat y = \mathrm{softmax}(z)$ (minus cross-entropy). "
    r"Then $\frac{\partial L}{\partial z} = y - \hat y$.",
    r"Cross-entropy, with its sign turned, is $L = \sum_k y_k \log \hat y_k$, $\hat y = \mathrm{softmax}(z)$. "
    r"Then $\frac{\partial L}{\partial z} = y - \hat y$.",
    r"For the squared error $\frac{\partial L}{\partial z} = y - \hat y$.",  # no softmax here
    r"Gradient descent: $w_{t+1} = w_t - \eta \nabla L(w_t)$",
    r"Gradient ascent: $\theta \leftarrow \theta + \eta \nabla_\theta J$",
    r"To minimise the loss with gradient descent, $w \leftarrow w + \Delta$.",
    r"The policy moves by $\theta \leftarrow \theta + \eta \nabla_\theta J$.",
    "The cross-entropy is 1.5 nats, so the perplexity is 4.48.",
    "The cross-entropy is 1.5, so the perplexity is 2.83.",  # bits
    "The cross-entropy is 1.5 bits, so the perplexity is 2.83.",
    "The cross-entropy is $H = 2.161$ bits and the perplexity is $4.47$.",
    r"The cross-entropy is $H = -\frac{1}{4}(-6) = 1.5$. So $\mathrm{PP} = 4.48$.",
    r"The cross-entropy is $H = -\frac{1}{4}(-6) = 1.5$. In bits $\mathrm{PP} = 2.83$.",
    r"The height is $H = 1.5$. So $\mathrm{PP} = 7$.",
    "The cross-entropy is 1.5. Another model has perplexity 20 and perplexity 30.",
    "The perplexity falls from 20 to 15 while the cross-entropy is 1.5.",
]

WRONG = {
    r"The cross-entropy is $H = -\frac{1}{4}(-6) = 1.5$. So $\mathrm{PP} = 4.84$.": "perplexity: e^H = 4.482",
    LOSS + r"Then $\frac{\partial L}{\partial z} = y - \hat y$.": r"gradient: \hat y − y",
    LOSS + r"Then $\nabla_z L = y - \hat y$.": r"gradient: \hat y − y",
    LOSS + r"Then $\frac{\partial L}{\partial z_k} = y_k - \hat y_k$.": r"gradient: \hat y_k − y_k",
    r"With the cross-entropy $L$ we get $\frac{\partial L}{\partial z} = y - \sigma(z)$.": r"gradient: \sigma(z) − y",
    r"Gradient descent: $w_{t+1} = w_t + \eta \nabla L(w_t)$": "step: a minus before the step",
    r"SGD updates $\theta \leftarrow \theta + \eta \nabla_\theta L$.": "step: a minus before the step",
    "The cross-entropy is 1.5 nats, so the perplexity is 4.84.": "perplexity: e^1.5 = 4.482",
    "The cross-entropy is 1.5 bits, so the perplexity is 4.48.": "perplexity: 2^1.5 = 2.828",
    "The cross-entropy is $H = 1.50$, and the perplexity is $5.48$.": "perplexity: e^1.50 = 4.482",
}


@pytest.mark.parametrize("text", RIGHT)
def test_right(text):
    assert said(text) == []


@pytest.mark.parametrize("text, finding", WRONG.items())
def test_wrong(text, finding):
    assert said(text) == [f"1 {finding}"]


def test_the_other_unit_is_named():
    [found] = report("The cross-entropy is 1.5 bits, so the perplexity is 4.48.").findings
    assert found.why.endswith("4.48 would be right with the cross-entropy in nats.")
    assert report(f"perplexity{' ' * 100_000}cross-entropy").findings == []
