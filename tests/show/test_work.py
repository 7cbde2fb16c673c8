"""`workings.show` and `workings.trace`: what a person calls."""

import copy
import functools
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


def test_why_goes_down_to_the_inputs_through_rows():
    """A[1, 0] needs row 1 of S, which needs row 1 of Q and all of K."""

    def f(Q, K):
        S = Q @ K.T
        A = torch.softmax(S, -1)
        return A

    x = torch.tensor([[0.0, 1.0], [2.0, 0.0]])
    assert workings.show(f, x, x).why("A", (0, 0)).split("\n")[1:] == [
        "  S[0, :] = [1  0], since S = Q Kᵀ",
        "    Q[0, :] = [0  1]",
        "    K[:, :] = ⎡0  1⎤",
        "              ⎣2  0⎦",
    ]


def test_why_reads_the_cells_that_an_operation_needs():
    """Softmax down the columns needs a column, a sum along the rows a row; of what is not known, all cells are shown."""

    def f(x):
        A = torch.softmax(x, 0)
        m = x.sum(1)
        r = torch.roll(x, 1)
        return A, m, r

    work = workings.show(f, torch.tensor([[1.0, 2.0], [1.0, 2.0]]))
    assert work.why("A", (0, 1)) == "A[0, 1] = 0.5, since A = softmax(x, axis 0)\n  x[:, 1] = [2  2]"
    assert work.why("m", 1) == "m[1] = 3, since m = Σ(x, axis 1)\n  x[1, :] = [1  2]"
    assert work.why("r", (0, 0)) == "r[0, 0] = 2, since r = roll(x, 1)\n  x[:, :] = ⎡1  2⎤\n            ⎣1  2⎦"


def test_why_does_not_take_another_functions_name():
    def doubled(x):
        x = x * 2
        return x

    def f(x):
        d = doubled(x)
        y = d + x
        return y

    assert workings.show(f, torch.tensor([3.0])).why("y", 0).split("\n")[-1] == "  x[0] = 3"


def test_diff_takes_a_work():
    with pytest.raises(WorkingsError, match=r"^diff compares with another work, not int\.$"):
        worked().diff(3)


def test_diff_names_the_first_statement_that_differs():
    x = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    a = workings.show(attention, x, x, x)
    b = workings.show(attention, x, x + torch.tensor([[0.0, 0.0], [0.0, 0.5]]), x)
    assert a.diff(a) == "The runs agree in every step."
    assert a.diff(b).startswith("First difference: K: 1 of 4 entries differ, first at [1, 1]: 1 here, 1.5 there")


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = nn.Linear(2, 2)

    def forward(self, x):
        k = self.k(x)
        z = torch.log(k - k)
        return z - z


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Part(), Part())

    def forward(self, x):
        return self.blocks(x)


@pytest.mark.parametrize("depth", [2, 3])
def test_diff_names_the_author_s_statement_and_its_module(depth):
    torch.manual_seed(0)
    one, x = Whole(), torch.ones(1, 2)
    other = copy.deepcopy(one)
    with torch.no_grad():
        other.blocks[0].k.bias += 1
    said = workings.show(one, x, depth=depth).diff(workings.show(other, x, depth=depth))
    assert said.startswith("First difference: blocks.0.k: k = self.k(x) (")
    assert "test_work.py" in said


def test_the_first_nan_is_in_the_statement_that_made_it():
    lines = workings.show(Whole(), torch.ones(1, 2)).text().splitlines()
    assert [line.partition(" (test_work")[0] for line in lines if line.startswith("first")] == [
        "first infinity: blocks.0: z = torch.log(k - k)",
        "first NaN: return z - z",
    ]


def test_the_first_infinite_gradient_is_named():
    def f(x):
        y = torch.sqrt(x)
        z = 3 * y
        L = z.sum()
        return L

    text = workings.show(f, torch.tensor([0.0, 1.0]), backward=True).text()
    assert "first NaN or infinity of a gradient: ∂L/∂x, under y = torch.sqrt(x) (test_work.py" in text


