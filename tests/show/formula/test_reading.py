"""Formulas and values as they are written: entries that are assigned, lists, names, what is returned."""

import math
import re
import shutil
import subprocess

import pytest
import torch
from torch import nn

import workings
from tests.formulas import expression
from workings.nn import softmax
from workings.show.formula.notation import latex_formula, text_formula
from workings.show.options import Options
from workings.show.printers.latex import document
from workings.show.value.value import latex_of, text_of
from workings.show.write.names import latex_name, text_name
from workings.trace.formula.from_python import formula_of
from workings.trace.formula.tree import Apply, Leaf

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def written(code):
    return text_formula(formula_of(expression(code)))


def line(work, name):
    return next(row for row in work.text(width=200).split("\n") if row.strip().startswith(f"{name} = "))


# ---- a function of PyTorch and the method of the same name


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("torch.flatten(x, 1)", "x.flatten(1)"),
        ("torch.flatten(x, start_dim=1)", "x.flatten(start_dim=1)"),
        ("torch.clone(x)", "x.clone()"),
        ("torch.reshape(x, (4,))", "x.reshape((4,))"),
        ("torch.permute(x @ y, (1, 0))", "(x y).permute((1, 0))"),
        ("torch.transpose(x, 0, 1)", "x.transpose(0, 1)"),
        ("x.flatten(1)", "x.flatten(1)"),
    ],
)
def test_a_function_reads_like_its_method(code, text):
    assert written(code) == text


def test_and_is_computed_again_like_it():
    def f(x):
        y = torch.transpose(torch.flatten(x, 1), 0, 1)
        return (y * y).sum()

    work = workings.show(f, torch.ones(2, 2, 1), backward=True)
    rule = work.step("∂L/∂x")
    assert rule.note == "rule checked: largest difference 0"


# ---- assignments to entries


def test_an_entry_has_its_value_and_the_whole_its_own():
    def f(img, k):
        out = torch.zeros(2)
        for i in range(2):
            out[i] = (img[i] * k).sum()
        return out

    work = workings.show(f, X, torch.tensor([1.0, 1.0]))
    text = work.text(width=200)
    assert "out[i] = Σ (img[i] ⊙ k) = Σ ([1, 2] ⊙ [1, 1]) = 3 ⇒ out = [3  0]  (2)" in text
    assert "= 7 ⇒ out = [3  7]  (2)" in text
    assert text.split("\n")[-3] == "return out"  # which stands above
    assert r"= 7 \Rightarrow \mathrm{out} = \left[3,\ 7\right]" in work.latex()
    assert "<mn>7</mn></math>" in work.html()
    assert workings.show.Work.from_json(work.json()).text() == work.text()


def test_what_is_assigned_to_many_entries_or_to_no_tensor():
    def f(y):
        y = y * 1
        y[y > 2] = 0
        y[:, 1] = y[:, 0]
        table = {}
        table["a"] = 2
        pair = [0, 0]
        pair[0] = both = y.sum()
        y[0, 0] += 1
        return both

    text = workings.show(f, X).text(width=200)
    assert "y[y > 2] = 0 ⇒ y = ⎡1  2⎤  (2×2)" in text
    assert "y[:, 1] = y[:, 0] = [1  0] ⇒ y = ⎡1  1⎤  (2×2)" in text
    assert "table['a'] = 2 ⇒ table = {'a': 2}" in text
    assert "pair[0] = both = Σ y = Σ ⎡1  1⎤ = 2" in text  # 1 + 1 + 0 + 0
    assert "y[0, 0] = y[0, 0] + 1 = 1 + 1 = 2" in text


def test_an_entry_whose_place_is_not_known_has_no_value_of_its_own():
    def f(x):
        out = [0, 0]
        out[(lambda: 1)()] = x.sum()
        return out

    assert line(workings.show(f, X), "out[(lambda: 1)()]").endswith("⇒ out = [0, 10]")


# ---- names


def test_a_name_that_is_raised_already():
    again = Apply("pow", (Leaf("h#2"), Leaf("n")))
    assert (text_formula(again), latex_formula(again)) == ("h#2^n", "(h^{(2)})^{n}")
    assert latex_formula(Apply("transpose", (Leaf("W#3"),))) == r"(W^{(3)})^{\top}"


def test_one_spelling_for_one_name():
    assert text_name("∂loss/∂mu from mu#2") == "∂loss/∂μ from μ#2"
    assert latex_name("∂L/∂b from h#2") == r"{\frac{\partial L}{\partial b}}_{\text{from }h^{(2)}}"
    assert latex_name("hs[0]#2") == r"\mathrm{hs}[0]^{(2)}"

    def f(x, theta):
        theta = theta * x
        return (theta * theta + x).sum()

    text = workings.show(f, torch.ones(2), torch.ones(2), backward=True).text()
    assert "∂L/∂x = ∂L/∂x from θ#2 + ∂L/∂x from output" in text
    assert "theta" not in text
    page = workings.show(f, torch.ones(2), torch.ones(2), backward=True).html()
    assert "<mi>θ</mi>" in page
    assert "theta#2" not in re.sub(r'(id|href)="[^"]*"', "", page.partition("<main")[2])


def test_a_subscript_that_has_another():
    assert latex_formula(formula_of(expression("f_1(x, p=2)"))) == r"{f_{1}}_{\text{p}=2}(x)"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_it_compiles(tmp_path):
    def rnn(x, h, W):
        h = torch.tanh(W @ x + h)
        h = torch.tanh(W @ x + h) ** 2
        out = [h]
        out[0] = f_1(h, p=2).sum()
        return out[0]

    def f_1(h, p):
        return h**p

    work = workings.show(rnn, torch.ones(2), torch.ones(2), X, backward=True)
    (tmp_path / "rnn.tex").write_text(document(work, Options()), encoding="utf-8")
    ran = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "rnn.tex"], cwd=tmp_path, capture_output=True, timeout=60
    )
    assert ran.returncode == 0, ran.stdout[-800:]


