"""Where there is no source, the operations are the steps."""

import math

import torch
import torch.nn.functional as F

import workings
from workings import exact
from workings.show.formula.notation import text_formula
from workings.trace.capture.capture import capture
from workings.trace.capture.operations import MOST_OPERATIONS
from workings.trace.formula.evaluate import evaluate

NOTE = "source not available: operations shown instead of statements"
A, B = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[0.0, 1.0], [1.0, 0.0]])


def made(source, name="f"):
    """A function that was never in a file."""
    namespace = {"torch": torch}
    exec(source, namespace)
    return namespace[name]


def operations(trace):
    return [s for s in trace.steps() if s.kind == "operation"]


def test_a_function_of_pytorch_is_shown_with_its_operands():
    trace = capture(torch.matmul, A, B)
    (step,) = operations(trace)
    assert step.name == "matmul(A, B)"
    assert list(step.operands) == ["A", "B"]
    assert step.result.tolist() == [[2, 1], [4, 3]]  # B exchanges the columns of A
    assert trace.root.children[0].note == NOTE
    assert trace.difference == 0


def test_how_it_reads():
    text = workings.show(torch.matmul, A, B).text()
    assert "matmul(A, B) = A B = ⎡1  2⎤ ⎡0  1⎤ = ⎡2  1⎤" in text
    assert NOTE in text
    assert "A.softmax(-1) = softmax(A)" in workings.show(A.softmax, -1).text()


def test_one_tensor_given_twice_has_one_name():
    assert operations(capture(torch.add, A, A))[0].name == "add(A, A)"


def test_exact_tensors_stay_exact():
    (step,) = operations(capture(torch.softmax, exact("0 0"), -1))
    assert step.result.text() == "[1/2  1/2]"


def test_each_operation_of_a_function_made_by_exec():
    f = made("def f(x, W):\n    h = x @ W.T\n    h[0] = 0\n    h.mul_(2)\n    a, b = h.unbind(0)\n    return 1 - a + b[:1]")
    trace = capture(f, A, B)
    sources = ["t1 = W.T", "t2 = x @ t1", "t2[0] = 0", "t2 = t2.mul_(2)", "t3, t4 = t2.unbind(0)"]
    assert [s.source for s in operations(trace)] == [*sources, "t5 = 1 - t3", "t6 = t4[:1]", "t7 = t5 + t6"]
    # x Wᵀ = [[2 1] [4 3]]; its first row is made 0, then doubled: [[0 0] [8 6]]; 1 − [0 0] + [8] = [9 9]
    assert trace.result.tolist() == [9, 9]
    assert [s.result.tolist() for s in operations(trace)[2:4]] == [[[0, 0], [4, 3]], [[0, 0], [8, 6]]]
    assert trace.root.children[0].note == NOTE
    assert trace.difference == 0


def test_inside_traced_code_too():
    f = made("def f(x):\n    return x.exp()")

    def caller(x):
        y = f(x) + 1
        return y

    (call,) = [s for s in capture(caller, torch.zeros(1)).steps() if s.kind == "call" and s.name == "f"]
    assert (call.note, [s.source for s in call.children[1:]]) == (NOTE, ["t1 = x.exp()"])


def test_very_many_operations_are_counted():
    f = made("def f(x):\n    for _ in range(1000): x = x + 1\n    return x")
    trace = capture(f, torch.zeros(1))
    assert trace.result.item() == 1000
    assert len(operations(trace)) == MOST_OPERATIONS == 100
    assert trace.root.children[0].note == f"{NOTE}; 900 more operations ran and are not shown"


def test_effects_that_cannot_be_seen_are_not_repeated():
    f = made("seen = []\ndef f(x):\n    seen.append(1)\n    return x + 1")
    trace = capture(f, torch.zeros(1))
    assert len(f.__globals__["seen"]) == 1
    assert trace.agreement == (
        "not compared with an unmodified run, which would repeat a side effect: f, whose statements are not known"
    )


def test_an_operation_that_fails():
    trace = capture(torch.matmul, A, torch.ones(3))
    (failed,) = [s for s in trace.steps() if s.kind == "error"]
    assert failed.name == "matmul(A, B)"
    assert "[2, 2] @ [3] needs 2 = 3" in failed.note


def test_python_functions_of_pytorch_are_one_operation_until_depth_3():
    shallow = capture(F.cross_entropy, A, torch.tensor([0, 1]))
    assert [s.name for s in operations(shallow)] == ["cross_entropy(input, target)"]
    assert shallow.root.children[0].note == "a function of PyTorch: depth 3 shows its statements"
    assert any(s.kind == "return" for s in capture(F.cross_entropy, A, torch.tensor([0, 1]), depth=3).steps())


def test_depth_4_writes_a_fused_operation_out():
    trace = capture(torch.softmax, A, -1, depth=4)
    (expansion,) = [s for s in trace.steps() if s.kind == "expansion"]
    assert expansion.note.startswith("compared with the fused result: largest difference")


def test_without_any_pytorch_the_call_is_shown():
    trace = capture(math.sqrt, 2.0)
    (step,) = operations(trace)
    assert (step.name, step.result) == ("sqrt(2.0)", math.sqrt(2))
    assert trace.root.children[0].note == "source not available: the call is shown, not its statements"


def test_gradients_of_operations():
    work = workings.show(torch.matmul, A, B, backward=True)
    # L = Σ A B: ∂L/∂A has the row sums of B in each row
    assert work["∂L/∂A"].tolist() == [[1, 1], [1, 1]]


def test_each_value_is_read_as_it_is_written():
    f = made(
        "def f(x):\n    a = (-2) ** x[::2]\n    b = x.masked_fill(x > 1, float('-inf'))\n    return a.to(torch.float64), b"
    )
    trace = capture(f, torch.tensor([1.0, 2.0, 3.0]))
    steps = {s.name: s for s in operations(trace)}
    assert [s.source for s in steps.values()] == [
        "t1 = x[::2]",
        "t2 = (-2) ** t1",  # not −2ˣ
        "t3 = x > 1",
        "t4 = x.masked_fill(t3, -inf)",
        "t5 = t2.to(torch.float64)",
    ]
    # (−2)¹ and (−2)³
    assert evaluate(steps["t2"].formula, steps["t2"].operands).tolist() == [-2, -8] == steps["t2"].result.tolist()
    assert text_formula(steps["t4"].formula) == "−∞ where t3, else x"


def test_a_parameter_whose_path_is_no_python_has_a_formula():
    net = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False))
    f = made("def f(net, x):\n    net(x)\n    return x @ net[0].weight")
    (step,) = [s for s in operations(capture(f, net, A)) if s.result.shape == (2, 2) and "@" in s.source]
    assert (step.source, text_formula(step.formula)) == ("t2 = x @ 0.weight", "x 0.weight")
