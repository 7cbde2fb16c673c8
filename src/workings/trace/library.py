"""The functions of the library that can be shown by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from workings.trace import textbook


def attention(Q: Any, K: Any, V: Any) -> Any:
    """Scaled dot-product attention."""
    d = Q.shape[-1]
    S = Q @ K.mT / math.sqrt(d)
    A = S.softmax(dim=-1)
    Z = A @ V
    return Z


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "attention": attention,
    **{name: getattr(textbook, name) for name in textbook.__all__},
}
