"""Operations at their edges: huge numbers, wrong shapes, ∞ beside letters, masks, draws, optimizers and errors."""

from __future__ import annotations

import copy
import math
from decimal import Decimal

import pytest
import sympy
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import hessian, jacfwd, jacrev, vmap
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from workings import exact
from workings.errors import DomainError, ShapeError, UndecidedError

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script")  # PyTorch's own, behind forward mode
LOWEST = torch.finfo(torch.float32).min


def kinds(x):
    return {note.kind for note in x.assumptions}


def same(a, b):
    return exact.equal(a, b).equal


def message(f, *args):
    with pytest.raises(Exception) as caught:
        f(*args)
    return caught.type, str(caught.value)


# ---- order
def test_numbers_beyond_every_double_are_ordered():
    assert torch.exp(exact("900 800 850")).argsort().tolist() == [1, 2, 0]
    x = exact("1e500 1e400 1e600 1e308")
    assert x.topk(2).indices.tolist() == [2, 0]
    assert (-x).sort().indices.tolist() == [2, 0, 1, 3]
    assert torch.exp(exact("-900 -800 -inf")).argsort().tolist() == [2, 0, 1]
    assert x.unique().numel() == 4


# ---- shapes
AXES = {
    "sum": lambda x: x.sum(5),
    "several": lambda x: x.sum((0, 2)),
    "twice": lambda x: x.sum((0, 0)),
    "mean": lambda x: x.mean(3),
    "var": lambda x: x.var(-4),
    "prod": lambda x: x.prod(3),
    "softmax": lambda x: x.softmax(5),
    "log_softmax": lambda x: x.log_softmax(-3),
    "logsumexp": lambda x: x.logsumexp(3),
    "cumsum": lambda x: x.cumsum(4),
    "amax": lambda x: x.amax(3),
}


@pytest.mark.parametrize("name", AXES)
@pytest.mark.parametrize("text", ["1 2", "1"])
def test_an_axis_that_is_not_there_is_refused_as_torch_does(name, text):
    x = exact(text)
    assert message(AXES[name], x) == message(AXES[name], x.float64())


def test_an_axis_is_refused_with_letters_too():
    with pytest.raises(IndexError, match="Dimension out of range"):
        exact("q r; 1 2").argmax(2)


MISFITS = {
    "mm": (torch.matmul, (2, 2), (3, 3)),
    "mm of a vector": (torch.mm, (2, 2), (2,)),
    "bmm": (torch.bmm, (1, 2, 2), (1, 3, 3)),
    "bmm, other batch": (torch.bmm, (2, 2, 2), (1, 2, 2)),
    "bmm of matrices": (torch.bmm, (2, 2), (2, 2)),
    "dot": (torch.dot, (2,), (3,)),
    "linear": (F.linear, (2, 2), (3, 3)),
    "conv1d": (F.conv1d, (1, 2, 3), (1, 1, 2)),
    "conv2d, large kernel": (F.conv2d, (1, 1, 2, 2), (1, 1, 3, 3)),
    "conv_transpose1d": (F.conv_transpose1d, (1, 2, 3), (1, 1, 2)),
}


@pytest.mark.parametrize("name", MISFITS)
def test_shapes_that_do_not_fit_are_refused_as_torch_does(name):
    f, *shapes = MISFITS[name]
    xs = [exact.ones(*shape) for shape in shapes]
    assert message(f, *xs) == message(f, *[x.float64() for x in xs])
    assert message(f, *xs)[0] is RuntimeError


def test_attention_of_other_widths_is_refused():
    with pytest.raises(RuntimeError, match=r"batch2 tensor to be: \[1, 2\] but got: \[1, 3\]"):
        F.scaled_dot_product_attention(exact.ones(1, 2, 2), exact.ones(1, 3, 3), exact.ones(1, 3, 3))


# ---- infinity
@pytest.mark.parametrize(
    "a, operation, b, result",
    [
        ("inf", "sub", "1e400", math.inf),
        ("inf", "mul", "1e-400", math.inf),
        ("inf", "mul", "exp(-1000)", math.inf),
        ("-inf", "mul", "1e-400", -math.inf),
        ("inf", "div", "1e400", math.inf),
        ("inf", "div", "-1e400", -math.inf),
        ("1e400", "div", "inf", 0.0),
        ("1e400", "div", "0", math.inf),
        ("inf", "fmod", "2", math.nan),
        ("-3", "remainder", "inf", math.inf),
        ("3", "copysign", "-inf", -3.0),
        ("inf", "sub", "inf", math.nan),
        ("inf", "mul", "0", math.nan),
    ],
)
def test_arithmetic_with_infinity(a, operation, b, result):
    found = getattr(torch, operation)(exact(a), exact(b)).item()
    assert found == result or (math.isnan(found) and math.isnan(result))


