"""Six worked systems, captured from ordinary PyTorch code: what a reader meets first. The numbers can be checked by hand."""

import math

import torch
from torch import nn

import workings
from workings import exact

SYSTEMS = {}


def system(make):
    """A function that makes the work of one system; it is in the table under its name."""
    SYSTEMS[make.__name__.removesuffix("_")] = make
    return make


def attention(Q, K, V):
    d = Q.shape[-1]
    S = Q @ K.mT / math.sqrt(d)
    A = S.softmax(dim=-1)
    Z = A @ V
    return Z


@system
def attention_():
    """Q = I, K = [[1, 1], [1, 0]], V = [[2, 0], [0, 1]]: the second row of A is (e^{1/√2}, 1)/(1 + e^{1/√2})."""
    return workings.show(attention, exact("1 0; 0 1"), exact("1 1; 1 0"), exact("2 0; 0 1"))


def head(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    S = Q @ K.mT / math.sqrt(Q.shape[-1])
    A = S.softmax(dim=-1)
    Z = A @ V
    return Z


def heads(X, first, second):
    Z_1 = head(X, *first)
    Z_2 = head(X, *second)
    Z = torch.cat([Z_1, Z_2], dim=-1)
    return Z


@system
def two_heads():
    """X = I and two heads of width 2: the values of the second are swapped, so that both outputs are the same."""
    first = exact("1 0; 0 1"), exact("1 0; 1 1"), exact("1 0; 0 1")
    second = exact("0 1; 1 0"), exact("1 1; 0 1"), exact("0 1; 1 0")
    return workings.show(heads, exact("1 0; 0 1"), first, second)


def unrolled(w, x):
    h = 0 * w
    for t in range(2):
        h = w * h + x[t]
    y = 2 * h
    L = (y - 3) ** 2 / 2
    return L


@system
def rnn():
    """Drives 2 and 1/2: h = 2, then 2w + 1/2; y = 4w + 1; L = 8(w − 1/2)², so dL/dw = 16w − 8."""
    return workings.show(unrolled, exact.symbols(w="3/10"), exact("2 1/2"), backward=True)


def normalised(H):
    mu = H.mean(dim=0)
    sigma = ((H - mu) ** 2).mean(dim=0).sqrt()
    H_hat = (H - mu) / sigma
    return H_hat


@system
def batch_norm():
    """Four samples of 2×3 entries, each entry normalised over the batch with the population's deviation."""
    samples = [[[1, 5, 3], [7, 2, 8]], [[4, 6, 9], [3, 5, 7]], [[2, 8, 4], [6, 3, 5]], [[9, 1, 6], [4, 9, 2]]]
    return workings.show(normalised, exact(samples))


def adam_step(theta):
    optimizer = torch.optim.Adam([theta], lr=0.1, eps=0, foreach=False)
    L = theta**2 / 5
    L.backward()
    optimizer.step()
    return theta


@system
def adam():
    """θ = 1 and g = 2/5: m̂ = g and v̂ = g², so that the first step is η·sign(g), θ = 9/10."""
    return workings.show(adam_step, nn.Parameter(exact(1)))


class Net(nn.Module):
    """Its last layer expects 120 features; 16·3·3 = 144 arrive."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 5)
        self.conv2 = nn.Conv2d(8, 16, 4, padding=1)
        self.fc = nn.Linear(120, 10)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = nn.functional.avg_pool2d(x, 4)
        x = torch.relu(self.conv2(x))
        x = nn.functional.avg_pool2d(x, 2)
        x = x.flatten(1)
        scores = self.fc(x)
        return scores


@system
def cnn():
    """Weights of 1/8 and an image of zeros and ones, so that every number is exact in binary."""
    net = Net()
    for parameter in net.parameters():
        nn.init.constant_(parameter, 1 / 8)
    image = (torch.arange(32) >= 16).float().expand(1, 1, 32, 32).clone()
    return workings.show(net, image)