def test_values_and_gradients_have_the_same_numbers():
    def f(x):
        h = x * 2
        for _ in range(2):
            h = h * h
        h[0] = 3
        L = (h + 1).sum()
        return L

    work = workings.show(f, torch.tensor([1.0, 2.0]), backward=True)
    assert [work[f"h#{n}"].tolist() for n in (1, 2, 3, 4)] == [[2, 4], [4, 16], [16, 256], [3, 256]]
    assert work["∂L/∂h#3"].tolist() == [0, 1]
    assert work["∂L/∂h#2"].tolist() == [0, 32]  # 2 h#2 · ∂L/∂h#3
    with pytest.raises(WorkingsError, match="No step is called 'h#5'"):
        work["h#5"]


def test_what_is_asked_for_is_printed_once():
    text = workings.show(Whole(), torch.ones(1, 2)).text(only="blocks.0.k", checks=False)
    assert text.count("k = ") == 1
    assert workings.show(several_times, torch.ones(1)).text(only="h", checks=False).count("h = ") == 2


def several_times(x):
    h = x + 1
    h = h * 2
    return h


def test_a_block():
    x = torch.tensor([1.0, 2.0])
    with workings.trace() as work:
        y = x * x
        z = y.sum()
    assert work["y"].tolist() == [1.0, 4.0]
    assert work["z"].item() == 5.0
    assert work.agreement.startswith("not compared with an unmodified run")
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
    with pytest.raises(
        WorkingsError, match=r"There is no formatting option 'digit'; there are: digits, .* Did you mean digits\?"
    ):
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
    assert work.agreement == "fails like the unmodified run"


def test_fused_operations_are_written_out_and_compared():
    x = torch.randn(1, 3, 4)
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()
    work = workings.show(layer, x, depth=4)
    expansion = next(s for s in work.steps() if s.kind == "expansion")
    assert expansion.note.startswith("compared with the fused result: largest difference")
    assert float(expansion.note.split()[-1]) < 1e-5


def reloaded(work):
    return workings.show.Work.from_json(work.json())


def test_json_round_trip():
    work = worked()
    again = reloaded(work)
    assert again == work
    assert again["A"][1, 0].text() == work["A"][1, 0].text()
    assert again.text() == work.text()


def test_works_are_equal_when_all_their_values_are():
    x = torch.tensor([[1.0, 0.0], [0.0, math.nan]])
    assert workings.show(attention, x, x, x) == workings.show(attention, x, x, x)
    nudged = x.clone()
    nudged[0, 0] = torch.nextafter(x[0, 0], torch.tensor(2.0))  # one bit
    assert workings.show(attention, x, x, x) != workings.show(attention, x, x, nudged)
    other = workings.show(attention, x, x, x)
    other.step("A").note = "a remark"
    assert workings.show(attention, x, x, x) != other
    assert worked() != worked().json()
    with pytest.raises(TypeError, match="unhashable"):
        hash(worked())


def test_an_error_and_an_object_survive_too():
    def f(x, other):
        y = x @ other
        return y

    fails = workings.show(f, torch.ones(2), torch.ones(3))
    assert reloaded(fails) == fails
    assert reloaded(fails) != workings.show(f, torch.ones(2), torch.ones(4))


def test_a_large_tensor_is_saved_by_its_summary():
    def f(x):
        y = 2 * x
        return y

    x = torch.linspace(-1, 1, 1_000_000)
    work = workings.show(f, x)
    assert len(work.json()) < 5_000
    again = reloaded(work)
    assert again == work
    assert again["y"].shape == (1_000_000,)
    assert "y = 2·x = −2 … 2  ████████████  mean " in again.text()
    assert again.text() == work.text()
    assert again.markdown() == work.markdown()
    assert again.latex() == work.latex()
    assert "only its summary was saved" in again.html()
    changed = x.clone()
    changed[[1, 2]] = x[[2, 1]]  # the same statistics, the same sample, other bytes
    assert again != workings.show(f, changed)
    whole = workings.show.Work.from_json(work.json(most=None))
    assert whole == work
    assert torch.equal(whole["y"], 2 * x)


def test_a_large_exact_tensor_is_saved_by_its_summary():
    work = workings.show(lambda x: x + 1, exact.ones(70, 70))
    again = reloaded(work)
    assert again == work
    assert again.text() == work.text()