def test_the_domain_ends_where_it_ends_however_near_the_float():
    assert math.isnan((1 + exact("1e-50")).asin().item())
    assert math.isnan((-exact("1e-400")).log().item())
    assert math.isnan((-exact("1e-400")).sqrt().item())
    assert math.isnan((1 + exact("1e-50")).atanh().item())


def test_letters_beside_infinity():
    q = exact.symbols("q")
    assert (q - math.inf).item() == -math.inf
    assert (math.inf - q).item() == math.inf
    assert (q / math.inf).item() == 0
    assert same(torch.logaddexp(q, exact("-inf")), q)
    with pytest.raises(UndecidedError, match="Whether q is positive"):
        q * math.inf


def test_masked_attention_with_letters():
    S = exact.symbols("s", shape=(2, 2))
    causal = torch.full((2, 2), -math.inf).triu(1)
    A = (S + causal).softmax(-1)
    assert A[0].tolist() == [1, 0]
    assert same(A[1], S[1].softmax(-1))
    logs = (S + causal).log_softmax(-1)
    assert logs[0].tolist() == [0, -math.inf]
    assert same(F.scaled_dot_product_attention(S, S, S, causal)[0], S[0])
    attend = exact.exactify(nn.MultiheadAttention(2, 1, batch_first=True).double())
    out, _ = attend(S[None], S[None], S[None], attn_mask=nn.Transformer.generate_square_subsequent_mask(2))
    assert out[0, 0].free_symbols == {"s_1,1", "s_1,2"}


# ---- masks
def test_the_lowest_float_is_a_number_in_products_and_a_mask_where_it_is_added():
    mask = (1.0 - exact("1 0")) * LOWEST
    assert mask.tolist() == [0, LOWEST] and mask.assumptions == ()
    scores = exact("5 6") + mask
    assert scores.tolist() == [5, -math.inf] and kinds(scores) == {"mask"}
    assert scores.softmax(0).tolist() == [1, 0]


def test_the_lowest_float_is_a_mask_where_it_is_filled_in():
    hidden = torch.tensor([True, False])
    x = exact("1 2")
    for filled in (
        x.masked_fill(hidden, LOWEST),
        torch.where(hidden, LOWEST, x),
        torch.where(hidden, torch.tensor(LOWEST), x),
    ):
        assert filled.softmax(0).tolist() == [0, 1] and kinds(filled.softmax(0)) == {"mask"}


def test_a_mask_built_by_products_inside_mode():
    with exact.mode():
        mask = torch.full((2, 2), LOWEST)
        mask *= torch.tensor([[False, True], [False, False]])
        A = (exact("1 1; 1 1") + mask).softmax(-1)
    assert A.tolist() == [[1, 0], [0.5, 0.5]]


# ---- what is read from floats
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_data_in_a_short_format_is_taken_as_it_is(dtype):
    torch.manual_seed(0)
    data = torch.randn(3000, dtype=dtype)
    x = exact("1") * data
    assert torch.equal(x.float64(), data.double())
    assert len(x.assumptions) == 1 and kinds(x) == {"rounded"}


def test_constants_in_a_short_format_are_still_recovered():
    x = exact("1") * torch.tensor([0.1, 1 / 3])
    assert same(x, exact("1/10 1/3")) and x.assumptions == ()


def test_loaded_weights_are_taken_as_they_are():
    layer, other = nn.Linear(2, 2), nn.Linear(2, 2)
    with torch.no_grad():
        other.weight[0, 0] = 0.1
    exact.exactify(layer)
    for loaded in (layer, copy.deepcopy(layer)):
        loaded.load_state_dict(other.state_dict())
        assert torch.equal(loaded.weight.float64(), other.weight.double())
        assert loaded.weight.assumptions == ()


def test_arange_and_linspace_are_exact():
    assert same(exact.arange(0, 0.3, 0.1), exact("0 1/10 1/5"))
    assert exact.arange(3).tolist() == [0, 1, 2]
    assert exact.arange(3, 0, -1).tolist() == [3, 2, 1]
    assert same(exact.linspace(0, 1, 4), exact("0 1/3 2/3 1"))


