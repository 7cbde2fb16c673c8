"""Complex numbers. The gradient of a real L by z = x + i y is ∂L/∂x + i ∂L/∂y, as PyTorch has it.

    y = f(z)            ∂L/∂z = ∂L/∂y ⊙ f'(z)*         of every rule whose function is differentiable as a complex one
    y = Re z, Im z      ∂L/∂z = ∂L/∂y,   i ∂L/∂y
    y = |z|             ∂L/∂z = ∂L/∂y ⊙ z/|z|
    Y = fft(x)          ∂L/∂x = ifft(∂L/∂Y) without its 1/n

The rows here know this themselves; the factors of all other rules are conjugated (`conjugate_factors`).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from workings.trace.formula import notation
from workings.trace.formula.operation import Args, Operation, called
from workings.trace.formula.simplify import over, split, times
from workings.trace.formula.tree import Apply, Formula, Leaf, Number, Options, map_parts
from workings.trace.operations.node import Gradients, Node, RuleError, f

_I = f("imaginary_unit")
_OTHER_NORM = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
"""fft with the one and ifft with the other are each other's transpose."""


def is_complex(node: Node) -> bool:
    """Whether an operation makes complex numbers."""
    try:
        value = node.value(node.formula)
    except Exception:  # what cannot be computed again has no kind either
        return False
    return isinstance(value, Tensor) and value.is_complex()


def conjugate_factors(node: Node, gradient: Formula) -> Formula:
    """What stands beside the gradient that arrived, conjugated: ∂L/∂y ⊙ b is ∂L/∂y ⊙ b* for complex b."""
    arrived = _cores(node.G)

    def change(part: Formula) -> Formula:
        if part in arrived:
            return part
        if isinstance(part, Leaf):
            value = node.context.value(part) if part.text in node.context.letters else node.context.operands.get(part.text)
            named = part == node.Y and is_complex(node)  # by the name of the result
            return f("conj", part) if named or (isinstance(value, Tensor) and value.is_complex()) else part
        match part:
            case Number(complex() as value):
                return Number(value.conjugate())
            case Apply("conj", (inner,)):
                return inner
        return map_parts(part, change)

    return change(gradient)


def _cores(G: Formula) -> list[Formula]:
    """The gradient that arrived, as rules write it: without its coefficient, and without being repeated."""
    found, core = [G], split(G)[1]
    if core is not None:
        found += [core, *(core.args if isinstance(core, Apply) and core.op == "expand" else ())]
    return found


def real_part(node: Node, arg: Formula, gradient: Formula) -> Formula:
    """Of the gradient of a real number in a complex result, the real part."""
    value = node.value(arg)
    if isinstance(value, Tensor) and not value.is_complex() and is_complex(node):
        return f("real", gradient)
    return gradient


# ---- gradients


def _real(node: Node) -> Gradients:
    return (node.G,)


def _imag(node: Node) -> Gradients:
    return (times(_I, node.G),)


def _conj(node: Node) -> Gradients:
    return (f("conj", node.G),)


def _angle(node: Node) -> Gradients:
    """arg z turns with i z/|z|²."""
    (z,) = node.args
    return (node.scale(over(times(_I, z), f("square", f("abs", z))), z),)


def _complex(node: Node) -> Gradients:
    a, b = node.args
    return f("real", node.G) if node.varies(a) else None, f("imag", node.G) if node.varies(b) else None


def _polar(node: Node) -> Gradients:
    """y = r e^(iφ): ∂L/∂r = Re(∂L/∂y* ⊙ y/r), ∂L/∂φ = Re(i ∂L/∂y* ⊙ y)"""
    r, angle = node.args
    turned = times(f("conj", node.G), node.Y)
    return (
        f("real", over(turned, r)) if node.varies(r) else None,
        f("real", times(_I, turned)) if node.varies(angle) else None,
    )


def _fft(inverse: str) -> Any:
    def rule(node: Node) -> Gradients:
        x, options = node.args[0], node.options
        if options.get("s") is not None:
            raise RuleError("there is no rule for a Fourier transform that cuts or pads")
        given = {"dim": options.get("dim"), "norm": _OTHER_NORM[options.get("norm") or "backward"]}
        back = Apply(inverse, (node.G,), tuple((key, value) for key, value in given.items() if value is not None))
        return node.to_first(back if node.value(x).is_complex() else f("real", back))

    return rule