def test_ten_million_entries_are_one_line():
    work = workings.show(lambda x: x * 2, torch.zeros(10_000_000))
    assert len(work.text()) < 500
    assert len(work.json()) < 5_000
    assert len(work.html()) < 100_000


def test_what_was_recorded_is_printed():
    def inner(x):
        z = x + 1
        return z

    def outer(x):
        y = inner(x)
        return y

    work = workings.show(outer, torch.ones(1))
    assert "z = x + 1" in work.text()
    assert "z = x + 1" not in work.text(depth=1)
    assert "… 2 steps inside inner (depth 2 shows them)" in work.text(depth=1)
    assert "z = x + 1" not in workings.show(outer, torch.ones(1), depth=1).text()


def test_labels_name_the_axes_of_heatmaps():
    work = workings.show(lambda A: A + 0, torch.eye(2))
    page = work.html(labels=["the", "<script>cat"])
    assert 'data-rows="[&quot;the&quot;, &quot;&lt;script&gt;cat&quot;]"' in page and ">the</text>" in page
    assert "<script>cat" not in page
    rows = work.html(labels={-2: ["q1", "q2"], -1: ["k1", "k2"]})
    assert 'data-columns="[&quot;k1&quot;, &quot;k2&quot;]"' in rows and ">q2</text>" in rows
    assert "<svg" not in work.html(labels=["one"])  # a matrix of another size has no labels
    message = r"labels are \{-2: names of the rows, -1: names of the columns\}, or one list for both\."
    for wrong in ({0: ["a"]}, "ab"):
        with pytest.raises(WorkingsError, match=message):
            work.html(labels=wrong)


def test_an_argument_that_could_be_show_s_or_the_function_s():
    def f(x, depth=1, names=(), replay=0):
        return x * depth + len(names) + replay

    with pytest.raises(WorkingsError) as refused:
        workings.show(f, torch.ones(1), depth=3)
    assert str(refused.value) == (
        "depth=3 is ambiguous: f has a parameter of that name, and so does `show`. "
        "Give f its own first: functools.partial(f, depth=…)."
    )
    assert workings.show(functools.partial(f, depth=3), torch.ones(1)).result.item() == 3
    assert workings.show(functools.partial(f, depth=3), torch.ones(1), depth=2).result.item() == 3
    assert workings.show(f, torch.ones(1), names="ab", replay=1).result.item() == 4
    assert workings.show(f, torch.ones(1)).result.item() == 1

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        return f(*args, **kwargs)

    with pytest.raises(WorkingsError, match=r"depth=3 is ambiguous: f has "):
        workings.show(decorated, torch.ones(1), depth=3)


def test_what_a_function_passes_on_is_no_argument_of_its_own():
    def f(x, *loss, **options):
        return x * 2 + len(options)

    plain = workings.show.Options(digits=2)
    assert workings.show(f, torch.ones(1), options=plain).result.item() == 2
    assert workings.show(functools.partial(f, a=1), torch.ones(1), options=plain).options is plain


def test_an_input_that_is_changed_in_place_has_a_gradient():
    def f(x):
        x *= 2
        x.add_(torch.rand(2))
        L = (x**2).sum()
        return L

    x = torch.tensor([1.0, 2.0])
    torch.manual_seed(0)
    work = workings.show(f, x, backward=True)
    assert work.error is None
    # L = Σ (2x + r)², so ∂L/∂x = 4 (2x + r); the first run, which failed, has used up no random numbers
    torch.manual_seed(0)
    expected = 4 * (2 * x + torch.rand(2))
    found = [s.result for s in work.steps() if s.kind == "gradient" and s.name == "∂L/∂x"]
    torch.testing.assert_close(found[0], expected)
    assert x.tolist() == [1, 2] and not x.requires_grad
    assert work.notes[0] == "the code changes an input in place: it changed a copy, your tensor is as it was"
    assert "fails" not in work.agreement


