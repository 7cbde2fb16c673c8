"""Formulas as a lecturer writes them: vectors as columns, norms by their signs, changes of shape in words."""

import math

import pytest
import torch

import workings
from workings.show.formula.notation import latex_formula, text_formula
from workings.show.formula.shown import as_shown
from workings.trace.formula.evaluate import evaluate
from workings.trace.formula.from_python import formula_of
from workings.trace.formula.tree import walk
from workings.trace.operations import OPERATIONS

OPERANDS = {
    "a": torch.tensor([1.0, 2.0]),
    "b": torch.tensor([3.0, 5.0]),
    "A": torch.tensor([[1.0, 2.0], [3.0, 5.0]]),
    "B": torch.tensor([[2.0, 0.0], [1.0, 4.0]]),
    "S": torch.arange(8.0).reshape(2, 2, 2),
    "x": torch.arange(48.0).reshape(2, 3, 8),
    "heads": 2,
    "c": torch.tensor([0.5, 0.25]),
}


def shown(source):
    import ast

    return as_shown(formula_of(ast.parse(source, mode="eval").body), OPERANDS, source)


COLUMNS = {
    "a @ b": "aᵀ b",
    "torch.dot(a, b)": "aᵀ b",
    "a.dot(b)": "aᵀ b",
    "torch.outer(a, b)": "a bᵀ",
    "a @ A": "Aᵀ a",
    "A @ a": "A a",
    "a @ A @ b": "aᵀ A b",
    "a @ (A @ b)": "aᵀ A b",
    "a.T @ A": "Aᵀ a",
    "(a + b) @ A": "Aᵀ (a + b)",
    "a @ A.T": "A a",
    "F.linear(a, A, b)": "A a + b",
    "F.linear(A, B, b)": "A Bᵀ + b",
    "(a @ b) * A": "aᵀ b·A",
    "a @ S": "a S",
    "A @ B": "A B",
}
NOTATION = {
    "a.norm()": "‖a‖",
    "torch.norm(a)": "‖a‖",
    "torch.linalg.norm(a)": "‖a‖",
    "torch.linalg.vector_norm(a, ord=1)": "‖a‖_1",
    "a.norm(p=1)": "‖a‖_1",
    "a.norm(1)": "‖a‖_1",
    "torch.linalg.norm(a, float('inf'))": "‖a‖_∞",
    "torch.linalg.norm(a, ord=float('inf'))": "‖a‖_∞",
    "A.norm()": "‖A‖_F",
    "A.norm(p=1)": "A.norm(p=1)",
    "A.norm(dim=-1, keepdim=True)": "‖A‖_(axis −1)",
    "A.norm(p=1, dim=-1)": "‖A‖_(1, axis −1)",
    "a / a.norm()": "a / ‖a‖",
    "torch.det(A)": "|A|",
    "torch.linalg.det(A)": "|A|",
    "A.det()": "|A|",
    "torch.inverse(A)": "A⁻¹",
    "torch.linalg.inv(A) @ a": "A⁻¹ a",
    "torch.trace(A)": "tr(A)",
    "torch.clamp(a, 0, 1)": "min(max(a, 0), 1)",
    "a.clamp(min=0)": "max(a, 0)",
    "a.clip(max=1)": "min(a, 1)",
    "torch.maximum(a, b)": "max(a, b)",
    "a.minimum(b)": "min(a, b)",
    "a.std()": "std(a)",
}
EINSUM = {
    "torch.einsum('ij,jk->ik', A, B)": "A B",
    "torch.einsum('ij,kj->ik', A, B)": "A Bᵀ",
    "torch.einsum('ji,jk->ik', A, B)": "Aᵀ B",
    "torch.einsum('ji,kj->ik', A, B)": "Aᵀ Bᵀ",
    "torch.einsum('ij,jk->ki', A, B)": "Bᵀ Aᵀ",
    "torch.einsum('ij,kj->ki', A, B)": "B Aᵀ",
    "torch.einsum('ij,ik->kj', A, B)": "Bᵀ A",
    "torch.einsum('ij,ki->kj', A, B)": "B A",
    "torch.einsum('ij,j->i', A, a)": "A a",
    "torch.einsum('ij,i->j', A, a)": "Aᵀ a",
    "torch.einsum('i,ij->j', a, A)": "Aᵀ a",
    "torch.einsum('j,ij->i', a, A)": "A a",
    "torch.einsum('i,i->', a, b)": "aᵀ b",
    "torch.einsum('i,j->ij', a, b)": "a bᵀ",
    "torch.einsum('i,j->ji', a, b)": "b aᵀ",
    "torch.einsum('i,ij,j->', a, A, b)": "aᵀ A b",
    "torch.einsum('ij->ji', A)": "Aᵀ",
    "torch.einsum('ii->', A)": "tr(A)",
    "torch.einsum('ii->i', A)": "diag(A)",
    "torch.einsum('bij,bjk->bik', S, S)": "S S",
    "torch.einsum('bqd,bkd->bqk', S, S)": "S Sᵀ",
    "torch.einsum('ij,ij->ij', A, B)": "A ⊙ B",
    "torch.einsum('ij,ij->', A, B)": "einsum('ij,ij->', A, B)",
}


