"""Derivations and derivatives in letters."""

import pytest

from tests.check.said import report, said

RIGHT = [
    r"$$(a+b)^2 = a^2 + 2ab + b^2 = a(a + 2b) + b^2$$",
    r"$\frac{d}{dx}(x^3 + 2x) = 3x^2 + 2$",
    r"The loss is $L = \frac12 (w x - y)^2$. Then $\frac{\partial L}{\partial w} = (w x - y) x$",
    r"$\hat y = wx$ and $L = (\hat y - y)^2$, so $\frac{\partial L}{\partial w} = 2(\hat y - y)x$",
    r"$\hat y = wx$ and $L = (\hat y - y)^2$, so $\frac{\partial L}{\partial \hat y} = 2(\hat y - y)$",
    r"$L = \sum_{i=1}^n (w x_i - y_i)^2$ has $\frac{\partial L}{\partial w} = 2\sum_{i=1}^n (w x_i - y_i) x_i$",
    r"$f(x) = x^2$, $\frac{df}{dx} = 2x$",
    r"$\frac{d}{dz}\frac{1}{1+e^{-z}} = \frac{e^{-z}}{(1+e^{-z})^2}$",
    r"$$\sum_{k=0}^{n-1} h(akh+b) = \sum_{k=0}^{n-1} akh^2+bh = \frac{n(n-1)}{2}ah^2 + nbh$$",
    r"$$2\cos x(-\sin x + 1) = 2\cos x - 2\sin x\cos x = 2\cos x - \sin 2x$$",
]

WRONG = {
    r"$$(a+b)^2 = a^2 + 2ab + b^2 = a(a + b) + b^2$$": "identity",
    r"$\frac{d}{dx}(x^3 + 2x) = 3x^2 + 3$": "derivative",
    r"The loss is $L = \frac12 (w x - y)^2$. Then $\frac{\partial L}{\partial w} = (w x + y) x$": "derivative",
    r"$L = \sum_{i=1}^n (w x_i - y_i)^2$ has $\frac{\partial L}{\partial w} = \sum_{i=1}^n (w x_i - y_i) x_i$": (
        "derivative"
    ),
}


@pytest.mark.parametrize("text", RIGHT)
def test_right(text):
    found = report(text)
    assert [finding for finding in found.findings if finding.level != "possible"] == []
    assert found.counts.decided == found.counts.right > 0


@pytest.mark.parametrize("text, finding", WRONG.items())
def test_wrong(text, finding):
    assert [entry.partition(":")[0] for entry in said(text)] == [f"1 {finding}"]


@pytest.mark.parametrize(
    "text",
    [
        "$2x + 1 = 3x = 7$",
        r"$a + b = 1$. So $a = 1 - b$ and $$ab = a(1 - a) = a - a^2$$",
        r"$$f(x + y) = f(x) + f(y) = 2f(x)$$",
        r"$$x = y = z$$",
        r"Let $$x^2 = 4 = 2 + x$$",
        r"The expected value: $$c = E_y (a^2 y + a u + v) = y E_y a^2 + E_y a E_y u + E_y v$$",
        r"$$z = e^{ix} = \cos x + i\sin x$$",
        r"$$z = \frac{1}{R + jX} = \frac{R}{R^2 + X^2} - j\frac{X}{R^2 + X^2}$$",
        r"With the projection $P$: $$c = (Px)^T (Py) = x^T P y$$",
    ],
)
def test_no_identity(text):
    assert said(text, "likely") == []


RNN = r"Let $h_0 = 0$ and $h_t = w h_{t-1} + x_t$. "


@pytest.mark.parametrize(
    "text",
    [
        RNN + r"Then $h_1 = x_1$ and $h_2 = w x_1 + x_2$.",
        RNN + r"Then $h_3 = w^2 x_1 + w x_2 + x_3$.",
        RNN + r"Then $h_2 = w h_1 + x_2$.",
        r"$s^{(t)} = a s^{(t-1)} + b$. Then $s^{(2)} = a^2 s^{(0)} + ab + b$",
    ],
)
def test_unrolled_rightly(text):
    assert said(text) == []
    assert report(text).counts.right > 0


@pytest.mark.parametrize(
    "text",
    [
        RNN + r"Then $h_3 = w^3 x_1 + w x_2 + x_3$.",
        RNN + r"Then $h_2 = w h_1 + x_1$.",
        r"$s^{(t)} = a s^{(t-1)} + b$. Then $s^{(2)} = a^2 s^{(0)} + b$",
    ],
)
def test_unrolled_wrongly(text):
    assert [entry.partition(":")[0] for entry in said(text)] == ["1 recurrence"]


def test_the_first_step_of_a_derivation():
    assert [entry.partition(":")[0] for entry in said("$$(a+b)^2 = a^2+ab+b^2 = a(a+b)+b^2$$")] == ["1 identity"]


def test_gradients():
    assert said(r"Let $g(x,y)=x^2y$. Then $\nabla g(x,y)=(2xy, x^2)$.") == []
    [found] = [entry for entry in report(r"Let $g(x,y)=x^2y$. Then $\nabla g(x,y)=(2xy, x)$.").findings]
    assert found.kind == "derivative"
    assert found.why == "By y: The derivative is x²."
    assert said(r"$f(x,y)=x^2 y$, $\nabla f=\begin{pmatrix}2xy\\x^2\end{pmatrix}$") == []
