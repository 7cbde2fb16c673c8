"""Formulas in both notations: brackets where they are needed, and only there."""

import ast

import pytest

from tests.formulas import at
from workings.show.formula.notation import latex_formula, mathml_formula, text_formula
from workings.show.write.names import latex_name, text_name
from workings.trace.formula.from_python import formula_of
from workings.trace.formula.operation import names_of
from workings.trace.formula.tree import Apply, Call, Leaf, Number
from workings.trace.operations import OPERATIONS, backward, windows


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
        ("self.attn(x, mask=None)", "attn(x, mask=None)", r"\texttt{attn}_{\text{mask}=\texttt{None}}(x)"),
        ("x[0, -1]", "x[0, −1]", "x[0, -1]"),
        ("x[t]", "x[t]", "x[t]"),
        ("x[:, -1]", "x[:, −1]", r"x[\texttt{:, $-$1}]"),
        ("x.sum((0, 1))", "Σ(x, axes 0, 1)", r"\sum_{\text{axes }0, 1} x"),
        ("x.sum(dim=(-1,))", "Σ(x, axis −1)", r"\sum_{\text{axis }-1} x"),
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
            "−∞ where mask, else S",
            r"\begin{cases} -\infty & \text{where } \mathrm{mask} \\ S & \text{elsewhere} \end{cases}",
        ),
        ("float('-inf') + x", "−∞ + x", r"-\infty + x"),
        ("math.inf", "∞", r"\infty"),
        ("math.floor(x / 2)", "⌊x / 2⌋", r"\left\lfloor \frac{x}{2} \right\rfloor"),
        ("2 * x.floor()", "2·⌊x⌋", r"2 \cdot \left\lfloor x \right\rfloor"),
        ("torch.ceil(x)", "⌈x⌉", r"\left\lceil x \right\rceil"),
        ("F.logsigmoid(x)", "log(σ(x))", r"\log(\sigma(x))"),
        ("torch.xlogy(q, p)", "q ⊙ log(p)", r"q \odot \log(p)"),
        ("S.diagonal()", "diag(S)", r"\operatorname{diag}(S)"),
        ("S.diagonal(1)", "S.diagonal(1)", r"\texttt{S.diagonal}(1)"),
        ("self.floor(x)", "floor(x)", r"\texttt{floor}(x)"),
        ("self.diagonal()", "diagonal()", r"\texttt{diagonal}()"),
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
    assert text_formula(read("d - h * d"), {"d": "2", "h": "1/2"}) == "2 − (1/2) ⊙ 2"
    assert text_formula(read("d - h"), {"d": "2", "h": "1/2"}) == "2 − 1/2"
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