@pytest.mark.parametrize(("source", "written"), [*COLUMNS.items(), *NOTATION.items(), *EINSUM.items()])
def test_code_as_mathematics(source, written):
    assert text_formula(shown(source), None, frozenset(("heads",))) == written


@pytest.mark.parametrize("source", [source for source in (*COLUMNS, *EINSUM) if ".T " not in source])
def test_what_is_written_has_the_same_value(source):
    """The formula that is shown, spelled out, computes what the code does."""
    import torch.nn.functional as F

    given = eval(source, {**OPERANDS, "torch": torch, "F": F})
    formula = shown(source)
    while spelled := next((p for p in walk(formula) if is_spelled(p)), None):
        formula = replaced(formula, spelled)
    torch.testing.assert_close(evaluate(formula, OPERANDS), given)


def is_spelled(part):
    row = OPERATIONS.get(getattr(part, "op", ""))
    return row is not None and row.name == "einsum" and row.spelled(part.args, part.options) is not None


def replaced(formula, part):
    from workings.trace.formula.tree import map_parts

    if formula is part:
        return OPERATIONS[part.op].spelled(part.args, part.options)
    return map_parts(formula, lambda inner: replaced(inner, part))


def test_a_function_of_the_author_keeps_its_name():
    def norm(v):
        return v * 2

    def f(x):
        n = norm(x)
        return n

    assert "n = norm(x)" in workings.show(f, torch.ones(2)).text()


def test_signs_in_latex():
    assert latex_formula(shown("a.norm(p=1)")) == r"{\left\|a\right\|}_{1}"
    assert latex_formula(shown("torch.det(A)")) == r"\left|A\right|"
    assert latex_formula(shown("a @ b")) == r"a^{\top} \, b"
    assert latex_formula(shown("torch.linalg.inv(A)")) == r"A^{-1}"


SHAPES = {
    "x.view(2, 3, heads, 4).transpose(1, 2)": "x, axis 2 split into 2 heads of 4, axes 1 and 2 swapped",
    "x.view(2, 3, 2, 4)": "x, axis 2 split into 2×4",
    "x.reshape(6, 8)": "x, axes 0 and 1 joined",
    "x.flatten(1)": "x, axes 1 and 2 joined",
    "x.flatten()": "x, all entries in one vector",
    "x.view(3, 2, 8)": "x, 2×3 as 3×2",
    "x.transpose(0, 1)": "x, axes 0 and 1 swapped",
    "x.transpose(1, 2)": "xᵀ",
    "x.permute(0, 2, 1)": "xᵀ",
    "x.permute(2, 0, 1)": "x, axes in the order 2, 0, 1",
    "x.transpose(0, 1).contiguous().view(3, 16)": "x, axes 0 and 1 swapped, axes 1 and 2 joined",
    "x.unsqueeze(0)": "x with a new axis 0",
    "a.unsqueeze(-1)": "a as a column",
    "a.unsqueeze(0)": "a as a row",
    "a.view(-1, 1)": "a as a column",
    "x.view(2, 1, 3, 8)": "x with a new axis 1",
    "x.view(2, 3, 8, -1)": "x with a new axis 3",
    "x.unsqueeze(1).reshape(2, 3, 8)": "x with a new axis 1, axes of length 1 left out",
    "x.contiguous()": "x",
    "a.detach()": "a, held constant",
    "a.expand(3, 2)": "a repeated to 3×2",
    "(A @ B).view(4)": "A B, all entries in one vector",
}


