"""Every false alarm that was ever met: correct lines which must stay without an error, a likely error or a wrong claim."""

import pytest

from tests.check.said import report

ALARMS = [
    r"$(1 + \frac{1}{8})^{1/3} = 1 + \frac{1}{3} \cdot \frac{1}{8} - \frac{1}{9} \cdot \frac{1}{64}$",  # an expansion
    r"$|\sqrt[3]9 - \frac{599}{288}| \approx 0.0002227119407929301$",  # the digits of a float
    r"$f(-x) = -f(x)$",  # a property
    r"$1{,}177 \cdot 2 = 2.354$",  # a decimal comma
    r"$10^3 \cdot 2 = 2.000$",  # a point between thousands
    r"$1234 \cdot 5678 = 7{,}000{,}000$",  # rounded to its first digit
    r"$\frac{4 - 9.5}{2.3} = -2.5$",  # 2.3 may be rounded
    r"$1 \text{ parsec} = 206265 \times 1.5 \times 10^8 \text{ km}$",  # what a parsec is worth is not known
    r"$$\begin{aligned} p &= 4.8 \times 10^{-9} \text{ radians} \\ &= 10^{-3} \text{ arcsec} \end{aligned}$$",
    r"$0.8\cdot 1 - 0.4\cdot 2 = 0$",  # a ball around zero is zero
    r"$0.3 + 0.3 - 0.6 = 0$",
    r"$\sqrt2-\sqrt2=0$",
    r"$12.34 \approx 12$",
    r"$4096.4 \approx 4096$",
    r"$\pi = (5/6, 1/6)$ is stationary.",
    r"The policy is $\pi = 0.3$.",
    r"$(2,3) \times (3,4) = (2,4)$",
    r"$(2\times 3)(3\times 4) = 2\times 4$",
    r"$\begin{bmatrix}1&2&3\\4&5&6\\7&8&9\end{bmatrix} * \begin{bmatrix}1&0\\0&-1\end{bmatrix}"
    r" = \begin{bmatrix}-4&-4\\-4&-4\end{bmatrix}$",
    r"Let $e$ be the residual. Then $2e = 3$.",
    r"$\langle(1,2),(3,4)\rangle = 11$",
    r"$x=(3,4)$, so $x^2=25$.",
    r"For $f(x_1,x_2)=x_1^2+3x_1x_2$ we get $\frac{\partial f}{\partial x_1} = 2x_1+3x_2$.",
    r"$\frac{\partial L}{\partial \hat y} = \frac23 e$",
    r"$\nabla_x(x^TAx)=(A+A^T)x$",
    r"$B = \begin{bmatrix}1&2\\2&4\\0&1\end{bmatrix}$ has $\|B\|_2 \approx 5.080$.",
    r"The maximum is at $z = 0$. Further $\frac{d}{dz}\tanh z = 1-\tanh^2 z$.",
    r"$w = 0.5$, $h_0 = 0$, $h_t = \tanh(w h_{t-1} + x_t)$, $h_1 = 0.7616$, $h_2 = -0.5506$. In the linear case"
    r" $h_t = w h_{t-1} + x_t$, so $h_2 = w h_1 + x_2$ and $h_2 = w x_1 + x_2$.",
    r"$v_t = \mu v_{t-1} + g_t$, $v_0 = 0$, $v_2 = 0.9 \cdot 1 + 0.5 = 1.4$. Unrolled: $v_2 = g_2 + \mu g_1$.",
    r"$X = \begin{bmatrix}1&2\\3&4\end{bmatrix}$, $g = (2, 1)$: $g \odot X = \begin{bmatrix}2&2\\6&4\end{bmatrix}$.",
    r"$w = (0.2, -0.4, 0.1)$, $x = (1, 2, 3)$: $w^\top x + 0.5 = 0.2$.",
    r"$\underbrace{H(p,q)}_{1.1090} - \underbrace{H(p)}_{1.0549} = 0.0541$",
    r"$\sigma = 0.1$. For the other variable $\sigma^2 = 4.67$.",
    r"$h_t = \tanh(h_{t-1} + x_t)$ with $h_0 = 0$.",
    r"$-0.35\ln 0.35 - 0.65\ln 0.65 = 0.367 + 0.280 = 0.647$",  # the coarse decimals are exact, the fine ones rounded
    r"$\frac{0.12}{\sqrt{0.05}} = \frac{0.12}{0.224} = 0.536$",
    r"$128\cdot 18816 = 2408448 \approx 2.4$ MB",
    r"$38{,}597{,}376 \approx 38.6$M",
    r"$7.44\times10^{18} / 1.092\times10^{14} \approx 68132$",
    r"$3:1 = 3$",
    r"$5\% \text{ of } 200 = 10$",
    r"$7\cdot 8 \overset{?}{=} 54$",
    r"$[1,2,3] * [0,1,0.5] = [0,1,2.5,4,1.5]$",
    r"False: $2+2=5$.",
    r"$w = 0$. Then $w \leftarrow 3$. Now $w+1=4$.",
    r"$\theta=2$. $\theta\gets\theta-0.1\cdot4=1.6$; $\theta\gets\theta-0.1\cdot3.2=1.28$",
    r"Let $A=\begin{bmatrix}1&2\\2&4\end{bmatrix}$, $r=(2,-1)^T$. Then $Ar=0$.",
    r"$\mathbf h=(2,-1)$. $\operatorname{Var}[h_1]=1$",
    r"$K = \log 2a^2 = \log 2 + 2\log a$",
    r"$H=1.75$. Then $\ln 2 - H = 0.6931-0.6109 = 0.0822$.",
    r"$F_n=F_{n-1}+F_{n-2}$, $F_1=F_2=1$, $F_3 = F_2 + F_1 = 2$.",
    r"A student claims that $\log(a+b) = \log a + \log b$.",
    "- [ ] (B) $\\sigma(-x) = -\\sigma(x)$",
    r"Set $f(x) = x^2 - x$ and $f'(x) = 0$.",
    r"$f(x,y)=x^2 y$, $\nabla f=(2xy, x^2)$",
    r"Some of you wrote $2+3=6$; that has the wrong sign.",
    r"Many students got $2+3=6$ here, which is incorrect.",
    r"You wrote $2+3 = 6$, but it should be $5$.",
    r"No points for $2+3=6$.",
    r"It is tempting to say $2+3=6$, but no.",
    r"~~$2+3=6$~~ $2+3=5$",
    r"$\hat y = 0.21$, $t=1$, $L = \frac12 (\hat y - t)^2 = 0.312$, $\delta = \frac{\partial L}{\partial \hat y} = \hat y"
    r" - t = -0.79$, $\frac{\partial L}{\partial b} = \delta = -0.79$",
]


@pytest.mark.parametrize("text", ALARMS)
def test_no_alarm(text):
    found = report(text)
    assert [(f.level, f.says, f.why) for f in found.findings if f.level in ("error", "likely")] == []
    assert found.counts.wrong == 0
