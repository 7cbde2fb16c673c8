"""The tiny decoder for dedupe-and-sort: every matrix exactly, its losses under both alignments, gradients and limits."""

from itertools import pairwise, permutations
from math import sqrt

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from workings import exact, show
from workings.course.dedupe import DedupeDecoder, answer_loss, descend, is_neutral, neutral_projection, ties
from workings.course.dedupe_task import VOCABULARY, answer, decode, encode, example, is_right, prompts
from workings.errors import DomainError, ShapeError

TOKENS = example("DAA")
QKV = "3 0; 0 3; 0 3; 0 0; 0 3; 3 0; 0 0"
P = """1 0 0 0 0 0 0; 0 1 0 0 0 0 0; 0 1/2 1/2 0 0 0 0; 1/4 1/4 1/4 1/4 0 0 0;
       0 1/3 1/3 0 1/3 0 0; 1/2 0 0 0 0 1/2 0; 1/7 1/7 1/7 1/7 1/7 1/7 1/7"""
Z = "3 0; 0 3; 0 3; 3/4 3/2; 0 3; 3 0; 6/7 9/7"
R = "0 3 0 3; 3 0 3 0; 3 0 3 0; 3/2 3/4 3/2 3/4; 3 0 3 0; 0 3 0 3; 9/7 6/7 9/7 6/7"


def exactly(**options):
    return exact.exactify(DedupeDecoder(**options))


def loss(model, **options):
    return answer_loss(model(TOKENS), TOKENS, **options)


def gradients(model, **options):
    names = ["W_Q", "W_K", "W_V", "W_O", "E"]
    found = torch.autograd.grad(loss(model, **options), [getattr(model, n) for n in names], allow_unused=True)
    return dict(zip(names, found, strict=True))


# the forward pass


def test_every_matrix_is_exact():
    work = show(exactly(), TOKENS)
    assert exact.equal(work["X"], exact("0 0 0 1; 1 0 0 0; 1 0 0 0; 0 0 0 0; 1 0 0 0; 0 0 0 1; 0 0 0 0"))
    for name in "QKV":
        assert exact.equal(work[name], exact(QKV))
    assert exact.equal(work["P"], exact(P))
    assert exact.equal(work["P"].sum(dim=1), exact.ones(7))
    assert exact.equal(work["Z"], exact(Z))
    assert exact.equal(work["R"], exact(R))
    assert exact.equal(work["logits"][:, :4], exact(R))  # E is the identity for the letters
    assert exact.equal(work["logits"][:, 4:], exact.zeros(7, 2))  # and zero for START and STOP
    assert "matches the unmodified run" in work.text()


@pytest.mark.parametrize("options", [{}, {"T": sqrt(2)}, {"heads": 2}])
def test_exact_and_float_agree(options):
    assert_close(DedupeDecoder(**options)(TOKENS), exactly(**options)(TOKENS).float64())


def test_softmax_at_a_low_temperature_tends_to_argmax():
    apart = [(DedupeDecoder(T=T)(TOKENS) - DedupeDecoder()(TOKENS)).abs().max().item() for T in (2.0, 1.0, 0.5, 0.1)]
    assert apart == sorted(apart, reverse=True) and apart[-1] < 1e-12


# the loss


def test_the_loss_of_the_answer():
    # rows START, A, D predict A, D, STOP: e^(3/2)/(2 + 2e^(3/4) + 2e^(3/2)), then twice 1/(4 + 2e³)
    L = loss(exactly())
    assert exact.equal(L, exact("log(2 + 2*exp(3/4) + 2*exp(3/2)) - 3/2 + 2*log(4 + 2*exp(3))"))
    assert exact.equal(L, exact("log(2 + 2*exp(-3/4) + 2*exp(-3/2)) + 2*log(2*exp(3) + 4)"))
    assert abs(loss(DedupeDecoder()).item() - 8.79726) < 1e-5
    p = DedupeDecoder()(TOKENS)[3:6].softmax(dim=-1)[range(3), TOKENS[4:]]
    assert_close(p, torch.tensor([0.294899, 0.0226393, 0.0226393], dtype=p.dtype), atol=1e-6, rtol=0)


def test_scoring_a_row_against_its_own_token_is_another_loss():
    slip = loss(exactly(), same_position=True)
    assert exact.equal(slip, exact("2*log(2 + 4*exp(-3)) + log(2 + 2*exp(9/7) + 2*exp(6/7))"))
    assert abs(loss(DedupeDecoder(), same_position=True).item() - 4.2114) < 5e-5
    assert not exact.equal(slip, loss(exactly()))


def test_the_slip_lets_a_row_see_its_target():
    # changing the last answer token moves the row that the slip scores against it, and no row that the loss uses
    other = TOKENS.clone()
    other[5] = VOCABULARY.index("B")
    moved = (DedupeDecoder()(TOKENS) != DedupeDecoder()(other)).any(dim=1)
    assert moved[5] and not moved[:5].any()


