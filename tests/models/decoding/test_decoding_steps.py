"""Single steps equal ordinary calls, token for token, and are taken only where nobody could see the difference."""

import types

import pytest
import torch
from torch import nn
from torch.overrides import BaseTorchFunctionMode
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

import workings
from workings import exact
from workings.course.counts import count_passes
from workings.models.character_transformer import CharacterTransformer
from workings.models.decoding.search import beam, draw_token, greedy, sample
from workings.models.decoding.stepper import Stepper
from workings.models.language_model import LanguageModel
from workings.trace.capture.capture import capture
from workings.train.text.decoders import decoder_of


def language(**options):
    return LanguageModel(11, 8, 2, 2, **{"positions": "none", **options})


MODELS = {
    "learned": lambda: language(positions="learned", context=64),
    "learned, beyond its context": lambda: language(positions="learned", context=20),
    "rope": lambda: language(positions="rope"),
    "rope, beyond its context": lambda: language(positions="rope", context=20),
    "alibi": lambda: language(positions="alibi"),
    "relative": lambda: language(positions="relative", context=64),
    "sinusoidal": lambda: language(positions="sinusoidal"),
    "post-norm": lambda: language(norm="post", positions="learned", context=64),
    "rms, swiglu, untied": lambda: language(kind="rms", activation="swiglu", tied=False, positions="rope"),
    "relu": lambda: language(activation="relu"),
    "gelu_tanh": lambda: language(activation="gelu_tanh"),
    "no biases": lambda: language(bias=False, positions="learned", context=64),
    "no biases, post-norm, relu": lambda: language(bias=False, norm="post", activation="relu", positions="rope"),
    "normed queries": lambda: language(qk_norm=True, positions="rope"),
    "normed queries, alibi": lambda: language(qk_norm=True, positions="alibi"),
    "characters": lambda: CharacterTransformer(11, 8, 2, 2, window=7, rows=2000),
    "hashed pairs and triples": lambda: CharacterTransformer(11, 8, 2, 1, window=7, rows=50),
    "one head": lambda: CharacterTransformer(11, 8, 1, 2, window=64),
}


