"""Examples that `workings systems` shows: a system of the course in a few equations, on numbers small enough to follow.

Axes: n tokens, samples or rows, m columns, d e widths, c channels, k classes, p positions, t tokens of a text, v vocabulary,
x = c·n·m features, g gates.
"""

from __future__ import annotations

from math import sqrt

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import one_hot

from workings.course.counts import attention_cost, projection_operations, recurrent_cost
from workings.equations.recurrent import gru_cell, lstm_cell
from workings.nn.norms.batch import batch_norm
from workings.nn.norms.per_token import layer_norm
from workings.nn.recurrent.cells import rnn_cell
from workings.nn.transformer.dot_product import attention
from workings.nn.transformer.hard import argmax_weights
from workings.nn.transformer.positions import relative_bias, sinusoidal
from workings.nn.vision.conv_layers import conv2d
from workings.nn.vision.patch_tokens import patches

Pair = tuple[Tensor, Tensor]

# ------------------------------------------------------------------------------------------------------- attention


def ablated_head(x: Float[Tensor, "n 1"], P: Float[Tensor, "n p"], W: Float[Tensor, "p p"]) -> Pair:
    """A head that finds the largest token and one that finds the token before; then the second is left out.

    Each has its probe, a column: how far a token is below the largest, and by how much it rose.

    >>> x, P, before = torch.tensor([[1.0], [3.0]]), torch.eye(2), torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    >>> ablated_head(x, P, before)
    (tensor([[2., 0.],
            [0., 2.]]), tensor([[2., 1.],
            [0., 3.]]))
    """
    A_1 = argmax_weights(x @ x.mT)
    A_2 = argmax_weights(P @ W @ P.mT)
    Z_1 = A_1 @ x
    Z_2 = A_2 @ x
    probes = torch.cat((Z_1 - x, x - Z_2), dim=-1)
    Z_2 = 0 * Z_2
    ablated = torch.cat((Z_1 - x, x - Z_2), dim=-1)
    return probes, ablated


def moved_tokens(X: Float[Tensor, "n d"], P: Float[Tensor, "p d"], b: Float[Tensor, " r"]) -> tuple[Tensor, Tensor, Tensor]:
    """Scores of the same tokens at the first and at the last places of a table, and with a bias for each distance.

    A place changes the first two; the third has no place in it, and no end.

    >>> X, P = torch.ones(1, 1), torch.tensor([[0.0], [2.0]])
    >>> moved_tokens(X, P, torch.zeros(1))
    (tensor([[1.]]), tensor([[9.]]), tensor([[1.]]))
    """
    n = X.shape[0]
    P_first, P_last = P[:n], P[-n:]
    X_first = X + P_first
    X_last = X + P_last
    S_first = X_first @ X_first.mT
    S_last = X_last @ X_last.mT
    B = relative_bias(b, n)
    S = X @ X.mT + B
    return S_first, S_last, S


def one_pass(X: Float[Tensor, "n d"]) -> Pair:
    """Causal attention over all tokens in one pass, as in training; then token by token, as in generation: the same rows.

    >>> Z, z = one_pass(torch.eye(2))
    >>> torch.equal(Z[-1], z)
    True
    """
    Z = attention(X, X, X, causal=True)
    d = X.shape[-1]
    for t in range(len(X)):
        K = X[: t + 1]
        a = torch.softmax(X[t] @ K.mT / sqrt(d), dim=-1)
        z = a @ K
    return Z, z


def next_token_loss(logits: Float[Tensor, "n k"], tokens: Int[Tensor, " n"]) -> Pair:
    r"""Row t of the logits scored against token t + 1, and the slip of scoring it against token t, which it has seen.

    $$L = -\sum_t \log P(\text{token}_{t+1} \mid \text{tokens}_{\le t})$$

    >>> next_token_loss(torch.tensor([[0.0, 0.0], [0.0, 100.0]]), torch.tensor([0, 1]))
    (tensor(0.6931), tensor(-0.))
    """
    log_P = torch.log_softmax(logits, dim=-1)
    Y = one_hot(tokens, logits.shape[-1])
    Y_next = Y[1:]
    log_P_t = log_P[:-1]
    L = -(Y_next * log_P_t).sum()
    log_P_seen = log_P[1:]
    slip = -(Y_next * log_P_seen).sum()
    return L, slip


# ----------------------------------------------------------------------------------------------- residuals and norms