# the second head


def test_a_duplicated_head_with_the_identity_is_not_neutral():
    two = exactly(heads=2)
    work = show(two, TOKENS)
    assert exact.equal(work["R"], torch.cat([exact(Z), exact(Z)], dim=1))
    assert exact.equal(loss(two), exact("log(2 + 2*exp(3/4) + 2*exp(3/2)) - 3/4 + 2*log(4 + 2*exp(3)) - 3"))
    assert abs(loss(DedupeDecoder(heads=2)).item() - 6.54726) < 1e-5
    assert abs(loss(DedupeDecoder(heads=2), same_position=True).item() - 10.2114) < 5e-5


def test_the_neutral_projections_are_those_whose_halves_sum_to_W_O():
    # all 65,536 matrices of zeros and ones: a 0 of W_O splits in one way, each of its four 1s in two, so 16 are neutral
    one = DedupeDecoder()
    W_O, Z_float = one.W_O.detach(), exact(Z).float64()
    every = (torch.arange(2**16)[:, None] >> torch.arange(16) & 1).double().reshape(-1, 4, 4)
    same = (torch.cat([Z_float, Z_float], dim=1) @ every == Z_float @ W_O).flatten(1).all(dim=1)
    halves = (every[:, :2] + every[:, 2:] == W_O).flatten(1).all(dim=1)
    assert same.sum() == 16 and torch.equal(same, halves)
    assert all(is_neutral(W, W_O) for W in every[same])
    assert not is_neutral(torch.eye(4), W_O)
    swaps = [W for W in every[same] if (W.sum(0) == 1).all() and (W.sum(1) == 1).all()]
    assert len(swaps) == 4  # permutation matrices among them


@given(st.lists(st.integers(-9, 9), min_size=8, max_size=8))
def test_every_split_of_W_O_is_neutral(entries):
    two, W_O = DedupeDecoder(heads=2), DedupeDecoder().W_O.detach()
    W = neutral_projection(W_O, torch.tensor(entries, dtype=torch.float64).reshape(2, 4))
    two.W_O.data = W
    assert is_neutral(W, W_O)
    assert_close(loss(two), loss(DedupeDecoder()))


# gradients


def test_argmax_blocks_the_gradient_of_queries_and_keys_only():
    g = gradients(DedupeDecoder())
    assert g["W_Q"] is None and g["W_K"] is None
    assert abs(g["W_V"].norm().item() - 1.45702) < 1e-5
    expected = torch.tensor([[-0.815421, 0.704342], [0, 0], [0, 0], [0.979093, -0.0572721]], dtype=torch.float64)
    assert_close(g["W_V"], expected, atol=1e-6, rtol=0)
    assert g["W_O"].norm() > 1 and g["E"].norm() > 1
    assert abs(gradients(DedupeDecoder(), same_position=True)["W_V"].norm().item() - 0.301599) < 1e-6


def test_softmax_reaches_every_matrix():
    g = gradients(DedupeDecoder(T=sqrt(2)))
    assert abs(loss(DedupeDecoder(T=sqrt(2))).item() - 8.78348) < 1e-5
    assert abs(g["W_Q"].norm().item() - 0.0266185) < 1e-6
    assert abs(g["W_K"].norm().item() - 0.0266185) < 1e-6
    assert abs(g["W_V"].norm().item() - 1.45107) < 1e-5
    slip = gradients(DedupeDecoder(T=sqrt(2)), same_position=True)
    assert abs(loss(DedupeDecoder(T=sqrt(2)), same_position=True).item() - 4.21311) < 1e-5
    assert abs(slip["W_Q"].norm().item() - 0.00368204) < 1e-7


@pytest.mark.parametrize("T", [0.0, sqrt(2)])
@pytest.mark.parametrize("name", ["W_V", "W_O", "E"])
def test_the_gradient_by_finite_differences(name, T):
    # START and STOP stay at 0: their scores are tied there, and argmax has no derivative at a tie that breaks
    model = DedupeDecoder(T=T)
    g, W, h = gradients(model)[name], getattr(model, name).data, 1e-6
    for index in [(0, 0), (1, 0), (min(3, len(W) - 1), 1)]:
        kept = W[index].item()
        W[index] = kept + h
        above = loss(model).item()
        W[index] = kept - h
        below = loss(model).item()
        W[index] = kept
        assert abs((above - below) / (2 * h) - g[index].item()) < 1e-6


def test_with_argmax_the_queries_do_not_move_the_loss():
    # scores 9 against 0: a small change of W_Q changes no maximum; START's and STOP's zeros stay zeros
    model, moved = DedupeDecoder(), DedupeDecoder()
    moved.W_Q.data += 0.01 * torch.tensor([[1.0, 2], [3, 4], [5, 6], [7, 8]])
    assert loss(model).item() == loss(moved).item()


