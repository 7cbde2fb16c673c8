"""Functions in which the author's own code is reached in every way there is. Each takes a matrix; `PROGRAMS` has all."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_map
from torch.utils.checkpoint import checkpoint

PROGRAMS: dict[str, Any] = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def f(x):
    y = x * 2
    return y + 1


def squared(x):
    y = x * x
    return y.sum()


class Block(nn.Module):
    def __init__(self, width=3):
        super().__init__()
        self.lin = nn.Linear(width, width)

    def forward(self, x):
        h = self.lin(x)
        y = torch.relu(h)
        return x + y


class InSequential(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(Block(), nn.Sequential(nn.Tanh(), Block()))

    def forward(self, x):
        z = self.net(x)
        return z


MODEL, BLOCK = InSequential(), Block()


@program
def in_sequential(x):
    return MODEL(x)


@program
def made_here(x):
    net = nn.Sequential(Block(), nn.ReLU())
    y = net(x)
    return y


@program
def module_list(x):
    for block in nn.ModuleList([BLOCK, BLOCK]):
        x = block(x)
    return x


@program
def mapped(x):
    q, k, v = map(f, (x, x + 1, x + 2))
    r = list(map(lambda t: t.sum(), [q, k]))
    return r[0] + v


@program
def partial(x):
    g = functools.partial(torch.vmap, f)()
    a = functools.partial(f)(x)
    return g(x) + a


@program
def vmapped(x):
    a = torch.vmap(f)(x)
    b = torch.vmap(torch.vmap(lambda r: r * 2))(x)
    return a + b


ROWS = torch.vmap(f)


@program
def vmapped_before(x):
    y = ROWS(x)
    return y


@program
def differentiated(x):
    g = torch.func.grad(squared)(x)
    j = torch.func.jacrev(f)(x)
    out, pull = torch.func.vjp(f, x)
    (p,) = pull(torch.ones_like(out))
    return g + j.sum() + p


@program
def functional(x):
    weights = dict(BLOCK.named_parameters())
    y = torch.func.functional_call(BLOCK, weights, (x,))
    return y


@program
def checkpointed(x):
    a = checkpoint(f, x, use_reentrant=False)
    b = checkpoint(BLOCK, a, use_reentrant=False)
    return b


def around(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        out = function(*args, **kwargs)
        return out

    return inner


@around
def decorated(x):
    y = x + 1
    return y


@torch.no_grad()
def constant(x):
    y = x * 3
    return y


@functools.lru_cache
def kept(n):
    m = n * 2
    return m


@contextlib.contextmanager
def scope(x):
    y = x + 1
    yield y
    z = x + 2
    del z


@program
def decorators(x):
    kept.cache_clear()
    a = decorated(x) * kept(2)
    b = constant(a)
    with scope(b) as c, torch.no_grad():
        d = c * 2
    return d


@dataclasses.dataclass
class Pair:
    a: torch.Tensor
    b: int = 2

    def __post_init__(self):
        self.c = self.a * self.b

    def total(self):
        t = self.a + self.c
        return t


class Weight:
    def __init__(self, w):
        self.w = w * 2

    def __call__(self, x):
        y = self.w * x
        return y

    def __add__(self, other):
        s = self.w + other
        return s

    def __getitem__(self, i):
        r = self.w[i]
        return r

    def __len__(self):
        n = 3
        return n

    def __enter__(self):
        w = self.w
        return w

    def __exit__(self, *error):
        done = True
        return not done

    @property
    def half(self):
        h = self.w / 2
        return h

    @functools.cached_property
    def double(self):
        d = self.w * 2
        return d

    @staticmethod
    def plain(x):
        y = x + 1
        return y

    @classmethod
    def made(cls, x):
        y = cls(cls.plain(x))
        return y


@program
def objects(x):
    t = Pair(x).total()
    p = Weight(t)
    y = p(x) + p.half + p.double + p[0] + len(p)
    z = p + y
    with Weight.made(z) as w:
        u = w * 2
    return u


class Handed:
    def __init__(self, function):
        self.function = function


@program
def lambda_below(x):
    held = Handed(lambda t:
                  t.sum() * 2)  # fmt: skip
    y = held.function(x)
    return y


@program
def callbacks(x):
    def called(t):
        u = t * 5
        return u

    table = {"called": called}
    y = table["called"](x)
    r = functools.reduce(lambda a, b: a + b, [x, y])
    s = sorted([1, 3, 2], key=lambda n: -n)
    d = tree_map(f, {"a": x, "b": [r]})
    keep = list(filter(lambda row: row.sum() > -1e9, x))
    m = max(keep, key=lambda row: row.sum())
    n = next(iter(map(f, keep)))
    return d["a"] + s[0] + m + n


@program
def hooked(x):
    block = Block()

    def hook(module, args, out):
        z = out * 2
        return z

    def start(module):
        if isinstance(module, nn.Linear):
            nn.init.ones_(module.weight)

    block.register_forward_hook(hook)
    block.apply(start)
    y = block(x)
    return y


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = x * x
        return y

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        out = 2 * x * g
        return out


@program
def autograd_function(x):
    y = Square.apply(x.clone().requires_grad_())
    y.sum().backward()
    return y


class Layer(nn.TransformerEncoderLayer):
    def _ff_block(self, x):
        y = self.linear1(x)
        z = self.linear2(torch.relu(y))
        return z


LAYER = Layer(3, 1, 5, 0.0)


@program
def overridden(x):
    y = LAYER(x)
    return y


@program
def generators(x):
    def twice(t):
        for i in range(2):
            v = t * i
            yield v

    def more(t):
        yield from twice(t)

    total = sum(twice(x))
    parts = [p + 1 for p in more(x)]
    a, b = twice(x)
    s = torch.stack(tuple(twice(x)))
    return total + a + b + s[0] + parts[0]


@program
def coroutine(x):
    async def wait(t):
        u = t + 1
        return u

    return asyncio.run(wait(x))


@program
def statements(x):
    a, *rest = x
    first, *mid, last = [x, x + 1, x + 2, x + 3]
    b = c = x * 2
    d = [*rest, a]
    e = {"k": x, **{"m": a}}
    match x.dim():
        case 1:
            g = x
        case 2 if x.shape[0] == 3:
            g = x * 2
        case _:
            g = x * 3
    assert g.shape == x.shape, "the shape of x"
    del c
    with torch.no_grad():
        h = g + 1
    try:
        i = h + 1
        j = torch.zeros(2) + torch.zeros(3)
    except RuntimeError:
        j = i * 2
    else:
        j = i
    finally:
        k = j + 1
    if (n := k.sum()) > 0:
        m = n
    while (m := m - 1) > 1e9:
        m = m + 2
    o = Weight(x)
    o.w += 1
    o.z = o.w, (x, [a, b])
    e["k"] = e["k"] + 1
    e["new"], q = first, mid[0]
    (u, (v, w)) = (x, (q, last))
    t = *rest, a
    z: torch.Tensor = u + v + w
    return z + t[0] + d[0] + h
