"""A trace reloads to an equal one, floats bit by bit; damaged text is refused with the reason."""

import json
import math
from typing import NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from workings import exact, show
from workings.errors import ParseError
from workings.show.printers.html import html
from workings.show.printers.json_form import from_json, to_json
from workings.show.printers.json_value import Opaque, RecordedError
from workings.show.work import Work
from workings.trace.formula.tree import Apply, Call, Code, Leaf, Number, Sequence
from workings.trace.record import Trace
from workings.trace.step import Step, Where

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int8, torch.uint8, torch.bool]
DTYPES += [torch.complex64, torch.float8_e4m3fn]


class Pair(NamedTuple):
    left: float
    right: list


def bits(x: torch.Tensor) -> bytes:
    return x.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def same(a: object, b: object) -> bool:
    """Equal in type and value; tensors bit by bit, exact ones by proof, NaN equal to NaN."""
    if isinstance(a, exact.ExactTensor):
        return isinstance(b, exact.ExactTensor) and a.shape == b.shape and bool(exact.equal(a, b))
    if isinstance(a, torch.Tensor):
        return (a.dtype, a.shape) == (b.dtype, b.shape) and bits(a) == bits(b)
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, BaseException):
        return (a.kind, str(a)) == (b.kind, str(b))
    if isinstance(a, Step | Trace):
        fields = [key for key in a.__dataclass_fields__ if key not in ("live", "lives", "syntax")]
        return all(same(getattr(a, key), getattr(b, key)) for key in fields)
    return a == b


def one(result: object, **fields: object) -> Trace:
    return Trace(Step("root", children=[Step("assign", "y", result=result, **fields)]))


def reloaded(result: object) -> object:
    return from_json(to_json(one(result))).root.children[0].result


def attention() -> Trace:
    q, k = exact("1 0; 0 1"), exact("1 1; 1 0")
    s = q @ k.mT / math.sqrt(2)
    f = Apply("softmax", (Apply("div", (Leaf("S"), Number(2.5))),), (("dim", -1), ("dtype", None)))
    bad = Step(
        "assign", "B", "B = A / 0", f, {"S": torch.ones(2)}, torch.tensor([math.nan, -math.inf, -0.0]), Where("a.py", 4)
    )
    inner = [Step("turn", "1", count=1, children=[bad]), Step("folded", count=9, note="9 turns")]
    call = Call("f", (Sequence((Leaf("a"), Code("b if c else d"))),), (("mode", Number("sum")),))
    steps = [
        Step("assign", "A", "A = f(…)", call, {"a": (1, 2.5, None)}, s, address="A#1"),
        Step("loop", "for …", children=inner),
    ]
    trace = Trace(
        Step("root", "attention", children=steps),
        (s, {"loss": 0.25}),
        "matches the unmodified run",
        0.0,
        None,
        bad,
        ["a note"],
    )
    trace.error = RecordedError("RuntimeError", "shapes cannot be multiplied")
    return trace


def test_a_trace_reloads_to_an_equal_one():
    trace = attention()
    again = from_json(to_json(trace))
    assert same(trace, again)
    assert again.first_bad is again.root.children[1].children[0].children[0]
    assert to_json(again) == to_json(trace)


@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (3, 4), (9, 9), (2, 3, 4, 5)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tensors_are_kept_bit_by_bit(dtype, shape):
    torch.manual_seed(0)
    x = (torch.randn(shape, dtype=torch.float64) * 3).to(dtype)
    assert same(x, reloaded(x))


@pytest.mark.parametrize("n", [4, 400])
def test_every_pattern_of_bits_survives(n):
    torch.manual_seed(0)
    x = torch.randint(-(2**31), 2**31, (n,), dtype=torch.int32)
    x[:4] = torch.tensor([0x7FC00001, -1, 0x7F800000, -(2**31)], dtype=torch.int32)  # two NaNs with a payload, inf, −0
    assert bits(reloaded(x.view(torch.float32))) == bits(x)


def test_small_tensors_are_written_as_numbers():
    text = to_json(one(torch.tensor([[1.0, math.nan], [0.1, -math.inf]])))
    assert json.loads(text)["tensors"] == [
        {"dtype": "float32", "shape": [2, 2], "values": [1.0, "nan", 0.10000000149011612, "-inf"]}
    ]


def test_equal_tensors_are_written_once():
    x = torch.randn(30, 30)
    steps = [Step("assign", "y", operands={"x": x, "z": x.clone()}, result=x) for _ in range(5)]
    assert len(json.loads(to_json(Trace(Step("root", children=steps))))["tensors"]) == 1


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.complex_numbers(allow_nan=False),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(VALUES)
def test_plain_values_reload(x):
    assert same(x, reloaded(x))


@pytest.mark.parametrize(
    "x",
    [
        torch.Size([2, 3]),
        slice(1, None, 2),
        ...,
        torch.float16,
        torch.device("cpu"),
        10**5000,
        {1: (2,), None: [3]},
        "\ud800",
    ],
    ids=lambda x: type(x).__name__,
)
def test_other_values_reload(x):
    assert same(x, reloaded(x))


def test_a_named_tuple_keeps_its_names():
    read = reloaded(Pair(1.0, [torch.zeros(2)]))
    assert (type(read).__name__, read._fields) == ("Pair", ("left", "right"))
    assert same([*read], [1.0, [torch.zeros(2)]])