def loud(model, seed=1):
    """A model whose weights are large enough for every part to matter, in double precision."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for p in model.double().eval().parameters():
            p.normal_(std=0.4)
    return model


def begun(model, tokens):
    """A stepper whose cache holds these tokens."""
    stepper = Stepper(model, model.new_cache())
    with torch.no_grad():
        model(torch.tensor(tokens), stepper.cache)
    return stepper


def steps_taken(model, monkeypatch):
    """A list that grows by the number of texts with every step."""
    taken = []
    step = Stepper.__call__
    monkeypatch.setattr(Stepper, "__call__", lambda self, tokens: taken.append(len(tokens)) or step(self, tokens))
    return taken


# the same numbers


@pytest.mark.parametrize("texts", [1, 3])
@pytest.mark.parametrize("name", MODELS)
def test_each_step_equals_the_whole_text_again(name, texts):
    model = loud(MODELS[name]())
    n = min(37, model.context or 37)  # past the 16 places that a cache begins with, and past the window
    tokens = torch.randint(11, (texts, n))
    stepper = begun(model, tokens[:, :5].tolist())
    with torch.no_grad():
        whole = model(tokens)
    for k in range(5, n):
        assert stepper.ready(1)
        assert_close(stepper(tokens[:, k].tolist()), whole[:, k], rtol=1e-9, atol=1e-9)
        assert stepper.cache.length == k + 1


@pytest.mark.parametrize("name", MODELS)
def test_steps_and_ordinary_calls_take_turns(name):
    model = loud(MODELS[name]())
    tokens = torch.randint(11, (2, 19))
    stepper = begun(model, tokens[:, :4].tolist())
    with torch.no_grad():
        whole = model(tokens)
        for k in range(4, 19):
            new = stepper(tokens[:, k].tolist()) if k % 3 else model(tokens[:, k : k + 1], stepper.cache)[:, -1]
            assert_close(new, whole[:, k], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_the_same_tokens_with_and_without_a_cache(name, monkeypatch):
    model = loud(MODELS[name]())
    taken = steps_taken(model, monkeypatch)
    assert list(greedy(model, [1, 2], 25)) == list(greedy(model, [1, 2], 25, cache=False))
    assert len(taken) == (18 if model.context == 20 else 24)  # within the context, all but the first
    for options in ({}, {"T": 1.7, "top_k": 5, "top_p": 0.9}):
        both = [
            list(sample(model, [3], 25, generator=torch.Generator().manual_seed(5), cache=cache, **options))
            for cache in (True, False)
        ]
        assert both[0] == both[1]


@pytest.mark.parametrize("name", MODELS)
def test_the_same_beams_with_and_without_a_cache(name, monkeypatch):
    model = loud(MODELS[name]())
    taken = steps_taken(model, monkeypatch)
    found, whole = (beam(model, [1, 2], 20, beams=3, alpha=0.5, stop=0, cache=cache) for cache in (True, False))
    assert [b.tokens for b in found] == [b.tokens for b in whole]
    assert_close([b.score for b in found], [b.score for b in whole])
    assert 3 in taken


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["learned", "rope", "characters"])
def test_single_precision_gives_the_same_tokens_too(name, seed):
    model = loud(MODELS[name](), seed).float()
    assert list(greedy(model, [1], 60)) == list(greedy(model, [1], 60, cache=False))


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_recurrent_models_take_ordinary_calls(cell):
    from workings.models.character import CharacterModel

    model = decoder_of(loud(CharacterModel(11, 6, 8, 2, cell)))
    assert Stepper(model, model.new_cache()).step is None
    assert list(greedy(model, [1, 2], 25)) == list(greedy(model, [1, 2], 25, cache=False))
    drawn_twice = [list(sample(model, [3], 30, generator=torch.Generator().manual_seed(5), cache=c)) for c in (True, False)]
    assert drawn_twice[0] == drawn_twice[1]
    pairs = [[b.tokens for b in beam(model, [1], 8, beams=3, cache=c)] for c in (True, False)]
    assert pairs[0] == pairs[1]


def test_a_run_writes_by_steps(monkeypatch):
    from workings.train.text.language import Language
    from workings.train.text.writing import SamplingOptions, continuation

    model = loud(MODELS["characters"]())
    language, choice = Language(model, "character", list, "".join, list("abcdefghijk")), SamplingOptions(length=9, seed=3)
    taken = steps_taken(model, monkeypatch)
    text = "".join(continuation(language, language.encode("ab"), choice))
    assert len(taken) == 8
    with count_passes(model):
        assert text == "".join(continuation(language, language.encode("ab"), choice))


@pytest.mark.parametrize("halves", [True, False])
def test_angles_of_another_base(halves):
    model = loud(language(positions="rope"))
    for block in model.blocks:
        block.attention.positions.base, block.attention.positions.halves = 50.0, halves
    assert list(greedy(model, [1], 80)) == list(greedy(model, [1], 80, cache=False))


# weights


@pytest.mark.parametrize("name", ["learned", "rms, swiglu, untied", "normed queries", "characters"])
def test_weights_changed_in_place_are_seen_by_the_next_step(name):
    model = loud(MODELS[name]())
    for changed, p in model.named_parameters():
        stepper = begun(model, [[1, 2, 3]])
        ordinary = begun(model, [[1, 2, 3]])
        with torch.no_grad():
            p.add_(0.3 * torch.randn_like(p))
            right = model(torch.tensor([[4]]), ordinary.cache)[:, -1]
        assert_close(stepper([4]), right, rtol=1e-9, atol=1e-9, msg=lambda m, changed=changed: f"{changed}: {m}")


def test_weights_replaced_are_seen_when_decoding_begins_again():
    model = loud(MODELS["learned"]())
    before = list(greedy(model, [1], 20))
    for block in model.blocks:
        block.attention.W_O = nn.Parameter(-2 * block.attention.W_O.detach())
    after = list(greedy(model, [1], 20))
    assert after == list(greedy(model, [1], 20, cache=False)) != before


def test_training_goes_on_after_decoding():
    workings.models.character_transformer.TURNS.clear()
    model = CharacterTransformer(11, 8, 2, 1)
    list(greedy(model.eval(), [1], 70))  # the 65th needs new angles
    model.train().loss(torch.randint(11, (2, 9))).backward()
    assert model.W.grad is not None


# who looks, sees ordinary calls


def test_who_counts_passes_sees_all_of_them(monkeypatch):
    model = loud(MODELS["characters"]())
    taken = steps_taken(model, monkeypatch)
    with count_passes(model) as passes:
        tokens = list(greedy(model, [1], 6))
    assert passes.count == 6 and not taken
    assert list(greedy(model, [1], 6)) == tokens and len(taken) == 5


def test_a_hook_on_any_part_that_comes_in_the_middle_is_called():
    model, seen = loud(MODELS["learned"]()), []
    right = list(greedy(model, [1], 9))
    tokens = greedy(model, [1], 9)
    first = [next(tokens) for _ in range(4)]
    hook = model.blocks[1].ffn.register_forward_pre_hook(lambda *_: seen.append(1))
    first += [next(tokens) for _ in range(3)]
    hook.remove()
    assert first + list(tokens) == right and len(seen) == 3


def test_a_hook_on_all_modules_is_called():
    model, seen = loud(MODELS["learned"]()), []
    hook = nn.modules.module.register_module_forward_hook(lambda module, *_: seen.append(module))
    try:
        list(greedy(model, [1], 4))
    finally:
        hook.remove()
    assert seen.count(model) == 4


def test_a_capture_sees_ordinary_calls(monkeypatch):
    model = loud(MODELS["learned"]())
    taken = steps_taken(model, monkeypatch)
    right = list(greedy(model, [1], 3, cache=False))
    trace = capture(lambda: list(greedy(model, [1], 3)), depth=3, replay=False)
    assert trace.error is None and trace.result == right and not taken
    with workings.trace():
        tokens = list(greedy(model, [1], 3))
    assert tokens == right and not taken


class Dispatched(TorchDispatchMode):
    """A mode that sees every operation."""

    @classmethod
    def _should_skip_dynamo(cls):
        return False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("mode", [Dispatched, BaseTorchFunctionMode, lambda: torch.autocast("cpu", torch.bfloat16)])
def test_a_mode_sees_ordinary_calls(mode, monkeypatch):
    model = loud(MODELS["learned"]()).float()
    taken = steps_taken(model, monkeypatch)
    with mode():
        list(greedy(model, [1], 3))
    assert not taken


class Louder(LanguageModel):
    """A model with a forward of its own."""

    def forward(self, tokens, cache=None):
        return -super().forward(tokens, cache)


class Changed(nn.Module):
    """A part with a forward of its own."""

    def __init__(self, part):
        super().__init__()
        self.part = part

    def __getattr__(self, name):
        return super().__getattr__(name) if name == "part" else getattr(self.part, name)

    def forward(self, *args, **options):
        return -self.part(*args, **options)


def replaced(model, path):
    parent, _, name = path.rpartition(".")
    setattr(model.get_submodule(parent), name, Changed(model.get_submodule(path)))
    return model


def patched(model):
    forward = model.blocks[0].ffn.forward
    model.blocks[0].ffn.forward = lambda X: -forward(X)
    return model


@pytest.mark.parametrize(
    "make",
    [
        lambda: Louder(11, 8, 2, 2, positions="none"),
        lambda: replaced(language(), "blocks.1"),
        lambda: replaced(language(), "blocks.0.attention"),
        lambda: replaced(language(), "blocks.0.ffn"),
        lambda: replaced(language(), "blocks.0.norm_1"),
        lambda: replaced(language(), "blocks.1.norm_3"),
        lambda: replaced(language(), "norm"),
        lambda: replaced(language(positions="learned", context=64), "embedding.P"),
        lambda: patched(language()),
        lambda: type("Sub", (CharacterTransformer,), {"forward": lambda s, *a: -CharacterTransformer.forward(s, *a)})(11, 8),
    ],
)
def test_changed_parts_are_called(make):
    model = loud(make())
    cache = model.new_cache()
    assert Stepper(model, cache).step is None
    assert list(greedy(model, [1], 20)) == list(greedy(model, [1], 20, cache=False))


def test_a_model_in_training_drops_at_random():
    model = loud(language(dropout=0.5)).train()
    assert not begun(model, [[1]]).ready(1)
    assert begun(model.eval(), [[1]]).ready(1)
    model.blocks[1].train()
    assert not begun(model, [[1]]).ready(1)
    torch.manual_seed(0)
    several = {tuple(greedy(model.train(), [1], 12)) for _ in range(5)}
    assert len(several) > 1


def test_exact_weights_are_decoded_exactly():
    model = loud(LanguageModel(3, 2, 1, 1, positions="none"))
    lifted = exact.exactify(model)
    assert Stepper(lifted, lifted.new_cache()).step is None


def test_several_new_tokens_and_an_empty_cache_are_ordinary_calls():
    model = loud(MODELS["learned"]())
    assert not Stepper(model, model.new_cache()).ready(1)
    assert not Stepper(model, None).ready(1)
    assert begun(model, [[1, 2]]).ready(1) and not begun(model, [[1, 2]]).ready(2)


def test_a_plain_callable_has_no_steps():
    cache = types.SimpleNamespace(length=1)
    assert not Stepper(lambda tokens, cache: None, cache).ready(1)


# draws


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_draws_are_those_of_multinomial(dtype):
    ours, theirs = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    for seed in range(200):
        p = torch.randn(7, generator=torch.Generator().manual_seed(seed), dtype=dtype).softmax(dim=-1)
        p[seed % 7] = 0
        assert draw_token(p, ours) == int(torch.multinomial(p, 1, generator=theirs))


@pytest.mark.parametrize("p", [[0.0, 0.0], [float("nan"), 1.0], [-1.0, -2.0]])
def test_what_is_no_distribution_is_refused(p):
    with pytest.raises(RuntimeError, match="probabilit"):
        draw_token(torch.tensor(p))
