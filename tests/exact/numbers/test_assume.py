"""Nothing is silently inexact: what a result rests on is on the result."""

import math

import pytest
import torch

from workings import exact
from workings.errors import UndecidedError


def kinds(x):
    return {note.kind for note in x.assumptions}


def test_recovered_constants_are_noted_with_their_place():
    x = exact("3")
    for y in (x / math.sqrt(2), x * 0.1, x + math.pi, x * math.e, x / (1 / 3), x - math.log(2), exact(0.1), exact([0.2])):
        assert kinds(y) == {"recovered"}
    (note,) = (x * 0.1).assumptions
    assert str(note) == "recovered: 0.1 is read as 1/10"
    assert (note.relation, note.value) == ("≈", exact("1/10").elements()[0])
    assert note.where.startswith("test_assume.py:")


def test_numbers_that_are_what_they_are_leave_no_note():
    x = exact("3")
    for y in (x / 3, x * 0.5, x - 2.0, x * 2.0**-60, x + float("inf"), exact(0.375)):
        assert y.assumptions == ()


@pytest.mark.parametrize(
    "make",
    [
        lambda: exact.full((2,), 0.1),
        lambda: exact.arange(0, 0.3, 0.1),
        lambda: exact.linspace(0, 0.1, 3),
        lambda: exact(torch.tensor([0.1]), recover=True),
        lambda: exact("w").substitute(w=0.1),
        lambda: exact("1") * torch.tensor([0.1], dtype=torch.float64),
        lambda: torch.nn.functional.leaky_relu(exact("-1"), 0.1),
    ],
)
def test_no_way_in_forgets_the_note(make):
    assert kinds(make()) == {"recovered"}


def test_many_constants_of_one_tensor_are_counted():
    x = exact("1") * torch.linspace(0, 1, 101, dtype=torch.float64)
    assert len(x.assumptions) <= 8
    assert any("numbers of a tensor, such as: " in note.text for note in x.assumptions)


EPS = torch.finfo(torch.float64).eps


@pytest.mark.parametrize("x", [0.49999999999999994, 1 - EPS, 1 + EPS, 0.1 + 0.2])
def test_a_neighbour_of_a_simple_number_keeps_its_value(x):
    y = exact("1") * x
    assert y.item() == x and y.fraction().as_integer_ratio() == x.as_integer_ratio()
    assert kinds(y) == {"rounded"} and "it is not the double nearest to" in y.assumptions[0].text
    assert exact("2").clamp(max=x).item() == x


def test_a_bernoulli_at_its_edge_agrees_with_float64():
    for p, k in (("1", "0"), ("0", "1")):
        exactly = torch.distributions.Bernoulli(probs=exact(p)).log_prob(exact(k))
        plainly = torch.distributions.Bernoulli(probs=exact(p).float64()).log_prob(exact(k).float64())
        assert exactly.item() == plainly.item() < -30


def test_a_rounded_constant_is_noted_and_carried_on():
    x = exact("1 2") * 0.123456789123
    assert [str(note) for note in x.assumptions] == [
        "rounded: 0.123456789123 is kept as the fraction it is: no exact number was recognised"
    ]
    assert kinds((x + 1).sum().exp()) == {"rounded"}
    assert exact("1 2").assumptions == ()


def test_notes_reach_the_base_of_a_view():
    x = exact("1 2; 3 4").clone()
    x[0].mul_(0.123456789123)
    assert kinds(x) == {"rounded"}


def test_notes_go_through_backward():
    x = exact("1 2", requires_grad=True)
    (x * 0.123456789123).sum().backward()
    assert kinds(x.grad) == {"rounded"}


def test_a_comparison_of_letters_asks():
    w = exact.symbols("w_1")
    with pytest.raises(
        UndecidedError, match=r"Whether w_1 is positive, negative or zero depends on w_1\. Give sample values"
    ):
        torch.relu(w)
    assert torch.relu(w.exp()).text() == "e^w_1"
    assert bool(w.exp() > 0)
    assert bool((w + 1) ** 2 == w**2 + 2 * w + 1)


def test_a_sample_value_decides_and_is_noted():
    v = exact.symbols(v="3/10")
    y = torch.relu(v - 1) + torch.relu(v)
    assert y.text() == "v"
    assert [str(note) for note in y.assumptions] == [
        "order: v > 0 (decided at v = 3/10)",
        "order: v − 1 < 0 (decided at v = 3/10)",
    ]


def test_sorting_compares_letters_only_within_a_line():
    a, b = exact.symbols("a b")
    x = torch.stack([torch.stack([a, a + 1]), torch.stack([b - 1, b])])
    assert x.max(1).values.text() == "[a + 1  b]"
    assert x.argmax(1).tolist() == [1, 1]


def test_random_draws_say_so():
    torch.manual_seed(0)
    y = torch.nn.functional.dropout(exact("1 2 3 4"), 0.5)
    assert kinds(y) == {"random"}
    assert set(y.tolist()) <= {0, 2, 4, 6, 8}
    z = torch.randn_like(exact("1 2"))
    assert kinds(z) == {"random"}
    torch.manual_seed(0)
    assert torch.nn.functional.dropout(exact("1 2 3 4"), 0.5).tolist() == y.tolist()


def test_an_assumed_zero_is_noted():
    # Equal numbers that no identity here proves equal.
    x = exact("sin(2)") - exact("2*sin(1)*cos(1)")
    sign = x.sign()
    assert sign.item() == 0
    assert kinds(sign) == {"zero"}


def test_the_lowest_float_is_read_as_minus_infinity():
    mask = torch.tensor([0.0, torch.finfo(torch.float32).min])
    y = (exact("1 2") + mask).softmax(0)
    assert y.text() == "[1  0]"
    assert kinds(y) == {"mask"}


def test_recording_catches_what_a_python_if_used():
    k = exact.symbols(k=2)
    with exact.recording() as notes:
        y = exact("1") if k > 1 else exact("0")
    assert y.assumptions == ()
    assert [note.text for note in notes] == ["k − 1 > 0 (decided at k = 2)"]


def test_equality_proves_or_says_how_far():
    assert exact.equal(exact("(1+sqrt(2))^2"), exact("3 + 2sqrt(2)")) == (True, "proved")
    assert exact.equal(exact("sqrt(2)"), exact("1.41421356237309504880168872420969807856967")) == (
        False,
        "different",
    )
    deep = exact.equal(exact("sin(2)"), exact("2*sin(1)*cos(1)"))
    assert deep.equal is None and deep.how.startswith("not decided: no proof was found; the difference is smaller than")
    assert not deep
    assert not exact.equal(exact("1 2"), exact("1 2 3"))


def test_a_mask_says_on_how_much_it_rests():
    v = exact.symbols(v=0.3)
    assert repr(v > 0) == "tensor(True, assumptions=1)" and repr(exact("1/10") > 0) == "tensor(True)"


def test_masks_and_indices_carry_their_assumptions():
    m = exact.symbols(m="1/2")
    chosen = torch.where(m > 0, exact("1"), exact("2"))
    flipped = exact("1") * ~(m > 1)
    picked = exact("5 6")[torch.stack([m, exact("1/4")]).argmax()]
    assert [x.item() for x in (chosen, flipped, picked)] == [1, 1, 5]
    assert [kinds(x) for x in (chosen, flipped, picked)] == [{"order"}] * 3
    assert kinds(m > 0) == {"order"}
    assert type(exact("1") > 0) is torch.Tensor
