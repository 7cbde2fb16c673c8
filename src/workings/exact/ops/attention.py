"""Scaled dot-product attention by its equation (`workings.equations.transformer`), where PyTorch has fused kernels."""

from __future__ import annotations

from typing import Any

import torch

from workings import equations
from workings.errors import DomainError
from workings.exact.dispatch.operation import rule
from workings.exact.dispatch.vjp import vjp
from workings.exact.tensor.exact_tensor import OVERRIDES


def _attention(
    Q: Any,
    K: Any,
    V: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """What `F.scaled_dot_product_attention` computes, in exact steps."""
    if dropout_p:
        raise DomainError(f"Attention dropout is random: exact attention needs dropout_p = 0, not {dropout_p}. Use .eval().")
    return equations.scaled_dot_product_attention(Q, K, V, attn_mask, is_causal, scale, enable_gqa)


OVERRIDES[torch.nn.functional.scaled_dot_product_attention] = _attention
OVERRIDES[torch._nested_tensor_from_mask_left_aligned] = lambda *_: False  # no fused encoder: it computes in floats


@rule("_scaled_dot_product_flash_attention_for_cpu")
def flash(q: Any, k: Any, v: Any, dropout_p: float = 0.0, is_causal: bool = False, **options: Any) -> Any:
    """The kernel PyTorch picks on a CPU; the second result (log-sum-exp) is only for its own backward."""
    return _attention(q, k, v, dropout_p=dropout_p, is_causal=is_causal, **options), torch.zeros(q.shape[:-1])


@rule("_scaled_dot_product_flash_attention_for_cpu_backward")
def flash_backward(
    g: Any, q: Any, k: Any, v: Any, out: Any, logsumexp: Any, dropout_p: float, is_causal: bool, **options: Any
) -> Any:
    return vjp(lambda q, k, v: _attention(q, k, v, is_causal=is_causal, **options), [q, k, v], g)
