"""Formulas in both notations: brackets where they are needed, and only there."""

import ast

import pytest

from workings.show.names import latex_name, text_name
from workings.show.notation import latex_formula, text_formula
from workings.trace.build import formula_of
from workings.trace.formula import OPERATIONS, Apply, Leaf


def read(source):
    return formula_of(ast.parse(source, mode="eval").body)


@pytest.mark.parametrize(
    ("source", "text", "latex"),
    [
        ("Q @ K.mT / sqrt(d)", "Q Kᵀ / √d", r"\frac{Q \, K^{\top}}{\sqrt{d}}"),
        ("a + b - c", "a + b − c", "a + b - c"),
        ("a - (b - c)", "a − (b − c)", "a - (b - c)"),
        ("a + -b", "a + (−b)", "a + (-b)"),
        ("-(a + b)", "−(a + b)", "-(a + b)"),
        ("(a + b) @ c", "(a + b) c", r"(a + b) \, c"),
        ("a @ (b @ c)", "a (b c)", r"a \, (b \, c)"),
        ("(a * b) @ c", "(a ⊙ b) c", r"(a \odot b) \, c"),
        ("2 * a", "2·a", r"2 \cdot a"),
        ("a / b / c", "(a / b) / c", r"\frac{\frac{a}{b}}{c}"),
        ("a / (b * c)", "a / (b ⊙ c)", r"\frac{a}{b \odot c}"),
        ("(a / b) * c", "(a / b) ⊙ c", r"\frac{a}{b} \odot c"),
        ("(a + b).T", "(a + b)ᵀ", r"(a + b)^{\top}"),
        ("(a.T) ** 2", "(aᵀ)²", r"(a^{\top})^{2}"),
        ("x ** 2", "x²", "x^{2}"),
        ("x ** -1", "x⁻¹", "x^{-1}"),
        ("x ** (n + 1)", "x^(n + 1)", "x^{n + 1}"),
        ("(-x) ** 2", "(−x)²", "(-x)^{2}"),
        ("sqrt(x + 1)", "√(x + 1)", r"\sqrt{x + 1}"),
        ("torch.exp(-x)", "e^(−x)", "e^{-x}"),
        ("torch.rsqrt(x)", "1 / √x", r"\frac{1}{\sqrt{x}}"),
        ("x.abs()", "|x|", r"\left|x\right|"),
        ("x.sum()", "Σ x", r"\sum x"),
        ("(x + y).sum()", "Σ (x + y)", r"\sum (x + y)"),
        ("x.sum(1)", "Σ(x, axis 1)", r"\sum_{\text{axis }1} x"),
        ("x.sum() / n", "(Σ x) / n", r"\frac{\sum x}{n}"),
        ("S.softmax(dim=-1)", "softmax(S)", r"\operatorname{softmax}(S)"),
        ("S.softmax(dim=0)", "softmax(S, axis 0)", r"\operatorname{softmax}_{\text{axis }0}(S)"),
        ("F.log_softmax(S, -1)", "log(softmax(S))", r"\log(\operatorname{softmax}(S))"),
        ("x.mean(dim=-1, keepdim=True)", "mean(x, axis −1)", r"\operatorname{mean}_{\text{axis }-1}(x)"),
        ("F.linear(x, self.W, self.b)", "x Wᵀ + b", r"x \, W^{\top} + b"),
        ("F.mse_loss(y_hat, y)", "mean((ŷ − y)²)", r"\operatorname{mean}((\hat{y} - y)^{2})"),
        ("F.relu(x)", "max(0, x)", r"\max(0, x)"),
        ("F.silu(x)", "x ⊙ σ(x)", r"x \odot \sigma(x)"),
        ("torch.cat([a, b], dim=1)", "cat(a, b, axis 1)", r"\operatorname{cat}_{\text{axis }1}(a, b)"),
        ("self.attn(x, mask=None)", "attn(x)", r"\mathrm{attn}(x)"),
        ("x[0, -1]", "x[0, −1]", r"x[\texttt{0, $-$1}]"),
        ("x.view(2, 3)", "x.view(2, 3)", r"x\texttt{.view(2, 3)}"),
        ("a if b else c", "a if b else c", r"\texttt{a if b else c}"),
        ("x <= 1e-05", "x ≤ 0.00001", r"x \le 0.00001"),
        ("~mask", "¬mask", r"\lnot \mathrm{mask}"),
        ("F.embedding(ids, W)", "W[ids]", r"W[\mathrm{ids}]"),
        (
            "F.scaled_dot_product_attention(Q, K, V)",
            "softmax(Q Kᵀ / √d) V",
            r"\operatorname{softmax}\left(\frac{Q \, K^{\top}}{\sqrt{d}}\right) \, V",
        ),
        (
            "F.layer_norm(x, (4,), g, b)",
            "((x − μ) / √(σ² + ε)) ⊙ g + b",
            r"\frac{x - \mu}{\sqrt{\sigma^{2} + \epsilon}} \odot g + b",
        ),
        (
            "S.masked_fill(mask, -inf)",
            "−inf where mask, else S",
            r"\begin{cases} -\mathrm{inf} & \text{where } \mathrm{mask} \\ S & \text{elsewhere} \end{cases}",
        ),
    ],
)
def test_notation(source, text, latex):
    assert (text_formula(read(source)), latex_formula(read(source))) == (text, latex)