@pytest.mark.parametrize(
    ("formula", "text", "latex", "mathml"),
    [
        (
            Apply("ones", (), (("shape", (2, 3)),)),
            "ones(2×3)",
            r"\mathbf{1}_{2 \times 3}",
            "<msub><mn>1</mn><mtext>2×3</mtext></msub>",
        ),
        (Apply("zeros", (), (("shape", ()),)), "0", "0", "<mn>0</mn>"),
        (Apply("zeros", (), (("shape", (2,)),)), "zeros(2)", r"\mathbf{0}_{2}", "<msub><mn>0</mn><mtext>2</mtext></msub>"),
        (
            Apply("expand", (Leaf("g"),), (("shape", (2, 3)),)),
            "repeat(g, 2×3)",
            r"\operatorname{repeat}_{2 \times 3}(g)",
            "<munder><mi>repeat</mi><mtext>2×3</mtext></munder>",
        ),
        (
            Apply("unbroadcast", (Leaf("g"),), (("shape", (3,)),)),
            "sum(g, to 3)",
            r"\operatorname{sum}_{\text{to }3}(g)",
            "<munder><mi>sum</mi><mtext>to 3</mtext></munder>",
        ),
        (
            Apply("unsqueeze", (Leaf("g"),), (("dim", (-1,)),)),
            "g[…, None]",
            r"g[\texttt{..., None}]",
            "<mtext>…, None</mtext>",
        ),
        (
            Apply("scatter", (Leaf("g"),), (("at", at("0, -1")), ("shape", (2, 3)))),
            "zeros(2×3)[0, −1] ← g",
            r"\mathbf{0}_{2 \times 3}[\texttt{0, $-$1}] \leftarrow g",
            "<msub><mn>0</mn><mtext>2×3</mtext></msub>",
        ),
        (
            Apply("scatter_rows", (Leaf("g"), Leaf("i")), (("rows", 5),)),
            "zeros(5 rows)[i] ← g",
            r"\mathbf{0}_{5\text{ rows}}[i] \leftarrow g",
            "<msub><mn>0</mn><mtext>5 rows</mtext></msub>",
        ),
        (
            Apply("onehot", (Leaf("y"),), (("classes", 3),)),
            "onehot(y, 3 classes)",
            r"\operatorname{onehot}_{3\text{ classes}}(y)",
            "<munder><mi>onehot</mi><mtext>3 classes</mtext></munder>",
        ),
        (Apply("indicator", (Leaf("a"), Leaf("b")), (("relation", "≤"),)), "[a ≤ b]", r"[a \le b]", "<mo>≤</mo>"),
        (
            Apply("put", (Leaf("a"), Leaf("b")), (("at", at("-1, :")),)),
            "a with b at [−1, :]",
            r"a\text{ with }b\text{ at }[\texttt{$-$1, :}]",
            "<mi>a</mi><mtext> with </mtext><mi>b</mi><mtext> at </mtext>",
        ),
        (
            Apply("put", (Leaf("a"), Number(0)), (("at", at("...")),)),
            "a with 0 everywhere",
            r"a\text{ with }0\text{ everywhere}",
            "<mtext> everywhere</mtext>",
        ),
        (
            Apply("outer", (Leaf("a"), Leaf("∂L/∂y"))),
            "a (∂L/∂y)ᵀ",
            r"a \, \left(\frac{\partial L}{\partial y}\right)^{\top}",
            "<mo>⊤</mo></msup>",
        ),
        (
            Apply("reversed_cumsum", (Leaf("g"),), (("dim", 0),)),
            "Σ_{j≥i}(g, axis 0)",
            r"\sum_{j \ge i, \text{axis }0} g",
            "<munder><mo>∑</mo><mrow><mi>j</mi><mo>≥</mo><mi>i</mi><mtext>, axis 0</mtext></mrow></munder>",
        ),
        (
            Apply("unsort", (Leaf("G"), Leaf("pi")), (("dim", -1), ("shape", (3,)))),
            "G at π⁻¹",
            r"G \text{ at } \pi^{-1}",
            "<mtext> at </mtext><msup><mi>π</mi><mrow><mo>−</mo><mn>1</mn></mrow></msup>",
        ),
        (
            Apply("order", (Leaf("x"),), (("dim", -1), ("descending", True), ("k", 2))),
            "argsort(x, axis −1, descending, first 2)",
            r"\operatorname{argsort}_{\text{axis }-1, \text{descending}, \text{first }2}(x)",
            "<munder><mi>argsort</mi><mtext>axis −1, descending, first 2</mtext></munder>",
        ),
        (Apply("entries", (Leaf("w"), Leaf("t"))), "w_t", "{w}_{t}", "<msub><mi>w</mi><mi>t</mi></msub>"),
        (Apply("identity", (), (("size", 3),)), "I", "I", "<mi>I</mi>"),
        (Apply("causal_mask", (), (("shape", (2, 2)),)), "M", "M", "<mi>M</mi>"),
        (
            Apply("transposed_convolution", (Leaf("∂L/∂y"), Leaf("K")), (("shape", (1, 1, 4, 4)),)),
            "∂L/∂y ∗ᵀ K",
            r"\frac{\partial L}{\partial y} *^{\top} K",
            "<msup><mo>∗</mo><mo>⊤</mo></msup><mi>K</mi>",
        ),
        (
            Apply("transposed_convolution", (Leaf("g"), Leaf("K")), (("stride", 2), ("shape", (1, 1, 4, 4)))),
            "transposed_convolution(g, K, stride=2)",
            r"\operatorname{transposed\_convolution}_{\text{stride}=2}(g, K)",
            "<mtext>stride=2</mtext>",
        ),
        (
            Apply("correlation", (Leaf("x"), Leaf("∂L/∂y")), (("shape", (1, 1, 2, 2)),)),
            "x ⋆ ∂L/∂y",
            r"x \star \frac{\partial L}{\partial y}",
            "<mi>x</mi><mo>⋆</mo><mfrac>",
        ),
        (
            Apply("unpool", (Leaf("g"), Leaf("x")), (("kernel_size", 2), ("rank", 2))),
            "g at the maximum of each window of x (kernel_size=2)",
            r"g\text{ at the maximum of each window of }x\text{ }(\text{kernel\_size}=2)",
            "<mtext> at the maximum of each window of </mtext><mi>x</mi><mtext> (kernel_size=2)</mtext>",
        ),
        (
            Apply("spread_windows", (Leaf("g"),), (("shape", (1, 4)), ("rank", 1))),
            "g spread equally over each window",
            r"g\text{ spread equally over each window}",
            "<mtext> spread equally over each window</mtext>",
        ),
        (
            Apply("sum_copies", (Leaf("g"),), (("shape", (2,)),)),
            "g summed over the copies",
            r"g\text{ summed over the copies}",
            "<mi>g</mi><mtext> summed over the copies</mtext>",
        ),
        (
            Apply("scatter_add", (Leaf("g"), Leaf("i")), (("dim", 0), ("shape", (3,)))),
            "g added at i, to zeros (axis 0)",
            r"g\text{ added at }i\text{, to zeros}\text{ }(\text{axis }0)",
            "<mtext> added at </mtext><mi>i</mi><mtext>, to zeros</mtext><mtext> (axis 0)</mtext>",
        ),
        (Apply("diagonal", (Leaf("S"),)), "diag(S)", r"\operatorname{diag}(S)", "<mi>diag</mi>"),
        (Call("x.floor", ()), "⌊x⌋", r"\left\lfloor x \right\rfloor", "⌊</mo><mi>x</mi>"),
        (Apply("neg", (Leaf("inf"),)), "−∞", r"-\infty", "<mo>−</mo><mi>∞</mi>"),
        (Apply("normal_cdf", (Leaf("a"),)), "Φ(a)", r"\Phi(a)", "<mi>Φ</mi>"),
    ],
)
def test_what_only_gradients_need(formula, text, latex, mathml):
    assert text_formula(formula) == text
    assert latex_formula(formula) == latex
    assert mathml in mathml_formula(formula)


