"""Modules and programs on exact tensors agree with float64; the tables name everything PyTorch has."""

import pytest
from torch import nn

from conformance import modules, programs
from conformance.case import check, function
from workings import exact

MODULES = {case.name: case for case in modules.cases()}
PROGRAMS = {case.name: case for case in programs.cases()}
QUICK = {
    "Linear",
    "Conv2d, dilated, grouped",
    "ConvTranspose2d",
    "BatchNorm2d, train",
    "RMSNorm",
    "LSTM, 2 layers, both ways",
    "GRUCell",
    "MultiheadAttention, eval",
    "MultiheadAttention, keys hidden, train",
    "TransformerEncoder, norm first, eval",
    "CrossEntropyLoss, smoothed",
    "MaxUnpool2d",
    "scaled_dot_product_attention, causal",
    "Hardsigmoid",
}


def sampled(names, quick):
    return [pytest.param(name, marks=[] if name in quick else pytest.mark.slow) for name in names]


def verdict(case):
    found = check(case)
    return found.status, found.reason


@pytest.mark.parametrize("name", sampled(sorted(MODULES.keys() - modules.OUTSIDE), QUICK))
def test_a_module_agrees_with_float64(name):
    assert verdict(MODULES[name]) == ("pass", "")


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - programs.OUTSIDE))
def test_a_program_agrees_with_float64(name):
    assert verdict(PROGRAMS[name]) == ("pass", "")


@pytest.mark.parametrize("name", sorted(modules.OUTSIDE | programs.OUTSIDE))
def test_what_is_outside_says_so(name):
    status, reason = verdict({**MODULES, **PROGRAMS}[name])
    assert status == "unsupported"
    assert "is outside the exact domain" in reason


def test_the_quick_cases_exist():
    assert MODULES.keys() >= QUICK


@pytest.mark.parametrize(
    "family",
    [nn.modules.activation, nn.modules.pooling, nn.modules.loss, nn.modules.padding],
    ids=lambda family: family.__name__,
)
def test_the_table_names_every_class_of_a_family(family):
    named = {name.split(",")[0] for name in MODULES}
    assert set(family.__all__) <= named


def test_a_wrong_result_is_reported():
    wrong = function("wrong", lambda x: x + exact("1/100000000") if isinstance(x, exact.ExactTensor) else x, (2,))
    status, reason = verdict(wrong)
    assert status == "differs"
    assert reason.startswith("result 1: off by")


def test_a_wrong_gradient_is_reported():
    def bent(x):
        return x + (x - x.detach()) / 10**8 if isinstance(x, exact.ExactTensor) else x

    assert verdict(function("wrong", bent, (2,))) == ("differs", "gradient of input 1: off by 1.0e-08")


def test_a_missing_result_is_reported():
    status, reason = verdict(function("wrong", lambda x: [x] if isinstance(x, exact.ExactTensor) else [x, x], (2,)))
    assert status == "error"
    assert reason.startswith("ValueError: results")
