"""A block beside other things: debuggers, other blocks, `show`, threads, modules, optimizers, fused kernels."""

import bdb
import sys
import threading

import pytest
import torch
from torch import nn

import workings
from workings import exact
from workings.nn.transformer.dot_product import attention
from workings.trace.follow.block import LOST, ONCE


def double(a):
    c = a * 2
    return c


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.W = nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))

    def forward(self, x):
        h = x @ self.W
        return h


def names(work, *kinds):
    return [s.name for s in work.steps() if s.kind in (kinds or ("assign",))]


# ---- nothing stays patched
def test_everything_is_as_it_was():
    before = nn.Module.__call__, nn.Module._call_impl.__code__, sys.gettrace(), sys._getframe().f_trace
    net, x = Net(), torch.ones(2)
    with workings.trace() as work:
        y = net(z := x)
    with pytest.raises(ValueError, match="no"), workings.trace():
        raise ValueError("no")
    frame = sys._getframe()
    assert (nn.Module.__call__, nn.Module._call_impl.__code__, sys.gettrace(), frame.f_trace) == before
    assert not frame.f_trace_opcodes
    assert "forward" not in vars(net)
    assert work["y"].tolist() == y.tolist() == [4.0, 6.0]
    assert work["z"].tolist() == z.tolist()
    assert not torch.overrides._is_torch_function_mode_enabled()


