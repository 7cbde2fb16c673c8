"""Handles never leave: what asks for memory is refused with the reason, or done otherwise."""

import copy
import io
import multiprocessing
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from workings import exact
from workings.errors import DomainError
from workings.exact.tensor.arena import ARENA


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda x: np.from_dlpack(x), "is not shared by DLPack"),
        (lambda x: torch.from_dlpack(x), "is not shared by DLPack"),
        (lambda x: x.share_memory_(), "is not put into shared memory"),
        (lambda x: nn.ParameterList([x]).share_memory(), "is not put into shared memory"),
        (lambda x: x.data_ptr(), "has no memory of numbers to point at"),
        (lambda x: x.const_data_ptr(), "has no memory of numbers to point at"),
        (lambda x: x.set_(torch.zeros(2, dtype=x.dtype)), "has no memory of numbers to point at"),
        (lambda x: setattr(nn.Parameter(torch.zeros(2, dtype=x.dtype)), "data", x), "x.data = … would give an ordinary"),
        (lambda x: setattr(torch.zeros(3)[1:], "data", x), "x.data = … would give an ordinary"),
        (lambda x: nn.utils.vector_to_parameters(x, nn.Linear(1, 1).parameters()), "turn the module exact"),
        (lambda x: x.untyped_storage(), "has no memory of numbers to point at"),
        (lambda x: x.storage(), "has no memory of numbers to point at"),
        (lambda x: torch.zeros(2, dtype=x.dtype).set_(x), "has no memory of numbers to point at"),
        (lambda x: torch.tensor([x[0], x[1]]), "torch.tensor makes ordinary floats"),
        (lambda x: torch.as_tensor([x[0]]), "torch.tensor makes ordinary floats"),
        (lambda x: torch.full((2,), x[0]), "was given where PyTorch takes a plain one"),
        (lambda x: torch.arange(x[0]), "was given where PyTorch takes a plain one"),
        (lambda x: torch.ones(2).add(torch.ones(2), alpha=x[0]), "was given where PyTorch takes a plain one"),
        (lambda x: x.apply_(lambda v: v + 1), "does not hand its numbers to a function that takes floats"),
        (lambda x: memoryview(x), "bytes-like object is required"),
    ],
)
def test_refused(ask, words):
    with pytest.raises(TypeError, match=words):
        ask(exact("1/3 sqrt(2)"))


def test_what_does_not_ask_is_refused_by_pytorch():
    with pytest.raises(RuntimeError, match="Cannot access data pointer"):
        torch.utils.dlpack.to_dlpack(exact("1/3 1/7"))


def test_bits_are_not_read_as_another_dtype():
    x = exact("1/3 1/7")
    with pytest.raises(DomainError, match=r"x.to\(torch.int64\) converts the values"):
        x.view(torch.int64)
    assert exact.equal(x.view(torch.float64), x)


def test_data_is_exchanged():
    x = exact("1 2")
    x.data = torch.tensor([0.5, 3.0])
    assert x.text() == "[1/2  3]"


def test_data_of_an_ordinary_tensor_in_inference():
    with torch.inference_mode(), pytest.raises(TypeError, match=r"x.data = … would give an ordinary"):
        torch.zeros(2).data = exact("1 2")


def test_data_of_other_subclasses_is_left_alone():
    with torch._subclasses.FakeTensorMode() as mode:
        a, b = (mode.from_tensor(torch.ones(n)) for n in (2, 3))
        a.data = b
    assert a.shape == (3,)


def test_a_module_whose_tensors_are_converted_one_by_one():
    layer = nn.Linear(2, 1)._apply(exact)
    assert isinstance(layer.weight, nn.Parameter) and isinstance(layer.weight, exact.ExactTensor)


def test_parametrizations_exchange_exact_tensors():
    layer = nn.utils.parametrizations.weight_norm(exact.exactify(nn.Linear(2, 2).double()))
    assert torch.allclose(exact(layer(exact("1 2"))).float64(), (exact(layer.weight) @ exact("1 2") + layer.bias).float64())
    x, y = exact("1 2"), exact("1/3 4 5")
    assert x.set_(y) is x and exact.equal(x, y)


