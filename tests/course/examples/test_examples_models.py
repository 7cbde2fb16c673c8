"""Worked examples: the tiny decoder, convolutional networks, patches, Transformers, averages of words."""

from itertools import permutations
from math import sqrt

import torch
from torch import nn

from tests.course.examples.golden import example, steps
from workings import exact
from workings.course import DedupeDecoder, attention_cost, recurrent_cost
from workings.course.counts import count_passes
from workings.course.dedupe import answer_loss, descend
from workings.course.dedupe_task import START, encode
from workings.models import DeepAveraging, LanguageModel, StreetDigits, ViT, greedy
from workings.nn import (
    FeedForward,
    conv_parameters,
    conv_shape,
    linear_parameters,
    linear_to_conv,
    parameter_count,
    patch_embedding,
    patch_embedding_conv,
    patches,
    spread,
)
from workings.nn.vision.patch_tokens import grid_of

# ---- the tiny decoder, with the weights of the example


def decoder(given, **options):
    model = DedupeDecoder(**options)
    weights = {"W_Q": given["W"], "W_K": given["W"], "W_V": given["W"], "E": given["E"]}
    if model.heads == 1:
        weights["W_O"] = given["W_O"]
    for name, rows in weights.items():
        setattr(model, name, nn.Parameter(torch.tensor(rows, dtype=torch.float64)))
    return exact.exactify(model) if given.numbers == "exact" else model


def traced(given, **options):
    return steps(decoder(given, **options), encode(given["sequence"]))


def answer(given, same_position=False, **options):
    """The loss, and the probabilities of the three tokens of the answer."""
    tokens = encode(given["sequence"])
    logits = decoder(given, **options)(tokens)
    t = tokens.tolist().index(START) + (1 if same_position else 0)
    p = logits[t : t + 3].softmax(dim=-1)[torch.arange(3), tokens[-3:]]
    return answer_loss(logits, tokens, same_position), p


@example("embeddings-QKV")
def test_embeddings_QKV(given):
    found = traced(given)
    return {name: found[name] for name in "XQKV"}


@example("attention")
def test_attention(given):
    P = traced(given)["P"]
    return {"P": P, "row_sums": P.sum(dim=1)}


@example("Z")
def test_Z(given):
    return {"Z": traced(given)["Z"]}


@example("R")
def test_R(given):
    R = traced(given)["R"]
    return {"R": R, "shape": [*R.shape]}


@example("logits")
def test_logits(given):
    return {"logits": traced(given)["logits"]}


@example("loss")
def test_loss(given):
    L, p = answer(given)
    slip, _ = answer(given, same_position=True)
    return {
        "loss_causal_next_token": L,
        "probabilities_causal": p,
        "mean_causal": L / 3,
        "loss_same_position": slip,
        "closed_form_causal": L,
        "closed_form_same_position": slip,
    }


@example("duplicate-head")
def test_duplicate_head(given):
    L, p = answer(given, heads=2)
    slip, q = answer(given, same_position=True, heads=2)
    return {
        "R": traced(given, heads=2)["R"],
        "loss_causal_next_token": L,
        "probabilities_causal": p,
        "loss_same_position": slip,
        "probabilities_same_position": q,
    }


@example("zero-gradient", numbers=["float"])
def test_zero_gradient(given):
    tokens, found = encode(given["sequence"]), {}
    for kind, T in (("argmax", 0.0), ("softmax", sqrt(2))):
        for where in ("causal", "same_position"):
            model = decoder(given, T=T)
            L = answer_loss(model(tokens), tokens, same_position=where == "same_position")
            L.backward()
            norms = {f"norm_g{name}": norm(getattr(model, name).grad) for name in ("W_Q", "W_K", "W_V")}
            values = {"loss": L, **norms, "gW_V": model.W_V.grad}
            found |= {f"{kind}_{where}_{name}": value for name, value in values.items()}
    return found


def norm(gradient):
    """Of a gradient; 0 where autograd has none, because nothing depends on the matrix."""
    return torch.zeros(()) if gradient is None else gradient.norm()


@example("no-positions")
def test_no_positions(given):
    model = decoder(given)
    rows = [steps(model, encode([*prompt.split(), "<START>"]))["Z"][-1] for prompt in given["prompts"]]
    assert {tuple(prompt.split()) for prompt in given["prompts"]} == {*permutations("DAA")}
    return {
        "Z_at_START": rows[0],
        "same_for_all_permutations": all(bool((row == rows[0]).all()) for row in rows),
    }


@example("train-W_V-with-argmax", numbers=["float"])
def test_train_W_V_with_argmax(given):
    losses = descend(decoder(given), encode(given["sequence"]), ("W_V",), given["rate"], given["steps"])
    return {"loss_at_0_50_100_150_200": losses[::50]}


# ---- images


@example("parameters", numbers=["float"])
def test_parameters(given):
    model = StreetDigits()
    counts = {name: parameter_count(getattr(model, name)) for name in ("conv1", "conv2")}
    assert counts == {name: conv_parameters(*given[name]) for name in counts}
    return {
        **counts,
        "avgpool1": parameter_count(model.pool1),
        "avgpool2": parameter_count(model.pool2),
        "linear_144_10": linear_parameters(*given["linear"]),
        "total": parameter_count(model),
    }


