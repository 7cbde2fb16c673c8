r"""CLIP (Radford et al. 2021) and SigLIP (Zhai et al. 2023): two towers that meet in one space.

    F = normalised(image tower(x) W_image)
    G = normalised(text tower(t) W_text)
    S = e^s F Gᵀ                  CLIP: temperature τ = e^(−s), learned
    S = e^s F Gᵀ + b              SigLIP: scale and bias, learned

Axes: n pairs, d width of the common space.
"""

from __future__ import annotations

from math import log
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from workings.errors import DomainError, ShapeError
from workings.nn.fits import check_shapes
from workings.nn.objectives.contrastive import clip_loss_both_ways, normalised, recall_at, siglip_loss, similarities

Embeddings = Float[Tensor, "n d"]


class CLIP(nn.Module):
    """Two towers, any modules that give a row per example, of the widths named here.

    Training holds the scale e^s at `highest` or below, as in the paper.

    >>> _ = torch.manual_seed(0)
    >>> model = CLIP(nn.Linear(4, 8), nn.Linear(3, 6), image_width=8, text_width=6, width=2)
    >>> model(torch.randn(5, 4), torch.randn(5, 3)).shape
    torch.Size([5, 5])
    """

    highest = 100.0

    def __init__(
        self, image: nn.Module, text: nn.Module, image_width: int, text_width: int, width: int, τ: float = 0.07
    ) -> None:
        super().__init__()
        if min(image_width, text_width, width) < 1:
            raise ShapeError(
                "The towers and the common space need a width of at least 1: "
                f"image_width = {image_width}, text_width = {text_width}, width = {width}."
            )
        if not 1 / self.highest <= τ < float("inf"):
            raise DomainError(f"The temperature starts at 1/{self.highest:g} or above, where the scale is held; τ = {τ:g}.")
        self.image, self.text = image, text
        self.image_projection = nn.Linear(image_width, width, bias=False)
        self.text_projection = nn.Linear(text_width, width, bias=False)
        self.s = nn.Parameter(torch.tensor(-log(τ)))

    @property
    def τ(self) -> Float[Tensor, ""]:
        """The temperature."""
        return torch.exp(-self.s)

    def image_embedding(self, images: Any) -> Embeddings:
        X = self.image(images)
        _check_tower("image", X, self.image_projection)
        X = self.image_projection(X)
        F = normalised(X)
        return F

    def text_embedding(self, texts: Any) -> Embeddings:
        X = self.text(texts)
        _check_tower("text", X, self.text_projection)
        X = self.text_projection(X)
        G = normalised(X)
        return G

    def similarities(self, F: Embeddings, G: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
        """S, from embeddings."""
        check_shapes(similarities, F, G)
        S = torch.exp(self.s) * (F @ G.T)
        return S

    def forward(self, images: Any, texts: Any) -> Float[Tensor, "n m"]:
        """The scores of every image with every text."""
        F = self.image_embedding(images)
        G = self.text_embedding(texts)
        S = self.similarities(F, G)
        return S

    def loss(self, images: Any, texts: Any) -> Float[Tensor, ""]:
        """The loss of pairs: image i belongs to text i. A scale that training has driven above `highest` is set back."""
        with torch.no_grad():
            self.s.clamp_(max=log(self.highest))
        return clip_loss_both_ways(self(images, texts))

    @torch.no_grad()
    def recall(self, images: Any, texts: Any, k: int = 1) -> tuple[float, float]:
        """The share of images that find their text among the first `k`, and of texts that find their image."""
        S = self(images, texts)
        return recall_at(S, k), recall_at(S.T, k)


class SigLIP(CLIP):
    """The same towers with a bias on the scores and the sigmoid loss; it starts at scale 10 and bias −10, as in the paper.

    >>> model = SigLIP(nn.Identity(), nn.Identity(), image_width=4, text_width=3, width=2)
    >>> model.b.item()
    -10.0
    """

    def __init__(
        self, image: nn.Module, text: nn.Module, image_width: int, text_width: int, width: int, τ: float = 0.1
    ) -> None:
        super().__init__(image, text, image_width, text_width, width, τ)
        self.b = nn.Parameter(torch.tensor(-10.0))

    def similarities(self, F: Embeddings, G: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
        """S, from embeddings."""
        check_shapes(similarities, F, G)
        S = torch.exp(self.s) * (F @ G.T) + self.b
        return S

    def loss(self, images: Any, texts: Any) -> Float[Tensor, ""]:
        """The loss of pairs: image i belongs to text i and to no other."""
        return siglip_loss(self(images, texts))


def _check_tower(name: str, X: Tensor, projection: nn.Linear) -> None:
    """Refuse what a tower gives if it is not a row of its width for each example."""
    if X.dim() != 2 or X.shape[1] != projection.in_features:
        raise ShapeError(
            f"The {name} tower gives a row of width {projection.in_features} for each example, but it gave {[*X.shape]}."
        )
