"""Rules read off autograd's graph: layers inside a library's modules, calls without a formula, the insides of calls."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import workings
from workings.trace.formula.tree import Apply, Call, Leaf, leaves
from workings.trace.operations.graph.nodes import read_node
from workings.trace.operations.node import RuleError


def gradients(function, *args, **options):
    """The lines of the backward pass by name; all of them are autograd's."""
    work = workings.show(function, *args, backward=True, **options)
    return {step.name: step for step in work.steps() if step.kind == "gradient"}


def unchecked(found):
    return {name: step.note for name, step in found.items() if not step.note.startswith("rule checked") and step.note}


def normal(*shape, seed=0):
    made = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=made, dtype=torch.float64)


@pytest.fixture(autouse=True)
def double():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def hidden(function):
    """The same function where its source has no formula."""
    return {"call": function}["call"]


class Net(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        y = self.net(x)
        L = (y * y).sum()
        return L


def test_layers_inside_a_sequential_have_rules_in_their_own_names():
    net = Net(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2))
    found = gradients(net, normal(4, 2))
    assert not unchecked(found)
    assert found["∂L/∂net.0.weight"].formula == Apply("matmul", (Apply("transpose", (Leaf("∂L/∂net.0"),)), Leaf("x")))
    assert leaves(found["∂L/∂net.2.weight"].formula) == ["∂L/∂y", "net.2.input"]
    theirs = torch.autograd.grad(net(normal(4, 2)), list(net.parameters()))
    for (name, _), gradient in zip(net.named_parameters(), theirs, strict=True):
        torch.testing.assert_close(found[f"∂L/∂{name}"].result, gradient)


def test_worked_by_hand():
    # net(x) = 3 relu(2x + 1), at x = 1: y = 9, L = 81, ∂L/∂y = 18; ∂L/∂net.0 = 18·3 = 54, so ∂L/∂net.0.weight = 54·1.
    net = Net(nn.Linear(1, 1), nn.ReLU(), nn.Linear(1, 1, bias=False))
    with torch.no_grad():
        net.net[0].weight.fill_(2)
        net.net[0].bias.fill_(1)
        net.net[2].weight.fill_(3)
    found = gradients(net, torch.ones(1, 1))
    assert found["∂L/∂net.0.weight"].result.item() == 54 and found["∂L/∂net.0.bias"].result.item() == 54
    assert found["∂L/∂x"].result.item() == 108 and found["∂L/∂net.2.weight"].result.item() == 18 * 3


def test_a_layer_that_is_used_twice_has_a_term_for_each_use():
    layer = nn.Linear(2, 2, bias=False)
    found = gradients(Net(layer, nn.Tanh(), layer), normal(3, 2))
    assert not unchecked(found)
    assert {"∂L/∂net.0 (1)", "∂L/∂y"} <= {*leaves(found["∂L/∂net.0.weight"].formula)}