@example("shapes", numbers=["float"])
def test_shapes(given):
    conv1 = conv_shape(given["image"], 5)
    pool1 = conv_shape(conv1, 4, 4)
    conv2 = conv_shape(pool1, 4, P=1)
    pool2 = conv_shape(conv2, 2, 2)
    found = {
        "conv1": [8, *conv1],
        "avgpool1": [8, *pool1],
        "conv2_padded": [8, *conv_shape(pool1, 1, P=1)],  # a kernel of one stands on every padded place
        "conv2": [16, *conv2],
        "avgpool2": [16, *pool2],
        "flatten": 16 * pool2[0] * pool2[1],
    }
    model, X = StreetDigits(), torch.zeros(1, 1, *given["image"])
    for name, layer in (
        ("conv1", model.conv1),
        ("avgpool1", model.pool1),
        ("conv2", model.conv2),
        ("avgpool2", model.pool2),
    ):
        X = layer(X)
        assert [*X.shape[1:]] == found[name]
    return found


@example("conv-replaces-linear", numbers=["float"])
def test_conv_replaces_linear(given):
    torch.manual_seed(0)
    X = torch.randn(1, *given["features"])
    linear, v1, v2 = (StreetDigits(head).head for head in ("linear", "conv", "pooled"))
    same = linear_to_conv(linear[-1], *given["features"])
    mirrored = X.flip(-1)
    blind = [bool(torch.allclose(head(X), head(mirrored), atol=1e-6)) for head in (v2, linear)]
    return {
        "v1_output": [*v1(X).shape[1:]],
        "v1_parameters": parameter_count(v1),
        "v1_equivalent_to_linear": bool(torch.allclose(same(X).flatten(1), linear(X), atol=1e-6)),
        "v2_output": [*v2(X).shape[1:]],
        "v2_parameters": parameter_count(v2),
        "v2_equivalent_to_linear": blind[0] == blind[1],  # v2 cannot tell left from right
        "v2_is_v1_with_a_constant_kernel": bool(torch.allclose(spread(v2[0], 3, 3)(X), v2(X), atol=1e-6)),
    }


@example("patch-embedding", numbers=["float"])
def test_patch_embedding(given):
    c, N, P = given["channels"], given["size"], given["patch"]
    image = torch.randn(1, c, N, N, dtype=torch.float64)
    W = torch.randn(8, c * P * P, dtype=torch.float64) / (c * P * P)
    X = patches(image, P)
    model = ViT(N, P, width=8, depth=0, heads=1, classes=2)
    apart = (patch_embedding(image, W, None, P) - patch_embedding_conv(image, W, None, P)).abs().max()
    return {
        "patch_vector": X.shape[-1],
        "grid": [*grid_of(N, N, P)],
        "patches": X.shape[-2],
        "tokens_with_CLS": model.embed(image.float()).shape[1],
        "equal_to_convolution": bool(apart < 1e-14),
    }


@example("position-dimension", numbers=["float"])
def test_position_dimension(given):
    table = ViT(given["image"], given["patch"], width=8, depth=0, heads=1, classes=2).positions
    return {"position_vectors": len(table), "axes": table.dim()}


# ---- Transformers and text


@example("complexity", numbers=["float"])
def test_complexity(given):
    costs = [(recurrent_cost(n, given["d"]), attention_cost(n, given["d"])) for n in given["n"]]
    return {
        "recurrent_n_d2": [recurrent.operations for recurrent, _ in costs],
        "attention_n2_d": [attention.operations for _, attention in costs],
        "cheaper": [attention.operations < recurrent.operations for recurrent, attention in costs],
    }


@example("workload", numbers=["float"])
def test_workload(given):
    return {
        "attention": [attention_cost(n, given["d"]).operations for n in given["n"]],
        "recurrent": [recurrent_cost(n, given["d"]).operations for n in given["n"]],
    }


@example("parallel-inference", numbers=["float"])
def test_parallel_inference(given):
    torch.manual_seed(0)
    model = LanguageModel(5, 8, 1, 2, context=16).eval()
    training, decoding = [], []
    for T in given["T"]:
        with count_passes(model) as passes:
            model.loss(torch.randint(5, (1, T + 1)))
        training.append(passes.count)
        with count_passes(model) as passes:
            assert len([*greedy(model, [0], T)]) == T
        decoding.append(passes.count)
    return {"training_forward_passes": training, "greedy_decoding_forward_passes": decoding}


@example("ffn", numbers=["float"])
def test_ffn(given):
    layer = FeedForward(given["d_model"])
    assert layer.W_1.shape == (given["d_model"], given["d_ff"])
    return {"ratio": given["d_ff"] // given["d_model"], "parameters": parameter_count(layer)}


@example("residual")
def test_residual(given):
    x = given.tensor([1, 2, 3])
    zero, half = (torch.func.jacrev(lambda x, a=a: x + a * x)(x) for a in given.F)
    return {"counterexample_norm": (zero * zero).sum(), "singular_values": half.diagonal()}


@example("dan-order", numbers=["float"])
def test_dan_order(given):
    torch.manual_seed(0)
    model = DeepAveraging(torch.randn(given["words"], given["width"]).double(), [8], 2).double().eval()
    scores = torch.cat([model(torch.tensor([order])) for order in permutations([1, 3, 5, 7])])
    return {"order_effect": int((scores - scores[0]).abs().max() > 1e-12)}


@example("marks")
def test_marks(given):
    sums = [getattr(given, name) for name in ("part1", "part2", "problem1", "problem2")]
    totals = torch.stack([s.sum() for s in sums])
    return {"sums": totals, "total": totals.sum(), "questions": sum(map(len, sums))}
