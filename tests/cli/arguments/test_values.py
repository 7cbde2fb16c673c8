"""Arguments of the command line become what the parameters ask for."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

import pytest
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from workings.cli.arguments.kinds import kinds
from workings.cli.arguments.values import random_input, read, read_values
from workings.errors import WorkingsError
from workings.exact import ExactTensor, exact
from workings.exact.tensor.equality import equal

Scalar = Float[Tensor, ""]
Matrices = Sequence[Float[Tensor, "e d"]]


def f(K: Float[Tensor, "q d"], n: int, x, mask: Tensor | None = None, scale: Tensor | float = 1):
    return K


def g(
    tokens: Int[Tensor, " n"],
    s: "Scalar",
    W: Matrices,
    order: list[int] | None,
    name: str,
    norm: Literal["pre", "post"],
    rate: float,
    mask: Bool[Tensor, "n n"] | None = None,
    **options: object,
):
    return tokens


def test_a_whole_number_is_a_tensor_where_the_annotation_says_so():
    assert kinds(f) == {"K": "tensor", "n": "int", "x": "anything", "mask": "tensor", "scale": "anything"}
    args, kwargs = read_values(["1", "n=2", "x=3", "scale=4"], f)
    assert isinstance(args[0], ExactTensor) and args[0].text() == "1"
    assert kwargs == {"n": 2, "x": 3, "scale": 4}


def test_a_module_is_asked_by_its_forward():
    assert kinds(torch.nn.Linear(1, 1)) == {"input": "tensor"}
    assert kinds(len) == {"obj": "anything"}
    assert kinds(3) == {}


def test_annotations_that_only_a_type_checker_knows_are_read_as_text():
    def h(x: "Float[Tensor, 'n']", other: "Unknown", n: "Tensor | int"):  # noqa: F821
        return x

    assert kinds(h) == {"x": "tensor", "other": "anything", "n": "anything"}


def test_each_kind_is_read_by_its_annotation():
    assert list(kinds(g).values()) == "indices tensor tensors ints text text float mask anything".split()
    args, kwargs = read_values(["[3, 0, 5]", "2", '[[[1, 0]], "1/2 w"]', "[1, 2, 0]", "7", "norm=pre", "rate=0.5"], g)
    tokens, s, W, order, name = args
    assert tokens.dtype == torch.int64 and tokens.tolist() == [3, 0, 5]
    assert isinstance(s, ExactTensor) and s.shape == ()
    assert [w.text() for w in W] == ["[1  0]", "[1/2  w]"]
    assert [[*w.shape] for w in W] == [[1, 2], [2]]
    assert (order, name) == ([1, 2, 0], "7")
    assert kwargs == {"norm": "pre", "rate": 0.5}
    assert type(kwargs["rate"]) is float


def test_masks_lists_and_letters():
    _, kwargs = read_values(["mask=[[true, false]]", "order=2 0 1", "rate=1/3", "tokens=0 1 2"], g)
    assert kwargs["mask"].dtype == torch.bool and kwargs["mask"].tolist() == [[True, False]]
    assert kwargs["order"] == [2, 0, 1]
    assert kwargs["rate"].text() == "1/3"
    assert kwargs["tokens"].dtype == torch.int64 and kwargs["tokens"].tolist() == [0, 1, 2]
    _, kwargs = read_values(["mask=1 0; 1 1", "order=none", "rate=2"], g)
    assert kwargs["mask"].tolist() == [[True, False], [True, True]]
    assert (kwargs["order"], kwargs["rate"]) == (None, 2)


def test_classes_are_whole_numbers_in_a_list():
    def loss(y: Int[Tensor, " n"] | Float[Tensor, "n c"]):
        return y

    assert kinds(loss) == {"y": "classes"}
    (y,), _ = read_values(["[1, 0]"], loss)
    assert y.dtype == torch.int64 and y.tolist() == [1, 0]
    for text in ("1 0", "[0.5, 0.5]", "1/2 1/2"):
        (y,), _ = read_values([text], loss)
        assert isinstance(y, ExactTensor)


def test_numbers_that_are_not_whole_are_refused():
    for text, message in (
        ("tokens=[0.5, 1]", "tokens takes whole numbers such as [3, 0, 1], not [0.5, 1]."),
        ("order=[0.5, 1]", "order takes whole numbers such as [1, 2, 0], not [0.5, 1]."),
    ):
        with pytest.raises(WorkingsError) as refused:
            read_values([text], g)
        assert str(refused.value) == message


def test_a_file_of_more_than_a_tensor_is_refused(tmp_path):
    torch.save({"w": torch.ones(2), "b": torch.ones(1)}, named := tmp_path / "named.pt")
    torch.save(Scalar.__class__, code := tmp_path / "code.pt")
    for path, message in (
        (named, "it holds values by name (w, b); save one tensor alone."),
        (code, "it holds more than tensors, and loading that could run code."),
    ):
        with pytest.raises(WorkingsError) as refused:
            read_values([f"K={path}"], f)
        assert str(refused.value) == f"{path} could not be read as .pt: {message}"


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ("width,height\n1,2\n3,4.5\n", "⎡1    2⎤\n⎣3  9/2⎦"),  # a header is left out
        ("a,e\n1,2\n", "[1  2]"),  # also one with a letter that is a number
        ("1,2\n\n3,4\n", "⎡1  2⎤\n⎣3  4⎦"),
        ("1/2,sqrt(2)\n", "[1/2  √2]"),
        ("\ufeffx\n1\n2\n", "⎡1⎤\n⎣2⎦"),  # the mark that a spreadsheet puts at the beginning
    ],
)
def test_a_table(tmp_path, table, rows):
    (path := tmp_path / "table.csv").write_text(table, encoding="utf-8")
    _, kwargs = read_values([f"K={path}"], f)
    assert kwargs["K"].text() == rows


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("1,2\n3,x\n", "row 2, column 2 is 'x'; each cell is a number such as 2, 0.5 or 1/3."),
        ("a,b\n1,2\n\n3,\n", "row 4, column 2 is empty; each cell is a number such as 2, 0.5 or 1/3."),
        ("w,1/2\n0,1\n", "row 1, column 1 is 'w'; each cell is a number such as 2, 0.5 or 1/3."),
        ("a,b\n", "row 1, column 1 is 'a'; each cell is a number such as 2, 0.5 or 1/3."),
        ("1,2\n3\n", "row 2 has 1 cell, the first has 2; a matrix has rows of one length."),
        ("\n", "it has no numbers."),
    ],
)
def test_a_table_that_is_none(tmp_path, table, message):
    (path := tmp_path / "table.csv").write_text(table)
    with pytest.raises(WorkingsError) as refused:
        read_values([f"K={path}"], f)
    assert str(refused.value) == f"{path} could not be read as .csv: {message}"


def test_a_missing_file_suggests_the_nearest(tmp_path):
    (tmp_path / "keys.csv").write_text("1\n")
    (tmp_path / "keyz.txt").write_text("1\n")
    for name, hint in (
        ("kyes.csv", f" Did you mean {tmp_path / 'keys.csv'}?"),
        ("queries.npy", ""),
        ("folder/keys.csv", f" There is no folder {tmp_path / 'folder'} either."),
    ):
        with pytest.raises(WorkingsError) as refused:
            read_values([f"K={tmp_path / name}"], f)
        assert str(refused.value) == f"There is no file {tmp_path / name}.{hint}"


def test_a_random_input_is_of_a_size_that_fits():
    assert random_input("2x0").shape == (2, 0) and random_input("2x5:int").dtype == torch.int64
    for text, message in (
        ("99999999x99999999", "--input 99999999x99999999 is more than 2^30 entries."),
        ("2x5:text", "--input needs sizes such as 1x32x32, or 2x5:int for tokens, but got '2x5:text'."),
    ):
        with pytest.raises(WorkingsError) as refused:
            random_input(text)
        assert str(refused.value) == message


def test_what_cannot_be_called_is_refused(tmp_path):
    from workings.cli.show import resolve

    (file := tmp_path / "constants.py").write_text("value = 3\n")
    with pytest.raises(WorkingsError) as refused:
        resolve(f"{file}:value")
    assert str(refused.value) == f"{file}:value is of type int; show takes a function, a module or a class of modules."


WANTED = 'it has to be a number, or text such as "1/2" or "w".'
DEEP = "Lists inside lists are the axes of a tensor, and these are more than 64 deep."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("K=[[1,null],[0,1]]", f"The entry in row 1, column 2 is null; {WANTED}"),
        ("K=[1, null]", f"Entry 2 is null; {WANTED}"),
        ("K=[[[0, 1], [2, null]]]", f"The entry at [1, 2, 2], counted from 1, is null; {WANTED}"),
        ('K=[{"a": 1}]', f"Entry 1 is an object; {WANTED}"),
        ("K=[[1, 2], [3]]", "Rows of one tensor need one length; these are [2, 1]."),
        (f"K={'[' * 500}{']' * 500}", DEEP),
        (f"K={'[' * 100_000}", DEEP),
        ("K=1/0", "Division by zero.\n  1/0\n    ^"),
        ("K=sqrt(-1)", "A root of a negative number is not real."),
        ("mask=[[true, null]]", "The entry in row 1, column 2 is null; it has to be true, false or a number."),
        ('mask=["yes"]', 'Entry 1 is "yes"; it has to be true, false or a number.'),
        ("mask=[[true], [true, false]]", "mask takes rows of one length, not [[true], [true, false]]."),
    ],
)
def test_entries_that_cannot_be_read_are_named_with_their_place(text, message):
    def h(K: Float[Tensor, "q d"], mask: Bool[Tensor, "q d"] | None = None):
        return K

    with pytest.raises(WorkingsError) as error:
        read_values([text], h)
    assert str(error.value).startswith(message)


def test_null_in_a_file_is_named_too(tmp_path):
    (tmp_path / "K.json").write_text("[[1], [null]]")
    with pytest.raises(WorkingsError) as error:
        read_values([f"K={tmp_path / 'K.json'}"], f)
    assert str(error.value) == f"The entry in row 2, column 1 is null; {WANTED}"


@pytest.mark.parametrize("text", ["①", "²"])
def test_what_only_looks_like_a_whole_number(text):
    with pytest.raises(WorkingsError, match=f"found '{text}'"):
        read_values([f"x={text}"], f)


def test_two_signs():
    assert equal(read_values(["x=--1"], f)[1]["x"], exact("1"))


def test_numbers_too_large_for_a_float_stay_exact():
    _, kwargs = read_values(["K=[[1e400]]", f"x={'9' * 5000}"], f)
    assert equal(kwargs["K"], exact([["1e400"]]))
    assert equal(kwargs["x"], exact("9" * 5000))


@pytest.mark.parametrize(
    "number", ["0.1", "12345678901234567890.5", "0.1234567890123456789", "1e-400", "0.30000000000000004", "9" * 5000]
)
def test_numbers_in_json_do_not_go_through_floats(number, tmp_path):
    (tmp_path / "K.json").write_text(f"[[{number}]]")
    for text in (f"K=[[{number}]]", f"K={tmp_path / 'K.json'}"):
        K = read_values([text], f)[1]["K"]
        assert equal(K, exact([[number]])) and K.assumptions == ()


NONSENSE = """
null | [NaN] | [Infinity, -Infinity] | nan | [] | [[]] | [[], [1]] | ; | 1;;2 | 1 2; 3 | −1 | [−1] | 0/0 | log(0) | {} |
9^9^9^9 | 2^99999999 | x y; z | 1_000 | 0x10 | "abc" | \\ | [1, 2 | [1 2] | .npy | no.npy | [none] | - | 1e | 0^-1 | [1][1] |
[[1, "2; 3"]] | 😀 | ["😀"] | ½ | [true, 1] | ["1/0"] | exp(exp(10)) | 1e400 | [1.5] | [-1] | (((
"""


@pytest.mark.parametrize(
    "kind", ["tensor", "int", "float", "ints", "indices", "classes", "mask", "tensors", "text", "anything"]
)
@pytest.mark.parametrize("exactly", [True, False])
def test_nonsense_is_read_or_refused_in_words(kind, exactly):
    for text in NONSENSE.split("|"):
        with suppress(WorkingsError):
            read(text.strip(), kind, "x", exactly)


def test_whole_numbers():
    def f(x, idx, token_ids, y): ...

    _, given = read_values(["x=[1, 2]", "idx=[[1, 2]]", "token_ids=3 0 -1", "y:int=1; 0"], f)
    assert given["x"].is_floating_point()
    assert [given[name].tolist() for name in ("idx", "token_ids", "y")] == [[[1, 2]], [3, 0, -1], [[1], [0]]]
    assert {given[name].dtype for name in ("idx", "token_ids", "y")} == {torch.int64}
    _, given = read_values(["idx=3", "x:int=4", "token_ids=[1.5]", "y = [0.5]"], f)
    assert (given["idx"], given["x"]) == (3, 4)
    assert given["token_ids"].is_floating_point()
    with pytest.raises(WorkingsError, match="y takes whole numbers such as"):
        read_values(["y:int=[1.5]"], f)
    with pytest.raises(WorkingsError) as error:
        read_values(["y:long=[1]"], f)
    assert str(error.value) == "y:long is not known; y:int=VALUE are whole numbers, y=VALUE any."
