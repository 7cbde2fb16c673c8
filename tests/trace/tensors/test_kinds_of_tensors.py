"""Tensors that are stored in other ways, compiled modules, complex numbers: shown, or said not to be."""

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import workings
from workings.show import Work
from workings.trace.capture.capture import capture
from workings.trace.tensors.difference import is_rounding, largest_difference
from workings.trace.tensors.state import same_bits, sum_of_bits

AGREES = "matches the unmodified run (largest difference 0)"
X = torch.tensor([[1.0, 0.0], [0.0, 4.0]])


def product(a, b):
    c = a @ b
    return c.sum()


def quiet(make, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # «beta state», «experimental»
        return make(*args)


def printed(work):
    """Every form, and the text of the reloaded one."""
    for form in ("html", "latex", "markdown"):
        assert getattr(work, form)()
    assert Work.from_json(work.json()).text() == work.text()
    return work.text()


@pytest.mark.parametrize("kind", ["to_sparse", "to_sparse_csr", "to_sparse_csc"])
def test_sparse_inputs_are_shown_with_their_zeros(kind):
    a = quiet(getattr(X, kind))
    work = quiet(workings.show, product, a, X)
    assert work.agreement == AGREES
    assert printed(work) == printed(workings.show(product, X, X))


def test_sparse_results_and_gradients():
    work = workings.show(lambda x: x.to_sparse() * 2, X)
    assert work.agreement == AGREES
    assert work.root.children[0].result.tolist() == [[2, 0], [0, 8]]

    def rows(W, i):
        h = F.embedding(i, W, sparse=True)
        return (h * h).sum()

    work = workings.show(rows, X.clone(), torch.tensor([1, 1]), backward=True)
    # each of the two uses of row 1 = [0 4] gives 2 W
    assert work["∂L/∂W"].tolist() == [[0, 0], [0, 16]]
    printed(work)


def test_a_sparse_tensor_of_many_zeros_is_named():
    a = torch.sparse_coo_tensor([[0, 5], [1, 7]], [1.0, 2.0], (300, 300), check_invariants=True)
    work = workings.show(product, a, torch.ones(300, 1))
    assert "a = ⟨sparse 300×300, 2 entries, not shown⟩" in printed(work)
    assert work.result == 3
    assert work.agreement == AGREES


def stored(x):
    q = torch.quantize_per_tensor(x, 0.5, 10, torch.quint8)
    e = x.to(torch.float8_e4m3fn)
    m = x.to_mkldnn()
    return q, e, m


def test_other_ways_to_store_numbers():
    work = quiet(workings.show, stored, X)
    assert work.agreement == AGREES
    assert all(work[name].tolist() == X.tolist() for name in "qem")
    assert all(work[name].layout is torch.strided and work[name].dtype == torch.float32 for name in "qem")
    work.text()


@pytest.mark.parametrize("layout", [torch.strided, pytest.param(torch.jagged, marks=pytest.mark.slow)])
def test_nested_tensors_are_shown_as_lists(layout):
    def f(x):
        n = torch.nested.nested_tensor([x, x[:1]], layout=layout)
        m = n * 2
        return m

    work = quiet(workings.show, f, X)
    assert work.agreement == AGREES
    assert [part.tolist() for part in work["m"]] == [[[2, 0], [0, 8]], [[2, 0]]]
    printed(work)


def test_tensors_without_numbers():
    work = workings.show(product, X.to("meta"), X.to("meta"))
    assert work.agreement == "ran like the unmodified run; there is no result to compare"
    assert "no values: a tensor on meta" in work.text()
    assert work.first_bad is None


def test_bits_are_compared_whatever_the_kind():
    z = torch.tensor([1 + 2j, 3j])
    for x, y in ((X.to_sparse(), 2 * X.to_sparse()), (z, z.conj()), (X.bool(), X.bool().fill_(True)), (X.half(), -X.half())):
        assert same_bits(x, x.clone())
        assert not same_bits(x, y)
        assert sum_of_bits(x) == sum_of_bits(x.clone())
        assert sum_of_bits(x) != sum_of_bits(y) or x.is_complex()
    assert not same_bits(X, X.double())
    assert not same_bits(X, X[:1])
    assert sum_of_bits(torch.ones(3)) == 3 * sum_of_bits(torch.ones(1))  # also where the bytes are no multiple of eight


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 1)

    def forward(self, x):
        return self.lin(x).relu()


@pytest.mark.parametrize("make", [torch.jit.script, lambda net: torch.jit.trace(net, X)])
def test_torchscript_modules_are_shown_as_one_call(make):
    net = quiet(make, Net())
    work = workings.show(net, X, backward=True)
    assert work.agreement == AGREES
    assert [step.source for step in work.steps() if step.kind == "operation"] == ["Net(A)"]
    assert torch.equal(work["∂L/∂lin.weight"], torch.autograd.grad(net(X).sum(), net.lin.weight)[0])
    assert "source not available: the call is shown, not its statements" in printed(work)

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = net

        def forward(self, x):
            y = self.inner(x)
            return y * 2

    for depth in (1, 2, 3, 4):
        trace = capture(Outer(), X, depth=depth)
        assert trace.agreement == AGREES
    assert capture(Outer(), X, names="y").error is None


def test_complex_inputs():
    def energy(z):
        return (z * z.conj()).real.sum()

    work = workings.show(energy, torch.tensor([1 + 2j]), backward=True)  # what was computed is not lost
    assert work.result == 5 and work.notes[-1] == (
        "no gradients: The gradient of L needs a tensor that requires one, and L depends on none. Inputs of complex numbers "
        "do not vary by themselves. Pass one with requires_grad=True, outside torch.no_grad()."
    )
    work = workings.show(energy, torch.tensor([1 + 2j], requires_grad=True), backward=True)
    assert work["∂L/∂z"].tolist() == [2 + 4j]  # 2 z
    work.text()


def test_imaginary_parts_are_compared():
    one, other = torch.tensor([1 + 2j]), torch.tensor([1 + 5j])
    assert largest_difference(one, other) == 3
    assert largest_difference(one, one.clone()) == 0
    assert largest_difference(torch.tensor([1.0]), one) == 2
    assert is_rounding(1e-7, one)
    assert not is_rounding(0.1, one)


def test_what_is_kept_is_no_part_of_the_graph():
    def f(x):
        y = x * x
        return y

    (step,) = [s for s in capture(f, torch.ones(2, requires_grad=True)).steps() if s.kind == "assign"]
    assert step.live.requires_grad
    assert not step.result.requires_grad
    assert not step.operands["x"].requires_grad