# ---- lists, tuples, None, constants


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("[]", "[]"),
        ("seq + [tok]", "seq + [tok]"),
        ("[([], 0.0)]", "[([], 0)]"),
        ("(p,)", "(p,)"),
        ("clip([p], 1.0)", "clip([p], 1)"),
        ("torch.stack([a, b])", "stack(a, b)"),
        ("torch.cat((a, b), 1)", "cat(a, b, axis 1)"),
        ("dict(a=1, c=None)", "dict(a=1, c=None)"),
        ("'word' * 2", "'word'·2"),
        ("y.sum() and 3", "(Σ y) ∧ 3"),
        ("sum(r.sum() for r in rest)", "Σ (r.sum() for r in rest)"),
        ("math.pi / 2", "π / 2"),
        ("(W @ x + b).chunk(4)", "chunk(W x + b, 4)"),
        ("(x > 0).all()", "all(x > 0)"),
        ("' '.join(x)", "' '.join(x)"),
        ("xs[0].split(',')", "xs[0].split(',')"),
    ],
)
def test_python_as_it_is_meant(code, text):
    assert written(code) == text


def test_values_of_lists_and_dictionaries_in_latex():
    assert latex_of([1, 2], Options()) == r"\left[1,\ 2\right]"
    assert latex_of((1, 2), Options()) == r"\left(1,\ 2\right)"
    assert latex_of({"a": 1}, Options()) == r"\left\{\text{'a'}: 1\right\}"
    assert latex_of([], Options()) == "[]"
    wide = (torch.zeros(1, 6), torch.zeros(1, 6))
    assert latex_of(wide, Options()).startswith(r"\left(\begin{aligned} & \begin{bmatrix}")


def test_einsum_that_is_no_product_of_matrices_has_its_pattern_first():
    def f(Q, K):
        S = torch.einsum("qd,kd->qkd", Q, K)
        return S.sum()

    work = workings.show(f, X, X, backward=True)
    assert "∂L/∂Q = einsum('qkd,kd->qd', ∂L/∂S, K)" in work.text()
    assert r"\operatorname{einsum}(" in work.latex() or r"\operatorname{einsum}\left(" in work.latex()
    assert "'qkd,kd-&gt;qd'" in work.html() or "&#x27;qkd,kd-&gt;qd&#x27;" in work.html()


# ---- what is unpacked and returned


def test_what_is_unpacked_follows_an_arrow():
    def f(x):
        (d,) = torch.unbind(x[:1])
        a, b = x * 2, x * 3
        a, b = b, a
        return a + b + d

    text = workings.show(f, X).text(width=200)
    assert "(d,) = unbind(x[:1]) ⇒ d = [1  2]" in text
    assert "a = x·2 = ⎡1  2⎤·2 = ⎡2  4⎤" in text and "b = x·3 = " in text
    assert "a, b = (b, a) = (⎡3   6⎤, ⎡2  4⎤) ⇒" in text


def test_what_is_returned_is_shown_where_it_changed_since():
    def f(x):
        log = []
        y = x * 2
        log.append(1.5)
        return y, log

    def g(x):
        y = x * 2
        y.mul_(10)
        return y

    def h(x):
        y = x * 2
        z = y + 1
        return y, z

    row = torch.tensor([1.0, 2.0])
    assert line(workings.show(f, row), "return (y, log) ⇒ y") == "return (y, log) ⇒ y = [2  4]    log = [1.5]"
    assert line(workings.show(g, row), "return y") == "return y = [20  40]  (2)"
    assert "return (y, z)\n" in workings.show(h, row).text()  # they stand above


def test_axes_of_length_one_have_their_place_in_the_labels():
    text = text_of(torch.zeros(1, 2, 2, 2), Options())
    assert [row for row in text.split("\n") if "=" in row] == ["[0, 0, :, :] =", "[0, 1, :, :] ="]
    assert "[1, 0, :, :] =" in text_of(torch.zeros(2, 1, 2, 2), Options())


# ---- saved and asked for


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(2, 2)

    def forward(self, x):
        h = torch.relu(self.enc(x))
        values = (v for v in h)
        first = self.enc(h)
        return first + next(values)


def test_a_saved_work_prints_as_before():
    work = workings.show(Net(), X)
    again = workings.show.Work.from_json(work.json())
    assert again.text() == work.text()
    assert "  enc: Linear = " in work.text()  # of relu(enc(x)), but not of enc(h), which is the statement itself
    assert work.text().count("enc: Linear") == 1
    assert "⟨generator⟩" in work.text()
    assert again == work


def test_only_names_that_are_shown_are_offered():
    with pytest.raises(workings.errors.WorkingsError, match="There are: s, β, p\\.") as error:
        workings.show(softmax, torch.ones(2), only="zz")
    assert "wrong" not in str(error.value)


def test_the_input_of_a_compiled_module_has_its_own_name():
    work = workings.show(torch.compile(nn.Linear(2, 1), backend="eager"), X)
    assert [s.name for s in work.steps() if s.kind == "input"] == ["input"]


def test_an_operand_of_several_tensors_is_told_by_their_shapes():
    def f(x):
        hx = (torch.zeros(1, 3), torch.zeros(1, 3))
        return nn.LSTMCell(4, 3)(x, hx)

    assert "  hx is ((1×3), (1×3))\n" in workings.show(f, X).text()


def test_a_number_of_the_library_is_its_letter():
    def f(r):
        return 2 * math.pi * r

    assert "return 2·π·r = 2·3.142·1 = 6.283" in workings.show(f, 1.0).text()
