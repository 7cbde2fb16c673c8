"""Programs of a course on exact values: the numbers of float64, exact throughout, nothing assumed that is not declared."""

import pytest
import torch
from torch.utils._pytree import tree_flatten

from tests.exact.course_programs import PROGRAMS
from workings import exact

SAMPLES = {"w": 0.5, "u": -0.75, "b": 0.25, "x": 2}


def _given(text):
    return exact.symbols(**{text: SAMPLES[text]}) if text in SAMPLES else exact(text)


def _run(function, inputs):
    """The results of a function, and the gradients of their sum."""
    inputs = [x.detach().requires_grad_() for x in inputs]
    results = [t for t in tree_flatten(function(*inputs))[0] if isinstance(t, torch.Tensor)]
    followed = [t.sum() for t in results if t.requires_grad and torch.isfinite(t).all()]
    if followed:
        sum(followed).backward()
    return results, [x.grad for x in inputs if x.grad is not None]


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")  # PyTorch's own, for derivatives in forward mode
@pytest.mark.parametrize("name", PROGRAMS)
def test_agrees_with_float64(name):
    program = PROGRAMS[name]
    given = [_given(text) for text in program.given]
    results, gradients = _run(program.function, given)
    plain, plain_gradients = _run(program.function, [x.float64() for x in given])
    assert len(results) == len(plain) and len(gradients) == len(plain_gradients)
    for found, wanted in zip([*results, *gradients], [*plain, *plain_gradients], strict=True):
        if wanted.is_floating_point():
            assert type(found) is exact.ExactTensor and found.shape == wanted.shape and found.dtype == wanted.dtype
            torch.testing.assert_close(found.float64(), wanted.double(), rtol=1e-9, atol=1e-12)
        else:
            assert torch.equal(found, wanted)
    notes = [note for found in [*results, *gradients] for note in getattr(found, "assumptions", ())]
    assert {note.kind for note in notes} == program.assumed