def test_every_operation_has_a_notation_without_option_names():
    """No `shape=(2, 2)`, no `axis (-1,)`: options are written as mathematics writes them."""
    options = (("shape", (2, 2)), ("dim", (-1,)), ("at", at("0")), ("rows", 2), ("classes", 2), ("relation", "<"))
    for op in ("ones", "zeros", "expand", "unbroadcast", "unsqueeze", "scatter", "scatter_rows", "onehot", "indicator"):
        count = {"ones": 0, "zeros": 0, "scatter_rows": 2, "indicator": 2}.get(op, 1)
        formula = Apply(op, (Leaf("a"), Leaf("b"))[:count], options)
        for written in (text_formula(formula), latex_formula(formula), mathml_formula(formula)):
            assert "shape" not in written
            assert "(-1" not in written
            assert "(2, 2)" not in written


OWN_NAMES = {name for name, row in OPERATIONS.items() if names_of(row)} | {"onehot", "unsqueeze"}
"""Operations whose notation may have their name in it."""


@pytest.mark.parametrize(
    "op", [row.name for row in (*backward.ROWS, *windows.ROWS) if row.compute and row.name not in OWN_NAMES]
)
def test_every_operation_of_a_gradient_has_a_notation(op):
    assert OPERATIONS[op].notation is not None
    count = {"zeros": 0, "causal_mask": 0, "identity": 0, "order": 1, "sum_copies": 1, "spread_windows": 1}.get(op, 2)
    alone = op in ("reversed_cumsum", "argmax", "argmin")
    sized = () if alone else (("shape", (2, 2)), ("rank", 2))
    formula = Apply(op, (Leaf("a"), Leaf("b"))[: 1 if alone else count], sized)
    for written in (text_formula(formula), latex_formula(formula), mathml_formula(formula)):
        assert not any(word in written for word in ("shape", "rank", op.replace("zeros", "-")))


def test_words_are_bracketed_inside_a_product():
    put = Apply("put", (Leaf("a"), Leaf("b")), (("at", at("0")),))
    assert text_formula(Apply("mul", (Leaf("c"), put))) == "c ⊙ (a with b at [0])"
    assert "(</mo>" in mathml_formula(Apply("mul", (Leaf("c"), put)))
