"""What the recipes for text are measured against: as one would write it without this library, and the models of others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from math import cos, pi, sqrt
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

BLOCK, BATCH = 64, 12


class PlainBlock(nn.Module):
    """GPT-2's block without biases, as nanoGPT has it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width, bias=False), nn.LayerNorm(width, bias=False)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        b, n, e = x.shape
        q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in self.qkv(self.ln_1(x)).split(e, dim=2))
        z = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(z.transpose(1, 2).reshape(b, n, e))
        return x + self.down(F.gelu(self.up(self.ln_2(x))))


class PlainGPT(nn.Module):
    """nanoGPT's configuration for a CPU: 4 layers, width 128, 4 heads, learned positions, the output tied to the input."""

    def __init__(self, characters: int, width: int = 128, heads: int = 4, depth: int = 4) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(characters, width), nn.Embedding(BLOCK, width)
        self.blocks = nn.Sequential(*(PlainBlock(width, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(width, bias=False)
        for name, p in self.named_parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02 / sqrt(2 * depth) if "out" in name or "down" in name else 0.02)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.token(tokens) + self.position.weight[: tokens.shape[1]]
        return self.norm(self.blocks(x)) @ self.token.weight.T

    def loss(self, tokens: Tensor) -> Tensor:
        return F.cross_entropy(self(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


class TorchEncoder(nn.Module):
    """The same size by `nn.TransformerEncoder` with a causal mask."""

    def __init__(self, characters: int, width: int = 128, heads: int = 4, depth: int = 4) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(characters, width), nn.Embedding(BLOCK, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, F.gelu, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, depth, nn.LayerNorm(width), enable_nested_tensor=False)

    def forward(self, tokens: Tensor) -> Tensor:
        n = tokens.shape[1]
        x = self.token(tokens) + self.position.weight[:n]
        return self.blocks(x, nn.Transformer.generate_square_subsequent_mask(n), is_causal=True) @ self.token.weight.T


def adamw(model: nn.Module, rate: float = 1e-3, decay: float = 0.1) -> torch.optim.Optimizer:
    matrices, rest = ([p for p in model.parameters() if (p.dim() > 1) is big] for big in (True, False))
    groups = [{"params": matrices, "weight_decay": decay}, {"params": rest, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.99), fused=True)


def nanogpt(model: PlainGPT, text: Tensor, steps: int) -> Iterator[None]:
    """Training by nanoGPT's settings for a CPU, step after step."""
    rule, generator = adamw(model), torch.Generator().manual_seed(1)
    for step in range(steps):
        rate = 1e-3 * (step + 1) / 100 if step < 100 else 1e-4 + 4.5e-4 * (1 + cos(pi * (step - 100) / (steps - 100)))
        for group in rule.param_groups:
            group["lr"] = rate
        at = torch.randint(len(text) - BLOCK, (BATCH, 1), generator=generator)
        rule.zero_grad()
        model.loss(text[at + torch.arange(BLOCK + 1)]).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        rule.step()
        yield


def numpy_bigram(
    E: np.ndarray, tokens: np.ndarray, spread: Callable[[int], float], steps: int = 40_000, batch: int = 50, hidden: int = 50
) -> Callable[[np.ndarray], np.ndarray]:
    """The classic assignment: vectors that stay as they are, one sigmoid layer, SGD on pairs drawn at random, in NumPy."""
    draw = np.random.default_rng(0)
    words, d = E.shape
    W_1, W_2 = spread(d) * draw.standard_normal((d, hidden)), spread(hidden) * draw.standard_normal((hidden, words))
    b_1, b_2, rate = np.zeros(hidden), np.zeros(words), 0.3

    def forward(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        h = 1 / (1 + np.exp(-(E[v] @ W_1 + b_1)))
        θ = h @ W_2 + b_2
        p = np.exp(θ - θ.max(axis=1, keepdims=True))
        return h, p / p.sum(axis=1, keepdims=True)

    for step in range(steps):
        if step % 20_000 == 0 and step:
            rate /= 2
        at = draw.integers(len(tokens) - 1, size=batch)
        v, w = tokens[at], tokens[at + 1]
        h, p = forward(v)
        p[np.arange(batch), w] -= 1
        δ_2 = p / batch
        δ_1 = (δ_2 @ W_2.T) * h * (1 - h)
        W_2 -= rate * h.T @ δ_2
        b_2 -= rate * δ_2.sum(axis=0)
        W_1 -= rate * E[v].T @ δ_1
        b_1 -= rate * δ_1.sum(axis=0)
    return lambda v: forward(v)[1]


def hugging_face(context: int) -> Any:
    """GPT-2 of nanoGPT's size."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    try:
        from transformers import GPT2Config, GPT2LMHeadModel
    except ImportError:
        return print("  (transformers is not installed)")
    sizes: dict[str, Any] = {"vocab_size": 65, "n_positions": context, "n_embd": 128, "n_layer": 4, "n_head": 4}
    none: dict[str, Any] = {
        "resid_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "attn_pdrop": 0.0,
        "bos_token_id": 0,
        "eos_token_id": None,
    }
    return GPT2LMHeadModel(GPT2Config(**sizes, **none, pad_token_id=0))


def x_transformers() -> Any:
    """x-transformers' decoder of nanoGPT's size."""
    try:
        from x_transformers import Decoder, TransformerWrapper
    except ImportError:
        return print("  (x-transformers is not installed)")
    layers = Decoder(dim=128, depth=4, heads=4, attn_dim_head=32, attn_flash=True)
    return TransformerWrapper(num_tokens=65, max_seq_len=BLOCK, attn_layers=layers)


def lit_gpt(context: int) -> Any:
    """LitGPT's model of nanoGPT's size, and what it cannot have like it: a quarter of each query and key is turned by its
    position instead of learned positions, the norms have shifts, and the output is not tied to the input."""
    try:
        from litgpt import GPT, Config
    except ImportError:
        return print("  (LitGPT is not installed: pip install --no-deps litgpt lightning lightning-utilities torchmetrics)")
    sizes: dict[str, Any] = {"n_layer": 4, "n_embd": 128, "n_head": 4, "vocab_size": 65, "padded_vocab_size": 65}
    return GPT(Config(block_size=context, bias=False, parallel_residual=False, intermediate_size=512, **sizes))


def lit_tokens(model: Any, count: int) -> Tensor:
    """What LitGPT's own loop writes after token 1, with its cache."""
    from litgpt.generate.base import generate

    return generate(model, torch.tensor([1]), count + 1)
