"""Peers of `show` that need an environment of their own, on the model of `bench/show.py`; called by it, one at a time.

`python bench/show_peers.py NAME` prints the median seconds of each way to capture and its ratio to plain forwards between
which it stood, as JSON. TransformerLens runs its own model of the same sizes, and its ratio is to that model's forward.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from show import HEADS, LAYERS, TOKENS, VOCABULARY, WIDTH, example, ratios

PEERS = {"TorchLens": "torchlens", "TransformerLens": "transformer-lens<4", "nnsight": "nnsight"}
"""What pip installs for each. TransformerLens 4 makes no model from sizes alone."""

Calls = dict[str, Callable[[], Any]]


def torch_lens() -> tuple[Calls, Callable[[], Any]]:
    import torchlens

    model, tokens = example()
    return {"TorchLens": lambda: torchlens.trace(model, tokens)}, partial(model, tokens)


def transformer_lens() -> tuple[Calls, Callable[[], Any]]:
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    sizes = {"n_layers": LAYERS, "d_model": WIDTH, "n_heads": HEADS, "d_head": WIDTH // HEADS, "n_ctx": TOKENS}
    settings = HookedTransformerConfig(**sizes, d_vocab=VOCABULARY, act_fn="gelu", normalization_type="LN", device="cpu")
    model, (_, tokens) = HookedTransformer(settings).eval(), example()

    def pattern(name: str) -> bool:
        return name.endswith("hook_pattern")

    calls = {
        "TransformerLens, all hooks": lambda: model.run_with_cache(tokens),
        "TransformerLens, hook_pattern": lambda: model.run_with_cache(tokens, names_filter=pattern),
    }
    return calls, partial(model, tokens)


def nnsight() -> tuple[Calls, Callable[[], Any]]:
    from nnsight import NNsight

    model, tokens = example()
    net = NNsight(model)

    # nnsight compiles these blocks anew, and gives every object in them a method to be kept by.
    def outputs() -> Any:
        with net.trace(tokens):
            found = []
            for block in net.blocks:
                found += [block.norm1.output, block.attn.qkv.output, block.attn.out.output, block.attn.output]
                found += [block.norm2.output, block.mlp.output, block.output]
            found = found.save()
        return found

    def weights() -> Any:
        with net.trace(tokens):
            found = []
            for block in net.blocks:
                found.append(block.attn.source.S_softmax_0.output)
            found = found.save()
        return found

    return {"nnsight, outputs of modules": outputs, "nnsight, A of each block": weights}, partial(model, tokens)


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    makers = {"TorchLens": torch_lens, "TransformerLens": transformer_lens, "nnsight": nnsight}
    with torch.no_grad():
        calls, plain = makers[sys.argv[1]]()
        print(json.dumps(ratios(calls, plain)))


if __name__ == "__main__":
    main()
