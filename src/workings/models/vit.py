r"""The Vision Transformer (Dosovitskiy et al. 2021): an encoder that reads patches as if they were words.

    E = patches of the image · Wᵀ + b          patch embedding
    X = [cls; E] + positions                   one learned token in front, one learned vector for each place
    X = block(X), depth times                  the blocks of a Transformer's encoder, norm first
    c = norm(X[0])                             the answer is read off the CLS token
    z = head(c)                                logits: one linear layer, or an MLP with one hidden layer

With `pool="mean"` there is no CLS token, and c is the mean of the tokens after the norm.

Compared with a text Transformer: patches instead of words, no decoder and no causal mask, a class instead of a sequence, and
learned positions, one for each raster index, instead of sinusoids.

Axes: b batch, c channels, n m height and width, p patches, t = p + 1 tokens, d width, k classes.
"""

from __future__ import annotations

from math import sqrt

import torch
from jaxtyping import Float
from torch import Tensor, nn

from workings.errors import DomainError, ShapeError
from workings.nn.norms.per_token import LayerNorm
from workings.nn.transformer.block import Block
from workings.nn.vision.patch_tokens import Grid, grid_of, patch_embedding, resampled_positions

Images = Float[Tensor, "b c n m"]
_POOLS = ("cls", "mean")


class ViT(nn.Module):
    """A Vision Transformer for images of `image` by `image` (or a pair of height and width) in patches of `patch`.

    `head_hidden` makes the head an MLP with that hidden width, as in pre-training; without it the head is linear, as in
    fine-tuning. `positions=False` leaves the positions out: then the order of the patches means nothing.

    >>> model = ViT(image=32, patch=8, width=16, depth=2, heads=4, classes=10)
    >>> model(torch.zeros(2, 3, 32, 32)).shape, model.positions.shape
    (torch.Size([2, 10]), torch.Size([17, 16]))
    """

    def __init__(
        self,
        image: int | tuple[int, int],
        patch: int,
        width: int,
        depth: int,
        heads: int,
        classes: int,
        channels: int = 3,
        pool: str = "cls",
        *,
        hidden: int | None = None,
        head_hidden: int | None = None,
        positions: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if pool not in _POOLS:
            raise DomainError(f"A ViT reads its answer off one of {', '.join(_POOLS)}, not {pool!r}.")
        height, breadth = (image, image) if isinstance(image, int) else image
        self.patch, self.pool, self.width = patch, pool, width
        self.grid = grid_of(height, breadth, patch)
        numbers = channels * patch * patch
        self.W = nn.Parameter(torch.empty(width, numbers).uniform_(-1 / sqrt(numbers), 1 / sqrt(numbers)))
        self.b = nn.Parameter(torch.zeros(width))
        self.cls = nn.Parameter(0.02 * torch.randn(1, width)) if pool == "cls" else None
        tokens = self.grid[0] * self.grid[1] + self.extra
        self.positions = nn.Parameter(0.02 * torch.randn(tokens, width)) if positions else None
        self.blocks = nn.ModuleList(
            Block(width, heads, hidden=hidden, activation="gelu", dropout=dropout) for _ in range(depth)
        )
        self.norm = LayerNorm(width)
        self.head = head(width, classes, head_hidden)

    @property
    def extra(self) -> int:
        """Tokens that are no patch: CLS, if there is one."""
        return 0 if self.cls is None else 1

    def forward(self, image: Images) -> Float[Tensor, "b k"]:
        X = self.encode(image)
        c = self.read_off(X)
        z = self.head(c)
        return z

    def read_off(self, X: Float[Tensor, "b t d"]) -> Float[Tensor, "b d"]:
        """What the head sees: the CLS token, or the mean of the tokens."""
        if self.pool == "cls":
            return self.norm(X[:, 0])
        return self.norm(X).mean(dim=1)

    def encode(self, image: Images) -> Float[Tensor, "b t d"]:
        """The tokens after the last block."""
        X = self.embed(image)
        for block in self.blocks:
            X = block(X)
        return X

    def embed(self, image: Images) -> Float[Tensor, "b t d"]:
        """The tokens before the first block."""
        if image.dim() != 4:
            raise ShapeError(
                f"A ViT takes images b × c × n × m, but this is {[*image.shape]}; one image is image.unsqueeze(0)."
            )
        X = patch_embedding(image, self.W, self.b, self.patch)
        if self.cls is not None:
            X = torch.cat([self.cls.expand(len(X), 1, -1), X], dim=1)
        if self.positions is not None:
            X = self.with_positions(X, image)
        return X

    def with_positions(self, X: Float[Tensor, "b t d"], image: Images) -> Float[Tensor, "b t d"]:
        """The tokens with their positions added."""
        grid = grid_of(image.shape[-2], image.shape[-1], self.patch)
        if grid != self.grid or self.positions is None:
            raise ShapeError(
                f"There are positions for a grid of {self.grid[0]}×{self.grid[1]} patches, but the image has "
                f"{grid[0]}×{grid[1]}. Call resize({grid}) first."
            )
        X = X + self.positions
        return X

    def weights(self, image: Images) -> Float[Tensor, "l b h t t"]:
        """The attention weights of every block; row 0 of each is what CLS looks at."""
        X, found = self.embed(image), []
        for block in self.blocks:
            found.append(block.weights(X))  # type: ignore[operator]
            X = block(X)
        return torch.stack(found)

    def resize(self, grid: Grid, how: str = "bicubic") -> ViT:
        """Take images of another grid of patches from now on: the positions are resampled in 2-D, that of CLS is kept."""
        if self.positions is not None:
            with torch.no_grad():
                new = resampled_positions(self.positions, self.grid, grid, how, self.extra)
            self.positions = nn.Parameter(new, self.positions.requires_grad)
        self.grid = grid
        return self

    def new_head(self, classes: int, hidden: int | None = None) -> ViT:
        """Begin fine-tuning: a fresh head for other classes, the rest as it was trained."""
        self.head = head(self.width, classes, hidden).to(self.W)
        return self

    def freeze(self, frozen: bool = True) -> ViT:
        """Keep everything but the head as it is (or, with `frozen=False`, train it again)."""
        self.requires_grad_(not frozen)
        self.head.requires_grad_(True)
        return self


def head(width: int, classes: int, hidden: int | None = None) -> nn.Module:
    """A linear layer, or an MLP with one hidden layer."""
    if hidden is None:
        return nn.Linear(width, classes)
    return nn.Sequential(nn.Linear(width, hidden), nn.Tanh(), nn.Linear(hidden, classes))
