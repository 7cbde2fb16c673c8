"""Scaled dot-product attention, written out.

S = Q Kᵀ / √d,  A = softmax(S),  O = A V
"""

from __future__ import annotations

import math
from typing import Any

import torch
from flint import fmpq

from workings.errors import DomainError
from workings.exact.dispatch.operation import rule, wrap
from workings.exact.dispatch.vjp import vjp
from workings.exact.numbers.value import rational
from workings.exact.tensor.arena import payload_of
from workings.exact.tensor.exact_tensor import OVERRIDES


def attention(
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
    if enable_gqa:
        K, V = (t.repeat_interleave(Q.shape[-3] // t.shape[-3], -3) for t in (K, V))
    S = Q @ K.mT * (_inverse_root(Q.shape[-1]) if scale is None else scale)
    if is_causal:
        attn_mask = torch.ones(Q.shape[-2], K.shape[-2], dtype=torch.bool).tril()
    if attn_mask is not None:
        S = S.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else S + attn_mask
    A = torch.ops.aten._safe_softmax(S, -1) if attn_mask is not None else S.softmax(-1)
    return A @ V


def _inverse_root(d: int) -> Any:
    return wrap(payload_of([rational(fmpq(d))], ())).rsqrt()


OVERRIDES[torch.nn.functional.scaled_dot_product_attention] = attention
OVERRIDES[torch._nested_tensor_from_mask_left_aligned] = lambda *_: False  # no fused encoder: it computes in floats


@rule("_scaled_dot_product_flash_attention_for_cpu")
def flash(
    q: Any,
    k: Any,
    v: Any,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Any = None,
    scale: float | None = None,
) -> Any:
    """The kernel PyTorch picks on a CPU; the second result (log-sum-exp) is only for its own backward."""
    return attention(q, k, v, attn_mask, dropout_p, is_causal, scale), torch.zeros(q.shape[:-1])


@rule("_scaled_dot_product_flash_attention_for_cpu_backward")
def flash_backward(
    g: Any,
    q: Any,
    k: Any,
    v: Any,
    out: Any,
    logsumexp: Any,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Any = None,
    scale: float | None = None,
) -> Any:
    def forward(q: Any, k: Any, v: Any) -> Any:
        return attention(q, k, v, attn_mask, 0.0, is_causal, scale)

    return vjp(forward, [q, k, v], g)