@pytest.mark.parametrize("op", OPERATIONS)
def test_every_operation_can_be_written(op):
    for count in range(5):
        formula = Apply(op, tuple(map(Leaf, "abcd"))[:count] or (Leaf("a"),))
        assert "a" in text_formula(formula)
        assert "a" in latex_formula(formula)
        assert "#" not in latex_formula(formula)


def test_values_are_put_in():
    values = {"w": "−2", "x": "[[1, 0], [0, 1]]", "d": "2"}
    assert text_formula(read("w * x + d"), values, frozenset("wd")) == "(−2)·[[1, 0], [0, 1]] + 2"
    assert text_formula(read("d - w"), values) == "2 − (−2)"
    assert text_formula(read("w ** d"), values) == "(−2)²"


def test_an_entry_is_put_in_as_a_whole():
    assert text_formula(read("w * x[t]"), {"w": "3", "x": "[2, 4]", "x[t]": "2"}) == "3 ⊙ 2"
    assert text_formula(read("w * x[t]"), {"x": "[2, 4]"}) == "w ⊙ x[t]"


def test_a_derivative_is_one_letter():
    assert text_formula(Apply("matmul", (Leaf("∂L/∂Z"), Apply("transpose", (Leaf("V"),))))) == "∂L/∂Z Vᵀ"
    assert text_formula(Apply("transpose", (Leaf("∂L/∂Z"),))) == "(∂L/∂Z)ᵀ"
    assert latex_formula(Leaf("∂L/∂Z")) == r"\frac{\partial L}{\partial Z}"


@pytest.mark.parametrize(
    ("name", "text", "latex"),
    [
        ("W_Q", "W_Q", "W_{Q}"),
        ("self.W", "W", "W"),
        ("self.attn.W", "attn.W", r"\mathrm{attn.W}"),
        ("alpha", "α", r"\alpha"),
        ("beta1", "β1", r"\beta_{1}"),
        ("lambda_", "λ", r"\lambda"),
        ("Sigma", "Σ", r"\Sigma"),
        ("y_hat", "ŷ", r"\hat{y}"),
        ("x_bar_1", "x̄_1", r"\bar{x}_{1}"),
        ("d_model", "d_model", r"d_{\mathrm{model}}"),
        ("attention_scores", "attention_scores", r"\text{attention\_scores}"),
        ("hat", "hat", r"\mathrm{hat}"),
        ("_x", "_x", r"\text{\_x}"),
        ("_", "_", r"\text{\_}"),
        ("a, b_1", "a, b_1", "a, b_{1}"),
        ("x.shape[-1]", "x.shape[-1]", r"\texttt{x.shape[-1]}"),
        ("変数", "変数", r"\text{(U+5909)(U+6570)}"),
    ],
)
def test_names(name, text, latex):
    assert (text_name(name), latex_name(name)) == (text, latex)