def test_a_dropout_has_its_mask():
    class Dropped(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout(0.5)

        def forward(self, x):
            y = self.drop(x)
            L = (y * y).sum()
            return L

    found = gradients(Dropped(), torch.ones(50))["∂L/∂x"]
    assert found.formula == Apply("mul", (Leaf("∂L/∂y"), Leaf("m")))
    assert set(found.operands["m"].tolist()) == {0, 2}


X, IMAGE = normal(3, 4, seed=1), normal(2, 4, 6, 6, seed=2)
FUNCTIONS = {
    "map": lambda x: sum(map(torch.square, (x, x.exp()))),
    "starred": lambda x: torch.stack([*x.chunk(2, -1)]),
    "comprehension": lambda x: torch.cat([r.tanh() for r in x]),
    "partial": lambda x: hidden(torch.softmax)(x, -1) * 2,
    "norm": lambda x: hidden(F.normalize)(x, dim=-1),
    "slices": lambda x: hidden(lambda v: v[1:, ::2] - v[:-1, 1::2])(x),
    "picks": lambda x: hidden(lambda v: v[[0, 2]].gather(1, torch.tensor([[0, 1], [3, 3]])))(x),
    "select": lambda x: hidden(lambda v: v.index_select(1, torch.tensor([1, 1, 3])))(x),
    "mask": lambda x: hidden(lambda v: v.masked_fill(v > 0, 0) + torch.where(v < 0, v * v, v))(x),
    "extremes": lambda x: hidden(lambda v: v.max(-1).values + v.amin(-1) + v.topk(2).values.sum(-1) + v.sort().values[:, 1])(
        x
    ),
    "bounds": lambda x: hidden(lambda v: v.clamp(-0.5, 0.5) + v.clamp(min=0) + F.hardtanh(v))(x),
    "reductions": lambda x: hidden(lambda v: v.var(-1) + v.std(-1) + v.norm(dim=-1) + v.prod(-1) + v.logsumexp(-1))(x),
    "powers": lambda x: hidden(lambda v: (v.abs() + 1) ** 1.5 + 2**v + v.exp() ** v + (1 - v) / (2 + v * v))(x),
    "activations": lambda x: hidden(
        lambda v: F.gelu(v) + F.silu(v) + F.softplus(v) + F.elu(v) + F.leaky_relu(v) + F.mish(v)
    )(x),
    "moves": lambda x: hidden(lambda v: v.flip(0).roll(1, 0).repeat(2, 1).tril().cumsum(0))(x),
    "pads": lambda x: hidden(lambda v: F.pad(v, (1, 2)).unflatten(1, (7, 1)).permute(2, 0, 1).expand(2, 3, 7))(x),
    "layer norm": lambda x: hidden(F.layer_norm)(x, (4,), eps=1e-3),
    "logs": lambda x: hidden(lambda v: F.log_softmax(v, -1) + F.logsigmoid(v) + v.erf() + v.sin() * v.cos())(x),
    "sums at places": lambda x: hidden(
        lambda v: (
            v.new_zeros(2, 4).scatter_add(0, torch.tensor([[0, 1, 1, 0]] * 3), v)
            + v.new_ones(2, 4).index_add(0, torch.tensor([1, 0, 1]), v)
        )
    )(x),
    "determinants": lambda x: hidden(lambda v: (v @ v.mT).det() + torch.slogdet(v[:, :3])[1] + (v @ v.mT).inverse())(x),
    "diagonals": lambda x: hidden(lambda v: torch.diag(v[0]) + v[1])(x),
    "products": lambda x: hidden(lambda v: torch.baddbmm(v @ v.mT, v[None], v[None].mT) + torch.mv(v, v[0])[:, None])(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_pytorch_ran_has_a_rule(name):
    function = FUNCTIONS[name]

    def f(x):
        y = function(x)
        L = (y * torch.linspace(-1, 1, y.numel()).reshape(y.shape)).sum()
        return L

    x = X.clone().requires_grad_()
    found = gradients(f, x, depth=1)
    assert not unchecked(found)
    torch.testing.assert_close(found["∂L/∂x"].result, torch.autograd.grad(f(x), x)[0])


LAYERS = {
    "convolution": nn.Conv2d(4, 2, 3, padding=1, stride=2, groups=2, dilation=2),
    "pools": nn.Sequential(nn.MaxPool2d(2), nn.AvgPool2d(3)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_on_images(name):
    found = gradients(Net(nn.Identity(), LAYERS[name].double()), IMAGE)
    assert not unchecked(found)


# ---- the insides of calls


def test_the_gradient_inside_a_call_is_what_the_statement_goes_on_from():
    def squared(h):
        u = h * h
        return u

    def f(h):
        y = 3 * h + squared(2 * h)
        L = y.sum()
        return L

    # y = 3h + 4h²: in `squared`, h is 4 where it is 2 here, so ∂L/∂h is 2·4 inside and 3 + 2·8 here.
    found = workings.show(f, torch.tensor([2.0]), backward=True)
    inner, outer = [step for step in found.steps() if step.name == "∂L/∂h"]
    assert (inner.result.item(), outer.result.item()) == (8, 19)
    assert "∂L/∂squared.h" in leaves(outer.formula) and outer.note.startswith("rule checked")


def test_a_call_shows_its_own_part_of_a_value_used_elsewhere_too():
    def half(x):
        return x / 2

    def f(x):
        y = half(x) + x
        z = half(y) * x
        return z.sum()

    work = workings.show(f, torch.tensor([2.0, 4.0]), backward=True)
    lines = [step for step in work.steps() if step.kind == "gradient"]
    assert not [step for step in lines if "elsewhere: " in step.note]
    assert "this call's part: x is used elsewhere too" in lines[0].note
    # y = 3x/2, z = 3x²/4: ∂L/∂x = 3x/2
    assert [3, 6] in [line.result.tolist() for line in lines if line.name == "∂L/∂x"]


def test_a_parameter_that_several_calls_use_is_the_sum_of_their_parts():
    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.tensor(3.0))

        def forward(self, h):
            h = self.w * h
            return h

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = Cell()

        def forward(self, x):
            h = self.cell(x)
            h = self.cell(h)
            return h

    # L = w²x: the first call adds x w, the second w x, together 2·3·2
    work = workings.show(Net(), torch.tensor(2.0), backward=True)
    lines = {step.address: step for step in work.steps() if step.kind == "gradient" and "w" in step.name}
    total = [step for step in lines.values() if isinstance(step.formula, Apply) and step.formula.op == "add"]
    assert [step.result.item() for step in total] == [12] and all(v.item() == 6 for v in total[0].operands.values())


# ---- what a node means


def test_a_node_that_nobody_knows_is_named():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuleError, match="there is no rule for PyTorch's SpecialI1"):
        read_node(torch.special.i1(x).grad_fn)


class Step(torch.autograd.Function):
    """[x > 0], with the gradient of something smooth."""

    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        y = (x > 0).to(x.dtype)
        return y

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        slope = 1 / (1 + ctx.scale * x.abs())
        return g * slope, None


def test_an_authors_own_backward_is_the_rule_and_is_shown():
    def f(x):
        y = Step.apply(x - 1, 3)
        L = (y * x).sum()
        return L

    # x = 2: y = 1, ∂L/∂y = 2, slope = 1/(1 + 3·|2 − 1|) = 1/4, so ∂L/∂x is 2/4 from y and 1 from L
    work = workings.show(f, torch.tensor([2.0]), backward=True)
    found = {step.name: step for step in work.steps() if step.kind == "gradient"}
    own = found["∂L/∂x from y"]
    assert own.formula == Call("Step.backward", (Leaf("∂L/∂y"),)) and own.note.startswith("rule checked")
    assert own.result.tolist() == [0.5] and found["∂L/∂x"].result.tolist() == [1.5]
    (call,) = own.children
    assert [(s.name, s.result.item()) for s in call.children if s.kind == "assign" and s.name == "slope"] == [
        ("slope", 0.25)
    ]
    assert "Step.backward" in work.text() and "Step.forward" in work.text()


def test_an_authors_own_backward_of_several_inputs_gives_each_its_part():
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b, a + b

        @staticmethod
        def backward(ctx, g, h):
            a, b = ctx.saved_tensors
            return g * b + h, g * a + h

    def f(a, b):
        p, s = Scaled.apply(a, b)
        L = (p * s).sum()
        return L

    found = gradients(f, normal(3), normal(3, seed=1))
    assert not unchecked(found) and {"∂L/∂a", "∂L/∂b"} <= found.keys()


def test_an_authors_function_that_is_shown_itself_opens():
    work = workings.show(Step.apply, torch.tensor([2.0]), 3)
    assert [step.source for step in work.steps() if step.where][-2:] == ["y = (x > 0).to(x.dtype)", "return y"]
    assert work.result.tolist() == [1]


# ---- what the graph does not keep


class Shifted(nn.Module):
    def __init__(self):
        super().__init__()
        self.b = nn.Parameter(torch.ones(3))

    def forward(self, x):
        y = x + self.b
        return y


@pytest.mark.parametrize(
    "layers",
    [
        (nn.Linear(3, 4), nn.Dropout(0.1), nn.ReLU(inplace=True), nn.Linear(4, 3)),  # ReLU keeps its result alone
        (nn.ReLU(), Shifted(), nn.ReLU(), Shifted()),  # the author's layers between a library's
    ],
)
def test_what_stands_between_layers_is_computed_again(layers):
    found = gradients(Net(*layers), normal(2, 3))
    assert not unchecked(found)
    if isinstance(layers[1], Shifted):
        assert "∂L/∂net.1.x" in leaves(found["∂L/∂x"].formula)


def test_a_constant_among_what_cat_joins():
    def f(x):
        y = x * torch.cumprod(torch.cat([torch.ones((x.shape[0], 1)), 1 - x], -1), -1)[:, :-1]
        L = (y * y).sum()
        return L

    assert not unchecked(gradients(f, normal(2, 3)))


def test_entries_that_are_written_where_a_condition_holds():
    def f(x, m):
        y = x.new_zeros((*m.shape, 2))
        y[m[..., None].repeat(1, 1, 2) == 1] = x.reshape(-1)
        L = (y * y).sum()
        return L

    found = gradients(f, normal(2, 2), torch.eye(2))
    assert not unchecked({name: step for name, step in found.items() if "∂m" not in name})


def test_a_value_of_which_only_the_size_is_read_has_no_part():
    def f(x, y):
        z = x.new_zeros(y.size(0), 2).index_add(0, torch.tensor([1, 0]), x)
        L = (z * y).sum()
        return L

    assert {name for name in gradients(f, normal(2, 2), normal(3, 2)) if "∂y" in name} == {"∂L/∂y"}

    def viewed(x):
        t = x.transpose(0, 1)
        s = t.contiguous().view(-1).softmax(0)
        L = (s.view(*t.size()) * t).sum()
        return L

    assert not unchecked(gradients(viewed, normal(3, 2)))