def test_a_parameter_that_is_changed_in_place_still_fails():
    W = nn.Parameter(torch.ones(2))

    def f(x):
        W.add_(1)
        return (W * x).sum()

    work = workings.show(f, torch.ones(2), backward=True)
    assert "a leaf Variable that requires grad" in str(work.error)
    assert not work.notes


def test_only_the_inputs_that_were_chosen_vary():
    def f(z, y, w):
        L = nn.functional.cross_entropy(z, y, weight=w)
        return L

    z, y, w = torch.eye(3)[:2], torch.tensor([0, 1]), torch.tensor([1.0, 2.0, 3.0])
    work = workings.show(f, z.clone().requires_grad_(), y, w, backward=True)
    assert work.error is None
    assert [s.name for s in work.steps() if s.kind == "gradient"] == ["ω", "∂L/∂z"]  # ω_t = w_t
    work = workings.show(f, z, y, w, backward=True)
    assert work.notes == ["mark the inputs that vary with requires_grad=True; the others are constants"]


def test_a_block_is_printed_as_deep_as_it_was_asked_for():
    net, x = nn.Sequential(nn.Linear(2, 2)), torch.ones(2)
    with workings.trace(depth=3) as deep:
        y = net(x)
    with workings.trace() as usual:
        y = net(x)
    assert (deep.options.depth, usual.options.depth) == (3, None)
    assert "return weight input + bias" in deep.text()
    assert "weightᵀ" not in usual.text()
    assert y.shape == (2,)


def test_a_failing_product_is_explained_in_the_author_s_names():
    work = workings.show(lambda Q, K: Q @ K / 2, torch.ones(2, 3), torch.ones(4, 3))
    note = next(s.note for s in work.steps() if s.kind == "error")
    assert note.split("\n")[0] == (
        "[2, 3] @ [4, 3] needs 3 = 4: the columns of the left, the rows of the right; use Q @ K.mT"
    )


def test_dtypes_are_named_when_they_differ():
    printed = workings.show(lambda a, b: a @ b, torch.ones(2, 2), torch.ones(2, 2).double()).text()
    assert "a is (2×2), float32\n" in printed
    assert "b is (2×2), float64\n" in printed
    assert "use a.to(torch.float64)" in printed


def test_sizes_are_numbers():
    printed = workings.show(lambda Q: Q / math.sqrt(Q.shape[-1]) + Q.size(0), torch.ones(2, 4)).text()
    assert "Q / √4 + 2" in printed


def test_checks_and_questions_about_arguments_are_not_mathematics():
    def f(x, mask=None):
        if mask is not None:
            x = x + mask
        y = 2 * x
        return y

    work = workings.show(f, torch.ones(1))
    assert any(s.kind == "branch" for s in work.steps())
    assert "mask" not in work.text()
    assert "mask" not in work.html()


def test_a_decorator_is_folded():
    class Inner(nn.Module):
        def forward(self, x):
            y = 2 * x
            return y

    def around(func):
        @functools.wraps(func)
        def wrapper(self, *args, **kwargs):
            kwargs["scale"] = 1
            del kwargs["scale"]
            output = func(self, *args, **kwargs)
            return output

        return wrapper

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        @around
        def forward(self, x):
            z = self.inner(x)
            return z

    work = workings.show(Outer(), torch.ones(1))
    assert work.text().startswith(
        "… a decorator around Outer: 3 steps (complete=True shows them)\nx = [1]  (1)\nz = inner(x)"
    )
    assert "y = 2·x" in work.text()
    assert "kwargs" not in work.text()
    assert "kwargs" not in work.html()
    assert "output = func(self, *args, **kwargs)" in work.text(complete=True)
    assert "output = func(self, *args, **kwargs)" in work.html(complete=True)
    assert "complete=True" not in work.text(complete=True)


def test_what_a_call_keeps_is_shown():
    from workings.nn import BatchNorm

    text = str(workings.show(BatchNorm(1), torch.tensor([[1.0], [3.0]])))
    # momentum 0.1: 0.9 · 0 + 0.1 · 2
    assert "μ = (1 − m)·μ + m·μ_B = (1 − 0.1)·[0] + 0.1·[2] = [0.2]  (1)" in text
    assert "batch_fits" not in text
