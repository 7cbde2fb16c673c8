"""The recurrent character model: state carried from step to step, generation, learning."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from workings import exact
from workings.errors import DomainError, ShapeError
from workings.models.character import CELLS, CharacterModel, draw
from workings.nn.objectives.perplexities import perplexity_from_log

cells = pytest.mark.parametrize("cell", CELLS)


def model_of(cell="lstm", **options):
    torch.manual_seed(0)
    return CharacterModel(**({"characters": 7, "width": 4, "hidden": 5, "cell": cell} | options))


@cells
@pytest.mark.parametrize("depth", [1, 2])
def test_step_by_step_is_all_at_once(cell, depth):
    model = model_of(cell, depth=depth).eval()
    tokens = torch.randint(7, (3, 6))
    θ, state = model(tokens)
    after = None
    for t in range(6):
        scores, after = model.step(tokens[:, t], after)
        assert_close(scores, θ[:, t].detach())
    for one, other in zip(state, after, strict=True):
        assert_close(one.detach(), other)


@cells
def test_later_characters_do_not_change_earlier_scores(cell):
    model = model_of(cell)
    tokens = torch.randint(7, (1, 6))
    changed = tokens.clone()
    changed[0, 4] = (tokens[0, 4] + 1) % 7
    one, other = model(tokens)[0], model(changed)[0]
    assert_close(one[:, :4], other[:, :4])
    assert not torch.allclose(one[:, 4:], other[:, 4:])


def test_loss_and_perplexity_are_of_the_next_character():
    model = model_of().double()
    tokens = torch.tensor([0, 3, 2, 6, 1, 1])
    θ, _ = model(tokens[:-1].unsqueeze(0))
    log_p = θ[0].log_softmax(-1)[torch.arange(5), tokens[1:]]
    assert_close(model.loss(tokens.unsqueeze(0)), -log_p.mean())
    PP = perplexity_from_log(log_p).item()
    assert_close(model.perplexity(tokens), PP)
    assert_close(model.perplexity(tokens, window=2), PP)  # the state goes on from window to window


def test_greedy_generation_takes_the_likeliest_each_time():
    model = model_of()
    prompt = torch.tensor([1, 2])
    text = prompt
    for _ in range(4):
        text = torch.cat([text, model(text.unsqueeze(0))[0][0, -1].argmax().unsqueeze(0)])
    assert model.generate(prompt, 4, T=0.0).tolist() == text[2:].tolist()
    assert [int(token) for token in model.stream(prompt, 4, T=0.0)] == text[2:].tolist()
    assert model.generate(prompt, 0).tolist() == []


def test_generation_repeats_with_the_seed_and_not_without():
    model, prompt = model_of(), torch.tensor([0])
    one, two = (model.generate(prompt, 30, generator=torch.Generator().manual_seed(5)) for _ in range(2))
    other = model.generate(prompt, 30, generator=torch.Generator().manual_seed(6))
    assert one.tolist() == two.tolist() != other.tolist()


@settings(max_examples=20)
@given(st.floats(0.3, 3), st.integers(0, 1000))
def test_draws_follow_the_softmax_at_that_temperature(T, seed):
    θ = torch.tensor([0.0, 1.0])
    generator = torch.Generator().manual_seed(seed)
    share = sum(int(draw(θ, T, generator)) for _ in range(400)) / 400
    p = torch.sigmoid(torch.tensor(1 / T)).item()
    assert abs(share - p) < 4.5 * (p * (1 - p) / 400) ** 0.5


@cells
def test_it_learns_a_pattern_that_needs_memory(cell):
    # a a b a a b …: what follows an a depends on what came before it
    tokens = torch.tensor([0, 0, 1] * 8).unsqueeze(0)
    torch.manual_seed(0)
    model = CharacterModel(2, 4, 8, cell=cell)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    first = model.loss(tokens).item()
    for _ in range(60):
        optimizer.zero_grad()
        model.loss(tokens).backward()
        optimizer.step()
    assert model.loss(tokens).item() < 0.15 < 0.5 < first
    assert model.generate(torch.tensor([0, 0, 1]), 6, T=0.0).tolist() == [0, 0, 1, 0, 0, 1]


@cells
def test_an_exact_model_agrees(cell):
    model = CharacterModel(3, 1, 1, cell=cell).double()
    tokens = torch.tensor([[0, 2]])
    with torch.no_grad():
        floats = model(tokens)[0]
    assert_close(exact.exactify(model)(tokens)[0].float64(), floats)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: model_of("tcn"), DomainError, "The cell is one of rnn, lstm, gru; got 'tcn'."),
        (
            lambda: model_of(hidden=0),
            ShapeError,
            "A character model needs at least one of each: characters = 7, width = 4, hidden = 0, depth = 1.",
        ),
        (lambda: model_of(dropout=1.0), DomainError, "Dropout is a probability below 1; got 1."),
        (
            lambda: model_of().loss(torch.tensor([[1]])),
            ShapeError,
            "Predicting the next character needs at least 2; the tokens are [1, 1].",
        ),
        (
            lambda: model_of().generate(torch.tensor([], dtype=torch.long), 3),
            ShapeError,
            "Generation starts from at least one character; the prompt is empty.",
        ),
        (lambda: draw(torch.zeros(2), -1.0), DomainError, "A temperature is 0 or above; T = -1."),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == message
