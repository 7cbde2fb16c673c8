"""`workings.show` and `workings.trace`: what a person calls."""

import math

import pytest
import torch
from torch import nn

import workings
from workings import exact
from workings.errors import WorkingsError


def attention(Q, K, V):
    d = Q.shape[-1]
    S = Q @ K.mT / math.sqrt(d)
    A = S.softmax(dim=-1)
    Z = A @ V
    return Z


def worked():
    return workings.show(attention, exact.eye(2), exact("1 1; 1 0"), exact("2 0; 0 1"))


def test_values_by_address():
    work = worked()
    assert work["A"][1, 0].text() == "e^(1/√2)/(1 + e^(1/√2))"
    assert work["d"] == 2
    with pytest.raises(WorkingsError, match=r"No step is called 'AA'\. Did you mean A\?"):
        work["AA"]


def test_the_last_of_several_assignments():
    def f(x):
        y = x + 1
        y = y * 2
        return y

    work = workings.show(f, torch.ones(1))
    assert (work["y"].item(), work["y#2"].item()) == (4, 4)


def test_why_a_cell_has_its_value():
    lines = worked().why("A", (1, 0)).split("\n")
    assert lines[0] == "A[1, 0] = e^(1/√2)/(1 + e^(1/√2)) ≈ 0.669762, since A = softmax(S)"
    assert "S[1, :] = [1/√2  0]" in lines[1]
    with pytest.raises(WorkingsError, match=r"A has the shape \[2, 2\]; \[5, 0\] is not a cell of it\."):
        worked().why("A", (5, 0))


def test_diff_names_the_first_statement_that_differs():
    x = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    a = workings.show(attention, x, x, x)
    b = workings.show(attention, x, x + torch.tensor([[0.0, 0.0], [0.0, 0.5]]), x)
    assert a.diff(a) == "The runs agree in every step."
    assert a.diff(b).startswith("First difference: K: 1 of 4 entries differ, first at [1, 1]: 1 here, 1.5 there")


def test_a_block():
    x = torch.tensor([1.0, 2.0])
    with workings.trace() as work:
        y = x * x
        z = y.sum()
    assert work["y"].tolist() == [1.0, 4.0]
    assert work["z"].item() == 5.0
    assert work.agreement.startswith("not compared with a plain run")
    assert z.item() == 5


def test_a_block_that_fails_keeps_its_steps():
    x = torch.ones(3)
    with pytest.raises(RuntimeError), workings.trace() as work:
        y = x * 2
        y @ torch.ones(4)
    assert work["y"].tolist() == [2.0, 2.0, 2.0]
    assert [s.kind for s in work.steps()][-1] == "error"


def test_gradients_of_a_letter():
    def rnn(w):
        h = exact(0)
        for drive in (exact(2), exact("1/2")):
            h = w * h + drive
        L = (2 * h - 3) ** 2 / 2
        return L

    work = workings.show(rnn, exact.symbols("w"), backward=True)
    totals = [s for s in work.steps() if s.kind == "gradient" and s.name == "∂L/∂w"]
    assert [s.result.text() for s in totals] == ["16w − 8"]
    assert "16w − 8" in work.text()


def test_the_caller_s_tensors_stay_as_they_are():
    x = torch.ones(2)
    workings.show(lambda t: (t * t).sum(), x, backward=True)
    assert not x.requires_grad
    assert x.grad is None


def test_what_is_not_callable_is_refused():
    with pytest.raises(WorkingsError, match=r"show takes a function or a module, not int\."):
        workings.show(3)
    with pytest.raises(WorkingsError, match=r"Unknown choice among digit; there are: digits, "):
        worked().text(digit=3)


def test_the_wrong_linear_size_is_explained():
    net = nn.Sequential(
        nn.Conv2d(1, 8, 5),
        nn.AvgPool2d(4, 4),
        nn.ReLU(),
        nn.Conv2d(8, 16, 4, padding=1),
        nn.AvgPool2d(2, 2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(120, 10),
    )
    work = workings.show(net, torch.zeros(1, 1, 32, 32))
    assert "nn.Linear(120, 10) received 144 features = 16·3·3; use nn.Linear(144, 10)" in work.text()
    assert work.agreement == "fails as the plain run does"


def test_fused_operations_are_written_out_and_compared():
    x = torch.randn(1, 3, 4)
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()
    work = workings.show(layer, x, depth=4)
    expansion = next(s for s in work.steps() if s.kind == "expansion")
    assert expansion.note.startswith("compared with the fused result: largest difference")
    assert float(expansion.note.split()[-1]) < 1e-5


def test_a_notebook_gets_text_and_html():
    bundle = worked()._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert "<math" in bundle["text/html"]


def test_json_round_trip():
    work = worked()
    again = workings.show.Work.from_json(work.json())
    assert again["A"][1, 0].text() == work["A"][1, 0].text()
    assert again.text() == work.text()
