"""Worked examples: attention, softmax, heads, perturbations, constructions."""

import torch

from tests.course.examples.golden import example, steps
from workings import exact
from workings.course import (
    averaging_query,
    averaging_weight,
    conv1d_by_heads,
    convolution_weights,
    copy_weight,
    identity_diagonal,
    identity_layer,
    key_noise,
    key_noise_mean,
    key_scaling,
    key_scaling_change,
    one_head_weight,
    other_convention,
    permutation_layer,
    two_head_weight,
    two_queries,
    width_one,
)
from workings.course.convention import shape_of
from workings.course.perturbation import parts, with_column
from workings.course.selection import normal_mean
from workings.errors import ShapeError
from workings.nn import (
    MultiHeadAttention,
    argmax_weights,
    attention,
    attention_columns,
    attention_query,
    multi_head,
    multi_head_columns,
    sinusoidal,
    softmax,
    softmax_jacobian,
    variance,
    window_mask,
)


@example("attention-weights")
def test_attention_weights(given):
    found = steps(attention, given.Q, given.K, given.Q)
    return {"QK_T": steps(attention, given.Q, given.K, given.Q, scale=1)["S"], "S": found["S"], "A": found["A"]}


@example("attention-output")
def test_attention_output(given):
    return {"Z": attention(given.Q, given.K, given.V)}


def projections(given):
    found = steps(multi_head, given.X, [given.W_Q], [given.W_K], [given.W_V])
    return {name: found[name] for name in "QKV"}


@example("head1-projections")
def test_head_1_projections(given):
    return projections(given)


@example("head2-projections")
def test_head_2_projections(given):
    return projections(given)


@example("head2")
def test_head_2(given):
    found = steps(attention, given.Q, given.K, given.V)
    return {name: found[name] for name in "SAZ"}


@example("concat")
def test_concat(given):
    W_Q, W_K, W_V = ([getattr(given, f"{name}_{i}") for i in (1, 2)] for name in ("W_Q", "W_K", "W_V"))
    return {"Z_multi": multi_head(given.X, W_Q, W_K, W_V)}


@example("softmax-1x")
def test_softmax_1x(given):
    return {"softmax": softmax(given.z)}


@example("softmax-3x")
def test_softmax_3x(given):
    return {"softmax": softmax(given.z)}


@example("variance-uniform")
def test_variance_uniform(given):
    return {"variance": variance(given.p)}


@example("variance-sharp")
def test_variance_sharp(given):
    return {"variance": variance(given.p)}


@example("variance-onehot")
def test_variance_onehot(given):
    return {"variance": variance(given.p)}


@example("temperature-2")
def test_temperature_2(given):
    return {
        **{f"T{T}": softmax(given.z, T=T) for T in given["T"]},
        "T_to_0": argmax_weights(given.z),
        "T_to_inf": softmax(given.z, beta=0),
        "constant_z": softmax(given.constant_z, T=3),
    }


@example("temperature-words")
def test_temperature_words(given):
    high, low = (softmax(given.s, T=T) for T in given.T)
    same = softmax(given.s, beta=1 / given.T[0])
    return {"T10": high, "T0_1": low, "beta_is_1_over_T": bool(torch.isclose(same, high).all())}


@example("argmax-limit-1")
def test_argmax_limit_1(given):
    return {"limit": argmax_weights(given.s)}


@example("argmax-limit-2")
def test_argmax_limit_2(given):
    return {"limit": argmax_weights(given.s)}


@example("softmax-jacobian-norm")
def test_softmax_jacobian_norm(given):
    return {"norms": torch.stack([softmax_jacobian(k * given.z).norm() for k in given["multipliers"]])}


@example("softmax-jacobian")
def test_softmax_jacobian(given):
    return {"J": softmax_jacobian(given.theta)}


@example("shapes-2", numbers=["float"])
def test_shapes_2(given):
    shapes, sums = [], []
    for d, n, m, t in given["sizes"]:
        found = steps(attention_columns, torch.randn(d, n), torch.randn(d, m), torch.randn(t, m))
        letter = {m: "m", n: "n", t: "t"}
        shapes.append({name: [letter[size] for size in found[name].shape] for name in "SAH"})
        sums.append(found["A"].sum(dim=0))
    assert shapes[0] == shapes[1] == shapes[2]
    return {**shapes[0], "column_sums": torch.cat(sums).mean()}


@example("order", numbers=["float"])
def test_order(given):
    sizes = {"Q": (given["d"], given["n"]), "K": (given["d"], given["m"]), "V": (given["t"], given["m"])}
    return {
        "softmax_shape": [*shape_of("softmax(K.T @ Q)", **sizes)],
        "V_shape": [*shape_of("V", **sizes)],
        "conformable": conformable("softmax(K.T @ Q) @ V", **sizes),
        "correct_shape": [*shape_of("V @ softmax(K.T @ Q)", **sizes)],
    }


def conformable(formula, **sizes):
    try:
        return bool(shape_of(formula, **sizes))
    except ShapeError:
        return False


