"""Arguments on the command line: numbers, matrices, JSON and files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

from workings.cli.arguments.kinds import ANYTHING, kinds
from workings.errors import WorkingsError, did_you_mean


def read_values(texts: list[str], function: Any = None, *, exact: bool = True) -> tuple[list[Any], dict[str, Any]]:
    """`Q="1 0; 0 1"` as keyword, `"1 0; 0 1"` as positional arguments, for the parameters of `function`.

    `idx:int="[3, 0]"` are whole numbers, int64, as code without annotations may need them for tokens and classes.
    """
    known = kinds(function)
    names = list(known)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for text in texts:
        name, marked, value = split(text)
        if name:
            kwargs[name] = read(value, "whole" if marked else known.get(name, ANYTHING), name, exact)
        elif kwargs:
            raise WorkingsError(f"{text!r} stands after a NAME=VALUE; give it a name too, or put it first.")
        else:
            name = names[len(args)] if len(args) < len(names) else ""
            args.append(read(text, known.get(name, ANYTHING), name, exact))
    return args, kwargs


def split(text: str) -> tuple[str, bool, str]:
    """The name, whether it is marked as whole numbers, and the value.

    >>> split("idx:int=[3, 0]"), split("[3, 0]")
    (('idx', True, '[3, 0]'), ('', False, '[3, 0]'))
    """
    name, equals, value = text.partition("=")
    name, colon, mark = (part.strip() for part in name.partition(":"))
    if not equals or not name.isidentifier() or (colon and not mark.isidentifier()):
        return "", False, text
    if colon and mark != "int":
        raise WorkingsError(f"{name}:{mark} is not known; {name}:int=VALUE are whole numbers, {name}=VALUE any.")
    return name, bool(colon), value.strip()


def is_of_whole_numbers(text: str) -> bool:
    """Whether this is written as a vector, a matrix or more of whole numbers.

    >>> [is_of_whole_numbers(text) for text in ("[[1, 2]]", "1 2; 3 4", "3", "[1.5]", "keys.npy")]
    [True, True, False, False, False]
    """
    return re.fullmatch(r"[\[\]\s,;]*(-?\d+[\[\]\s,;]+)*-?\d+[\[\]\s,;]*", text) is not None and not _is_whole(text)


_OF_TOKENS = re.compile(r"(.*_)?(idx|ids?|tokens?|index|indices)")
"""Names that parameters have for positions in a table, which are whole numbers."""


def read(text: str, kind: str, name: str = "", exact: bool = True) -> Any:
    """One value of the kind that the parameter's annotation asks for.

    >>> read("[1, 2, 0]", "ints"), read("3", "text"), read("[3, 0]", "indices")
    ([1, 2, 0], '3', tensor([3, 0]))
    """
    if text == "none":
        return None
    if kind == ANYTHING and _OF_TOKENS.fullmatch(name) and is_of_whole_numbers(text):
        kind = "whole"
    reader = _READERS.get(kind)
    return reader(text, name, exact) if reader is not None else _read_value(text, exact=exact, tensor=kind == "tensor")


def _number(text: str, name: str, exact: bool) -> Any:
    """A Python number; a letter or a fraction stays exact."""
    try:
        return int(text) if _is_whole(text) else float(text)
    except ValueError:
        return _read_value(text, exact=exact)


def _is_whole(text: str) -> bool:
    """Whether Python reads this as a whole number; one of more digits than it takes is left to exact numbers."""
    return re.fullmatch(r"-?[0-9]{1,4300}", text) is not None


def _ints(text: str, name: str, exact: bool) -> list[int]:
    """[1, 2, 0] or 1 2 0"""
    found = _from_json(text if text.startswith("[") else f"[{', '.join(text.split())}]")
    if any(type(n) is not int for n in found):
        raise WorkingsError(f"{name or 'This'} takes whole numbers such as [1, 2, 0], not {text}.")
    return list(found)


def _indices(text: str, name: str, exact: bool) -> Any:
    """A tensor of whole numbers."""
    import torch

    found = _read_value(text, exact=False, tensor=True)
    whole = torch.as_tensor(found).long()
    if not torch.equal(whole.double(), torch.as_tensor(found).double()):
        raise WorkingsError(f"{name or 'This'} takes whole numbers such as [3, 0, 1], not {text}.")
    return whole


def _whole(text: str, name: str, exact: bool) -> Any:
    """What is marked as whole numbers: one of them, or a tensor."""
    return int(text) if _is_whole(text) else _indices(text, name, exact)


def _classes(text: str, name: str, exact: bool) -> Any:
    """Class numbers: one whole number, or a list of them in JSON; else a tensor, such as one of probabilities.

    >>> _classes("1", "y", True), _classes("[1, 0]", "y", True)
    (tensor(1), tensor([1, 0]))
    """
    if _is_whole(text) or (text.startswith("[") and re.fullmatch(r"[\[\]\s,\d-]+", text)):
        return _indices(text, name, exact)
    return _read_value(text, exact=exact, tensor=True)


def _mask(text: str, name: str, exact: bool) -> Any:
    """A tensor of true and false: JSON with those words, or numbers, 0 for false."""
    import torch

    if text.startswith("["):
        found = _check_entries(_from_json(text), (bool, int, float), "true, false or a number")
        try:
            return torch.tensor(_truths(found))
        except (TypeError, ValueError):
            raise WorkingsError(f"{name or 'This'} takes rows of one length, not {text}.") from None
    return torch.as_tensor(_read_value(text, exact=False, tensor=True)).bool()


def _truths(data: Any) -> Any:
    return [_truths(part) for part in data] if isinstance(data, list) else bool(data)


def _tensors(text: str, name: str, exact: bool) -> Any:
    """A matrix for each: a JSON list of them, each in JSON or as "1 0; 0 1"."""
    if not text.startswith("["):
        return _read_value(text, exact=exact, tensor=True)
    return [
        _read_value(part, exact=exact, tensor=True) if isinstance(part, str) else _tensor(part, exact)
        for part in _from_json(text)
    ]


_READERS: dict[str, Callable[[str, str, bool], Any]] = {
    "text": lambda text, name, exact: text,
    "float": _number,
    "ints": _ints,
    "indices": _indices,
    "whole": _whole,
    "classes": _classes,
    "mask": _mask,
    "tensors": _tensors,
}
"""How the kinds are read that are more than a number or a tensor."""


def _read_value(text: str, *, exact: bool = True, tensor: bool = False) -> Any:
    """One value: a Python number for a plain integer where a tensor is not asked for, a tensor otherwise."""
    suffix = Path(text).suffix
    if suffix in _FILES:
        return _tensor(_from_file(Path(text)), exact)
    if text in ("true", "false", "none"):
        return {"true": True, "false": False, "none": None}[text]
    if _is_whole(text) and not tensor:
        return int(text)
    if text.startswith("["):
        return _tensor(_from_json(text), exact)
    from workings.exact import exact as exact_tensor

    made = exact_tensor(text)
    return made if exact else made.float64()


def _tensor(data: Any, exact: bool) -> Any:
    import torch

    from workings.exact import exact as exact_tensor

    if isinstance(data, torch.Tensor) and not (exact and data.is_floating_point() and data.numel() <= 4096):
        return data
    if not isinstance(data, torch.Tensor):
        data = _as_written(_check_entries(data, (bool, int, float, str), 'a number, or text such as "1/2" or "w"'))
    made = exact_tensor(data, recover=True)
    return made if exact else made.float64()


def _from_json(text: str) -> Any:
    try:
        return json.loads(text, parse_float=_Decimal, parse_int=_whole_number)
    except json.JSONDecodeError as error:
        from workings.errors import ParseError

        raise ParseError(f"This JSON cannot be read: {error.msg}.", text, error.pos) from None
    except RecursionError:
        raise WorkingsError(_TOO_DEEP) from None


class _Decimal(float):
    """A decimal of JSON: a float that knows how it was written. A tensor is made of what was written."""

    text: str

    def __new__(cls, text: str) -> _Decimal:
        self = super().__new__(cls, text)
        self.text = text
        return self


def _whole_number(text: str) -> int | str:
    """A whole number; one that is too long for Python to read stays as it is written."""
    return int(text) if len(text) <= _LONGEST else text


_LONGEST = 4300
"""The digits that Python turns into an integer."""


def _as_written(data: Any) -> Any:
    """Lists inside lists with decimals as they were written, so that none goes through a float."""
    if isinstance(data, list):
        return [_as_written(part) for part in data]
    return data.text if isinstance(data, _Decimal) else data


_MOST_AXES = 64
"""What PyTorch has at most."""
_TOO_DEEP = f"Lists inside lists are the axes of a tensor, and these are more than {_MOST_AXES} deep."


def _check_entries(data: Any, kinds: tuple[type, ...], wanted: str, at: tuple[int, ...] = ()) -> Any:
    """Lists inside lists whose entries are of these kinds; another is named with its place.

    >>> _check_entries([[1, None]], (int,), "a number")
    Traceback (most recent call last):
    workings.errors.WorkingsError: The entry in row 1, column 2 is null; it has to be a number.
    """
    if len(at) > _MOST_AXES:
        raise WorkingsError(_TOO_DEEP)
    if isinstance(data, list):
        for i, part in enumerate(data):
            _check_entries(part, kinds, wanted, (*at, i))
    elif not isinstance(data, kinds):
        came = "an object" if isinstance(data, dict) else json.dumps(data)
        raise WorkingsError(f"{_place(at)} is {came}; it has to be {wanted}.")
    return data


def _place(at: tuple[int, ...]) -> str:
    """Counted from 1, as people do."""
    numbers = [i + 1 for i in at]
    words = {0: "The value", 1: "Entry {}", 2: "The entry in row {}, column {}"}
    return words.get(len(at), f"The entry at [{', '.join(map(str, numbers))}], counted from 1,").format(*numbers)


def _from_file(path: Path) -> Any:
    if not path.is_file():
        raise WorkingsError(f"There is no file {path}.{_nearest(path)}")
    try:
        return _FILES[path.suffix](path)
    except Exception as error:
        raise WorkingsError(f"{path} could not be read as {path.suffix}: {error}") from None


def _nearest(path: Path) -> str:
    """The file of that folder whose name is the most alike, of those that can be read."""
    folder = path.parent
    if not folder.is_dir():
        return f" There is no folder {folder} either."
    return did_you_mean(path.name, sorted(p for p in folder.iterdir() if p.suffix in _FILES and p.is_file()))


def _npy(path: Path) -> Any:
    import numpy as np
    import torch

    return torch.from_numpy(np.load(path, allow_pickle=False))


def _csv(path: Path) -> list[list[str]]:
    """The rows of numbers; a first row without any number, above rows of them, is a header and left out."""
    import csv

    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(cell.strip() for cell in row)]
    if len(rows) > 1 and _is_header(rows[0][1]) and any(map(_is_number, rows[1][1])):
        rows = rows[1:]
    if not rows:
        raise WorkingsError("it has no numbers.")
    for line, cells in rows:
        _check_row(line, cells, len(rows[0][1]))
    return [cells for _, cells in rows]


def _is_header(cells: list[str]) -> bool:
    """Whether these are names of columns: none is a number but by its name, as e is."""
    return not any(_is_number(cell) and not cell.isidentifier() for cell in cells) and not all(map(_is_number, cells))


def _check_row(line: int, cells: list[str], columns: int) -> None:
    """A row of a table of numbers: as long as the first, and each cell a number."""
    if len(cells) != columns:
        count = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
        raise WorkingsError(f"row {line} has {count}, the first has {columns}; a matrix has rows of one length.")
    for column, cell in enumerate(cells, start=1):
        if not _is_number(cell):
            came = f"is {cell!r}" if cell else "is empty"
            raise WorkingsError(f"row {line}, column {column} {came}; each cell is a number such as 2, 0.5 or 1/3.")


def _is_number(cell: str) -> bool:
    """Whether a cell is a number, decimal or exact, and no letter.

    >>> [_is_number(cell) for cell in ("2", "1e-3", "-inf", "1/3", "sqrt(2)", "width", "")]
    [True, True, True, True, True, False, False]
    """
    from workings.exact import exact as exact_tensor

    try:
        float(cell)
    except ValueError:
        try:
            return not exact_tensor(cell).free_symbols
        except WorkingsError:
            return False
    return True


def _pt(path: Path) -> Any:
    import torch

    try:
        found = torch.load(path, weights_only=True)
    except Exception as error:
        if "Weights only load failed" not in str(error):
            raise
        raise WorkingsError("it holds more than tensors, and loading that could run code.") from None
    if isinstance(found, dict):
        raise WorkingsError(f"it holds values by name ({', '.join(map(str, [*found][:5]))}); save one tensor alone.")
    return found


_FILES: dict[str, Callable[[Path], Any]] = {
    ".npy": _npy,
    ".csv": _csv,
    ".json": lambda path: _from_json(path.read_text(encoding="utf-8")),
    ".pt": _pt,
}


def random_input(text: str) -> Any:
    """`1x3x8` as a random tensor of this size, `2x5:int` as tokens."""
    import torch

    shape, whole = sizes(text, least=0, most=30)
    return torch.randint(0, 2, shape) if whole else torch.randn(shape)


def sizes(text: str, least: int = 1, most: int = 40) -> tuple[tuple[int, ...], bool]:
    """The sizes in `1x32x32`, each at least `least`, of at most 2^most entries, and whether they are for whole numbers.

    >>> sizes("1x32x32"), sizes("2×5:int")
    (((1, 32, 32), False), ((2, 5), True))
    """
    match = re.fullmatch(r"\s*(\d+(?:[x×,]\d+)*)\s*(:int|:float)?\s*", text.lower(), re.ASCII)
    if match is None:
        raise WorkingsError(f"--input needs sizes such as 1x32x32, or 2x5:int for tokens, but got {text!r}.")
    digits = re.split("[x×,]", match[1])
    if any(len(n) > 13 for n in digits) or prod(found := tuple(map(int, digits))) > 2**most:
        raise WorkingsError(f"--input {text} is more than 2^{most} entries.")
    if min(found) < least:
        raise WorkingsError(f"--input {text} has no entries: sizes are at least {least}.")
    return found, match[2] == ":int"
