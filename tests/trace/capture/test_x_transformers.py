"""A Transformer from another library, opened down to its statements: its own run is what is shown."""

import pytest
import torch

from workings.trace.capture.capture import capture

x_transformers = pytest.importorskip("x_transformers")


@pytest.mark.slow
def test_a_decoder_is_captured_whole():
    torch.manual_seed(0)
    layers = x_transformers.Decoder(dim=8, depth=1, heads=2)
    model = x_transformers.TransformerWrapper(num_tokens=9, max_seq_len=8, attn_layers=layers).eval()
    tokens = torch.tensor([[1, 2, 3]])
    trace = capture(model, tokens, depth=3)
    assert trace.error is None
    assert torch.equal(trace.result, model(tokens))
    assert sum(1 for _ in trace.steps()) > 200
    assert not [s.note for s in trace.steps() if s.note.startswith("not shown")]
    assert {"attn_layers.layers.0.1.to_q", "to_logits"} <= {s.address for s in trace.steps()}
