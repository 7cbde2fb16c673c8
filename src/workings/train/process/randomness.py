"""Random numbers that follow from the seed and the step's number: PyTorch's, NumPy's and Python's own."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy
import torch

AFTER = 0x9E3779B9
"""Makes the numbers drawn after a batch others than those that it was drawn with."""


def seed_all(seed: int, step: int, salt: int = 0) -> None:
    """Make everything random in a step follow from the run's seed and the step's number.

    >>> seed_all(0, 7); first = random.random(), float(numpy.random.rand()), torch.rand(1).item()
    >>> seed_all(0, 7); first == (random.random(), float(numpy.random.rand()), torch.rand(1).item())
    True
    """
    # No generator's state is saved in a checkpoint: a step's numbers follow from these two alone, so a resumed run, which
    # drew nothing of what came before, meets the same ones. The factor keeps seed 1 from being seed 0 one step later.
    mixed = (seed * 1_000_003 + step) ^ salt
    if torch.cuda.is_initialized():
        torch.manual_seed(mixed)
    else:
        torch.default_generator.manual_seed(mixed)  # ten times quicker
    random.seed(mixed)
    numpy.random.seed(mixed % 2**32)  # it takes 32 bits


@contextmanager
def preserve_random_state() -> Iterator[None]:
    """Whatever is drawn inside, the random numbers afterwards are those that would have come."""
    ours, numpys, torchs = random.getstate(), numpy.random.get_state(), torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(ours)
        numpy.random.set_state(numpys)
        torch.set_rng_state(torchs)
