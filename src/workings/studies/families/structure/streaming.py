r"""Causal models: everything at once in training, token by token in use, with the same result.

M_ij = [j ≤ i]                    position i sees 1 … i; tokens as rows: A is lower triangular, as columns: upper
K ← [K; k_t],  V ← [V; v_t]       a cache makes a new token one step
one pass                          gives the logits of all T places in training (teacher forcing)
T passes                          generate T tokens, for each is the next one's input
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from workings.course.counts import count_passes
from workings.models.decoding.search import greedy
from workings.models.language_model import LanguageModel
from workings.nn.transformer.cache import KeyValueCache
from workings.nn.transformer.dot_product import attention_columns, attention_weights
from workings.nn.transformer.multihead import MultiHeadAttention
from workings.studies.claim import Bounds
from workings.studies.decide.proof import compared, equal, proved
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Part, Table, Worked
from workings.studies.pictures.kinds import Bars, Heatmap

_WORDS = 11


@study(rows=("B17",))
def streaming(
    tokens: Annotated[int, Range(3, 100, "one token has no past"), "tokens of the stream"] = 12,
    seed: Seed = 0,
    broken: Literal["", "mask left out", "cache forgotten"] = "",
) -> list[Part]:
    """Causal attention gives the same token by token as all at once, and the past never hears of the future.

    A layer with two heads, run on the whole sequence with a mask and as a stream with a cache of keys and values.
    """
    from workings import exact, show

    torch.manual_seed(seed)
    layer = MultiHeadAttention(8, 2).double()
    X = torch.randn(1, tokens, 8, dtype=torch.float64)
    causal = broken != "mask left out"
    with torch.no_grad():
        whole = layer(X, causal=causal)
        stream = _stream(layer, X, forget=broken == "cache forgotten")
        changed = X.clone()
        changed[:, -1] += 3
        past = (layer(changed, causal=causal) - whole)[:, :-1].abs().max()
        A = layer.weights(X, causal=causal)[0, 0]
    Q: Any = exact("1 0; 1 1; 0 2")
    rows: Any = attention_weights(Q, Q, causal=causal, scale=1)
    # with the identity as values, the output in columns is the weights
    eye: Any = exact("1 0 0; 0 1 0; 0 0 1")
    columns: Any = attention_columns(Q.mT, Q.mT, eye, causal=causal)
    return [
        compared(
            "A stream with a cache gives what the whole sequence gives at once",
            float((stream - whole).abs().max()),
            Bounds(high=1e-12),
            "largest difference",
            "row i of A V needs keys and values 1 … i alone",
        ),
        compared(
            "Changing the last token changes no earlier output",
            float(past),
            Bounds(high=0),
            "largest change",
            "weights of later keys are e^−∞ = 0",
        ),
        equal(
            "With tokens as rows the weights are lower triangular",
            rows.triu(1),
            torch.zeros_like(rows),
            "j ≤ i",
        ),
        equal(
            "With tokens as columns they are the transpose, upper triangular",
            columns,
            rows.tril().mT,
            "A_col = A_rowᵀ",
        ),
        Heatmap(
            "Causal weights: no query sees a later key",
            A[:12, :12].tolist(),
            [str(i + 1) for i in range(min(12, tokens))],
            [str(i + 1) for i in range(min(12, tokens))],
            "key",
            "query",
        ),
        Worked("Three tokens, causal", show(attention_weights, Q, Q, causal=True, scale=1)),
    ]


def _stream(layer: MultiHeadAttention, X: Tensor, forget: bool) -> Tensor:
    """The outputs of a layer that gets its tokens one by one."""
    cache, outs = KeyValueCache(), []
    for t in range(X.shape[1]):
        cache = KeyValueCache() if forget else cache
        outs.append(layer(X[:, t : t + 1], causal=True, cache=cache))
    return torch.cat(outs, 1)


@study(rows=("C2",))
def forward_passes(
    tokens: Annotated[int, Range(2, 64, "one token is one pass either way"), "tokens T"] = 10,
    seed: Seed = 0,
    broken: Literal["", "mask left out", "trained prefix by prefix", "all tokens guessed at once"] = "",
) -> list[Part]:
    """Training sees all places in one pass, generation needs a pass for each token.

    A small decoder, counted while it runs; its logits of one pass are held against those of every prefix.
    """
    torch.manual_seed(seed)
    model = LanguageModel(_WORDS, width=16, heads=2, depth=2, positions="rope", tied=False).double()
    model.reset_parameters(std=1.0)  # so that its answers depend on all tokens, and it does not repeat itself
    torch.nn.init.normal_(model.embedding.E)
    text = torch.randint(_WORDS, (1, tokens + 1))
    if broken == "mask left out":
        for block in model.blocks:
            _see_everything(block)
    with torch.no_grad():
        with count_passes(model) as training:
            if broken == "trained prefix by prefix":
                at_once = torch.cat([model(text[:, :t])[:, -1:] for t in range(1, tokens + 1)], 1)
            else:
                at_once = model(text[:, :tokens])
        prefixes = torch.cat([model(text[:, :t])[:, -1:] for t in range(1, tokens + 1)], 1)
        prompts = torch.arange(_WORDS)[:, None]  # every word once, for a random model may repeat itself after some of them
        with count_passes(model) as generation:
            if broken == "all tokens guessed at once":
                written = [_guessed(model, prompt[None], tokens) for prompt in prompts]
            else:
                written = [[*greedy(model, prompt.tolist(), tokens)] for prompt in prompts]
        again = [_chosen_one_by_one(model, prompt[None], tokens) for prompt in prompts]
    return [
        proved(
            "Teacher forcing gives the logits of all T places in one pass",
            training.count == 1,
            f"{training.count} passes for {tokens} places",
            "a causal mask keeps each place from its answer",
        ),
        compared(
            "They are those of T passes over the prefixes",
            float((at_once - prefixes).abs().max()),
            Bounds(high=1e-10),
            "largest difference of a logit",
            "a causal model's output at i is a function of tokens 1 … i",
        ),
        proved(
            "Greedy decoding takes T passes for T tokens",
            generation.count == tokens * _WORDS,
            f"{generation.count} passes for {tokens} tokens after each of {_WORDS} prompts",
            "each token is the next one's input",
        ),
        proved(
            "Its tokens are those that the model finds likeliest, one after the other",
            written == again,
            f"after word 0 generated {written[0]}, chosen one by one {again[0]}; {_WORDS} prompts",
            "greedy decoding",
        ),
        Bars(
            "Forward passes for T tokens",
            [f"T = {n}" for n in (10, 100, 1000)],
            {"training": [1, 1, 1], "generation": [10, 100, 1000]},
            "passes",
            "log",
        ),
        Table(
            "Passes that were counted",
            ["", "tokens", "passes", "a recurrent network"],
            [
                ["training", tokens, training.count, f"1 pass, {tokens} steps in a row"],
                ["generation", tokens, generation.count / _WORDS, f"{tokens} passes"],
            ],
        ),
    ]


def _see_everything(block: Any) -> None:
    """Make a block ignore that it should be causal."""
    forward = block.forward
    block.forward = lambda X, *given, **options: forward(X, *given, **{**options, "causal": False})


def _guessed(model: LanguageModel, text: Tensor, count: int) -> list[int]:
    """The likeliest token at each of several places after the first, without waiting for any of them."""
    blank = torch.cat([text[:, :1], torch.zeros(1, count - 1, dtype=torch.long)], 1)
    return model(blank)[0].argmax(-1).tolist()


def _chosen_one_by_one(model: LanguageModel, text: Tensor, count: int) -> list[int]:
    known = text[:, :1]
    for _ in range(count):
        known = torch.cat([known, model(known)[:, -1:].argmax(-1)], 1)
    return known[0, 1:].tolist()
