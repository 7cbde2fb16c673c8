"""PyTorch's operator database and whole models on exact tensors: a sample, and that wrong results are reported.

The whole database runs in `make conformance`, and here under `-m slow`.
"""

import copy
from types import SimpleNamespace

import pytest
import torch

from conformance import models, opinfo, report, row, run
from conformance.row import Pair, Row, judged
from conformance.widened import widened
from workings import exact

SAMPLE = """
    __getitem__ add addmm amax argmax as_strided bmm cat cdist clamp cumsum diff div.no_rounding_mode einsum exp gather
    index_put kthvalue linalg.det linalg.inv linalg.solve linalg.vector_norm log_softmax logsumexp masked_fill matmul mean
    nn.functional.batch_norm nn.functional.binary_cross_entropy_with_logits nn.functional.conv2d
    nn.functional.cross_entropy nn.functional.embedding nn.functional.gelu nn.functional.interpolate.bilinear
    nn.functional.layer_norm nn.functional.max_pool2d nn.functional.pad.reflect pow prod scatter_add softmax sort split
    std take_along_dim topk tril unfold var where
""".split()
ENTRIES = {opinfo.name_of(op): op for op in opinfo.entries()}
SLOW = sorted(set(ENTRIES) - set(SAMPLE))
KINDS = [(model, kind) for model in models.MODELS for kind in model.kinds]
QUICK = {("GPT-2", "sdpa"), ("T5", "eager")}


@pytest.mark.parametrize("name", SAMPLE)
def test_an_operator_agrees_with_float64(name):
    outcome = opinfo.check(ENTRIES[name], most=6)
    assert (outcome.status, outcome.reason) == ("pass", "")


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_no_operator_gives_a_wrong_result(name):
    outcome = opinfo.check(ENTRIES[name])
    explained = outcome.status == "differs" and report.explanation(outcome) != outcome.reason
    assert explained or outcome.status in {"pass", "unsupported", "random", "untestable", "timeout"}


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        pytest.param(
            *pair, marks=[] if (pair[0].name, pair[1]) in QUICK else pytest.mark.slow, id=f"{pair[0].name} {pair[1]}"
        )
        for pair in KINDS
    ],
)
def test_a_model_agrees_with_float64(model, kind):
    found = models.check(model, kind)
    assert (found.status, found.reason) == ("pass", "")
    assert 0 < found.error < 1e-11


def changed(change):
    """`tanh` of the database, but `change(x, tanh x)` on exact tensors."""
    entry = copy.copy(ENTRIES["tanh"])
    entry.op = lambda x: change(x, x.tanh()) if isinstance(x, exact.ExactTensor) else x.tanh()
    return entry


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda x, y: y + exact("1/1000000"), "forward"),
        (lambda x, y: y + (x - x.detach()) / 10000, "backward"),
        (lambda x, y: y.float64(), "the result is not exact"),
        (lambda x, y: (y, y), "2 results, not 1"),
        (lambda x, y: y.detach(), ""),
    ],
)
def test_a_wrong_operator_is_reported(change, reason):
    outcome = opinfo.check(changed(change), most=3)
    assert outcome.status in {"differs", "error"}
    assert outcome.reason.startswith(reason)


def test_a_model_with_one_wrong_gradient_is_reported(monkeypatch):
    honest = models.run

    def dishonest(module, model, inputs):
        found = honest(module, model, inputs)
        name = "gradient of transformer.h.0.attn.c_attn.weight"
        if isinstance(found[name], exact.ExactTensor):
            found[name] = found[name] + found[name].abs().max() / 10**8
        return found

    monkeypatch.setattr(models, "run", dishonest)
    found = models.check(models.MODELS[0], "sdpa")
    assert found.status == "differs"
    assert found.reason == "gradient of transformer.h.0.attn.c_attn.weight: off by 1.0e-08"


@pytest.mark.parametrize(
    ("found", "expected", "reason"),
    [
        (exact([1, 2]), torch.tensor([1.0, 2.00001]), "t: off by 5.0e-06"),
        (exact([1, 2]), torch.tensor([[1.0, 2.0]]), "t: shape [2] instead of [1, 2]"),
        (exact([1, "inf"]), torch.tensor([1.0, 2.0]), "t: off by inf"),
        (exact([1, 2]), None, "t: only one of the two exists: exact([1, 2])"),
        (torch.tensor([1.5]), torch.tensor([1.5]), "t: the result is not exact"),
    ],
)
def test_a_wrong_tensor_is_reported(found, expected, reason):
    verdict = judged("row", [Pair("exact", exact([1]), torch.ones(1)), Pair("t", found, expected)])
    assert (verdict.status, verdict.reason) == ("differs", reason)


def test_a_row_without_exact_results_does_not_pass():
    verdict = judged("row", [Pair("t", torch.ones(1), torch.ones(1))])
    assert (verdict.status, verdict.reason) == ("differs", "no result is exact")


def test_a_gradient_that_is_exactly_zero_is_measured_against_the_largest_tensor():
    noise, large = Pair("zero", exact([0]), torch.tensor([1e-14])), Pair("large", exact([100]), torch.tensor([100.0]))
    assert judged("row", [noise, large]).error == pytest.approx(1e-16)
    assert judged("row", [noise]).status == "differs"


def test_errors_become_rows():
    assert row.row("row", lambda: 1 / 0) == Row("row", "error", reason="ZeroDivisionError: division by zero")


def test_a_widened_block_computes_in_float64():
    third = torch.tensor([1.0], dtype=torch.float64) / 3
    with widened() as reference:
        assert third.float().item() == third.item()
        assert third.softmax(0, dtype=torch.float32).dtype == torch.float64
        assert torch.zeros(2, dtype=torch.bfloat16).dtype == torch.float64
    assert third.float().item() != third.item()
    assert reference.narrowed == {"test_a_widened_block_computes_in_float64 in float32"}


def test_the_run_fails_for_few_passes_and_for_rows_that_fail():
    few = [SimpleNamespace(status="pass")]
    lines = run.failures(few, {"programs": [Row("p", "differs", reason="t: off")]})
    assert lines == ["1 entries of the operator database pass, fewer than 560", "programs: p: differs: t: off"]


def test_known_gaps_do_not_fail_the_run_and_closed_gaps_are_named(monkeypatch):
    monkeypatch.setattr(run.programs, "OUTSIDE", {"p", "q"})
    enough = [SimpleNamespace(status="pass")] * 600
    lines = run.failures(enough, {"programs": [Row("p", "unsupported", reason="no rule"), Row("q", "pass")]})
    assert lines == ["programs: q is in OUTSIDE, but no such row is unsupported"]


def test_where_pytorch_is_known_to_be_off_the_page_says_so():
    entry = SimpleNamespace(name="polygamma.polygamma_n_1", status="differs", reason="forward inf instead of 1e32")
    assert report.explanation(entry) == report.POLES
    entry.name = "gamma"
    assert report.explanation(entry) == "forward inf instead of 1e32"


def test_the_page_shows_bounds_and_escapes_cells():
    rows = [Row("a|b", "pass", 3e-15), Row("c", "differs", 0.5, "t: off"), Row("d", "pass")]
    lines = report.rows_table("program", rows).splitlines()
    assert lines[2:] == ["| a\\|b | pass | ≤ 1e-14 |  |", "| c | differs | 5e-01 | t: off |", "| d | pass | 0 |  |"]
