"""The modules of `torch.nn` on exact tensors: convolutions, pools, norms, recurrent nets, activations, losses and
transformers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import nn

from conformance.case import Case, check, function, module, plainly
from conformance.row import Row

KV, MASK = (2, 2, 3, 2), torch.ones(3, 3, dtype=torch.bool).tril()
LABELS = torch.tensor([0, 2])
SIGNS = torch.tensor([1.0, -1.0], dtype=torch.float64)
UNIT = torch.tensor([[0.25, 0.5, 0.25], [0.125, 0.375, 0.5]], dtype=torch.float64)
BITS = torch.tensor([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]], dtype=torch.float64)
OUTSIDE: set[str] = set()
"""Cases known to be unsupported. One that leaves or joins this set fails the run until the set says so."""


def layers() -> Iterator[Case]:
    """Linear maps, convolutions, embeddings."""
    yield module("Linear", lambda: nn.Linear(3, 2), (2, 3))
    yield module("Bilinear", lambda: nn.Bilinear(2, 3, 2), (2, 2), (2, 3))
    yield module("Conv1d", lambda: nn.Conv1d(2, 3, 3, padding=1, stride=2), (1, 2, 6))
    yield module("Conv2d, dilated, grouped", lambda: nn.Conv2d(2, 2, 2, dilation=2, groups=2), (1, 2, 4, 4))
    yield module(
        "Conv2d, padded circularly",
        lambda: nn.Conv2d(1, 2, 3, padding=1, padding_mode="circular"),
        (1, 1, 3, 3),
    )
    yield module("Conv3d", lambda: nn.Conv3d(1, 2, 2), (1, 1, 3, 3, 2))
    yield module("ConvTranspose1d", lambda: nn.ConvTranspose1d(2, 1, 3, stride=2, padding=1), (1, 2, 3))
    yield module("ConvTranspose2d", lambda: nn.ConvTranspose2d(2, 1, 3, stride=2, output_padding=1), (1, 2, 2, 2))
    yield module("ConvTranspose3d", lambda: nn.ConvTranspose3d(1, 2, 2), (1, 1, 2, 2, 2))
    yield module("Embedding", lambda: nn.Embedding(4, 2, padding_idx=0), torch.tensor([[0, 2, 2], [3, 1, 0]]))
    for kind in ("sum", "mean", "max"):
        yield module(
            f"EmbeddingBag, {kind}",
            lambda kind=kind: nn.EmbeddingBag(4, 2, mode=kind),
            torch.tensor([[0, 2], [3, 1]]),
        )
    yield module("PixelShuffle", lambda: nn.PixelShuffle(2), (1, 4, 2, 2))
    yield module("Upsample, bilinear", lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (1, 1, 2, 3))
    yield module("Unfold", lambda: nn.Unfold(2), (1, 1, 3, 3))
    yield module("Fold", lambda: nn.Fold((3, 3), 2), (1, 4, 4))
    yield module("CosineSimilarity", lambda: nn.CosineSimilarity(), (2, 3), (2, 3))
    yield module("PairwiseDistance", lambda: nn.PairwiseDistance(), (2, 3), (2, 3))
    for size, side in (("1d", (3,)), ("2d", (3, 3)), ("3d", (3, 3, 3))):
        for name in ("CircularPad", "ConstantPad", "ReflectionPad", "ReplicationPad", "ZeroPad"):
            amount = (1, 2.5) if name == "ConstantPad" else (1,)
            make = getattr(nn, name + size)
            yield module(name + size, lambda make=make, amount=amount: make(*amount), (1, 1, *side))


def pools() -> Iterator[Case]:
    """All pools, in one, two and three dimensions."""
    for n in (1, 2, 3):
        image = (1, 1, *(4,) * n)
        for name in ("MaxPool", "AvgPool", "LPPool"):
            make = getattr(nn, f"{name}{n}d")
            args = (3, 2) if name == "LPPool" else (2,)
            yield module(f"{name}{n}d", lambda make=make, args=args: make(*args), image)
        for name in ("AdaptiveMaxPool", "AdaptiveAvgPool"):
            make = getattr(nn, f"{name}{n}d")
            yield module(f"{name}{n}d", lambda make=make: make(3), image)
        pool, unpool = getattr(nn, f"MaxPool{n}d"), getattr(nn, f"MaxUnpool{n}d")
        if n > 1:
            share = torch.full((1, 1, n), 0.25, dtype=torch.float64)
            make = getattr(nn, f"FractionalMaxPool{n}d")
            yield module(
                f"FractionalMaxPool{n}d, given samples",
                lambda make=make, share=share: make(2, output_size=2, _random_samples=share),
                image,
            )
        yield function(f"MaxUnpool{n}d", lambda x, p=pool, u=unpool: u(2)(*p(2, return_indices=True)(x)), image)


def norms() -> Iterator[Case]:
    """Normalisation, in training and evaluation."""
    for n in (1, 2, 3):
        image = (2, 2, *(2,) * n)
        for name in ("BatchNorm", "InstanceNorm"):
            make = getattr(nn, f"{name}{n}d")
            options: dict[str, Any] = {"affine": True, "track_running_stats": True}
            yield module(f"{name}{n}d, train", lambda make=make, options=options: make(2, **options), image)
            yield module(f"{name}{n}d, eval", lambda make=make, options=options: make(2, **options).eval(), image)
    yield module("BatchNorm1d, running averages", lambda: nn.BatchNorm1d(2), (3, 2), call=running_averages)
    yield module("LayerNorm", lambda: nn.LayerNorm(3), (2, 3))
    yield module("GroupNorm", lambda: nn.GroupNorm(2, 4), (1, 4, 2))
    yield module("RMSNorm", lambda: nn.RMSNorm(3), (2, 3))
    yield module("LocalResponseNorm", lambda: nn.LocalResponseNorm(2), (1, 3, 2))


def running_averages(m: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    return [m(x), m(2 * x), m.running_mean, m.running_var, m.num_batches_tracked]


def recurrent() -> Iterator[Case]:
    """Recurrent nets and their cells."""
    for name in ("RNN", "LSTM", "GRU"):
        make = getattr(nn, name)
        yield module(name, lambda make=make: make(2, 3), (3, 1, 2))
        two = {"num_layers": 2, "bidirectional": True}
        yield module(f"{name}, 2 layers, both ways", lambda make=make, two=two: make(2, 2, **two), (2, 1, 2))
        yield module(f"{name}, batch first", lambda make=make: make(2, 2, batch_first=True), (2, 2, 2))
        cell = getattr(nn, f"{name}Cell")
        yield module(f"{name}Cell", lambda cell=cell: cell(2, 3), (2, 2))
    yield module("RNN, relu", lambda: nn.RNN(2, 2, nonlinearity="relu"), (2, 1, 2))
    yield module("LSTM, projected", lambda: nn.LSTM(2, 3, proj_size=2), (2, 1, 2))


def activations() -> Iterator[Case]:
    """Every activation, on positive and negative inputs."""
    arguments = {"Threshold": (0.5, -1.0), "Softmin": (-1,), "Softmax": (-1,), "LogSoftmax": (-1,)}
    for name in nn.modules.activation.__all__:
        shape = (1, 3, 2, 2) if name == "Softmax2d" else (2, 4)
        if name not in ("MultiheadAttention", "RReLU", "Hardsigmoid"):
            make, args = getattr(nn, name), arguments.get(name, ())
            yield module(name, lambda make=make, args=args: make(*args), shape)
    yield module("RReLU, eval", lambda: nn.RReLU().eval(), (2, 4))
    yield module(
        "Hardsigmoid",
        nn.Hardsigmoid,
        (2, 4),
        reference=lambda _, x: nn.functional.relu6(x + 3) / 6,
        note="PyTorch's backward kernel holds 1/6 in float32, so the reference is relu6(x + 3)/6",
    )
    yield module("GELU, tanh", lambda: nn.GELU(approximate="tanh"), (2, 4))
    yield module("PReLU, a slope per channel", lambda: nn.PReLU(3, init=0.25), (2, 3))


def attentions() -> Iterator[Case]:
    """Attention and transformers."""
    sdpa = nn.functional.scaled_dot_product_attention
    yield function("scaled_dot_product_attention", sdpa, KV, KV, KV)
    yield function("scaled_dot_product_attention, causal", lambda q, k, v: sdpa(q, k, v, is_causal=True), KV, KV, KV)
    yield function("scaled_dot_product_attention, mask", lambda q, k, v: sdpa(q, k, v, MASK), KV, KV, KV)
    yield function("scaled_dot_product_attention, added mask", sdpa, KV, KV, KV, (3, 3))
    yield function(
        "scaled_dot_product_attention, shared keys",
        lambda q, k, v: sdpa(q, k, v, enable_gqa=True, scale=0.5),
        (1, 4, 2, 2),
        (1, 2, 3, 2),
        (1, 2, 3, 2),
    )
    hidden = torch.tensor([[False, False, True], [False, True, True]])
    variants: dict[str, dict[str, Any]] = {
        "": {},
        ", without weights": {"need_weights": False},
        ", a weight per head": {"average_attn_weights": False},
        ", keys hidden": {"key_padding_mask": hidden},
        ", masked": {"attn_mask": ~MASK},
    }
    for name, options in variants.items():
        for stage in ("train", "eval"):
            yield module(
                f"MultiheadAttention{name}, {stage}",
                lambda stage=stage: nn.MultiheadAttention(4, 2, batch_first=True).train(stage == "train"),
                (2, 3, 4),
                call=lambda m, x, options=options: m(x, x, x, **options),
            )
    yield module(
        "MultiheadAttention, other widths",
        lambda: nn.MultiheadAttention(4, 2, kdim=3, vdim=2),
        (2, 4),
        (3, 3),
        (3, 2),
    )


def transformers() -> Iterator[Case]:
    """Transformer blocks: before and after the norm, in training (without dropout) and in evaluation."""
    sizes: dict[str, Any] = {
        "d_model": 4,
        "nhead": 2,
        "dim_feedforward": 4,
        "dropout": 0.0,
        "batch_first": True,
    }
    x, y = (1, 3, 4), (1, 2, 4)
    for first in (False, True):
        given = {**sizes, "norm_first": first}
        for stage in ("train", "eval"):
            where = f"norm {'first' if first else 'last'}, {stage}"

            def build(make: Any, *args: Any, training: bool = stage == "train", **options: Any) -> nn.Module:
                return make(*args, **options).train(training)

            def encoder(build: Any = build, given: Any = given) -> nn.Module:
                return build(nn.TransformerEncoder, nn.TransformerEncoderLayer(**given), 2)

            encoder_layer = partial(build, nn.TransformerEncoderLayer, **given)
            decoder_layer = partial(build, nn.TransformerDecoderLayer, **given)
            yield module(f"TransformerEncoderLayer, {where}", encoder_layer, x)
            yield module(f"TransformerDecoderLayer, {where}", decoder_layer, y, x)
            yield module(f"TransformerEncoder, {where}", encoder, x)
    both = {**sizes, "num_encoder_layers": 1, "num_decoder_layers": 1}
    yield module("Transformer, train", lambda: nn.Transformer(**both), x, y)
    yield module("Transformer, eval", lambda: nn.Transformer(**both).eval(), x, y)


LOSSES: dict[str, tuple[Any, ...]] = {
    "L1Loss": ((2, 3), (2, 3)),
    "NLLLoss": ((2, 3), LABELS),
    "NLLLoss2d": ((2, 3, 1, 2), torch.tensor([[[0, 1]], [[2, 2]]])),
    "PoissonNLLLoss": ((2, 3), BITS + 1),
    "GaussianNLLLoss": ((2, 3), (2, 3), (2, 3)),
    "KLDivLoss": ((2, 3), UNIT),
    "MSELoss": ((2, 3), (2, 3)),
    "BCELoss": ((2, 3), BITS),
    "BCEWithLogitsLoss": ((2, 3), BITS),
    "HingeEmbeddingLoss": ((2,), SIGNS),
    "MultiLabelMarginLoss": ((2, 3), torch.tensor([[2, 0, -1], [1, -1, 0]])),
    "SmoothL1Loss": ((2, 3), (2, 3)),
    "HuberLoss": ((2, 3), (2, 3)),
    "SoftMarginLoss": ((2,), SIGNS),
    "CrossEntropyLoss": ((2, 3), LABELS),
    "LinearCrossEntropyLoss": ((2, 4), LABELS),
    "MultiLabelSoftMarginLoss": ((2, 3), BITS),
    "CosineEmbeddingLoss": ((2, 3), (2, 3), SIGNS),
    "MarginRankingLoss": ((2,), (2,), SIGNS),
    "MultiMarginLoss": ((2, 3), LABELS),
    "TripletMarginLoss": ((2, 3), (2, 3), (2, 3)),
    "TripletMarginWithDistanceLoss": ((2, 3), (2, 3), (2, 3)),
    "CTCLoss": ((4, 1, 3), torch.tensor([[1, 2]]), torch.tensor([4]), torch.tensor([2])),
}


def losses() -> Iterator[Case]:
    """Every loss of `torch.nn`, and cross-entropy with its options."""
    domain: dict[str, Any] = {
        "BCELoss": lambda m, x, target: m(x.sigmoid(), target),
        "GaussianNLLLoss": lambda m, x, target, deviation: m(x, target, deviation**2),
    }
    for name, inputs in LOSSES.items():
        make, args = getattr(nn.modules.loss, name), (4, 3) if name == "LinearCrossEntropyLoss" else ()
        yield module(name, lambda make=make, args=args: make(*args), *inputs, call=domain.get(name, plainly))
    yield module("CrossEntropyLoss, smoothed", lambda: nn.CrossEntropyLoss(label_smoothing=0.1), (2, 3), LABELS)
    yield module("CrossEntropyLoss, probabilities", lambda: nn.CrossEntropyLoss(), (2, 3), UNIT)
    yield module("CrossEntropyLoss, one ignored", lambda: nn.CrossEntropyLoss(ignore_index=2), (2, 3), LABELS)
    yield module("CrossEntropyLoss, weighted", lambda: nn.CrossEntropyLoss(UNIT[0], reduction="sum"), (2, 3), LABELS)
    yield module("AdaptiveLogSoftmaxWithLoss", lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 5, [2, 4]), (2, 4), LABELS)


GROUPS = (layers, pools, norms, recurrent, activations, attentions, transformers, losses)


def cases() -> list[Case]:
    return [case for group in GROUPS for case in group()]


def rows() -> Iterator[Row]:
    """Every case, checked."""
    return map(check, cases())