def test_exact_gradients():
    model = exactly()
    loss(model).backward()
    assert model.W_Q.grad is None
    assert exact.equal(model.W_V.grad[1:3], exact.zeros(2, 2))
    assert_close(model.W_V.grad.float64(), gradients(DedupeDecoder())["W_V"])


def test_values_learn_through_argmax():
    losses = descend(DedupeDecoder(), TOKENS, rate=0.1, steps=200)
    assert len(losses) == 201
    for step, value in ((0, 8.79726), (50, 4.49947), (100, 3.92301), (150, 3.68554), (200, 3.54055)):
        assert abs(losses[step] - value) < 1e-5


# what this parameterisation cannot do


@given(st.lists(st.sampled_from("ABCD"), min_size=1, max_size=7))
def test_logits_tie_whatever_the_prompt(letters):
    logits = DedupeDecoder()(example(letters))
    assert torch.equal(logits[:, 0], logits[:, 2]) and torch.equal(logits[:, 1], logits[:, 3])
    assert torch.equal(logits[:, 4:], torch.zeros(len(logits), 2, dtype=torch.float64))


def test_the_ties_are_in_the_weights():
    model = DedupeDecoder()
    assert ties(model.W_O, model.E) == [("A", "C"), ("B", "D"), ("<START>", "<STOP>")]
    model.E.data[5, 0] = 1  # STOP with an embedding of its own
    assert ties(model.W_O, model.E) == [("A", "C"), ("A", "<STOP>"), ("B", "D"), ("C", "<STOP>")]


def test_untying_the_output_gives_stop_a_logit():
    model = DedupeDecoder()
    R = DedupeDecoder()(TOKENS)[:, :4]
    assert (R @ model.E.mT)[:, 5].eq(0).all()  # a zero row of E: logit 0, whatever R is
    untied = model.E.detach().clone()
    untied[5] = 1
    assert (R @ untied.mT)[:, 5].gt(0).all()


def test_positions_are_not_missed():
    at_start = [show(exactly(), encode([*order, "<START>"]))["Z"][-1] for order in permutations("DAA")]
    assert all(exact.equal(z, exact("3/4 3/2")) for z in at_start)


# the task


@pytest.mark.parametrize(("prompt", "right"), [("DAA", "A D"), ("A", "A"), ("DCBA", "A B C D"), ("BBBB", "B")])
def test_the_answer_to_a_prompt(prompt, right):
    assert " ".join(answer(prompt)) == right
    assert decode(example(prompt)) == f"{' '.join(prompt)} <START> {right} <STOP>"
    assert is_right(prompt, encode(f"{right} <STOP>"))


@given(st.lists(st.sampled_from("ABCD"), min_size=1, max_size=9), st.randoms())
def test_the_answer_is_sorted_distinct_and_blind_to_order(letters, random):
    right = answer(letters)
    assert all(a < b for a, b in pairwise(right)) and set(right) == set(letters)
    shuffled = random.sample(letters, len(letters))
    assert answer(shuffled) == right


@pytest.mark.parametrize("output", ["A D", "A D <STOP> <STOP>", "D A <STOP>", "A A D <STOP>", "A <STOP>", "<STOP>"])
def test_a_wrong_answer_is_seen(output):
    assert not is_right("DAA", encode(output))


def test_prompts_are_repeatable_and_cover_the_letters():
    draw = lambda seed: list(prompts(200, longest=5, generator=torch.Generator().manual_seed(seed)))  # noqa: E731
    assert draw(1) == draw(1) != draw(2)
    assert {len(p) for p in draw(1)} == {1, 2, 3, 4, 5} and set("".join(draw(1))) == set("ABCD")


# messages


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: encode("A X"), "The tokens of dedupe-and-sort are A, B, C, D, <START>, <STOP>; 'X' is not one of them."),
        (lambda: answer("AXB"), "A prompt of dedupe-and-sort has one letter or more of A, B, C, D; this one has 'X'."),
        (lambda: answer(""), "A prompt of dedupe-and-sort has one letter or more of A, B, C, D; this one has nothing."),
        (lambda: list(prompts(1, longest=0)), "The longest prompt needs at least 1 letter, not 0."),
        (
            lambda: DedupeDecoder(T=-1.0),
            "This decoder needs a temperature T ≥ 0 and 1 or 2 heads, not T = -1.0 and 1 heads.",
        ),
        (
            lambda: answer_loss(torch.zeros(2, 6), encode("A <START>")),
            "The loss needs one <START> with the answer behind it: prompt <START> answer <STOP>.",
        ),
    ],
)
def test_messages(call, message):
    with pytest.raises(DomainError) as error:
        call()
    assert str(error.value) == message


def test_logits_of_another_length():
    with pytest.raises(ShapeError) as error:
        answer_loss(torch.zeros(6, 6), TOKENS)
    assert str(error.value) == "The loss needs a row of 6 logits for each of the 7 tokens, not [6, 6]."
