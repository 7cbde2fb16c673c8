"""Complex numbers: every rule in PyTorch's convention, ∂L/∂x + i ∂L/∂y, with the numbers of autograd."""

import pytest
import torch

import workings


def given(seed=0):
    torch.manual_seed(seed)
    z, w = (torch.randn(3, dtype=torch.complex128).requires_grad_() for _ in range(2))
    return z, w, torch.rand(3, dtype=torch.float64).requires_grad_()


def arithmetic(z, w, x):
    a = z * w + x
    b = x * z - w / z
    c = torch.exp(a) * b**3
    L = c.abs().sum() + a.real.sum()
    return L


def parts(z, w, x):
    a = z.real * x
    b = z.imag + torch.imag(w)
    c = torch.angle(z) + torch.real(w)
    d = torch.conj(z) * w
    L = (a + b + c).sum() + d.abs().pow(2).sum()
    return L


def views(z, w, x):
    a = torch.view_as_real(z * w)
    b = torch.view_as_complex(a * 2)
    c = torch.complex(x, b.abs())
    d = torch.polar(x + 1, z.abs())
    L = (c * d).abs().sum()
    return L


def products(z, w, x):
    A = torch.outer(z, w)
    y = A @ z
    k = torch.dot(y, torch.conj(w))
    s = torch.stack([z, w]).sum(dim=0)
    L = k.abs() + (s * x).abs().sum() + y[1:].abs().sum()
    return L


def fourier(z, w, x):
    a = torch.fft.fft(z)
    b = torch.fft.ifft(a * w, norm="ortho")
    c = torch.fft.fft2(torch.outer(b, z), norm="forward")
    d = torch.fft.fft(x)
    L = c.abs().sum() + (d * w).abs().sum()
    return L


@pytest.mark.parametrize("function", [arithmetic, parts, views, products, fourier])
def test_every_gradient_has_a_rule_that_was_checked(function):
    z, w, x = given()
    work = workings.show(function, z, w, x, backward=True)
    lines = [step for step in work.steps() if step.kind == "gradient" and not _is_sum(step)]
    assert len(lines) > 5
    assert not [(step.name, step.note) for step in lines if step.formula is not None and not _is_letter(step)]
    assert not [step.name for step in lines if step.formula is None]
    assert work.step("∂L/∂z").result.is_complex() and not work.step("∂L/∂x").result.is_complex()
    for name, gradient in zip("zwx", torch.autograd.grad(function(z, w, x), (z, w, x), materialize_grads=True), strict=True):
        assert torch.allclose(work[f"∂L/∂{name}"], gradient), name


def _is_sum(step):
    return step.formula is not None and all(" from " in text for text in step.operands) and bool(step.operands)


def _is_letter(step):
    return step.note.startswith("rule checked") or not step.note


def test_factors_are_conjugated_by_hand():
    # L = |z w|² at z = 1 + i, w = 2i: a = z w = −2 + 2i, ∂L/∂a = 2a = −4 + 4i, ∂L/∂z = ∂L/∂a · w* = (−4 + 4i)(−2i) = 8 + 8i
    def f(z, w):
        a = z * w
        L = a.abs() ** 2
        return L

    z, w = (torch.tensor(number, dtype=torch.complex128, requires_grad=True) for number in (1 + 1j, 2j))
    work = workings.show(f, z, w, backward=True)
    assert work["∂L/∂z"].item() == pytest.approx(8 + 8j)
    assert "∂L/∂z = ∂L/∂a·w∗" in work.text()


def test_how_they_are_written():
    z, w, x = given()
    text = workings.show(views, z, w, x, backward=True).text(substitution="none")
    assert "c = x + i·|b|" in text and "= (x + 1) ⊙ e^(i·|z|)" in text
    text = workings.show(parts, z, w, x, backward=True).text(substitution="none")
    assert "arg(z) + Re(w)" in text and "d = z∗ ⊙ w" in text
    text = workings.show(fourier, z, w, x, backward=True).text(substitution="none")
    assert "∂L/∂a" in text and "= fft(z, axis −1)" in text and "ifft(∂L/∂a, axis −1, norm=forward)" in text
    assert r"{z}^{*}" in workings.show(parts, z, w, x).latex() or "z^{*}" in workings.show(parts, z, w, x).latex()
