r"""An auto-encoder of pictures: through a narrow code and back.

    z = encoder(x)          the code, much narrower than x
    x̂ = decoder(z)
    L = 1/N Σ ‖x̂ − x‖²

The figure `pca` is the same error of the best linear code of that width, the first principal components; an auto-encoder
with hidden layers should come out below it.

Axes: b pictures, x pixels of a picture, z width of the code.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from workings.errors import WorkingsError
from workings.models.autoencoder import reconstruction_error
from workings.train.tasks.drawing import shades
from workings.train.tasks.pictures import Pictures, in_parts


def check_narrow(code: int, pixels: int) -> None:
    """A code as wide as a picture could copy it."""
    if code >= pixels:
        raise WorkingsError(
            f"A code of {code} numbers is as wide as a picture of {pixels}: it could copy its input. Use a smaller code."
        )


def widths(text: str) -> list[int]:
    """Whole numbers from 1 up, with spaces or commas between them; `none` is no number.

    >>> widths("256 128"), widths("none")
    ([256, 128], [])
    """
    words = [] if text == "none" else text.replace(",", " ").split()
    if not all(word.isdecimal() and int(word) > 0 for word in words):
        raise WorkingsError(f"hidden is whole numbers with spaces between them, such as '256 128', or none; got {text!r}.")
    return [int(word) for word in words]


def loss(model: nn.Module, x: Pictures) -> Tensor:
    x = x.flatten(1)
    x̂ = model(x)
    L = reconstruction_error(x, x̂)
    return L


def error(model: nn.Module, x: Pictures) -> float:
    x = x.flatten(1)
    return reconstruction_error(x, in_parts(model, x)).item()


def reconstructions(model: nn.Module, x: Pictures) -> str:
    """Pictures, and below them what the code kept of them."""
    x̂ = model(x.flatten(1)).view_as(x)
    return f"{shades(x)}\n{shades(x̂)}"


def principal_error(x: Float[Tensor, "b x"], test: Float[Tensor, "m x"], code: int) -> float:
    r"""The error of the first principal components of `x` on `test`.

    $$\hat x = \mu + U U^\top (x - \mu)$$
    """
    μ = x.mean(dim=0)
    C = (x - μ).T @ (x - μ)
    U = torch.linalg.eigh(C.double()).eigenvectors[:, -code:].to(x.dtype)
    x̂ = μ + (test - μ) @ U @ U.T
    return reconstruction_error(test, x̂).item()
