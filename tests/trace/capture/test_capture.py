"""Captured code does what the plain code does, and every statement of it is there."""

import functools
import gc
import math
import weakref

import pytest
import torch
from torch import nn

from workings import exact
from workings.trace.capture.capture import capture


def names(trace, kinds=("assign",)):
    return [step.name for step in trace.steps() if step.kind in kinds]


def deco(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        result = f(*args, **kwargs)
        return result

    return wrapper


@deco
def decorated(x, *, s=2):
    y = x * s
    return y


def closure(k):
    c = k + 1

    def inner(x):
        z = x * c
        return z

    return inner


class Base(nn.Module):
    def forward(self, x):
        h = x + 1
        return h


class Child(Base):
    def forward(self, x):
        h = super().forward(x)
        h2 = super().forward(h)
        self.kept = h * h2
        return self.kept


def early(x):
    for i in range(3):
        for j in range(2):
            y = x * (i + j)
            if i == 1:
                return y
    return x


def bad(x):
    w = x * 2
    raise ValueError(f"no {w}")


def handled(x):
    try:
        y = bad(x)
    except ValueError:
        y = x
    finally:
        z = y + 1
    return z


def generate(x):
    for i in range(2):
        yield x + i


def use_generator(x):
    t = sum(generate(x))
    return t


def walrus(x):
    if (n := x.sum()) > 0:
        return n * 2
    return n


def nested(x):
    def f(a):
        b = a * 3
        return b

    g = lambda t: t + 1  # noqa: E731
    u = g(f(x))
    return u


def recursive(x, n):
    if n == 0:
        return x
    return recursive(x * 2, n - 1)


def many_targets(x):
    a = b = x + 1
    (c, d), *e = (a, b), x, x
    o = {"k": a}
    o["k"] = o["k"] * 2
    r = x + o["k"] - b
    s = {k: v for k, v in o.items()}
    assert s
    del a
    typed: torch.Tensor = r + c + d + e[0]
    return typed


def contexts(x):
    with torch.no_grad():
        y = x * 2
    w = 0
    while w < 2:
        w += 1
        y = y + w
        if w == 7:
            break
    else:
        y = y + 10
    return y if w else x


def outer_state(x):
    c = 0

    def f(v):
        nonlocal c
        c = c + v
        return c

    f(x)
    f(x)
    return c


class Methods:
    @staticmethod
    def a(x):
        y = x + 1
        return y

    @classmethod
    def b(cls, x):
        y = cls.a(x)
        return y

    @property
    def p(self):
        q = 3
        return q

    def m(self, x):
        return self.b(x) * self.p


def matching(x):
    match x.dim():
        case 1:
            y = x * 5
        case _:
            y = x
    return y


def in_place(x):
    y = x.clone()
    y[0] = 7
    y.add_(1)
    y *= 2
    return y, y.sum()


CASES = {
    "decorated": (decorated, "result y", 1),
    "closure": (closure(3), "z", 1),
    "super": (Child(), "h h h2 h self.kept", 1),
    "early": (early, "y y y", 1),
    "handled": (handled, "y w y z", 1),
    "generator": (use_generator, "t", 1),
    "walrus": (walrus, "", 1),
    "nested": (nested, "g u b", 1),
    "recursive": (recursive, "", 2),
    "many targets": (many_targets, "a = b c, d), *e o o['k'] r s typed", 1),
    "contexts": (contexts, "y w w y w y y", 1),
    "outer state": (outer_state, "c c c", 1),
    "methods": (Methods().m, "y y", 1),
    "matching": (matching, "y", 1),
    "in place": (in_place, "y y[0] y", 1),
    "lambda": (lambda t: t * 4, "", 1),
    "sequential": (nn.Sequential(Base(), Child()), "h h h2 h self.kept h", 1),
}


@pytest.mark.parametrize("case", CASES)
def test_the_result_is_the_caller_s_own(case):
    function, _, count = CASES[case]
    x = torch.tensor([1.0, 2.0])
    args = (x, 3) if count == 2 else (x,)
    plain = function(*args)
    trace = capture(function, *args)
    assert trace.error is None
    assert trace.agreement == "matches the unmodified run (largest difference 0)"
    for a, b in zip(torch.utils._pytree.tree_leaves(trace.result), torch.utils._pytree.tree_leaves(plain), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("case", ["closure", "contexts", "handled", "in place", "matching", "outer state"])
def test_every_assignment_is_a_step(case):
    function, expected, _ = CASES[case]
    found = names(capture(function, torch.tensor([1.0, 2.0])))
    assert sorted(found) == sorted(expected.split())


@pytest.mark.parametrize("options", [{}, {"names": "h"}, {"replay": False}])
def test_a_capture_that_nobody_holds_is_gone_at_once(options):
    """Without waiting for the garbage collector: its copies would lie about, and the next capture need new memory."""
    trace = capture(Child(), torch.ones(2), **options)
    step = next(s for s in trace.steps() if isinstance(s.result, torch.Tensor))
    result = weakref.ref(step.result)
    gc.disable()
    try:
        del trace, step
        assert result() is None
    finally:
        gc.enable()


def test_nothing_stays_patched():
    call, inner, forward = nn.Module.__call__, nn.Module._call_impl, Child.forward
    code, given = inner.__code__, inner.__kwdefaults__
    module = Child()
    capture(module, torch.ones(2))
    capture(module, torch.ones(2), names="y")
    capture(bad, torch.ones(2))
    assert nn.Module.__call__ is call
    assert nn.Module._call_impl is inner
    assert inner.__code__ is code and inner.__kwdefaults__ is given
    assert Child.forward is forward
    assert "forward" not in vars(module)


def attention(Q, K, V):
    d = Q.shape[-1]
    S = Q @ K.mT / math.sqrt(d)
    A = S.softmax(dim=-1)
    Z = A @ V
    return Z


def test_steps_have_operands_results_and_places():
    trace = capture(attention, exact.eye(2), exact("1 1; 1 0"), exact("2 0; 0 1"))
    steps = {s.name: s for s in trace.steps() if s.kind == "assign"}
    assert list(steps) == ["d", "S", "A", "Z"]
    assert list(steps["S"].operands) == ["Q", "K", "d"]
    assert steps["A"].result.text().startswith("⎡")
    assert steps["S"].where.file == __file__
    assert steps["S"].source == "S = Q @ K.mT / math.sqrt(d)"
    assert trace.difference == 0
