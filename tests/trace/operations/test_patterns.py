"""Patterns of einops as what they mean, forward and backward."""

import einops
import pytest
import torch
from einops import einsum, rearrange, reduce, repeat

import workings
from workings.trace.formula.pattern import PatternError, letters_of, parse

torch.manual_seed(0)
X = torch.randn(2, 3, 8)


def heads(x):
    q = rearrange(x, "b t (h d) -> b h t d", h=2)
    y = rearrange(q**2, "b h t d -> b t (h d)")
    L = y.sum()
    return L


def test_heads_split_off_and_joined():
    work = workings.show(heads, X, backward=True)
    lines = [line.strip() for line in work.text(substitution="none").splitlines()]
    assert any(line.startswith("q = x, axis (h d) split into h×d = 2×4, axes in the order b h t d") for line in lines)
    assert any(line.startswith("∂L/∂x = ∂L/∂q, axes in the order b t h d, h and d joined") for line in lines)
    assert any(line.endswith("rearrange(x, 'b t (h d) -> b h t d', h=2)") for line in lines)
    assert torch.allclose(work["∂L/∂x"], 2 * X)
    assert all(step.note.startswith("rule checked") for step in work.steps() if step.kind == "gradient")


def reductions(x, w):
    m = reduce(x, "b t d -> b d", "mean")
    s = einops.reduce(x, "b t (g k) -> b g", reduction="sum", k=2)
    M = reduce(x, "b t d -> b 1 1", "max")
    k = repeat(w, "d -> b t d", b=2, t=3)
    p = einsum(x, k, "b t d, b t d -> b t")
    L = (m**2).sum() + (s**3).sum() + (M * x).sum() + p.sum()
    return L


def test_every_line_has_a_rule_that_was_checked():
    w = torch.randn(8)
    work = workings.show(reductions, X, w, backward=True)
    notes = [step.note for step in work.steps() if step.kind == "gradient" and " from " in step.name]
    assert notes and all(note.startswith("rule checked") for note in notes)
    x, w = X.clone().requires_grad_(), w.requires_grad_()
    reductions(x, w).backward()
    assert torch.allclose(work["∂L/∂x"], x.grad, atol=1e-5) and torch.allclose(work["∂L/∂w"], w.grad, atol=1e-5)
    text = work.text(substitution="none")
    for written in ("m = mean(x, over t)", "s = Σ(x, over t, k of (g k))", "M = max(x, over t, d)"):
        assert written in text
    assert "k = w repeated along b×t = 2×3" in text and "∂L/∂w = Σ(∂L/∂k, over b, t)" in text
    assert "p = einsum('btd,btd->bt', x, k)" in text and "∂L/∂k = einsum('bt,btd->btd', ∂L/∂p, x)" in text
    assert "z₁" not in text  # no operation of PyTorch's stands in for a rule


def test_einsum_of_einops_is_a_product_of_matrices():
    def f(q, k):
        S = einsum(q, k, "query d, key d -> query key")
        return S

    assert "S = q kᵀ" in workings.show(f, torch.ones(2, 3), torch.ones(4, 3)).text()


def test_a_function_of_the_author_s_own_keeps_its_statements():
    def rearrange(x, pattern):
        y = x * 2
        return y

    def f(x):
        y = rearrange(x, "a b")
        return y

    assert "y = rearrange(x, 'a b')" in workings.show(f, torch.ones(2, 2)).text()


def test_latex_and_html():
    work = workings.show(heads, X, backward=True)
    assert "split into" in work.latex() and "joined" in work.html()


@pytest.mark.parametrize("text", ["b t", "b (t -> t", "b t) -> b", "a -> b -> c", "b-t -> b"])
def test_what_is_no_pattern(text):
    with pytest.raises(PatternError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "shape"), [("b (h d) -> b h d", (2, 6)), ("a b -> a", (2,)), ("a (b c) -> a b c", (2, 5)), ("a -> a", (2, 3))]
)
def test_what_does_not_fit(text, shape):
    with pytest.raises(PatternError):
        parse(text).lengths(shape, {"b": 2} if "(b" in text else {})


@pytest.mark.parametrize(
    ("text", "shape", "sizes"),
    [
        ("b (h d) -> d (b h)", (2, 6), {"h": 3}),
        ("... c -> c ...", (2, 3, 4), {}),
        ("(a b c) -> c (b a)", (24,), {"a": 2, "b": 3}),
        ("a 1 b -> b a 1", (2, 1, 3), {}),
    ],
)
def test_the_pattern_read_from_right_to_left_undoes_it(text, shape, sizes):
    pattern, x = parse(text), torch.arange(torch.Size(shape).numel()).reshape(shape)
    back = pattern.reverse
    needed = back.needed(pattern.lengths(shape, sizes))
    assert torch.equal(einops.rearrange(einops.rearrange(x, str(pattern), **sizes), str(back), **needed), x)


def test_letters_are_distinct():
    assert letters_of("batch beam d, batch d -> batch beam") == "bed,bd->be"
