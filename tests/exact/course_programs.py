"""Small programs as a student of a deep learning course writes them, each a function of tensors.

Nothing in them knows of exact tensors: `test_course_programs.py` runs each on exact values and on float64.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from einops import einsum, rearrange, reduce, repeat
from torch import Tensor, nn


@dataclass
class Program:
    """A function, the values it is given, and the kinds of assumptions that its results rest on."""

    function: Callable[..., Any]
    given: tuple[str, ...]
    assumed: frozenset[str]


PROGRAMS: dict[str, Program] = {}


def program(*given: str, assumed: str = "") -> Callable[[Any], Any]:
    def add(function: Callable[..., Any]) -> Any:
        PROGRAMS[function.__name__] = Program(function, given, frozenset(assumed.split()))
        return function

    return add


# ---- attention
QKV = ("1 0; 0 1; 1 1", "1/2 1; -1 0; 2 1/3", "1 2; 3 4; 5 6")


@program(*QKV, assumed="recovered")
def causal_attention(Q, K, V):
    T, d = Q.shape
    scores = Q @ K.T / math.sqrt(d)
    mask = torch.tril(torch.ones(T, T))
    scores = scores.masked_fill(mask == 0, float("-inf"))
    return F.softmax(scores, dim=-1) @ V


@program(*QKV, assumed="recovered")
def additive_mask(Q, K, V):
    mask = torch.full((3, 3), float("-inf")).triu(1)
    return torch.softmax(Q @ K.transpose(-2, -1) * Q.size(-1) ** -0.5 + mask, -1) @ V


@program(*QKV, assumed="recovered")
def fused_attention(Q, K, V):
    return F.scaled_dot_product_attention(Q[None, None], K[None, None], V[None, None], is_causal=True)


@program("1 0 2 1; 0 1 1 1; 1 1 0 2", "1/2 0 1 0; 0 1/2 0 1; 1 0 0 1; 0 1 1 0", assumed="recovered")
def multihead_by_einops(x, W):
    q = k = v = rearrange(x @ W, "t (h d) -> h t d", h=2)
    A = torch.softmax(einsum(q, k, "h i d, h j d -> h i j") / 2**0.5, dim=-1)
    return rearrange(einsum(A, v, "h i j, h j d -> h i d"), "h t d -> t (h d)")


@program(*QKV)
def attention_entropy(Q, K, V):
    A = (Q @ K.T).softmax(-1)
    entropy = -(A * A.log()).sum(-1)
    return entropy, entropy.max(), A.argmax(-1)


@program("1 2; 3 4; 5 6", "1/2 -1/3", "1 0; 1 1")
def bahdanau(h, v, W):
    energy = torch.tanh(h @ W.T) @ v
    alpha = torch.exp(energy - energy.max())
    alpha = alpha / alpha.sum()
    return alpha @ h


@program("1 2 3; 0 1 1; 2 2 0")
def sliding_window(x):
    T = len(x)
    i = torch.arange(T)
    near = (i[:, None] - i[None, :]).abs() <= 1
    scores = torch.where(near, x @ x.T, torch.tensor(-1e9, dtype=x.dtype))
    return F.softmax(scores, -1)


@program("1 1/2 0 2; 0 1 3 1")
def alibi(x):
    T = x.shape[0]
    slopes = torch.tensor([2 ** (-8 * (h + 1) / 2) for h in range(2)], dtype=x.dtype)
    bias = -(torch.arange(T)[:, None] - torch.arange(T)[None, :]).abs()
    heads = rearrange(x, "t (h d) -> h t d", h=2)
    return (heads @ heads.mT + slopes[:, None, None] * bias).softmax(-1)


# ---- positions
@program("1 2 3 4; 5 6 7 8", assumed="rounded")
def sinusoidal_positions(x):
    T, d = x.shape
    pe = torch.zeros(T, d, dtype=x.dtype)
    for pos in range(T):
        for i in range(0, d, 2):
            pe[pos, i] = math.sin(pos / 10000 ** (i / d))
            pe[pos, i + 1] = math.cos(pos / 10000 ** (i / d))
    return x + pe


@program("1 2 3 4; 5 6 7 8", assumed="rounded")
def rotary_positions(x):
    T, d = x.shape
    theta = 10000.0 ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    angle = torch.outer(torch.arange(T, dtype=x.dtype), theta)
    x1, x2 = x[:, 0::2], x[:, 1::2]
    rotated = torch.stack([x1 * angle.cos() - x2 * angle.sin(), x1 * angle.sin() + x2 * angle.cos()], -1)
    return rotated.flatten(-2)


# ---- recurrent networks
@program("1; 0; 2", "1/2 1/3; -1 1/4", "1 -1", "0 1/5")
def elman(x, W, U, b):
    h = torch.zeros(2, dtype=x.dtype)
    states = []
    for x_t in x:
        h = torch.tanh(W @ h + U * x_t + b)
        states.append(h)
    return torch.stack(states)


@program("1/2", "1/3", "w", "u")
def recurrence_in_letters(x, h, w, u):
    for _ in range(3):
        h = w * h + u * x
    return h


@program("1 1/2", "0 1/3", "1 0; 0 1; 1 1; 1/2 0; 0 1/2; 1 -1; 0 2; 1 0", "0 1; 1 0; 0 0; 1 1; 1 0; 0 1; 0 0; 1/4 1/4")
def lstm_cell(x, h, W, U):
    c = torch.ones_like(h) / 2
    i, f, g, o = (x @ W.T + h @ U.T).chunk(4)
    i, f, g, o = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g), torch.sigmoid(o)
    c = f * c + i * g
    return o * torch.tanh(c), c


@program("1 1/2", "0 1/3", "1 0; 0 1", "0 1; 1 0")
def gru_step(x, h, W, U):
    z = (x @ W + h @ U).sigmoid()
    r = (x @ U).sigmoid()
    n = torch.tanh(x @ W + r * (h @ U))
    return torch.lerp(n, h, z)


@program("1 2; 3 1; 0 1")
def packed_lengths(x):
    rows = [x[0], x[1, :1], x[2]]
    padded = nn.utils.rnn.pad_sequence(rows, batch_first=True)
    lengths = torch.tensor([len(r) for r in rows])
    mask = torch.arange(2)[None] < lengths[:, None]
    return (padded * mask).sum(1) / lengths


# ---- normalisation
@program("1 2; 3 5; 8 13", "2 1/2", "0 1", assumed="recovered")
def batch_norm(x, gamma, beta):
    mu, var = x.mean(0), x.var(0, unbiased=False)
    return gamma * (x - mu) / torch.sqrt(var + 1e-5) + beta


@program("1 2; 3 5; 8 13", assumed="recovered")
def batch_norm_running(x):
    bn = nn.BatchNorm1d(2, momentum=0.1).double()
    y = bn(x)
    bn.eval()
    return y, bn(x), bn.running_mean, bn.running_var


@program("1 2 4; 3 5 0", "1 2 3", "0 1 0", assumed="recovered")
def layer_norm(x, w, b):
    return F.layer_norm(x, (3,), w, b)


@program("1 2 4; 3 5 0", "1 2 3", assumed="recovered")
def rms_norm(x, g):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * g


@program("1 2 3 4; 5 6 8 7", assumed="recovered")
def group_norm(x):
    return F.group_norm(x, 2)


@program("1 2 3; 4 5 6")
def standardised(x):
    return (x - x.mean(dim=0, keepdim=True)) / x.std(dim=0, keepdim=True)


# ---- convolutions and pooling
@program("1 2 3 4; 5 6 7 8; 9 10 11 12; 13 14 15 16", "1 0; 0 -1/2")
def conv_by_hand(x, k):
    H, W = x.shape
    out = torch.zeros(H - 1, W - 1, dtype=x.dtype)
    for i in range(H - 1):
        for j in range(W - 1):
            out[i, j] += (x[i : i + 2, j : j + 2] * k).sum()
    return out, F.conv2d(x[None, None], k[None, None])


@program("1 2 3 4 5 6 7", "1 1/2 1/4")
def conv_sizes(x, k):
    x, k = x.view(1, 1, -1), k.view(1, 1, -1)
    return (
        F.conv1d(x, k, stride=2, padding=1),
        F.conv1d(x, k, dilation=2),
        F.conv_transpose1d(x, k, stride=2, output_padding=1),
        F.conv1d(F.pad(x, (2, 0)), k),
    )


@program("1 5 2 0; 3 4 8 1; 0 1 1 2; 7 0 3 3")
def pooling(x):
    x = x[None, None]
    return (
        F.max_pool2d(x, 2),
        F.avg_pool2d(x, 2, stride=1),
        F.adaptive_avg_pool2d(x, 1),
        F.lp_pool2d(x, 2, 2),
        x.amax((-2, -1)),
        x.unfold(2, 2, 2).sum(-1),
    )


@program("1 2; 3 4")
def upsampling(x):
    x = x[None, None]
    return (
        F.interpolate(x, scale_factor=2, mode="nearest"),
        F.interpolate(x, size=(3, 3), mode="bilinear", align_corners=True),
        F.pixel_shuffle(x.repeat(1, 4, 1, 1), 2),
    )


# ---- losses
@program("2 1 0; 0 1/2 1")
def cross_entropy(logits):
    y = torch.tensor([0, 2])
    by_hand = -torch.log(torch.exp(logits)[range(2), y] / torch.exp(logits).sum(1)).mean()
    return by_hand, F.cross_entropy(logits, y), F.nll_loss(F.log_softmax(logits, 1), y, reduction="none")


@program("2 1 0; 0 1/2 1", assumed="recovered")
def cross_entropy_options(logits):
    y = torch.tensor([0, 2])
    weight = torch.tensor([1.0, 2.0, 0.5], dtype=logits.dtype)
    return (
        F.cross_entropy(logits, y, label_smoothing=0.1),
        F.cross_entropy(logits, y, weight=weight),
        F.cross_entropy(logits, torch.tensor([-100, 1]), ignore_index=-100),
    )


@program("2 1 -1", "1 0 1", assumed="recovered")
def binary_losses(z, y):
    p = z.sigmoid()
    return (
        F.binary_cross_entropy(p, y),
        F.binary_cross_entropy_with_logits(z, y, pos_weight=torch.tensor(3.0, dtype=z.dtype)),
        -(y * p.log() + (1 - y) * (1 - p).log()).sum(),
        ((1 - p) ** 2 * -p.log()).mean(),
    )


@program("1/2 1/4 1/4", "1/3 1/3 1/3", assumed="recovered")
def divergences(p, q):
    m = (p + q) / 2
    kl = (p * (p / q).log()).sum()
    js = ((p * (p / m).log()).sum() + (q * (q / m).log()).sum()) / 2
    return kl, js, F.kl_div(q.log(), p, reduction="sum"), -(p * torch.log2(p)).sum(), 2 ** -(p * torch.log2(p)).sum()


@program("1 2 3", "1/2 2 5", assumed="recovered")
def regression_losses(x, y):
    return (
        F.mse_loss(x, y),
        F.l1_loss(x, y),
        F.smooth_l1_loss(x, y),
        F.huber_loss(x, y, delta=0.5),
        ((x - y) ** 2).mean().sqrt(),
        1 - ((y - x) ** 2).sum() / ((y - y.mean()) ** 2).sum(),
    )


@program("1 0 1; 0 1 1; 1 1 0; 0 0 1", assumed="recovered")
def info_nce(x):
    z = F.normalize(x, dim=1)
    sim = z @ z.T / 0.5
    sim = sim.masked_fill(torch.eye(4, dtype=torch.bool), float("-inf"))
    return F.cross_entropy(sim, torch.tensor([1, 0, 3, 2]))


@program("1 0", "1/2 1", "0 -1", assumed="recovered")
def triplet_and_cosine(a, p, n):
    a, p, n = a[None], p[None], n[None]
    return (
        F.triplet_margin_loss(a, p, n, eps=0),
        F.cosine_similarity(a, p),
        F.pairwise_distance(a, n, eps=0),
        torch.cdist(a, p),
        F.margin_ranking_loss(a, p, torch.ones_like(a), margin=0.5),
    )


@program("1/2 -1; 0 1", "0 1/3; -1 0", assumed="recovered")
def vae(mu, log_var):
    kl = -0.5 * torch.sum(1 + log_var - mu.pow(2) - log_var.exp(), dim=1)
    eps = torch.ones_like(mu) / 2
    z = mu + torch.exp(0.5 * log_var) * eps
    return kl.mean(), F.gaussian_nll_loss(z, mu, log_var.exp(), full=True), z


@program("2 1 0; 0 3 1", assumed="recovered")
def perplexity(logits):
    nll = F.cross_entropy(logits, torch.tensor([0, 1]))
    return torch.exp(nll), nll / math.log(2)


@program("1 2 3", assumed="recovered")
def temperature(z):
    return torch.stack([torch.softmax(z / T, dim=0) for T in (0.1, 0.5, 1.0, 2.0)]), z.softmax(0).topk(2)


@program("3 1 2 0", assumed="recovered")
def nucleus(z):
    p, order = torch.sort(z.softmax(-1), descending=True)
    keep = p.cumsum(-1) - p < 0.9
    p = torch.where(keep, p, torch.zeros_like(p))
    return p / p.sum(), order


@program("1 1/2 0", "0 1 1", assumed="recovered")
def distillation(student, teacher):
    T = 2.0
    soft = F.kl_div(F.log_softmax(student / T, 0), F.softmax(teacher / T, 0), reduction="batchmean") * T**2
    return 0.9 * soft + 0.1 * F.cross_entropy(student, torch.tensor(1))


# ---- optimisers
def _fit(x, optimizer, steps=3):
    w = nn.Parameter(x.detach().clone())
    opt = optimizer([w])
    for _ in range(steps):
        opt.zero_grad()
        loss = ((w - 1) ** 2).sum() / 2
        loss.backward()
        opt.step()
    return w.detach()


@program("3 1/2", assumed="recovered")
def sgd_momentum(x):
    return _fit(x, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True))


@program("3 1/2", assumed="recovered")
def adam(x):
    return _fit(x, lambda p: torch.optim.Adam(p, lr=0.1, betas=(0.9, 0.99)), 2)


@program("3 1/2", assumed="recovered")
def adamw_rmsprop(x):
    return _fit(x, lambda p: torch.optim.AdamW(p, lr=0.1), 2), _fit(x, lambda p: torch.optim.RMSprop(p, lr=0.1), 2)


@program("3 1/2", "1/4 -2", assumed="recovered rounded")
def adam_by_hand(w, g):
    m, v = torch.zeros_like(w), torch.zeros_like(w)
    beta1, beta2, lr, eps = 0.9, 0.999, 0.001, 1e-8
    for t in range(1, 3):
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        w = w - lr * (m / (1 - beta1**t)) / ((v / (1 - beta2**t)).sqrt() + eps)
    return w


@program("3 1/2")
def schedule(x):
    w = nn.Parameter(x.detach().clone())
    opt = torch.optim.SGD([w], lr=1.0)
    plan = torch.optim.lr_scheduler.StepLR(opt, step_size=1, gamma=0.5)
    for _ in range(3):
        opt.zero_grad()
        (w**2).sum().backward()
        opt.step()
        plan.step()
    return w.detach()


@program("3 4", assumed="recovered")
def clipped(x):
    w = nn.Parameter(x.detach().clone())
    (w**2).sum().backward()
    norm = nn.utils.clip_grad_norm_([w], max_norm=1.0)
    return norm, w.grad


@program("3 4; 1 2")
def newton(x):
    w = x[0].detach()
    f = lambda w: (w**4).sum() + w.prod()  # noqa: E731
    for _ in range(2):
        w = w - torch.linalg.solve(torch.func.hessian(f)(w), torch.func.grad(f)(w))
    return w


# ---- modules and classes
class MLP(nn.Module):
    def __init__(self, W1, W2):
        super().__init__()
        self.l1 = nn.Linear(2, 3, bias=False)
        self.l2 = nn.Linear(3, 1, bias=False)
        self.l1.weight = nn.Parameter(W1.detach().clone())
        self.l2.weight = nn.Parameter(W2.detach().clone())

    def forward(self, x):
        return self.l2(F.gelu(self.l1(x)))


@program("1 2; 1/2 -1", "1 0; 0 1; 1 1", "1 1/2 -1", assumed="recovered")
def mlp(x, W1, W2):
    net = MLP(W1, W2[None])
    loss = net(x).pow(2).mean()
    loss.backward()
    return loss.detach(), net.l1.weight.grad, net.l2.weight.grad


@program("1 2; 1/2 -1", "1 0; 0 1; 1 1", "1 1/2 -1", assumed="recovered")
def functional_call(x, W1, W2):
    net = MLP(W1, W2[None])
    params = {"l1.weight": W1 * 2, "l2.weight": W2[None] / 3}
    return torch.func.functional_call(net, params, (x,)), torch.vmap(net)(x)


class Lora(nn.Module):
    def __init__(self, W, r=1, alpha=2):
        super().__init__()
        self.W = nn.Parameter(W.detach(), requires_grad=False)
        self.A = nn.Parameter(torch.full((r, W.shape[1]), 0.25, dtype=W.dtype))
        self.B = nn.Parameter(torch.zeros(W.shape[0], r, dtype=W.dtype))
        self.scale = alpha / r

    def forward(self, x):
        return x @ (self.W + self.scale * self.B @ self.A).T


@program("1 2; 1/2 -1", "1 0; 0 1; 1 1")
def lora(x, W):
    net = Lora(W)
    y = net(x)
    y.sum().backward(retain_graph=True)
    return y, net.B.grad


@dataclass
class Tree:
    value: Tensor
    children: list["Tree"] = field(default_factory=list)

    def total(self) -> Tensor:
        return self.value + sum((c.total() for c in self.children), torch.zeros((), dtype=self.value.dtype))


@program("1 2 3")
def recursive_tree(x):
    return Tree(x[0], [Tree(x[1] * 2), Tree(x[2], [Tree(x[0] / 3)])]).total()


@program("1 2; 3 4; 5 6", assumed="recovered")
def sequential(x):
    net = nn.Sequential(nn.Flatten(0), nn.Unflatten(0, (2, 3)), nn.Softplus(), nn.LeakyReLU(0.01), nn.Softmax(dim=1))
    return net(x - 3)


@program("-2 -1/2 0 1/2 3", assumed="recovered rounded")
def activations(x):
    names = "relu elu selu gelu silu mish softplus hardtanh hardswish relu6 tanhshrink softsign logsigmoid celu"
    return tuple(getattr(F, name)(x) for name in names.split())


@program("1 2 3 4; 4 3 2 1")
def embedding(E):
    ids = torch.tensor([[0, 1], [1, 1]])
    bag = F.embedding_bag(ids, E, mode="mean")
    return F.embedding(ids, E), bag, F.one_hot(ids, 2).to(E.dtype) @ E


@program("1 2; 3 4")
def residual_and_moe(x):
    gate = torch.softmax(x, -1)
    weight, chosen = gate.topk(1, dim=-1)
    experts = [lambda t: 2 * t, lambda t: t**2]
    out = torch.zeros_like(x)
    for e, f in enumerate(experts):
        rows = (chosen == e).any(-1)
        out[rows] = weight[rows] * f(x[rows])
    return x + out


# ---- in-place code and factories
@program("1 2; 3 4")
def in_place(x):
    y = x.clone()
    y += 1
    y[0] *= 2
    y[:, 1].sub_(0.5)
    y.clamp_(max=5)
    y[y > 4] = 0.25
    y.t_()
    return y


@program("1 2 3", assumed="recovered")
def dtype_factories(x):
    total = torch.zeros((), dtype=x.dtype)
    table = torch.empty(3, 3, dtype=x.dtype)
    eye, steps = torch.eye(3, dtype=x.dtype), torch.linspace(0, 1, 3, dtype=x.dtype)
    for i in range(3):
        total += x[i] * steps[i]
        table[i] = x * i + eye[i]
    return total, table, x.new_full((2,), 0.1) + x[:2], torch.full_like(x, 0.3), x * torch.arange(3, dtype=x.dtype) / 3


@program("3 1 2; 1 1 5")
def sorting(x):
    values, order = x.sort(dim=1)
    return (
        values,
        order,
        x.argmax(1),
        x.max(dim=0).values,
        x.median(),
        x.kthvalue(2).values,
        x.detach().flatten().unique(),
        x.quantile(0.5),
        x.cummax(1).values,
        torch.searchsorted(values[0], x[0, 2]),
    )


@program("1 2; 3 4")
def gather_scatter(x):
    index = torch.tensor([[1, 0], [0, 0]])
    counts = torch.zeros(2, dtype=x.dtype).scatter_add_(0, torch.tensor([0, 1, 0]), x.flatten()[:3])
    return x.gather(1, index), counts, x.index_select(0, torch.tensor([1])), torch.roll(x, 1, 0), x.diag_embed()


@program("1 2 3; 4 5 6")
def einops_and_einsum(x):
    return (
        reduce(x, "a b -> b", "mean"),
        repeat(x, "a b -> (2 a) b"),
        rearrange(x, "a (b c) -> c a b", c=3),
        torch.einsum("ij,kj->ik", x, x),
        torch.einsum("ij->", x),
        torch.einsum("...i,...i->...", x, x),
    )


@program("1 2; 3 4", "1/2 1/3")
def notebook_cells(W, b):
    x = torch.ones(2, dtype=W.dtype)
    h = (W @ x + b).relu()
    lines = f"{h.sum().item():.4f} {h[0]:.2f} {h.shape} {len(h)} {h.tolist()[0]:.3f}"
    assert "." in lines
    history = []
    for step in range(2):
        h = h / (step + 1)
        history.append(h.mean())
    return torch.stack(history), sum(history) / len(history), max(history), sorted(history)[0]


# ---- autograd and torch.func
@program("1 2 3")
def derivatives(x):
    f = lambda x: (x**3).sum() * x.prod()  # noqa: E731
    g = lambda x: torch.stack([x[0] * x[1], x[1] ** 2, x.exp()[2]])  # noqa: E731
    return (
        torch.func.grad(f)(x),
        torch.func.jacrev(g)(x),
        torch.func.jacfwd(g)(x),
        torch.func.hessian(f)(x),
        torch.func.jvp(g, (x,), (torch.ones_like(x),)),
        torch.func.vmap(torch.func.grad(lambda a: a.sin()))(x),
        torch.autograd.functional.jacobian(g, x),
    )


@program("w", "b", "x")
def letters(w, b, x):
    y = torch.sigmoid(w * x + b)
    (gw,) = torch.autograd.grad(y, w, create_graph=True)
    (gww,) = torch.autograd.grad(gw, w, retain_graph=True)
    return y, gw, gww


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g


@program("1/3 7/4 5/2 -1/2")
def straight_through(x):
    return StraightThrough.apply(x) * x, x.round(), x.floor(), x.ceil(), x.frac(), x.sign()


@program("1 2", "3 4")
def double_backward(x, y):
    loss = (x * y).sum() ** 2
    (g,) = torch.autograd.grad(loss, x, create_graph=True)
    return g.norm(), (g**2).sum()


@program("1 2; 3 4")
def gradient_hooks(x):
    h = x * 2
    h.register_hook(lambda g: g * 0.5)
    h.retain_grad()
    return (h**2).sum()


# ---- linear algebra and probability
@program("2 1; 1 3", "1 2")
def linear_algebra(A, b):
    return (
        torch.linalg.inv(A),
        torch.linalg.det(A),
        torch.linalg.solve(A, b),
        torch.linalg.cholesky(A),
        torch.linalg.norm(b),
        torch.linalg.matrix_power(A, 3),
        torch.trace(A),
        torch.outer(b, b),
        torch.kron(A, A),
        torch.logdet(A),
        torch.linalg.lstsq(A, b[:, None]).solution,
    )


@program("1 2; 3 5; 4 7", assumed="recovered")
def least_squares(X):
    y = X[:, 1:]
    X = torch.cat([torch.ones(3, 1, dtype=X.dtype), X[:, :1]], dim=1)
    theta = torch.linalg.inv(X.T @ X) @ X.T @ y
    ridge = torch.linalg.solve(X.T @ X + 0.1 * torch.eye(2, dtype=X.dtype), X.T @ y)
    return theta, ridge, torch.cov(X.T), torch.corrcoef(torch.cat([X[:, 1:], y], 1).T)


@program("1/2", "2", assumed="mask recovered rounded")
def distributions(mu, sigma):
    D = torch.distributions
    n = D.Normal(mu, sigma)
    c = D.Categorical(logits=torch.stack([mu, sigma, mu * 0]))
    return (
        n.log_prob(mu + 1),
        n.cdf(mu),
        n.entropy(),
        D.kl_divergence(n, D.Normal(mu * 0, sigma / sigma)),
        c.entropy(),
        c.log_prob(torch.tensor(1)),
        D.Bernoulli(probs=mu).log_prob(mu * 0),
        D.Exponential(sigma).mean,
    )


@program("1/2 1/4 1/4", "1/3 1/3 1/3; 0 1/2 1/2; 1 0 0")
def markov_chain(p, P):
    for _ in range(3):
        p = p @ P
    return p, torch.matrix_power(P, 2)


@program("1 2 3 4", assumed="recovered rounded")
def diffusion_schedule(x0):
    beta = torch.linspace(1e-4, 0.02, 4, dtype=x0.dtype)
    alpha_bar = torch.cumprod(1 - beta, dim=0)
    return alpha_bar.sqrt() * x0 + (1 - alpha_bar).sqrt() * torch.ones_like(x0)


@program("1 0 -1 2", "1/2 1/2 1 1", assumed="recovered")
def returns(reward, value):
    gamma, lam = 0.9, 0.95
    G, advantage = torch.zeros_like(reward), torch.zeros_like(reward)
    running, gae = 0.0, 0.0
    for t in reversed(range(4)):
        running = reward[t] + gamma * running
        after = value[t + 1] if t < 3 else 0.0
        gae = reward[t] + gamma * after - value[t] + gamma * lam * gae
        G[t], advantage[t] = running, gae
    ratio = torch.exp(advantage - 1)
    return G, advantage, -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()


@program("1 2; 3 4; 0 1", assumed="recovered rounded")
def graph_convolution(x):
    A = torch.tensor([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=x.dtype) + torch.eye(3, dtype=x.dtype)
    D = torch.diag(A.sum(1) ** -0.5)
    return D @ A @ D @ x


@program("1 2 3; 2 4 5; 7 8 9")
def k_means_and_pca(x):
    centres = x[:2]
    nearest = ((x[:, None] - centres[None]) ** 2).sum(-1).argmin(1)
    means = torch.stack([x[nearest == k].mean(0) for k in range(2)])
    centred = x - x.mean(0)
    return nearest, means, centred.T @ centred / (len(x) - 1)


@program("1 2 3 4")
def state_space(x):
    A, B, C = 0.5, 1.0, 2.0
    h, ys = 0, []
    for u in x:
        h = A * h + B * u
        ys.append(C * h)
    kernel = torch.tensor([C * A**k * B for k in range(4)], dtype=x.dtype)
    by_convolution = F.conv1d(F.pad(x[None, None], (3, 0)), kernel.flip(0)[None, None])
    return torch.stack(ys), by_convolution


@program("1 2; 3 4", assumed="recovered")
def fourier_and_norms(x):
    return x.norm(), x.norm(p=1, dim=0), x.norm(p=float("inf")), torch.linalg.vector_norm(x, 3), x.logsumexp(1), F.glu(x)


@program("1 2 3; 0 1 0")
def masked_mean(x):
    mask = torch.tensor([[True, True, False], [False, True, True]])
    filled = x.masked_fill(~mask, 0.0)
    return filled.sum(1) / mask.sum(1), x[mask], torch.masked_select(x, mask), (x * mask.float()).sum() / mask.float().sum()


@program("1/2 3/4")
def dropout(x):
    torch.manual_seed(0)
    return F.dropout(x, 0.0), F.dropout(x, 0.5, training=False), nn.Dropout(0.25).eval()(x)
