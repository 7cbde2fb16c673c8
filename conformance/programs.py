"""Programs beyond single modules: indexing, writing into views, `torch.func`, einops, and the tools of training."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import einops
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
from torch.utils.checkpoint import checkpoint

from conformance.case import Case, check, function, module
from conformance.row import Row

INDEX = torch.tensor([[0, 2], [1, 1], [2, 0]])
OUTSIDE: set[str] = set()
"""Cases known to be unsupported; see `modules.OUTSIDE`."""


def tensors() -> Iterator[Case]:
    """Picking, sorting, writing and contracting."""
    x, y = (3, 3), (3, 4)
    yield function("einsum", lambda a, b: torch.einsum("ij,jkl->kil", a, b), (2, 3), (3, 2, 2))
    yield function("einsum, three operands", lambda a, b, c: torch.einsum("bi,ij,bj->b", a, b, c), (2, 3), (3, 2), (2, 2))
    yield function("index by slices", lambda t: [t[1:, ::2], t[..., None, -1], t[:, -1:]], y)
    yield function("index by lists and masks", lambda t: [t[[0, 2]], t[t > 0], t[INDEX[:, 0], INDEX[:, 1]]], y)
    yield function(
        "cat, stack, where",
        lambda a, b: [torch.cat([a, b]), torch.stack([a, b], 1), torch.where(a > b, a, b)],
        x,
        x,
    )
    yield function("masks", lambda t: [t.masked_fill(t > 0, -1e9), t.triu(), t.tril(-1), t.masked_select(t < 1)], x)
    yield function(
        "gather, scatter",
        lambda t: [t.gather(1, INDEX), torch.zeros_like(t).scatter_add(1, INDEX, t[:, :2])],
        x,
    )
    yield function(
        "sort, topk, max",
        lambda t: [t.sort()[0], t.topk(2)[0], t.max(1)[0], t.kthvalue(2)[0], t.argmax(1)],
        x,
    )
    yield function("cumsum, cumprod, logcumsumexp", lambda t: [t.cumsum(0), t.cumprod(1), t.logcumsumexp(0)], x)
    yield function("norms and moments", lambda t: [t.norm(), t.norm(3, 1), t.std(0), t.var(), t.logsumexp(1)], x)
    yield function(
        "inverse, determinant",
        lambda t: [torch.linalg.inv(t), torch.linalg.det(t), torch.linalg.solve(t, t.T)],
        x,
    )
    yield function("write into views", write_into_views, x)
    yield function("write under a mask", write_under_a_mask, x)
    yield function("waves of position", lambda t: t + torch.stack([t.new_tensor([0, 1, 2]).sin()] * 3), x)


def write_into_views(x: Tensor) -> Tensor:
    y = x.clone()
    y[0] = 7
    y[:, 1] *= 2
    y.view(-1)[3:5].add_(1)
    z = y.T
    z += 1
    y.relu_()
    return y * x


def write_under_a_mask(x: Tensor) -> Tensor:
    y = x * 2
    y[x > 0] = x[x > 0] ** 2
    y[INDEX[:, 0], INDEX[:, 1]] += 1
    y.masked_fill_(y > 3, 0.5)
    return y


def transforms() -> Iterator[Case]:
    """`torch.func`, and backward through backward."""

    def soft(t: Tensor) -> Tensor:
        return t.softmax(-1)

    def energy(t: Tensor) -> Tensor:
        return (t.exp() * t.flip(0)).sum()

    yield function("func.grad", grad(energy), (3,))
    yield function("func.vmap", lambda x, w: vmap(lambda v: soft(w @ v))(x), (3, 2), (2, 2))
    yield function("func.vmap of grad", vmap(grad(energy)), (3, 2))
    yield function("func.jacrev", jacrev(soft), (3,))
    yield function("func.jacfwd", jacfwd(soft), (3,))
    yield function("func.hessian", hessian(energy), (2,))
    yield function("func.jvp", lambda x, v: jvp(soft, (x,), (v,)), (3,), (3,))
    yield function("func.vjp", lambda x, v: vjp(soft, x)[1](v), (3,), (3,))
    yield module("func.functional_call", lambda: nn.Linear(3, 2), (2, 3), call=doubled)
    yield function("double backward", second_derivative, (3,))


def doubled(m: nn.Module, x: Tensor) -> Tensor:
    """The module with all parameters times two."""
    return functional_call(m, {name: 2 * p for name, p in m.named_parameters()}, (x,))


def second_derivative(x: Tensor) -> Tensor:
    (first,) = torch.autograd.grad((x.softmax(0) * x.tanh()).sum(), x, create_graph=True)
    return first


def rearranged() -> Iterator[Case]:
    """einops."""
    yield function("einops.rearrange", lambda t: einops.rearrange(t, "b (h d) -> h b d", h=2), (3, 4))
    yield function(
        "einops.reduce",
        lambda t: [einops.reduce(t, "a b -> a", how) for how in ("mean", "sum", "max", "prod")],
        (3, 4),
    )
    yield function("einops.repeat", lambda t: einops.repeat(t, "a b -> a (b 2)"), (2, 3))
    yield function("einops.einsum", lambda a, b: einops.einsum(a, b, "i j, j k -> i k"), (2, 3), (3, 2))


def training() -> Iterator[Case]:
    """What surrounds a model while it is trained."""

    def net() -> nn.Module:
        return nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 2))

    yield module("checkpoint", net, (2, 3), call=lambda m, x: checkpoint(m, x, use_reentrant=False))
    yield module("clip_grad_norm_", net, (2, 3), call=clipped)
    yield module("clip_grad_value_", net, (2, 3), call=clipped_by_value)
    yield module("weight_norm", lambda: nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)), (2, 3))
    yield module("state_dict, there and back", net, (2, 3), call=reloaded)
    yield module("deepcopy", net, (2, 3), call=lambda m, x: [m(x), copy.deepcopy(m)(x.detach())])
    yield module("frozen layer", net, (2, 3), call=frozen)
    yield module("hooks", net, (2, 3), call=hooked)
    yield module("parameters as one vector", net, (2, 3), call=flattened)
    yield module("autograd.Function", net, (2, 3), call=lambda m, x: Doubled.apply(m(x)))
    yield module("no_grad, detach", net, (2, 3), call=lambda m, x: m(x) * m(x).detach())
    yield module("gradients added up", net, (2, 3), call=added_up)


def gradients(m: nn.Module) -> list[Tensor]:
    """The parameters' gradients, taken out of the module."""
    found = [p.grad.clone() for p in m.parameters() if p.grad is not None]
    m.zero_grad()
    return found