def _along(name: str, default: Any) -> Any:
    """fft(x, n, dim, norm) as fftn(x, dim, norm), which all of them are."""

    def made(args: Args, options: Options) -> Formula | None:
        names = ("n", "dim", "norm") if default == (-1,) else ("s", "dim", "norm")
        given = dict(zip(names, args[1:], strict=False)) | dict(options)
        plain = {key: value.value if isinstance(value, Number) else value for key, value in given.items()}
        if plain.get(names[0]) is not None:
            return None
        dim = plain.get("dim", default)
        chosen = {"dim": (dim,) if isinstance(dim, int) else dim, "norm": plain.get("norm")}
        return Apply(name, args[:1], tuple((key, value) for key, value in chosen.items() if value is not None))

    return made


def _transform(name: str) -> Any:
    def compute(x: Tensor, *, dim: Any = None, norm: Any = None) -> Tensor:
        axes = (dim,) if isinstance(dim, int) else dim
        return getattr(torch.fft, name)(x, dim=axes, norm=str(norm).strip("'\"") if norm is not None else None)

    return compute


ROWS = (
    Operation(
        "imaginary_unit: i, whose square is −1",
        compute=lambda: 1j,
        notation=notation.letter("i"),
        constant=True,
        elementwise=True,
    ),
    called(
        "real: Re a",
        compute=lambda a: a.real if isinstance(a, Tensor) and a.is_complex() else a,
        gradient=_real,
        notation=notation.function("Re"),
        elementwise=True,
        knows_complex=True,
    ),
    called(
        "imag: Im a",
        compute=torch.imag,
        gradient=_imag,
        notation=notation.function("Im"),
        elementwise=True,
        knows_complex=True,
    ),
    called(
        "conj: a*, the conjugate",
        also="conj_physical resolve_conj",
        compute=lambda a: torch.conj(a).resolve_conj(),
        gradient=_conj,
        notation=notation.conjugate,
        elementwise=True,
        knows_complex=True,
    ),
    called(
        "angle: arg a",
        compute=torch.angle,
        gradient=_angle,
        notation=notation.function("arg"),
        elementwise=True,
        knows_complex=True,
    ),
    called(
        "view_as_real: real and imaginary part side by side along a new last axis",
        compute=torch.view_as_real,
        gradient=lambda node: (f("view_as_complex", node.G),),
        moves=True,
        knows_complex=True,
    ),
    called(
        "view_as_complex: pairs of numbers along the last axis as complex ones",
        compute=lambda a: torch.view_as_complex(a.contiguous()),
        gradient=lambda node: (f("view_as_real", node.G),),
        moves=True,
        knows_complex=True,
    ),
    called(
        "complex(real imag): a + i b",
        compute=torch.complex,
        gradient=_complex,
        elementwise=True,
        knows_complex=True,
        spelled=lambda args, options: f("add", args[0], f("mul", _I, args[1])) if len(args) == 2 else None,
    ),
    called(
        "polar(abs angle): a e^(i b)",
        compute=torch.polar,
        gradient=_polar,
        elementwise=True,
        knows_complex=True,
        spelled=lambda args, options: f("mul", args[0], f("exp", f("mul", _I, args[1]))) if len(args) == 2 else None,
    ),
    called(
        "fftn: the Fourier transform along options dim, with option norm",
        compute=_transform("fftn"),
        gradient=_fft("ifftn"),
        notation=notation.function("fft"),
        knows_complex=True,
    ),
    called(
        "ifftn: the inverse Fourier transform along options dim, with option norm",
        compute=_transform("ifftn"),
        gradient=_fft("fftn"),
        notation=notation.function("ifft"),
        knows_complex=True,
    ),
    *(
        called(f"{name}: {full} along one axis", means=_along(full, (-1,)))
        for name, full in (("fft", "fftn"), ("ifft", "ifftn"))
    ),
    *(
        called(f"{name}: {full} along the last two axes", means=_along(full, (-2, -1)))
        for name, full in (("fft2", "fftn"), ("ifft2", "ifftn"))
    ),
)