def test_tensors_made_like_an_exact_one():
    x = exact("1/3 1/7")
    assert exact.equal(x.new(2, 1), exact("0; 0")) and exact.equal(x.new(x.shape), exact("0 0"))
    assert exact.equal(x.new([0.5, 2]), exact("1/2 2")) and exact.equal(x.new_tensor([x[0], x[1]]), x)
    assert not x.is_shared()


def test_memory_that_grows_or_comes_back_names_values():
    x = exact("1/3 1/7")
    x.resize_(1)
    y = exact("sqrt(2) sqrt(3)")[:1]
    ARENA.sweep()
    assert x.resize_(3).text() == "[1/3  1/7  0]"
    assert y.as_strided((2,), (1,)).text() == "[√2  √3]"


def test_a_copy_does_not_lose_its_graph():
    w = exact.symbols("w").requires_grad_()
    with pytest.raises(RuntimeError, match=r"Copy x.detach\(\)"):
        copy.deepcopy(2 * w)


def test_an_exact_module_is_saved():
    file = io.BytesIO()
    layer = exact.exactify(nn.Linear(2, 1))
    torch.save(layer, file)
    file.seek(0)
    assert exact.equal(torch.load(file, weights_only=False).weight, layer.weight)


def test_pickles_keep_the_values_and_what_they_rest_on():
    v = exact.symbols(v=0.3)
    x = torch.relu(v) * exact("1/3 sqrt(2)") * 0.1
    for again in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert exact.equal(again, x) and again.assumptions == x.assumptions
    p = nn.Parameter(exact("1/3"))
    file = io.BytesIO()
    torch.save({"x": x, "p": p}, file)
    file.seek(0)
    loaded = torch.load(file)
    assert exact.equal(loaded["x"], x)
    assert isinstance(loaded["p"], nn.Parameter) and loaded["p"].requires_grad and exact.equal(loaded["p"], p)


def _send(queue):
    queue.put(exact("1/3 w"))


def test_another_process_sends_an_exact_tensor():
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_send, args=(queue,))
    process.start()
    assert exact.equal(queue.get(timeout=60), exact("1/3 w"))
    process.join()


@pytest.mark.parametrize("workers", [0, 2])
def test_a_data_loader_stacks_exact_tensors(workers):
    rows = exact("1/3 0; 1/7 w; 2 1")
    data = DataLoader(TensorDataset(rows, torch.arange(3)), batch_size=2, num_workers=workers, timeout=60 if workers else 0)
    batches = [x for x, _ in data]
    assert exact.equal(torch.cat(batches), rows)
    assert exact.equal(exact.from_json(batches[0].to_json()), rows[:2])


COMPILED = """
import torch
from workings import exact
net = exact.exactify(torch.nn.Linear(2, 1).double())
x = exact("1/3 1/7").requires_grad_()
y = torch.compile(lambda x: net(x).exp().sum() + 1)(x)
y.backward()
plain = (net(x).exp().sum() + 1)
print(exact.equal(y, plain), exact.equal(x.grad, torch.autograd.grad(plain, x)[0]))
try:
    torch.compile(lambda x: x * 2, fullgraph=True)(x)
except torch._dynamo.exc.Unsupported as error:
    print("exact tensors are not compiled" in str(error))
"""


def test_a_compiled_function_runs_as_it_is_written():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", COMPILED], capture_output=True, text=True, timeout=300)
    assert done.stdout.split("\n")[:2] == [
        "Proof(equal=True, how='proved') Proof(equal=True, how='proved')",
        "True",
    ], done.stderr[-2000:]


NO_SOURCE = """
from workings import exact, trace
with trace() as t:
    x = exact("1/3 sqrt(2)")
    y = x * 2
    shown = repr(y)
    z = y.sum()
"""


def test_a_trace_without_source_shows_no_handles():
    scope = {}
    exec(compile(NO_SOURCE, "<stdin>", "exec"), scope)
    shown = scope["t"].text()
    assert "[2/3  2√2]" in shown and "dtype=torch.float64" not in shown
    assert shown.count("\n\n") == 1 and shown.split("\n")[0].startswith("t")
