"""Positions: sinusoids, tables, relative biases, ALiBi and rotations."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from workings import exact
from workings.errors import DomainError, ShapeError
from workings.nn.transformer.dot_product import attention_weights
from workings.nn.transformer.positions import (
    Learned,
    RelativeBias,
    Rotary,
    alibi,
    alibi_slopes,
    distances,
    relative_bias,
    rope,
    sinusoidal,
)


def test_sinusoids_exactly():
    # 10000^(2/4) = 100
    PE = sinusoidal(exact.arange(3), 4)
    rows = "0 1 0 1; sin(1) cos(1) sin(1/100) cos(1/100); sin(2) cos(2) sin(1/50) cos(1/50)"
    assert exact.equal(PE, exact(rows))
    assert not PE.assumptions
    known = [[0.0, 1.0, 0.0, 1.0], [0.841471, 0.540302, 0.00999983, 0.99995], [0.909297, -0.416147, 0.0199987, 0.9998]]
    assert_close(PE.float64(), torch.tensor(known, dtype=torch.float64), atol=1e-6, rtol=0)


def test_a_width_of_six_stays_exact():
    # ω_1 = 10000^(−1/3)
    PE = sinusoidal(exact.arange(2), 6)
    assert exact.equal(PE[1, 2], exact("sin(10000^(-1/3))"))
    assert {note.kind for note in PE.assumptions} == {"recovered"}


def test_exact_and_floats_agree():
    pos = torch.arange(5, dtype=torch.float64)
    assert_close(sinusoidal(pos, 6), sinusoidal(exact.arange(5), 6).float64(), rtol=0, atol=1e-14)
    assert_close(sinusoidal(5, 6), sinusoidal(pos, 6).float())
    assert sinusoidal(5, 6).dtype == torch.float32


@given(st.integers(0, 50), st.integers(0, 50))
def test_a_shift_is_a_rotation(pos, k):
    # PE(pos + k) = R_k PE(pos): (sin, cos) of each pair turned by k ω
    d = 8
    PE = sinusoidal(torch.tensor([pos, pos + k, k], dtype=torch.float64), d).unflatten(-1, (d // 2, 2))
    (s, c), (s_k, c_k) = PE[0].unbind(-1), PE[2].unbind(-1)
    assert_close(PE[1], torch.stack((s * c_k + c * s_k, c * c_k - s * s_k), -1))


@pytest.mark.parametrize("call", [lambda: sinusoidal(3, 5), lambda: rope(torch.zeros(2, 5))])
def test_odd_widths(call):
    with pytest.raises(ShapeError) as error:
        call()
    assert str(error.value) == "Positions by angles pair the entries of a token, so its width must be even, but d = 5."


def test_a_learned_table_ends():
    table = Learned(8, 4)
    assert table(3).equal(table.table[:3]) and table(3, start=5).equal(table.table[5:])
    with pytest.raises(DomainError) as error:
        table(3, start=6)
    assert str(error.value) == (
        "The table of positions was made for 8 tokens, 0 to 7, but position 8 was asked for. "
        "Make it longer and train it, or use positions that continue, such as sinusoidal."
    )


def test_relative_bias_by_hand():
    # entries b_−1, b_0, b_1 for i − j = −1, 0, 1; farther ones are clipped
    B = relative_bias(exact("a_pos b_pos c_pos"), 3)
    assert exact.equal(B, exact("b_pos a_pos a_pos; c_pos b_pos a_pos; c_pos c_pos b_pos"))


@given(st.integers(1, 6), st.integers(0, 5), st.integers(0, 4))
def test_a_bias_sees_distances_only(n, older, reach):
    layer = RelativeBias(2, reach)
    torch.nn.init.normal_(layer.b)
    B = layer(n + older)
    assert B.shape == (2, n + older, n + older)
    assert layer(n, n + older).equal(B[:, older:])
    assert B[:, 1:, 1:].equal(B[:, :-1, :-1])  # the same along every diagonal


def test_relative_bias_learns():
    layer = RelativeBias(1, 1)
    layer(3).sum().backward()
    # on a 3×3 grid: 3 cells above the diagonal, 3 on it, 3 below
    assert layer.b.grad.tolist() == [[3, 3, 3]]


def test_alibi_slopes_of_the_paper():
    # 8 heads: 1/2, 1/4, …, 1/256
    assert alibi_slopes(8).tolist() == [2.0**-k for k in range(1, 9)]
    assert alibi_slopes(16)[:2].tolist() == [pytest.approx(2**-0.5), 0.5]
    assert alibi_slopes(1).tolist() == [2.0**-8]


def test_alibi_slopes_for_twelve_heads():
    # those of 8 heads, then the first, third, fifth and seventh of 16 heads
    expected = [2.0**-k for k in range(1, 9)] + [2.0 ** (-k / 2) for k in (1, 3, 5, 7)]
    assert_close(alibi_slopes(12), torch.tensor(expected))


def test_alibi_falls_with_the_distance():
    B = alibi(8, 2, 3)
    # queries at positions 1 and 2 of 3
    assert B[0].tolist() == [[-0.5, 0.0, -0.5], [-1.0, -0.5, 0.0]]
    assert B.shape == (8, 2, 3)


def test_distances():
    assert distances(2, 4).tolist() == [[2, 1, 0, -1], [3, 2, 1, 0]]


def test_rope_by_hand():
    # position 1, d = 4: the first pair turns by 1, the second by 1/100
    y = rope(exact("1 0 0 1; 1 0 0 1"))
    assert exact.equal(y, exact("1 0 0 1; cos(1) sin(1) -sin(1/100) cos(1/100)"))


@pytest.mark.parametrize("halves", [False, True])
def test_rotated_scores_depend_on_the_distance_alone(halves):
    q, k = torch.randn(2, 1, 8, dtype=torch.float64)
    scores = []
    for shift in (0, 5, 100):
        at = torch.tensor([float(shift)], dtype=torch.float64)
        scores.append(rope(q, at + 3, halves=halves) @ rope(k, at, halves=halves).mT)
    assert_close(scores[1], scores[0])
    assert_close(scores[2], scores[0])
    assert_close(rope(q, halves=halves).norm(), q.norm())


def test_halves_are_those_of_llama():
    # there, x cos θ + (−x₂, x₁) sin θ for the halves x₁ and x₂, each angle written twice
    x = torch.randn(1, 1, 5, 8)
    θ = torch.arange(5.0)[:, None] * 10000.0 ** (-torch.arange(0, 8, 2) / 8)
    θ = torch.cat((θ, θ), -1)
    theirs = x * θ.cos() + torch.cat((-x[..., 4:], x[..., :4]), -1) * θ.sin()
    assert_close(rope(x, halves=True), theirs)
    assert not torch.allclose(rope(x), theirs)


def test_interleaved_and_halves_differ_by_a_shuffle():
    x = torch.randn(3, 6)
    shuffle = [0, 2, 4, 1, 3, 5]  # even entries first
    assert_close(rope(x)[:, shuffle], rope(x[:, shuffle], halves=True))


def test_rotary_starts_where_the_cache_ends():
    x = torch.randn(2, 7, 4, dtype=torch.float64)
    turn = Rotary()
    assert_close(turn(x[:, 3:], start=3), turn(x)[:, 3:])
    assert turn(x.float()).dtype == torch.float32


def test_relative_patterns_shift_and_absolute_ones_do_not():
    # the same tokens one place later: relative bias keeps the pattern, added sinusoids do not
    X = torch.randn(4, 8, dtype=torch.float64)
    b = torch.randn(9, dtype=torch.float64)
    early, late = X, torch.cat((torch.zeros(1, 8, dtype=torch.float64), X))
    B = relative_bias(b, 5)
    relative = attention_weights(late, late, bias=B.masked_fill(torch.arange(5) == 0, -torch.inf))[1:, 1:]
    assert_close(relative, attention_weights(early, early, bias=relative_bias(b, 4)))
    P = sinusoidal(torch.arange(5, dtype=torch.float64), 8)
    first, second = X + 3 * P[:4], X + 3 * P[1:]
    assert not torch.allclose(attention_weights(first, first), attention_weights(second, second), atol=1e-3)