def test_more_kinds_of_numbers():
    x = sympy.Symbol("x", real=True)
    assert same(exact([Decimal("0.1"), sympy.sqrt(2) + x]), exact("1/10, sqrt(2) + x"))
    assert exact(range(3)).tolist() == [0, 1, 2]
    A = exact("q 1; 2 sqrt(2)")
    assert same(exact(A.sympy()), A)
    assert same(exact("1").new_tensor([0.1]), exact("1/10").reshape(1))
    assert isinstance(exact("3 0").norm(0), exact.ExactTensor)
    assert exact("3 0; 1 2").norm(0, dim=1).tolist() == [1, 2]


# ---- random draws
def test_draws_of_pytorch_are_noted_inside_mode():
    with exact.mode():
        drawn = torch.distributions.Normal(exact("0"), exact("1")).rsample()
        dropped = vmap(lambda x: F.dropout(x, 0.5), randomness="different")(exact("1 2; 3 4"))
    assert kinds(drawn) == kinds(dropped) == {"random"}


def test_rrelu_in_training():
    x = exact("1 -2").requires_grad_()
    y = F.rrelu(x, training=True)
    (slope,) = torch.autograd.grad(y.sum(), x)
    assert kinds(y) == {"random"}
    assert y[0].item() == slope[0].item() == 1
    assert same(y[1], -2 * slope[1]) and 1 / 8 <= slope[1].item() <= 1 / 3


# ---- modules
def test_an_embedding_with_a_largest_norm():
    table = nn.Embedding(3, 2, max_norm=1.0).double()
    with torch.no_grad():
        table.weight.copy_(torch.tensor([[3.0, 4.0], [0.5, 0.0], [6.0, 8.0]]))
    found = exact.exactify(table)(torch.tensor([0, 1]))
    # The row (3, 4) has the length 5: it is divided by 5 + 10⁻⁷.
    assert same(found[0], exact("3 4") / (5 + exact("1e-7")))
    assert found[1].tolist() == [0.5, 0]
    assert table.weight[2].tolist() == [6, 8]


@pytest.mark.parametrize("make", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("options", [{}, {"bidirectional": True}, {"batch_first": True}])
def test_packed_sequences(make, options):
    torch.manual_seed(0)
    plain, data = make(2, 2, **options).double(), torch.randn(2, 2, 2, dtype=torch.float64)
    first = options.get("batch_first", False)
    results = []
    for net, x in ((plain, data.clone()), (exact.exactify(copy.deepcopy(plain)), exact(data))):
        x.requires_grad_()
        packed = pack_padded_sequence(x, torch.tensor([1, 2]), batch_first=first, enforce_sorted=False)
        y, lengths = pad_packed_sequence(net(packed)[0], batch_first=first, total_length=3, padding_value=-1.0)
        (slope,) = torch.autograd.grad((y * y).sum(), x)
        results.append([torch.tensor(t.tolist()) for t in (y, slope, lengths)])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_an_encoder_with_padding_in_evaluation():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(2, 2, 2, dropout=0.0, batch_first=True).double()
    encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).double().eval()
    x, hidden = torch.tensor([[[1.0, 2.0], [0.5, 0.0]]], dtype=torch.float64), torch.tensor([[False, True]])
    expected = encoder(x, src_key_padding_mask=hidden)
    fast = nn.TransformerEncoder(layer, 1).double().eval()
    fast.load_state_dict(encoder.state_dict())
    found = exact.exactify(fast)(exact(x), src_key_padding_mask=hidden)
    torch.testing.assert_close(found.float64()[:, 0], expected[:, 0])


# ---- derivatives
@pytest.mark.parametrize("f", [lambda x: x.softmax(-1), lambda x: x.log_softmax(-1), lambda x: x.logsumexp(-1)])
def test_forward_mode_of_softmax_compares_no_letters(f):
    for x in (exact("q r"), exact("e^q e^r"), exact("-inf q r")):
        assert same(jacfwd(f)(x), jacrev(f)(x))


def test_hessians_with_letters():
    x, target = exact("q r"), torch.tensor(0)
    p = x.softmax(0)
    assert same(hessian(lambda x: F.cross_entropy(x, target))(x), torch.diag(p) - torch.outer(p, p))
    assert same(hessian(lambda x: x.softmax(-1)[0])(x), jacrev(jacrev(lambda x: x.softmax(-1)[0]))(x))


def test_a_program_s_own_maximum_is_still_a_comparison():
    with pytest.raises(UndecidedError):
        jacfwd(lambda x: x.softmax(-1) + x.amax(-1, keepdim=True))(exact("q r"))