@pytest.mark.parametrize(("source", "written"), SHAPES.items())
def test_changes_of_shape_in_words(source, written):
    assert text_formula(shown(source)) == written


def test_the_code_stands_beside_the_words():
    def split(x, heads):
        B, T, C = x.shape
        q = x.view(B, T, heads, C // heads).transpose(1, 2)
        return q

    work = workings.show(split, torch.arange(8.0).reshape(1, 2, 4), 2)
    assert "(1×2×2×2)  x.view(B, T, heads, C // heads).transpose(1, 2)" in work.text()
    assert r"\noindent\texttt{x.view(B, T, heads, C // heads).transpose(1, 2)}" in work.latex()
    assert "`x.view(B, T, heads, C // heads).transpose(1, 2)`" in work.markdown()


def test_vectors_in_gradients_are_columns():
    def loss(x, W, y):
        z = x @ W
        L = z @ y
        return L

    text = workings.show(loss, OPERANDS["a"], OPERANDS["A"], OPERANDS["b"], backward=True).text()
    for line in ("z = Wᵀ x", "L = zᵀ y", "∂L/∂x = W ∂L/∂z", "∂L/∂W = x (∂L/∂z)ᵀ"):
        assert line in text
    assert math.isclose(float(OPERANDS["a"] @ OPERANDS["A"] @ OPERANDS["b"]), 81.0)


# ---- a letter has one meaning


def test_a_function_is_spelled_where_its_letter_is_a_name():
    def f(x):
        sigma = x.std()
        y = torch.sigmoid(x) / sigma
        return y

    def g(x):
        y = torch.sigmoid(x)
        return y

    x = torch.tensor([1.0, 3.0])
    named, free = workings.show(f, x), workings.show(g, x)
    assert "y = sigmoid(x) / σ" in named.text() and "y = σ(x)" in free.text()
    assert r"\frac{\operatorname{sigmoid}(x)}{\sigma}" in named.latex() and r"\sigma(x)" in free.latex()
    assert "<mi>sigmoid</mi>" in named.html() and "<mi>sigmoid</mi>" not in free.html()


def test_constants_are_numbers_where_their_letter_is_a_name():
    def f(x):
        pi = x.softmax(0)
        e = torch.exp(x) * math.pi
        return e + pi

    text = workings.show(f, torch.tensor([0.0, 1.0])).text()
    assert "e = exp(x)·3.14159265359" in text and "π = softmax(x, axis 0)" in text


def test_a_spelling_brings_in_no_letter_of_the_author():
    def f(x):
        mu = x.mean()
        y = torch.nn.functional.layer_norm(x, (2,))
        return y - mu

    def g(x):
        y = torch.nn.functional.layer_norm(x, (2,))
        return y

    x = torch.tensor([1.0, 3.0])
    assert "y = layer_norm(x" in workings.show(f, x).text() and "(x − μ) / √(σ² + ε)" in workings.show(g, x).text()


def test_a_summary_uses_no_letters():
    def f(mu):
        y = mu * 2
        return y

    work = workings.show(f, torch.arange(100.0))
    assert "mean 99  std 57.73" in work.text() and r"\text{, mean } 99 \text{, std } 57.73" in work.latex()
    assert "| mean | std |" in work.markdown() and "mean 99" in work.html()