@example("projection-shapes", numbers=["float"])
def test_projection_shapes(given):
    d, t, h, n = (given[name] for name in "dthn")
    W_Q, W_K, W_V = ([torch.randn(rows, of) for _ in range(h)] for rows, of in ((d // h, d), (d // h, d), (t // h, t)))
    X = torch.randn(d, n)
    assert multi_head_columns(X, X, torch.randn(t, n), W_Q, W_K, W_V).shape == (t, n)
    return {
        **{name: [*W[0].shape] for name, W in {"W_Q": W_Q, "W_K": W_K, "W_V": W_V}.items()},
        "conformable_as_printed": conformable("W @ Q", W=(d, d // h), Q=(d, n)),
    }


# ---- one key or one query moves


def noisy(given, shift=0):
    """h for the keys of the example, the first one moved by `shift`."""
    keys = with_column(given.keys[None], 0, given.keys[:1] + shift)
    return attention_columns(given.q.reshape(1, 1), keys, given.values[None]).squeeze()


def two_points(given):
    plus, minus = noisy(given, given.two_point_noise), noisy(given, -given.two_point_noise)
    return {"h": noisy(given), "h_plus": plus, "h_minus": minus, "mean": (plus + minus) / 2}


@example("key-noise")
def test_key_noise(given):
    found = two_points(given)
    Q, K, V = given.q.reshape(1, 1), given.keys[None], given.values[None]
    keys = exact(given["keys"]).float64()
    gaussian = normal_mean(lambda ε: softmax(torch.stack([keys[0] + ε, keys[1] + 0 * ε]), dim=0)[0], 0.25)
    A, moved = parts(Q, K, V)[1], parts(Q, with_column(K, 0, K[:, 0] + given.two_point_noise), V)[1]
    return {
        **found,
        "mean_change": found["mean"] - found["h"],
        "gaussian_mean": gaussian,
        "gaussian_mean_change": gaussian - softmax(keys)[0],
        "second_order_prediction": key_noise_mean(Q, K, V, 0, given.gaussian_variance.sqrt())[0],
        "rows_of_A_that_change": (moved != A).any(dim=1).tolist(),
    }


@example("noise-no-change")
def test_noise_no_change(given):
    return two_points(given)


@example("query-noise", numbers=["float"], digits=4)
def test_query_noise(given):
    random = torch.Generator().manual_seed(given["seed"])
    d, n, m, t = (given[name] for name in "dnmt")
    Q, K, V, ε = (torch.randn(*s, generator=random, dtype=torch.float64) for s in ((d, n), (d, m), (t, m), (d,)))
    β, ε, i, j = d**-0.5, given["scale"] * ε, given["query"], given["key"]
    _, A, H = parts(Q, K, V, β)
    _, A_query, H_query = parts(with_column(Q, i, Q[:, i] + ε), K, V, β)
    _, _, H_key = parts(Q, with_column(K, j, K[:, j] + ε), V, β)
    return {
        "columns_of_H_that_change": (H_query != H).any(dim=0).tolist(),
        "columns_of_A_that_change": (A_query != A).any(dim=0).tolist(),
        "key_noise_first_order_residual": (H_key - H - key_noise(Q, K, V, j, ε, β)).abs().max().item(),
    }


def scaled(given, alpha):
    """The weights with orthonormal keys, whose queries have the scores of the example, when key 0 is scaled."""
    Q = given.scores
    K = given.tensor([[1, 0], [0, 1]])
    return parts(Q, with_column(K, 0, alpha * K[:, 0]), K)[1]


@example("key-scaling")
def test_key_scaling(given):
    return {
        "A_before": scaled(given, 1),
        "A_after": scaled(given, given.alpha),
        "limit_alpha_inf_row0": scaled(given, 100)[given["key"]],
    }


@example("scaling")
def test_scaling(given):
    Q, K, V = given.scores, given.tensor([[1, 0], [0, 1]]), given.values[None]
    before, after = attention_columns(Q, K, V), key_scaling(Q, K, V, 0, given.alpha)
    assert torch.isclose(after, attention_columns(Q, with_column(K, 0, given.alpha * K[:, 0]), V)).all()
    return {
        "delta_h_exact": (after - before)[0],
        "delta_h_first_order": key_scaling_change(Q, K, V, 0, given.alpha)[0],
    }


@example("normalisation")
def test_normalisation(given):
    α = steps(attention_query, given.tensor([1]), given.scores[:, None], given.scores[:, None])["α"]
    return {"alpha": α, "sum_over_i": α.sum(), "literal_sum_over_j_of_alpha_1": α[0].expand(3).sum()}


@example("copy")
def test_copy(given):
    found = steps(attention_query, given.tensor([1]), given.scores[:, None], given.values)
    return {"alpha": found["α"], "c": found["c"]}


# ---- one or two values picked


@example("average-of-two")
def test_average_of_two(given):
    n = given["n"]
    return {"alpha_a": averaging_weight(exact("lambda"), n), "alpha_a_at": averaging_weight(given.lam, n)}


@example("small-noise", numbers=["exact"])
def test_small_noise(given):
    λ, α = exact("lambda"), exact("alpha")
    q = averaging_query(exact("1 0 0"), exact("0 1 0"), λ)
    return {"score_variance": α * (q * q).sum()}  # of k·q for k ~ N(μ, αI): its root is λ√(2α)


@example("single-head-variance", numbers=["float"], digits=5)  # by quadrature
def test_single_head_variance(given):
    n, tables = given["n"], []
    for λ in given["lam"]:
        # the means of the table leave out what the second head gives to v_a
        second = (1 - copy_weight(torch.tensor(λ).double(), n)) / (n - 1) / 2
        one = spread(lambda γ, λ=λ: one_head_weight(λ, γ, n), given["variance"])
        two = spread(lambda γ, λ=λ, s=second: two_head_weight(λ, γ, n) - s, given["variance"])
        positive = spread(lambda γ, λ=λ, s=second: two_head_weight(λ, γ, n) - s, given["variance"], above=-1.0)
        tables.append(torch.stack([*one, *two, *positive]))
    names = [f"{name}_{of}" for name, of in MOMENTS]
    return {
        "alpha_a": one_head_weight(exact("lambda"), exact("gamma"), n),
        "sigmoid_lambda10_gamma": one_head_weight(10, given.gamma, 2),  # without other keys it is σ(λγ)
        **dict(zip(names, torch.stack(tables).unbind(1), strict=True)),
        "limit_variance_lambda_inf": variance(exact("1 0")),  # as λ → ∞ the weight is 1 or 0 with equal chances
    }


MOMENTS = [
    ("single_mean", "alpha_a"),
    ("single_var", "alpha_a"),
    ("multi_mean", "weight_a"),
    ("multi_var", "weight_a"),
    ("multi_mean", "given_positive"),
    ("multi_var", "given_positive"),
]


def spread(f, v, above=-torch.inf):
    """Mean and variance of f(γ), γ ~ N(0, v); given that γ > `above`."""
    mean = normal_mean(f, v, above)
    return mean, normal_mean(lambda γ: (f(γ) - mean) ** 2, v, above)


@example("two-queries")
def test_two_queries(given):
    n, λ = given["n"], given.lam
    K = given.tensor([[int(i == j) for j in range(n)] for i in range(n)])
    V = K
    c = two_queries(λ * K[0], λ * K[1], K, V)
    return {
        "alpha_head1_a": copy_weight(exact("lambda"), n),
        "n10_lambda10": copy_weight(λ, n),
        "c_is_the_mean_to_a_thousandth": bool((c - (V[0] + V[1]) / 2).abs().max() < 1e-3),
    }


# ---- positions and constructions


@example("equivariance", numbers=["float"])
def test_equivariance(given):
    torch.manual_seed(0)
    layer = MultiHeadAttention(given["width"], 2).double()
    C = torch.randn(given["n"], given["width"], dtype=torch.float64)
    apart, permuted = layer(C[given["order"]]), layer(C)
    return {
        "equivariant": bool((apart - permuted[given["order"]]).abs().max() < 1e-14),
        "invariant": bool(torch.allclose(apart, permuted)),
    }


@example("sinusoid")
def test_sinusoid(given):
    return {"PE": sinusoidal(given.positions, given["d"])}


@example("permutation")
def test_permutation(given):
    rows = other_convention(given.V)
    identity, permuted = identity_layer(rows), permutation_layer(rows, given["order"])
    return {"H_identity": other_convention(identity), "H_perm": other_convention(permuted)}


@example("identity")
def test_identity(given):
    n = given["n"]
    return {"diagonal_of_softmax": identity_diagonal(given.beta, n), "exact": identity_diagonal(exact("beta"), n)}


@example("diagonal", numbers=["float"])
def test_diagonal(given):
    X = torch.randn(given["n"], given["channels"], dtype=torch.float64)
    conv = torch.nn.Conv1d(given["channels"], given["outputs"], 1, bias=False).double()
    found = steps(width_one, X, conv.weight[:, :, 0].mT.detach())
    return {
        "weights": "identity" if torch.equal(found["A"], torch.eye(given["n"]).double()) else "another",
        "width_one_convolution": bool(torch.allclose(found["Z"].mT, conv(X.mT))),
    }


@example("conv-kernel")
def test_conv_kernel(given):
    v, A = given.v[:, None], convolution_weights(len(given["v"]), given.weights)
    return {
        "h": (A @ v)[:, 0],
        "zero_padded_conv": conv1d_by_heads(v, given.weights[None, None])[:, 0],
        "border_columns": A[0, :2],
    }


@example("band")
def test_band(given):
    third = given.tensor(["1/3", "1/3", "1/3"])
    ones = given.tensor([[1]] * given["n"])
    return {
        "row_sums_as_printed": conv1d_by_heads(ones, third[None, None])[:, 0],
        "repair": convolution_weights(given["n"], third)[0, :2],
    }


@example("window-even-k", numbers=["float"])
def test_window_even_k(given):
    return {"window_size": [int(window_mask(9, k)[4].sum()) for k in given["k"]]}