class Debugger(bdb.Bdb):
    """Notes every line and return it is told of, in this file."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def user_line(self, frame):
        if frame.f_code.co_filename == __file__:
            self.lines.append(frame.f_lineno - frame.f_code.co_firstlineno)
        self.set_step()

    def user_return(self, frame, value):
        self.set_step()


def with_a_block(x):
    a = x + 1
    with workings.trace() as work:
        b = double(a)
        c = b
        d = c + 1 if c else c
    e = d * 2
    return work, e


def test_a_debugger_is_told_everything_and_has_its_place_back(capsys):
    debugger = Debugger()
    work, e = debugger.runcall(with_a_block, 1)
    assert sys.gettrace() is None
    # Lines 1 … 5 of the function, those of `double` (1, 2) inside line 3, the end of the `with`, then 6 and 7.
    assert debugger.lines == [1, 2, 3, 1, 2, 4, 5, 2, 6, 7]
    assert (names(work), e) == (["b", "c", "c", "d"], 10)
    assert capsys.readouterr().out == ""  # bdb complains of events it does not know


def test_a_trace_function_is_restored():
    calls = []

    def theirs(frame, event, arg):
        calls.append(event)
        return theirs

    sys.settrace(theirs)
    try:
        work, _ = with_a_block(1)
        assert sys.gettrace() is theirs
    finally:
        sys.settrace(None)
    assert calls.count("return") >= 2
    assert names(work) == ["b", "c", "c", "d"]


def test_a_debugger_that_withdraws():
    def theirs(frame, event, arg):
        if frame.f_code is double.__code__:
            sys.settrace(None)
            return None
        return theirs

    sys.settrace(theirs)
    try:
        work, _ = with_a_block(1)
    finally:
        found = sys.gettrace()
        sys.settrace(None)
    assert found is None
    assert names(work) == ["b", "c", "c", "d"]
    assert work.notes == []


def test_a_debugger_that_is_started_inside_keeps_its_place():
    def theirs(frame, event, arg):
        return None

    with workings.trace() as work:
        a = 1
        sys.settrace(theirs)
        b = 2
    found = sys.gettrace()
    sys.settrace(None)
    assert found is theirs
    if sys.version_info < (3, 12):
        assert names(work)[0] == "a"
        assert work.notes == [LOST]
    else:  # nobody takes our place: there is one for each tool
        assert names(work) == ["a", "b"]
        assert work.notes == []
    assert a < b


# ---- blocks in blocks
def test_a_block_in_a_block():
    x, net = torch.tensor([1.0, 2.0]), Net()
    with workings.trace() as outer:
        a = x + 1
        with workings.trace() as inner:
            b = double(a)
            c = net(b)
        d = c * 2
    assert names(inner) == ["b", "c", "c", "h"]
    assert names(outer) == ["a", "b", "c", "c", "h", "d"]
    assert [s.name for s in inner.root.children] == ["a", "b", "c"]
    assert d.tolist() == outer["d"].tolist()
    assert sys.gettrace() is None


def returning(x):
    with workings.trace() as work:
        h = x * 3
        return work, h


def test_a_block_in_a_function_that_a_block_calls():
    with workings.trace() as outer:
        inner, h = returning(2)
        z = h + 1
    assert names(inner) == ["h"]
    assert [(s.kind, s.name) for s in outer.steps()] == [
        ("assign", "inner, h"),
        ("call", "returning"),
        ("input", "x"),
        ("assign", "h"),
        ("return", ""),
        ("assign", "z"),
    ]
    assert (z, outer["z"]) == (7, 7)
    assert sys.gettrace() is None


def test_a_failure_in_an_inner_block_fails_both():
    x = torch.ones(2)
    with pytest.raises(RuntimeError), workings.trace() as outer:
        a = x * 2
        with workings.trace() as inner:
            a @ torch.ones(3)
    for work in (inner, outer):
        (step,) = [s for s in work.steps() if s.kind == "error"]
        assert step.source == "a @ torch.ones(3)"
        assert step.note.startswith("[2] @ [3] needs 2 = 3: the columns of the left, the rows of the right")


def test_a_failure_in_an_inner_block_that_is_caught():
    x = torch.ones(2)
    with workings.trace() as outer:
        try:
            with workings.trace():
                b = x @ torch.ones(3)
        except RuntimeError:
            b = x
        c = b + 1
    assert outer.error is None
    assert names(outer) == ["b", "b", "c"]
    caught = "raised RuntimeError, which was caught: inconsistent tensor size"
    assert [s.note.partition(",")[0] for s in outer.root.children] == ["", "raised RuntimeError", "", ""]
    assert outer.root.children[1].note.startswith(caught)
    assert c.tolist() == [2.0, 2.0]


def test_show_inside_a_block_is_its_own_affair():
    x, net = torch.tensor([1.0, 2.0]), Net()
    with workings.trace() as work:
        shown = workings.show(net, x)
        y = double(x)
    assert names(shown) == ["h"]
    assert names(work) == ["shown", "y", "c"]
    assert y.tolist() == [2.0, 4.0]


def test_a_block_inside_show():
    shown = workings.show(with_a_block, 1)
    work, e = shown.result
    assert e == 10
    assert shown.error is None
    assert work.notes == [] or "not shown" in work.notes[0] or "source" in work.notes[0]


def test_other_threads_run_unobserved():
    found = []
    with workings.trace() as work:
        thread = threading.Thread(target=lambda: found.append(double(3)))
        thread.start()
        thread.join()
        y = double(found[0])
    assert (names(work), y) == (["thread", "y", "c"], 12)


# ---- training
def test_a_step_of_training():
    w = torch.tensor(3.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.25)
    with workings.trace() as work:
        L = w * w
        L.backward(retain_graph=True)
        optimizer.step()
    # ∂L/∂w = 2·3 = 6, so w = 3 − 6/4 = 3/2.
    (update,) = [s for s in work.root.children[-1].children if s.kind == "update"]
    assert (update.name, update.result.item()) == ("w", 1.5)
    assert [(s.name, s.result.item()) for s in update.children] == [("w", 1.5)]


def test_the_gradients_of_a_block():
    W = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    x = torch.tensor([1.0, 1.0])
    with workings.trace() as work:
        h = x @ W
        for _ in range(2):
            h = h * h
        L = h.sum()
    work.backward()
    (total,) = torch.autograd.grad(L, W)
    assert work["∂L/∂W"].tolist() == total.tolist()


def test_the_parts_of_a_model_by_their_names():
    model, x = Net(), torch.tensor([1.0, 2.0])
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    with workings.trace() as work:
        y = model(x)
        L = y.sum()
        optimizer.zero_grad()
        L.backward()
        optimizer.step()
    assert work["model.h"].tolist() == [7.0, 10.0]
    assert [s.name for s in work.root.children[-1].children] == ["model.W"]
    assert L.item() == 17


# ---- kernels
def test_a_textbook_function_is_written_out_beside_its_kernel():
    Q = torch.eye(2)
    with workings.trace() as work:
        Z = attention(Q, Q, Q)
    (call,) = work.root.children[-1].children
    assert (call.kind, call.name) == ("call", "attention")
    assert call.note.startswith("compared with the fused result: largest difference ")
    assert [s.name for s in call.children if s.kind in ("assign", "return")] == ["d", "S", "A", "Z", ""]
    assert call.live is Z


def test_exact_tensors_follow_the_textbook():
    Q = exact("1 0; 0 1")
    with workings.trace() as work:
        Z = attention(Q, Q, Q)
    (call,) = work.root.children[-1].children
    assert (call.name, call.note) == ("attention", "")
    assert [s.name for s in call.children if s.kind in ("assign", "return")] == ["d", "S", "A", "Z", ""]
    assert work["attention.Z"].text() == Z.text()


def test_fused_operations_at_depth_4():
    x = torch.tensor([0.0, 0.0])
    with workings.trace(depth=4) as work:
        a = torch.softmax(x, -1)
        b = double(a).softmax(dim=-1)
    found = [s for s in work.steps() if s.kind == "expansion"]
    assert [(s.name, s.note) for s in found] == [("softmax", "compared with the fused result: largest difference 0")] * 2
    assert found[0].children
    assert b.tolist() == [0.5, 0.5]
    assert not torch.overrides._is_torch_function_mode_enabled()


def test_exact_values():
    A = exact("1 1; 0 1")
    with workings.trace() as work:
        B = A @ A
        C = B.exp()
    assert names(work, "input", "assign") == ["A", "B", "C"]
    assert work["B"].text() == B.text()
    assert "e²" in C.text()
    assert work.agreement == ONCE
