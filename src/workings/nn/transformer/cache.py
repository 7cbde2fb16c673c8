r"""Keys and values of past tokens, so that a new token is one step and not the whole sequence again.

    K ← [K; K_new],  V ← [V; V_new]

Room is made ahead, twice what is there, so that n steps copy no more than 2n rows.
Axes: b batch (and heads), k tokens, d width of a key, t width of a value.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from workings.errors import DomainError, ShapeError
from workings.nn.fits import check_shapes


class KeyValueCache:
    """The keys and values seen so far.

    >>> cache = KeyValueCache()
    >>> K, V = cache.append(torch.ones(2, 3), torch.zeros(2, 1))
    >>> K, V = cache.append(torch.ones(1, 3), torch.zeros(1, 1))
    >>> len(cache), K.shape
    (3, torch.Size([3, 3]))
    """

    def __init__(self, room: int = 16) -> None:
        self.room = room
        self.length = 0
        self.rows: tuple[Tensor, Tensor] | None = None

    def __len__(self) -> int:
        return self.length

    @property
    def keys(self) -> Tensor:
        return self._filled(0)

    @property
    def values(self) -> Tensor:
        return self._filled(1)

    def _filled(self, which: int) -> Tensor:
        if self.rows is None:
            raise DomainError("The cache holds nothing yet: append keys and values first.")
        return self.rows[which][..., : self.length, :]

    def append(
        self, K: Float[Tensor, "*b k d"], V: Float[Tensor, "*b k t"]
    ) -> tuple[Float[Tensor, "*b m d"], Float[Tensor, "*b m t"]]:
        """Put new keys and values behind the old ones; all of them."""
        if K.requires_grad and torch.is_grad_enabled():
            raise DomainError("A cache overwrites its rows, so no gradient can pass: decode inside torch.no_grad().")
        check_shapes(KeyValueCache.append, self, K, V, empty="k d t")
        self._make_room(K, V)
        assert self.rows is not None
        end = self.length + K.shape[-2]
        for rows, new in zip(self.rows, (K, V), strict=True):
            rows[..., self.length : end, :] = new
        self.length = end
        return self.keys, self.values

    def _make_room(self, K: Tensor, V: Tensor) -> None:
        need = self.length + K.shape[-2]
        if self.rows is None:
            self.rows = (_rows(K, max(self.room, need)), _rows(V, max(self.room, need)))
            return
        for name, rows, new in (("K", self.rows[0], K), ("V", self.rows[1], V)):
            if rows.shape[:-2] != new.shape[:-2] or rows.shape[-1] != new.shape[-1]:
                raise ShapeError(
                    f"[{name}; {name}_new] needs the same batch and width: the cache holds "
                    f"{[*self._filled(name == 'V').shape]}, but {[*new.shape]} came."
                )
        self.make_room(need)

    def make_room(self, need: int) -> None:
        """Room for `need` tokens in all, or twice as many where there is less."""
        if self.rows is not None and need > self.rows[0].shape[-2]:
            self.rows = (self._moved(self.keys, 2 * need), self._moved(self.values, 2 * need))

    def _moved(self, old: Tensor, room: int) -> Tensor:
        rows = _rows(old, room)
        rows[..., : self.length, :] = old
        return rows

    def crop(self, length: int) -> None:
        """Forget what came after the first `length` tokens."""
        self.length = min(self.length, length)


def _rows(like: Tensor, room: int) -> Tensor:
    return like.new_zeros((*like.shape[:-2], room, like.shape[-1]))