def test_ctc_loss_by_hand():
    # Two steps, one label: the alignments ␣a, a␣ and aa have the probabilities 1/4·1/2, 3/4·1/2, 3/4·1/2: 7/8.
    y = exact("1/4 3/4; 1/2 1/2")[:, None]
    loss = F.ctc_loss(y.log(), torch.tensor([1]), (2,), (1,))
    assert same(loss.exp(), exact("8/7"))


@pytest.mark.parametrize("lengths", [([4, 3], [2, 1]), ([3, 1], [2, 0]), ([3, 1], [2, 2])])
@pytest.mark.parametrize("zero_infinity", [False, True])
def test_ctc_loss_and_its_gradient_as_torch_has_them(lengths, zero_infinity):
    torch.manual_seed(0)
    steps, labels = map(torch.tensor, lengths)
    data, targets = torch.randn(4, 2, 3, dtype=torch.float64), torch.tensor([[1, 1], [2, 1]])
    results = []
    for x in (data.clone().requires_grad_(), exact(data).requires_grad_()):
        loss = F.ctc_loss(x, targets, steps, labels, reduction="none", zero_infinity=zero_infinity)
        (slope,) = torch.autograd.grad(loss.sum(), x)
        results.append([torch.tensor(t.tolist()) for t in (loss, slope)])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, equal_nan=True)


def test_bincount_of_weights():
    counts = torch.bincount(torch.tensor([0, 2, 2]), weights=exact("1 1/2 1/3"), minlength=4)
    assert same(counts, exact("1 0 5/6 0"))


# ---- optimizers
@pytest.mark.parametrize("steps", [0, 1])
@pytest.mark.parametrize("name", ["Adam", "Adagrad", "RMSprop", "NAdam", "LBFGS"])
def test_an_optimizer_goes_on_after_exactify(name, steps):
    torch.manual_seed(0)
    start = nn.Linear(2, 1).double()
    weights = []
    for turn_exact in (False, True):
        net = copy.deepcopy(start)
        optimizer = getattr(torch.optim, name)(net.parameters(), lr=0.125)

        def loss(net=net, optimizer=optimizer):
            optimizer.zero_grad()
            value = (net(torch.ones(1, 2, dtype=torch.float64)) ** 2).sum()
            value.backward()
            return value

        for _ in range(steps):
            optimizer.step(loss)
        if turn_exact:
            exact.exactify(net)
        optimizer.step(loss)
        weights.append(torch.tensor(net.weight.tolist()))
    torch.testing.assert_close(*weights, rtol=1e-6, atol=1e-6)


def test_optimizers_of_ordinary_parameters_stay_ordinary():
    exact.exactify(nn.Linear(1, 1))
    p = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.Adam([p])
    for _ in range(2):
        p.sum().backward()
        optimizer.step()
    assert type(optimizer.state[p]["exp_avg"]) is torch.Tensor


def test_a_fused_optimizer_is_refused():
    p = exact("1 2").requires_grad_()
    optimizer = torch.optim.Adam([p], fused=True)
    p.sum().backward()
    with pytest.raises(DomainError, match="made with fused=False"):
        optimizer.step()


# ---- errors
@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.complex(exact("1"), exact("1")),
        lambda: torch.polar(exact("1"), exact("1")),
        lambda: torch.view_as_complex(exact("1 2")),
        lambda: exact(torch.tensor([1j])),
        lambda: exact("1 2") * torch.tensor([1j, 1]),
    ],
)
def test_complex_numbers_are_refused(make):
    with pytest.raises(DomainError, match="Exact values are real"):
        make()


def test_what_is_not_a_module_a_shape_or_a_number_is_refused():
    with pytest.raises(TypeError, match=r"exactify takes a torch.nn.Module, not Tensor. A tensor turns exact by exact\(x\)"):
        exact.exactify(torch.ones(2))
    with pytest.raises(TypeError, match=r"full takes the shape as a tuple: full\(\(2,\), …\)"):
        exact.full(2, "1/3")
    with pytest.raises(ShapeError, match=r"One number is needed here, not a tensor of shape \[2\]"):
        exact.symbols("q").substitute(q=exact("1 2"))


def test_eigenvalues_that_are_not_found_say_why():
    with pytest.raises(DomainError, match=r"may be complex.*torch.linalg.eigvalsh\(A\)"):
        torch.linalg.eigvals(exact("1 2; 3 4"))
    with pytest.raises(DomainError, match="this one holds √2"):
        torch.linalg.eigvalsh(exact("1 sqrt(2); sqrt(2) 4"))


def test_tan_has_poles():
    with pytest.raises(DomainError, match=r"tan has a pole at π/2"):
        exact("pi").div(2).tan()
    assert exact("pi/4").tan().item() == 1