def norm_first_and_last(X: Float[Tensor, "n d"], W_1: Float[Tensor, "d e"], W_2: Float[Tensor, "e d"]) -> Pair:
    r"""A block with its norms first (X to Y) and last (X to Z): attention, then a feed-forward network, each a residual.

    $$Y = X + F(\operatorname{norm}(X)), \qquad Z = \operatorname{norm}(X + F(X))$$

    Norms last leave every token with mean 0 and variance 1; with norms first the sum goes through as it is.

    >>> X, I = torch.tensor([[1.0, 3.0]]), torch.eye(2)
    >>> norm_first_and_last(X, I, I)
    (tensor([[0., 5.]]), tensor([[-1.,  1.]]))
    """
    N = layer_norm(X, eps=0)
    Y = X + attention(N, N, N)
    N = layer_norm(Y, eps=0)
    Y = Y + torch.relu(N @ W_1) @ W_2
    Z = layer_norm(X + attention(X, X, X), eps=0)
    Z = layer_norm(Z + torch.relu(Z @ W_1) @ W_2, eps=0)
    return Y, Z


def skip(x: Float[Tensor, " d"], W_1: Float[Tensor, "d d"], W_2: Float[Tensor, "d d"]) -> Float[Tensor, ""]:
    r"""Two layers with skip connections: their Jacobian is (I + W₂)(I + W₁), not W₂ W₁.

    >>> skip(torch.ones(1), torch.tensor([[2.0]]), torch.tensor([[3.0]]))  # (1 + 3)(1 + 2)
    tensor(12.)
    """
    h = x + W_1 @ x
    y = h + W_2 @ h
    L = y.sum()
    return L