def test_what_json_cannot_hold_is_kept_by_its_repr():
    class Broken:
        def __repr__(self):
            raise RuntimeError("no")

    loop: list = []
    loop.append(loop)
    assert reloaded(range(3)) == Opaque("range(0, 3)", "range")
    assert "its repr fails" in reloaded(Broken()).text
    assert isinstance(reloaded(torch.zeros(2, device="meta")), Opaque)
    to_json(one(loop))


def test_errors_are_kept_as_text():
    error = reloaded(KeyError("x"))
    assert (type(error), error.kind, str(error)) == (RecordedError, "KeyError", "'x'")


def test_depth_is_no_matter():
    deep = Step("call", "f")
    for _ in range(5000):
        deep = Step("call", "f", children=[deep])
    assert to_json(from_json(to_json(Trace(deep)))).count('"call"') == 5001


GOOD = {"format": "workings.trace", "version": 2, "steps": [{"kind": "root", "parent": None}], "tensors": []}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": 1}, "format 'workings.trace', version 1; needed workings.trace, version 2"),
        ({"steps": []}, "it has no steps"),
        ({"steps": [{"kind": "spell", "parent": None}]}, "step 0: 'spell' is no kind of step"),
        ({"steps": [{"kind": "root", "parent": 0}]}, "step 0: its parent 0 is no earlier step"),
        ({"steps": [{"kind": "root", "eval": "1"}]}, "step 0: no field of a step is called 'eval'"),
        ({"steps": [{"kind": "root", "result": {"tensor": 0}}]}, "step 0: there is no tensor 0"),
        ({"steps": [{"kind": "root", "result": {"pickle": ""}}]}, "step 0: 'pickle' is no tag of a value"),
        ({"steps": [{"kind": "root", "formula": ["apply", "add"]}]}, "step 0: ['apply', 'add'] is no formula"),
        ({"steps": [{"kind": "root", "formula": ["call", "f", [], ["dim"]]}]}, "step 0: 'dim' is no option"),
        ({"steps": [{"kind": "root", "targets": ["y"]}]}, "step 0: 'y' is no target"),
        ({"steps": [{"kind": "root", "targets": [{"text": "y", "at": 0}]}]}, "step 0: 0 is no index"),
        ({"steps": [{"kind": "root", "count": "9"}]}, "step 0: '9' is no count"),
        ({"matches": "yes"}, "'yes' is not true or false"),
        ({"tensors": [{"dtype": "float32", "shape": [2], "data": "AAAA"}]}, "has 8 bytes, not 3"),
        ({"tensors": [{"dtype": "float32", "shape": [-1], "values": []}]}, "[-1] is no shape"),
        ({"tensors": [{"dtype": "load", "shape": [], "values": [1]}]}, "'load' is no dtype of this PyTorch"),
        ({"tensors": [{"exact": {"format": "?"}}]}, "This is not the JSON of an exact tensor"),
        ({"first_bad": 7}, "there is no step 7"),
        ({"error": 1}, "1 is no error"),
    ],
)
def test_damaged_traces_are_refused_with_the_reason(change, reason):
    from_json(json.dumps(GOOD))
    with pytest.raises(ParseError) as found:
        from_json(json.dumps(GOOD | change))
    assert reason in str(found.value)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "null", "[]", "1" * 5000, '"x"', "{'a': 1}"], ids=lambda t: t[:9])
def test_what_is_no_trace_is_refused(text):
    with pytest.raises(ParseError):
        from_json(text)


def test_every_cut_and_every_wrong_type_is_refused_or_read():
    text = to_json(attention())
    for i in range(0, len(text), 7):
        with pytest.raises(ParseError):
            from_json(text[:i])
    data = json.loads(text)
    for wrong in (None, 1, "x", [], {}, [[]], {"tensor": 99}):
        for i, row in enumerate(data["steps"]):
            for key in row:
                steps = [*data["steps"][:i], row | {key: wrong}, *data["steps"][i + 1 :]]
                read_or_refused(json.dumps(data | {"steps": steps}))
        for key in data:
            read_or_refused(json.dumps(data | {key: wrong}))


def read_or_refused(text: str) -> None:
    try:
        to_json(from_json(text))
    except ParseError as reason:
        assert "This is not the JSON of a trace" in str(reason)


def test_targets_and_indices_are_read_again():
    def f(x):
        a, *rest = x[0], x[-1, 1:], x.view(2, -1)
        x[1] = 2 * a
        x[0] += rest[0].sum(dim=(0,)) / math.sqrt(x.shape[-1])
        n = "word"
        try:
            a = a @ x
        except RuntimeError:
            n = x[::2, n == "raised"]
        return a

    work = show(f, torch.ones(2, 4))
    again = Work.from_json(work.json())
    assert [s.syntax.targets for s in again.steps()] == [s.syntax.targets for s in work.steps()]
    assert [s.syntax.is_augmented for s in again.steps()] == [s.syntax.is_augmented for s in work.steps()]
    assert [s.formula for s in again.steps()] == [s.formula for s in work.steps()]
    assert [s.is_stopped for s in again.steps()] == [s.is_stopped for s in work.steps()]
    assert (again.text(), again.html()) == (work.text(), work.html())
    assert again.matches is True


def test_an_agreement_is_no_text():
    trace = Trace(Step("root"), agreement="matches nothing at all", matches=False)
    assert from_json(to_json(trace)).matches is False
    assert '<p class="note">matches nothing at all</p>' in html(trace)


def test_an_entry_alone_is_saved_whatever_its_stride():
    assert torch.equal(reloaded(torch.arange(8.0).reshape(2, 4)[1:, -1]), torch.tensor([7.0]))