def clipped(m: nn.Module, x: Tensor) -> list[Tensor]:
    m(x).square().sum().backward()
    norm = nn.utils.clip_grad_norm_(m.parameters(), 0.5)
    return [norm, *gradients(m)]


def clipped_by_value(m: nn.Module, x: Tensor) -> list[Tensor]:
    m(x).square().sum().backward()
    nn.utils.clip_grad_value_(m.parameters(), 0.25)
    return gradients(m)


def reloaded(m: nn.Module, x: Tensor) -> list[Tensor]:
    """Parameters doubled, saved aside, changed, and loaded again."""
    saved = {name: 2 * t for name, t in m.state_dict().items()}
    other = copy.deepcopy(m)
    other.load_state_dict(saved)
    return [other(x.detach()), m(x)]


def frozen(m: Any, x: Tensor) -> Tensor:
    m[0].requires_grad_(False)
    assert [p.requires_grad for p in m.parameters()] == [False, False, True, True]
    return m(x)


def hooked(m: Any, x: Tensor) -> list[Tensor]:
    """A hook that changes the forward result, one that changes a gradient, one that watches."""
    seen: list[Tensor] = []
    handles = [
        m[1].register_forward_hook(lambda _, __, out: out * 2),
        m[0].register_forward_pre_hook(lambda _, args: (args[0] + 1,)),
        m[2].register_full_backward_hook(lambda _, grad_in, __: seen.append(grad_in[0])),
        m[0].weight.register_hook(lambda g: 3 * g),
    ]
    m(x).square().sum().backward()
    for handle in handles:
        handle.remove()
    return [*seen, *gradients(m)]


def flattened(m: nn.Module, x: Tensor) -> list[Tensor]:
    vector = nn.utils.parameters_to_vector(m.parameters())
    nn.utils.vector_to_parameters(vector.detach() / 2, m.parameters())
    return [vector, m(x)]


def added_up(m: nn.Module, x: Tensor) -> list[Tensor]:
    m(x).sum().backward()
    m(x).square().sum().backward()
    return gradients(m)


class Doubled(torch.autograd.Function):
    """2x, with a gradient of 3 to show that its own backward ran."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return 2 * x

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 3 * g * x


GROUPS = (tensors, transforms, rearranged, training)


def cases() -> list[Case]:
    return [case for group in GROUPS for case in group()]


def rows() -> Iterator[Row]:
    """Every case, checked."""
    return map(check, cases())