def deep_stack(x: Float[Tensor, " d"], W: Float[Tensor, "d d"], depth: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The same layer again and again: plain, with residuals, with norms, with both.

    >>> deep_stack(torch.tensor([1.0, 3.0]), torch.eye(2) / 2, 2)
    (tensor([0.2500, 0.7500]), tensor([2.2500, 6.7500]), tensor([-1.,  1.]), tensor([-1.,  1.]))
    """
    plain = residual = normed = both = x
    for _ in range(depth):
        plain = W @ plain
        residual = residual + W @ residual
        normed = layer_norm(W @ normed, eps=0)
        both = layer_norm(both + W @ both, eps=0)
    return plain, residual, normed, both


def moved_batch(H: Float[Tensor, "n d"], a: Float[Tensor, " d"], b: Float[Tensor, " d"]) -> Pair:
    """Batch norm of a batch, and of the batch scaled and shifted: the same, so the next layer sees no difference.

    >>> moved_batch(torch.tensor([[1.0], [3.0]]), torch.tensor([5.0]), torch.tensor([7.0]))
    (tensor([[-1.],
            [ 1.]]), tensor([[-1.],
            [ 1.]]))
    """
    Y = batch_norm(H)
    H = a * H + b
    Y_moved = batch_norm(H)
    return Y, Y_moved


# ----------------------------------------------------------------------------------------------------------- vision


def vision_and_text(
    image: Float[Tensor, "c n m"],
    W: Float[Tensor, "x d"],
    P: Float[Tensor, "p d"],
    C: Float[Tensor, "k d"],
    tokens: Int[Tensor, " t"],
    E: Float[Tensor, "v d"],
) -> Pair:
    """A Vision and a text Transformer, each with one layer of attention and nothing else.

    Patches stand for words, behind a CLS token of zeros; their positions are learned, not sines; each sees all others;
    and the CLS row has the logits of one label, where every row of the text has those of the token after it.

    >>> image, tokens, one = torch.ones(1, 2, 2), torch.tensor([0, 1]), torch.ones(2, 2)
    >>> [logits.shape for logits in vision_and_text(image, torch.ones(4, 2), one, torch.ones(3, 2), tokens, one)]
    [torch.Size([3]), torch.Size([2, 2])]
    """
    X = patches(image, 2) @ W
    V = torch.cat((0 * X[:1], X)) + P
    V = attention(V, V, V)
    label = C @ V[0]
    T = E[tokens] + sinusoidal(len(tokens), E.shape[-1])
    T = attention(T, T, T, causal=True)
    after = T @ E.mT
    return label, after


def fine_tuned(
    x: Float[Tensor, " d"], y: Float[Tensor, " k"], W: Float[Tensor, "e d"], V: Float[Tensor, "k e"], eta: float
) -> Pair:
    """A step on new data: of the new head V alone, the rest W frozen; and of W too.

    >>> fine_tuned(torch.ones(1), torch.zeros(1), torch.ones(1, 1), torch.ones(1, 1), 0.5)
    (tensor([[0.5000]]), tensor([[0.5000]]))
    """
    h = W @ x
    δ = V @ h - y
    V_new = V - eta * torch.outer(δ, h)
    W_new = W - eta * torch.outer(V.mT @ δ, x)
    return V_new, W_new


def wrong_linear() -> nn.Sequential:
    """The network for house numbers as a listing printed it: 144 features arrive at a Linear for 120."""
    return nn.Sequential(
        nn.Conv2d(1, 8, 5),
        nn.AvgPool2d(4),
        nn.ReLU(),
        nn.Conv2d(8, 16, 4, padding=1),
        nn.AvgPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(120, 10),
    )


def linear_as_convolution(X: Float[Tensor, "c n m"], W: Float[Tensor, "k x"]) -> Pair:
    r"""Flatten and Linear, and the same weights as a kernel of the map's size: the two are equal.

    $$\theta = W \operatorname{vec}(X), \qquad Y = K * X, \qquad K = W \text{ as } k \times c \times n \times m$$

    >>> linear_as_convolution(torch.ones(1, 2, 2), torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
    (tensor([10.]), tensor([10.]))
    """
    θ = W @ X.flatten()
    K = W.unflatten(1, X.shape)
    Y = conv2d(X.unsqueeze(0), K).flatten()
    return θ, Y


# ------------------------------------------------------------------------------------- recurrence, descent, gradients


def three_cells(
    x: Float[Tensor, " i"],
    h: Float[Tensor, " h"],
    c: Float[Tensor, " h"],
    W_x: Float[Tensor, "g i"],
    W_h: Float[Tensor, "g h"],
    b: Float[Tensor, " g"],
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """One step of an RNN, an LSTM and a GRU from the same input and state: one, four and three blocks of weights.

    >>> zero = torch.zeros(1)
    >>> three_cells(zero, torch.ones(1), torch.ones(1), torch.zeros(4, 1), torch.zeros(4, 1), torch.zeros(4))
    (tensor([0.]), tensor([0.2311]), tensor([0.5000]), tensor([0.5000]))
    """
    k = h.shape[-1]
    h_rnn = rnn_cell(x, h, (W_x[:k], W_h[:k], b[:k], b[:k]))
    h_lstm, c_lstm = lstm_cell(x, h, c, (W_x, W_h, b, b))
    h_gru = gru_cell(x, h, (W_x[: 3 * k], W_h[: 3 * k], b[: 3 * k], b[: 3 * k]))
    return h_rnn, h_lstm, c_lstm, h_gru


def ravine(theta: Float[Tensor, " d"], lambda_: Float[Tensor, " d"], eta: float, alpha: float, steps: int = 2) -> Pair:
    r"""Descent on ½ Σ λ θ²: θ without momentum, φ with it.

    $$\theta \leftarrow \theta - \eta \lambda \theta, \qquad v \leftarrow \alpha v - \eta \lambda \varphi, \qquad
    \varphi \leftarrow \varphi + v$$

    >>> ravine(torch.ones(1), torch.ones(1), 0.5, 0.5)
    (tensor([0.2500]), tensor([0.]))
    """
    phi = theta
    v = 0 * theta
    for _ in range(steps):
        theta = theta - eta * lambda_ * theta
        v = alpha * v - eta * lambda_ * phi
        phi = phi + v
    return theta, phi


def one_hidden_layer(
    x: Float[Tensor, " d"],
    y: Float[Tensor, " k"],
    W_1: Float[Tensor, "d e"],
    b_1: Float[Tensor, " e"],
    W_2: Float[Tensor, "e k"],
    b_2: Float[Tensor, " k"],
) -> Float[Tensor, ""]:
    r"""A network with one hidden layer and its loss; `--backward` adds the gradient of everything.

    $$h = \sigma(x W_1 + b_1), \qquad \hat y = \operatorname{softmax}(h W_2 + b_2), \qquad J = -\sum y \log \hat y$$

    >>> one_hidden_layer(torch.ones(1), torch.tensor([1.0, 0.0]), *(torch.zeros(s) for s in ((1, 1), 1, (1, 2), 2)))
    tensor(0.6931)
    """
    h = torch.sigmoid(x @ W_1 + b_1)
    θ = h @ W_2 + b_2
    ŷ = torch.softmax(θ, dim=-1)
    J = -(y * torch.log(ŷ)).sum()
    return J


def layer_costs(n: int, d: int) -> tuple[bool, bool]:
    """Multiplications of a recurrent layer and of attention: is attention the cheaper one, without and with its projections?

    >>> layer_costs(50, 512), layer_costs(1000, 512)
    ((True, False), (False, False))
    """
    recurrent = recurrent_cost(n, d).operations
    attention = attention_cost(n, d).operations
    projections = projection_operations(n, d)
    alone = attention < recurrent
    whole = attention + projections < recurrent
    return alone, whole
